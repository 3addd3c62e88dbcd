"""guard-masks: loops hide elements by their places in those steps alone that have elements to hide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.invariants import LAID_OUT
from irc.dialects import tile
from irc.dialects.tile import element_type_of
from irc.ir.passes import Pass
from irc.ir.properties import constant_of
from irc.ir.rewriting import Inserter, remove_dead_code

MAX_EXTENT = 1 << 28
"""Of a program's arrays: sums of a few places then fit into the 32 bits that masks cut them to."""

BITS = 32
"""Of the narrowest integers that places are cut to."""

COMPARED = {"slt": (1, -1), "sle": (1, 0), "sgt": (-1, -1), "sge": (-1, 0)}
"""`a < b` where `b - a - 1` is not negative: the factor of `b - a`, and what is added."""

OPPOSITE = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"}


@dataclass(frozen=True)
class GuardMasksPass(Pass):
    """A map in a loop that multiplies or computes functions, and that chooses by places, `select(column <= row, x,
    -inf)` -> a branch: the map where the step has an element to hide, and the map without the choice elsewhere. Of a
    causal mask, the steps on the diagonal compare places, and the many before them do not; of rows that steps do not
    divide, the last one does.

    Conditions are comparisons of sums of places, cast or not, by the map or by one of their own, and conjunctions of
    them: in a tile, they hold everywhere where the smallest difference of the two sides says so. Left alone are maps
    that compare anything else, and those of loops without products and functions, which wait for memory.
    """

    name: ClassVar[str] = "guard-masks"
    requires = (LAID_OUT,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        programs = [each for each in op.ops if isinstance(each, tile.ProgramOp) and _is_small(each)]
        loops = [each for program in programs for each in program.walk() if isinstance(each, scf.ForOp)]
        blocks = [loop.body.block for loop in loops if any(_is_long(each) for each in loop.body.block.ops)]
        for map in [each for block in blocks for each in block.ops if isinstance(each, tile.MapOp)]:
            _guard(map)


def _is_long(op: Operation) -> bool:
    """Whether an op computes for longer than what it computes from takes to come."""
    return isinstance(op, tile.DotOp) or (
        isinstance(op, tile.MapOp) and any(inner.dialect_name() == "math" for inner in op.body.block.ops)
    )


def _is_small(program: tile.ProgramOp) -> bool:
    views = [value.type for value in program.body.block.args if isinstance(value.type, tile.ViewType)]
    return all(extent <= MAX_EXTENT for view in views for extent in view.get_shape())


def _guard(map: tile.MapOp) -> None:
    """Puts a map that chooses by places into a branch."""
    shown: dict[int, int] = {}
    sums: list[_Sum] = []
    for number, op in enumerate(map.body.block.ops):
        if isinstance(op, arith.SelectOp):
            is_hidden = isinstance(op.lhs.owner, arith.ConstantOp)
            found = _at_least_zero(map, op.cond, is_hidden)
            if found is not None:
                shown[number] = 2 if is_hidden else 1
                sums += found
    if not sums:
        return
    at = Inserter.before(map)
    zero = at.index(0)
    holds = [at.value(arith.CmpiOp(each.least(at), zero, "sge")) for each in sums]
    everywhere = reduce(lambda a, b: at.value(arith.AndIOp(a, b)), holds)
    unmasked = map.clone()
    for number, op in enumerate(list(unmasked.body.block.ops)):
        if number in shown:
            op.results[0].replace_all_uses_with(op.operands[shown[number]])
    branch = at(scf.IfOp(everywhere, [map.result.type], Region(_side(unmasked)), Region(_masked(map))))
    branch.results[0].name_hint = map.result.name_hint
    conditions = _conditions(map)
    Rewriter.replace_op(map, [], branch.results)
    for each in conditions:
        if not each.result.uses:
            Rewriter.erase_op(each)


def _conditions(map: tile.MapOp) -> list[tile.MapOp]:
    """The maps that compute conditions for a map."""
    owners = [value.owner for value in map.inputs if element_type_of(value.type) == i1]
    return [each for each in dict.fromkeys(owners) if isinstance(each, tile.MapOp)]


def _masked(map: tile.MapOp) -> Block:
    """The map with its choices, and with conditions of its own: where nothing is hidden, none are computed."""
    copies = [(each, each.clone()) for each in _conditions(map)]
    block = _side(map.clone({each.result: copy.result for each, copy in copies}))
    first = block.first_op
    assert first is not None
    block.insert_ops_before([copy for _, copy in copies], first)
    return block


def _side(map: tile.MapOp) -> Block:
    """The block that computes a map, as far as it is needed, and yields it."""
    remove_dead_code(map)
    body = map.body.block
    end = body.last_op
    assert isinstance(end, tile.YieldOp)
    value = end.operands[0]
    if isinstance(value, BlockArgument) and map.inputs[value.index].type == map.result.type:
        return Block([scf.YieldOp(map.inputs[value.index])])
    used = [argument.index for argument in body.args if argument.uses]
    for argument in [each for each in body.args if not each.uses]:
        body.erase_arg(argument)
    map.operands = [map.inputs[index] for index in used]
    return Block([map, scf.YieldOp(map.result)])


@dataclass(frozen=True)
class _Sum:
    """A number plus multiples of tiles of places."""

    terms: Mapping[SSAValue, int]
    number: int = 0

    def plus(self, other: _Sum, factor: int) -> _Sum:
        terms = {v: self.terms.get(v, 0) + factor * other.terms.get(v, 0) for v in {**self.terms, **other.terms}}
        return _Sum({v: n for v, n in terms.items() if n}, self.number + factor * other.number)

    @property
    def fits(self) -> bool:
        """Whether it is what integers that wrap around come to."""
        return abs(self.number) + MAX_EXTENT * sum(map(abs, self.terms.values())) < 1 << (BITS - 1)

    def least(self, at: Inserter) -> SSAValue:
        """The smallest one of all elements of the tile."""
        number, total = self.number, at.index(0)
        for value, factor in self.terms.items():
            iota = value.owner
            assert isinstance(iota, tile.IotaOp)
            number += min(factor, 0) * (max(tile.shape_of(value.type)) - 1)
            total = at.value(arith.AddiOp(total, at.value(arith.MuliOp(iota.offset, at.index(factor)))))
        return at.value(arith.AddiOp(total, at.index(number)))


def _at_least_zero(map: tile.MapOp, condition: SSAValue, negated: bool) -> list[_Sum] | None:
    """The sums that are at least 0 where a condition holds, or where it does not; None of anything but comparisons of
    places."""
    op = condition.owner
    match op:
        case arith.AndIOp() if not negated:
            lhs, rhs = (_at_least_zero(map, side, negated) for side in op.operands)
        case arith.OrIOp() if negated:
            lhs, rhs = (_at_least_zero(map, side, negated) for side in op.operands)
        case arith.CmpiOp():
            name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
            sides = [_places(map, side) for side in op.operands]
            if name not in COMPARED or sides[0] is None or sides[1] is None or not (sides[0].fits and sides[1].fits):
                return None
            factor, number = COMPARED[OPPOSITE[name] if negated else name]
            difference = sides[1].plus(sides[0], -1)
            return [_Sum({}, number).plus(difference, factor)]
        case tile.MapOp() as own if isinstance(condition, OpResult):
            last = own.body.block.last_op
            assert isinstance(last, tile.YieldOp)
            return _at_least_zero(own, last.operands[0], negated)
        case Block() if op is map.body.block and isinstance(condition, BlockArgument):
            return _at_least_zero(map, map.inputs[condition.index], negated)
        case _:
            return None
    return None if lhs is None or rhs is None else [*lhs, *rhs]


def _uncast(tile_: SSAValue) -> SSAValue:
    """The tile of which one is made by nothing but a cast of its elements, to so many bits as places need."""
    op = tile_.owner
    if not isinstance(op, tile.MapOp) or len(op.inputs) != 1:
        return tile_
    inner = list(op.body.block.ops)
    is_cast = len(inner) == 2 and isinstance(inner[0], arith.IndexCastOp)
    is_wide = isinstance(width := element_type_of(tile_.type), IntegerType) and width.width.data >= BITS
    return op.inputs[0] if is_cast and is_wide else tile_


def _places(map: tile.MapOp, value: SSAValue) -> _Sum | None:
    """An integer of a map's body that is computed from places."""
    if (number := constant_of(value)) is not None:
        return _Sum({}, number)
    if isinstance(value, BlockArgument) and value.owner is map.body.block:
        source = _uncast(map.inputs[value.index])
        return _Sum({source: 1}) if isinstance(source.owner, tile.IotaOp) else None
    op = value.owner
    if not isinstance(op, Operation) or op.parent is not map.body.block:
        return None
    match op:
        case arith.AddiOp() | arith.SubiOp():
            lhs, rhs = (_places(map, side) for side in op.operands)
            sign = 1 if isinstance(op, arith.AddiOp) else -1
            return None if lhs is None or rhs is None else lhs.plus(rhs, sign)
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
            is_wide = not isinstance(op.result.type, IntegerType) or op.result.type.width.data >= BITS
            return _places(map, op.operands[0]) if is_wide else None
        case _:
            return None
