"""nd ops on arrays that have one for each number of some loops: with leading axes for these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from irc.analysis.op_classes import is_elementwise
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, rank_of, shape_of
from irc.dialects.nd.reduce import MonoidOp
from irc.ir.properties import attribute_of
from irc.ir.rewriting import Inserter, location_of
from irc.support.diagnostics import IrcError

Loops: TypeAlias = tuple[int, ...]
"""Numbers of loops, increasing."""


@dataclass(frozen=True)
class Batched:
    """An array for each number of `loops`, which its leading axes are of."""

    value: SSAValue
    loops: Loops = ()

    @property
    def counts(self) -> dict[int, int]:
        """The extents of the leading axes, by loop."""
        return dict(zip(self.loops, shape_of(self.value), strict=False))


def spread(array: Batched, counts: dict[int, int], at: Inserter) -> SSAValue:
    """The array with a leading axis for each of these loops, in order, among which are its own."""
    loops = tuple(sorted(counts))
    if loops == array.loops:
        return array.value
    shape = shape_of(array.value)[len(array.loops) :]
    dims = [*(loops.index(loop) for loop in array.loops), *range(len(loops), len(loops) + len(shape))]
    return at.value(nd.BroadcastOp(array.value, [*(counts[loop] for loop in loops), *shape], dims))


def apply(op: Operation, operands: Sequence[Batched], at: Inserter) -> list[Batched]:
    """What an op gives of batched operands. IrcError where it cannot be said."""
    counts: dict[int, int] = {}
    for each in operands:
        counts.update(each.counts)
    loops = tuple(sorted(counts))
    if not loops:
        copy = op.clone(dict(zip(op.operands, (each.value for each in operands), strict=True)))
        return [Batched(result) for result in at(copy).results]
    if isinstance(op, nd.MatmulOp):
        return [_matmul(op, operands, loops, at)]
    values = [spread(each, counts, at) for each in operands]
    leading = [counts[loop] for loop in loops]
    properties = _shifted(op, leading)
    types = [nd.tensor([*leading, *shape_of(result)], element_of(result)) for result in op.results]
    made = type(op).create(operands=values, result_types=types, properties=properties, attributes=dict(op.attributes))
    made.location = location_of(op)
    return [Batched(result, loops) for result in at(made).results]


def _shifted(op: Operation, leading: Sequence[int]) -> dict[str, Attribute]:
    """The properties of an op whose operands have these axes in front."""
    properties, count = dict(op.properties), len(leading)

    def moved(name: str) -> Attribute:
        found: Any = properties[name]
        if isinstance(found, DenseArrayBase):
            return attribute_of([axis + count for axis in ints(found)])
        assert isinstance(found, IntegerAttr)
        return attribute_of(integer(found) + count)

    match op:
        case nd.BroadcastOp():
            properties["dims"] = attribute_of([*range(count), *(dim + count for dim in ints(op.dims))])
        case nd.PermuteOp():
            properties["permutation"] = attribute_of([*range(count), *(axis + count for axis in ints(op.permutation))])
        case nd.SliceOp():
            properties["starts"] = attribute_of([*[0] * count, *ints(op.starts)])
            properties["stops"] = attribute_of([*leading, *ints(op.stops)])
            properties["steps"] = attribute_of([*[1] * count, *ints(op.steps)])
        case nd.ReshapeOp():
            pass
        case MonoidOp() | nd.MeanOp() | nd.VarOp() | nd.ConcatOp() | nd.NormalizeOp():
            name = "axes" if "axes" in properties else "axis"
            properties[name] = moved(name)
        case _ if is_elementwise(op) or (isinstance(op, nd.ComposedOp) and "axis" not in properties):
            pass
        case _:
            raise IrcError(f"{op.name} in a loop over a range has no meaning as an op on whole arrays", location_of(op))
    return properties


def _matmul(op: nd.MatmulOp, operands: Sequence[Batched], loops: Loops, at: Inserter) -> Batched:
    """Loops of both operands become batches, those of one are free axes of it."""
    lhs, rhs = operands
    both = [loop for loop in loops if loop in lhs.loops and loop in rhs.loops]
    sides: list[dict[str, list[int]]] = []
    for side, batch, contract in (
        (lhs, ints(op.lhs_batch), ints(op.lhs_contract)),
        (rhs, ints(op.rhs_batch), ints(op.rhs_contract)),
    ):
        count = len(side.loops)
        sides.append(
            {
                "batch": [*(side.loops.index(loop) for loop in both), *(axis + count for axis in batch)],
                "contract": [axis + count for axis in contract],
            }
        )
    product = at.value(
        nd.MatmulOp(
            lhs.value,
            rhs.value,
            lhs_batch=sides[0]["batch"],
            rhs_batch=sides[1]["batch"],
            lhs_contract=sides[0]["contract"],
            rhs_contract=sides[1]["contract"],
            element=element_of(op.result),
            precision=op.precision.data,
        )
    )
    # Its axes: loops of both, batches, loops and axes of the left operand, loops and axes of the right one.
    left = [loop for loop in lhs.loops if loop not in both]
    right = [loop for loop in rhs.loops if loop not in both]
    batches, free = len(op.lhs_batch), len(op.lhs_free)
    at_left = len(both) + batches
    at_right = at_left + len(left) + free
    places = {loop: number for number, loop in enumerate(both)}
    places.update({loop: at_left + number for number, loop in enumerate(left)})
    places.update({loop: at_right + number for number, loop in enumerate(right)})
    order = [places[loop] for loop in loops]
    order += [axis for axis in range(rank_of(product)) if axis not in order]
    if order != list(range(len(order))):
        product = at.value(nd.PermuteOp(product, order))
    return Batched(product, loops)
