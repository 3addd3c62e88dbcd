"""defer-reductions: threads combine what they hold in each step of a loop, and meet behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import TensorType, UnknownLoc
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import element_type_of, fragment_layout, with_fragment
from irc.ir.properties import scalar
from irc.ir.rewriting import Inserter
from irc.scheduling.carried_reductions import Carried, deferrable, is_at_most_one
from irc.scheduling.loops import with_carried
from irc.tiling.scalar_code import APPROXIMATE


@dataclass(frozen=True)
class DeferReductionsPass(ProgramPass):
    """A loop that carries sums or maxima of what its steps reduce -> one whose threads carry those of their own
    elements (`tile.fold`), and a reduction behind it. The warps of a block meet once, not in each step.

    Sums of exponentials relative to a maximum, `s = s * exp(m - n) + sum(exp(x - n))` with `n = max(m, max(x))`, are
    such, too: a thread has a maximum of its own, to which its sums are relative (`tile.unfold` gives it to each of the
    elements), and behind the loop they are scaled to the maximum of all. Where a thread has found nothing but -inf, its
    sums are relative to 0. Where x is what the maximum is of, a sum is at least 1 and no exponential is more than that:
    they are approximate, as one is off by less than 2^-24.

    Left alone are loops with products, where something else needs the maximum, and sums that do not begin at zero.
    """

    name: ClassVar[str] = "defer-reductions"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [each for each in program.walk() if isinstance(each, scf.ForOp)]:
            _defer(loop)


@dataclass(frozen=True)
class _Deferred:
    """A value whose reduction is behind the loop, and the maximum that it is relative to."""

    value: Carried
    maximum: Carried | None = None

    @property
    def type(self) -> TensorType[Attribute]:
        """Of what the loop carries: an element for each thread."""
        whole = self.value.reduced
        fragment = fragment_layout(whole).folded(self.value.reduce.axis_values)
        return with_fragment(TensorType(element_type_of(whole), fragment.shape), fragment)


def _defer(loop: scf.ForOp) -> None:
    deferred: list[_Deferred] = []
    for each, relative in deferrable(loop):
        deferred.append(own := _Deferred(each))
        if relative is not None:
            sums, weights = relative
            _relate(own, sums, weights)
            deferred += [_Deferred(one, each) for one in sums]
    if deferred:
        _replace(loop, deferred)


def _relate(maximum: _Deferred, sums: Sequence[Carried], weights: Sequence[tile.MapOp]) -> None:
    """Makes sums, and what they add up, relative to the maximum of the thread."""
    map, whole = maximum.value.map, maximum.value.reduced
    at = Inserter.after(map)
    reference = at.value(_reference(map.result, maximum.type))
    spread = at.value(tile.UnfoldOp(reference, maximum.value.reduce.axis_values, whole))
    if all(is_at_most_one(each, maximum.value) for each in weights):
        for power in [op for each in (*weights, *(each.map for each in sums)) for op in each.walk()]:
            if isinstance(power, math.ExpOp):
                power.fastmath = APPROXIMATE
    for user, value in [*((each.map, reference) for each in sums), *((each, spread) for each in weights)]:
        user.operands = [value if each is map.result else each for each in user.inputs]


def _reference(maximum: SSAValue, type: Attribute) -> tile.MapOp:
    """What sums are relative to: the maximum, or 0 where that is -inf, as -inf - -inf is nothing."""
    map = tile.MapOp([maximum], type)
    (value,), at = map.body.block.args, Inserter.at_end(map.body.block, UnknownLoc())
    lowest, zero = (at.value(arith.ConstantOp(scalar(number, value.type))) for number in (float("-inf"), 0.0))
    is_lowest = at.value(arith.CmpfOp(value, lowest, "oeq"))
    at(tile.YieldOp(at.value(arith.SelectOp(is_lowest, zero, value))))
    return map


def _replace(loop: scf.ForOp, deferred: Sequence[_Deferred]) -> None:
    """The loop that folds, and the reductions behind it."""
    types = [each.type for each in deferred]
    starts, before, behind = list(loop.iter_args), Inserter.before(loop), Inserter.after(loop)
    for each, type in zip(deferred, types, strict=True):
        starts[each.value.index] = _start(before, each.value, type)
    folded = {each.value.index: _fold(each.value, type) for each, type in zip(deferred, types, strict=True)}
    new = with_carried(loop, starts)
    whole: dict[int, SSAValue] = {}
    for each in deferred:
        index, own, reduce = each.value.index, new.results[each.value.index], each.value.reduce
        if each.maximum is not None:
            own = _moved(behind, folded[index], each, new, whole[each.maximum.index])
        joined = tile.ReduceOp([own], reduce.axis_values, [loop.results[index].type], reduce.body.clone())
        whole[index] = behind.value(joined)
    for index, result in enumerate(loop.results):
        result.replace_all_uses_with(whole.get(index, new.results[index]))
    for each in deferred:
        Rewriter.erase_op(each.value.reduce)
    Rewriter.erase_op(loop)


def _start(at: Inserter, each: Carried, type: TensorType[Attribute]) -> SSAValue:
    assert each.start is not None
    return at.value(tile.SplatOp(at.value(arith.ConstantOp(each.start)), type))


def _fold(each: Carried, type: TensorType[Attribute]) -> tile.MapOp:
    """Puts a fold in the place of a reduction that a step combines; gives the map that does."""
    fold = tile.FoldOp(
        each.reduce.inputs, each.reduce.axis_values, [type], each.reduce.body.clone(), each.reduce.location
    )
    Rewriter.insert_op(fold, InsertPoint.before(each.reduce))
    each.reduce.outputs[0].replace_all_uses_with(fold.outputs[0])
    block, old = each.loop.body.block, each.before
    argument = block.insert_arg(type, old.index)
    argument.name_hint = old.name_hint
    old.replace_all_uses_with(argument)
    block.erase_arg(old)
    map = tile.MapOp(each.map.inputs, type, each.map.body.clone(), each.map.location)
    map.result.name_hint = each.map.result.name_hint
    Rewriter.replace_op(each.map, map)
    return map


def _moved(at: Inserter, map: tile.MapOp, each: _Deferred, loop: scf.ForOp, maximum: SSAValue) -> SSAValue:
    """The threads' sums relative to the maximum of all: the map that scales them in a step, with nothing added."""
    values: list[SSAValue] = []
    for value in map.inputs:
        if isinstance(value, BlockArgument):
            values.append(loop.results[value.index - 1])
        elif isinstance(value.owner, tile.FoldOp):
            values.append(_start(at, each.value, each.type))
        else:
            values.append(at.value(_reference(maximum, maximum.type)))
    return at.value(tile.MapOp(values, map.result.type, map.body.clone()))
