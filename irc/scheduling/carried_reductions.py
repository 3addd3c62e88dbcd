"""What a loop carries and combines with a reduction in each step: sums, maxima, and sums of exponentials relative to a
maximum that the loop carries too.

A sum of exp(a - m) relative to a maximum m that grows is scaled in each step, as all columns that were added to it.
Threads may do so with maxima of their own columns, and scale their sums to the maximum of all in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.ir.blocks import end_of
from irc.scheduling.scalar_factors import factor_of, number_of, term_of

COMBINERS = (arith.AddfOp, arith.AddiOp, arith.MaximumfOp, arith.MinimumfOp)
"""Of reductions whose results are combined from step to step."""


@dataclass(frozen=True)
class Carried:
    """A value that `loop` carries at `index`: `map` combines it with what `reduce` gives."""

    loop: scf.ForOp
    index: int
    reduce: tile.ReduceOp
    map: tile.MapOp

    @property
    def before(self) -> BlockArgument:
        """The value before a step."""
        return self.loop.body.block.args[1 + self.index]

    @property
    def start(self) -> FloatAttr | IntegerAttr | None:
        """The number that it begins with everywhere."""
        splat = self.loop.iter_args[self.index].owner
        constant = splat.value.owner if isinstance(splat, tile.SplatOp) else None
        value = constant.value if isinstance(constant, arith.ConstantOp) else None
        return value if isinstance(value, FloatAttr | IntegerAttr) else None

    @property
    def reduced(self) -> TensorType[Attribute]:
        """The type of what is reduced."""
        type = self.reduce.inputs[0].type
        assert isinstance(type, TensorType)
        return type

    @property
    def is_alone(self) -> bool:
        """Whether the step does nothing else with the value, before and behind it."""
        return len(list(self.before.uses)) == 1 and self.map.result.has_one_use()

    def argument(self, value: SSAValue) -> BlockArgument | None:
        """The argument of the map's body that an operand is; None of what is none."""
        at = [index for index, each in enumerate(self.map.inputs) if each is value]
        return self.map.body.block.args[at[0]] if len(at) == 1 else None


def carried_of(loop: scf.ForOp) -> list[Carried]:
    """All such values of a loop, whose reductions nothing else needs."""
    found: list[Carried] = []
    for index, value in enumerate(end_of(loop.body.block).operands):
        map = value.owner
        if not isinstance(map, tile.MapOp) or map.parent is not loop.body.block:
            continue
        for reduce in {each.owner for each in map.inputs if isinstance(each.owner, tile.ReduceOp)}:
            each = Carried(loop, index, reduce, map)
            is_one = len(reduce.inputs) == 1 and reduce.outputs[0].has_one_use()
            if is_one and reduce.parent is map.parent and _combiner(reduce) is not None and each.argument(each.before):
                found.append(each)
    return found


def deferrable(loop: scf.ForOp) -> Iterator[tuple[Carried, tuple[list[Carried], list[tile.MapOp]] | None]]:
    """The values of a loop whose reductions threads can do behind it, each with the sums that are relative to it, where
    there are some, and what computes that they add up. None of loops with products."""
    if any(isinstance(op, tile.DotOp) for op in loop.walk()):
        return
    values = carried_of(loop)
    yield from [(each, None) for each in values if each.is_alone and begins_apart(each)]
    for maximum in [each for each in values if is_maximum(each) and not each.is_alone and begins_apart(each)]:
        if (found := relative_sums(maximum, values)) is not None:
            yield maximum, found


def _combiner(op: tile.ReduceOp | tile.MapOp) -> type[Operation] | None:
    """The one operation that a body does with its two arguments."""
    body = op.body.block
    first, end = body.first_op, end_of(body)
    if not isinstance(first, COMBINERS) or first.next_op is not end or list(end.operands) != [first.result]:
        return None
    return type(first) if len(body.args) == 2 and set(first.operands) == set(body.args) else None


def is_maximum(each: Carried) -> bool:
    return _combines(each) and _combiner(each.reduce) is arith.MaximumfOp


def begins_apart(each: Carried) -> bool:
    """Whether the value is that of the steps before, combined with the reduction of this one as it combines, and
    threads may begin with the number that the whole begins with: a maximum does not change by that."""
    is_extreme = _combiner(each.reduce) in (arith.MaximumfOp, arith.MinimumfOp)
    return _combines(each) and each.start is not None and (is_extreme or each.start.value.data == 0)


def _combines(each: Carried) -> bool:
    return _combiner(each.map) is not None and _combiner(each.map) is _combiner(each.reduce)


def _adds_up(each: Carried) -> bool:
    """Whether it adds to what begins at zero."""
    return _combiner(each.reduce) is arith.AddfOp and each.start is not None and each.start.value.data == 0


def relative_sums(maximum: Carried, values: list[Carried]) -> tuple[list[Carried], list[tile.MapOp]] | None:
    """The sums relative to a maximum, and the maps that compute what they add up; None where anything else in the loop
    needs the maximum."""
    own, end = maximum.map, end_of(maximum.loop.body.block)
    users = [use.operation for value in (maximum.before, own.result) for use in value.uses]
    sums = [each for each in values if each.map in users and each.map is not own]
    rest = [op for op in dict.fromkeys(users) if op is not own and op is not end and op not in [s.map for s in sums]]
    weights = [op for op in rest if isinstance(op, tile.MapOp)]
    exponents = {weight: _exponent(weight, maximum) for weight in weights}
    if len(weights) < len(rest) or any(each is None or each <= 0 for each in exponents.values()):
        return None
    for each in sums:
        weight = each.reduce.inputs[0].owner
        is_alike = each.reduced == maximum.reduced and each.reduce.axis_values == maximum.reduce.axis_values
        if not _adds_up(each) or not each.is_alone or not is_alike or weight not in weights:
            return None
        assert isinstance(weight, tile.MapOp)
        if _scale(each, maximum) != exponents[weight]:
            return None
    reduces = {each.reduce for each in sums}
    if any(use.operation not in reduces for weight in weights for use in weight.result.uses):
        return None
    return sums, weights


def is_at_most_one(weight: tile.MapOp, maximum: Carried) -> bool:
    """Whether such a map computes exp(x - maximum) of an x that the maximum is of, or 0."""
    source = maximum.reduce.inputs[0].owner
    powers = [op for op in weight.body.block.ops if isinstance(op, math.ExpOp)]
    if len(powers) != 1 or not isinstance(source, tile.MapOp):
        return False
    result, difference = end_of(weight.body.block).operands[0], powers[0].operand.owner
    if _unless(result, 0.0) is not powers[0].result or not isinstance(difference, arith.SubfOp):
        return False
    whole = _unless(end_of(source.body.block).operands[0], float("-inf"))
    return _is_same(difference.lhs, weight, whole, source)


def _unless(value: SSAValue, number: float) -> SSAValue:
    """What a choice gives beside a number."""
    if isinstance(value.owner, arith.SelectOp):
        for one, other in ((value.owner.lhs, value.owner.rhs), (value.owner.rhs, value.owner.lhs)):
            if number_of(one) == number:
                return other
    return value


def _is_same(one: SSAValue, of: tile.MapOp, other: SSAValue, of_other: tile.MapOp) -> bool:
    """Whether the bodies of two maps compute two values alike, from the same tiles."""
    if isinstance(one, BlockArgument) and isinstance(other, BlockArgument):
        return of.inputs[one.index] is of_other.inputs[other.index]
    a, b = one.owner, other.owner
    if not isinstance(a, Operation) or not isinstance(b, Operation):
        return False
    if type(a) is not type(b) or a.properties != b.properties or len(a.operands) != len(b.operands):
        return False
    return all(_is_same(x, of, y, of_other) for x, y in zip(a.operands, b.operands, strict=True))


def _exponent(weight: tile.MapOp, maximum: Carried) -> float | None:
    """Of a map that computes g * exp(-c * maximum): c."""
    at = [index for index, each in enumerate(weight.inputs) if each is maximum.map.result]
    if len(at) != 1 or maximum.before in weight.inputs or shape_of(weight.result.type) != shape_of(maximum.reduced):
        return None
    argument = weight.body.block.args[at[0]]
    found = factor_of(end_of(weight.body.block).operands[0], {argument})
    return -found[argument] if found else None


def _scale(each: Carried, maximum: Carried) -> float | None:
    """Of a map that computes sum * exp(c * (maximum before - maximum)) + what is added: c."""
    values = (each.before, each.reduce.outputs[0], maximum.before, maximum.map.result)
    arguments = [each.argument(value) for value in values]
    if len(each.map.inputs) != len(values) or None in arguments:
        return None
    total, added, before, now = (argument for argument in arguments if argument is not None)
    result = end_of(each.map.body.block).operands[0].owner
    match result:
        case arith.AddfOp() if added in (result.lhs, result.rhs):
            product = result.lhs if result.rhs is added else result.rhs
            factors = list(product.owner.operands) if isinstance(product.owner, arith.MulfOp) else []
        case math.FmaOp() if result.c is added:
            factors = [result.a, result.b]
        case _:
            return None
    if total not in factors or len(factors) != 2:
        return None
    power = factors[0] if factors[1] is total else factors[1]
    found = factor_of(power, {before, now}) if isinstance(power.owner, math.ExpOp | math.Exp2Op) else None
    if not found or set(found) != {before, now} or found[before] != -found[now]:
        return None
    return found[before] if _is_difference(power, before, now) else None


def _is_difference(power: SSAValue, before: SSAValue, now: SSAValue) -> bool:
    """Whether nothing but the two and numbers is in an exponent, with none added to them."""
    owner = power.owner
    assert isinstance(owner, math.ExpOp | math.Exp2Op)
    return _is_linear(owner.operand, {before, now})


def _is_linear(value: SSAValue, arguments: set[SSAValue]) -> bool:
    if value in arguments:
        return True
    op = value.owner
    if isinstance(op, arith.AddfOp | arith.SubfOp):
        return _is_linear(op.lhs, arguments) and _is_linear(op.rhs, arguments)
    if isinstance(op, arith.MulfOp):
        return any(_is_linear(each, arguments) for each in (op.lhs, op.rhs)) and term_of(value, arguments) is not None
    return isinstance(op, arith.NegfOp) and _is_linear(op.operand, arguments)
