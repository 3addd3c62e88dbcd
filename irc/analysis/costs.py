"""What a `kernel.fused` computes and moves: floating-point or integer operations, and bytes of global memory.

Counts are of the program as written, not of a schedule: every operand is read once and every result written once,
whatever the tiles read again. A multiply-add is two operations, an elementwise op one for each element of its result,
a reduction or a scan one for each element of its operand; moving data costs none: operations at a point, times the
points of the op's iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from irc.dialects.kernel import FusedOp, LaunchOp
from irc.ir.dtypes import element_of
from irc.ir.iteration import CONTRACTIONS, Pattern, iteration_of, pattern_of

FLOPS = {
    Pattern.ELEMENTWISE: 1,
    Pattern.MOVE: 0,
    Pattern.MADE: 0,
    Pattern.REDUCE: 1,
    Pattern.SCAN: 1,
    Pattern.WINDOW: 1,
    Pattern.PRODUCT: 2,
    Pattern.CONVOLUTION: 2,
    Pattern.GROUPED: 2,
}
"""Operations at a point of the iteration space."""

CONVERTING = frozenset({"nd.cast", "nd.bitcast", "nd.check_indices", "nd.ascending"})
"""Elementwise ops that compute nothing."""


@dataclass(frozen=True)
class Cost:
    """flops: operations. bytes_read, bytes_written: of the kernel's operands and results."""

    flops: int
    bytes_read: int
    bytes_written: int


def cost_of(kernel: FusedOp | LaunchOp) -> Cost:
    """The cost of one launch. An operand that is bound to several arguments is read once. Operations of a tile program
    are not counted."""
    if isinstance(kernel, LaunchOp):
        return Cost(flops=0, bytes_read=_bytes(dict.fromkeys(kernel.inputs)), bytes_written=_bytes(kernel.outputs))
    return Cost(
        flops=sum(flops_of(op) for op in kernel.block.ops),
        bytes_read=_bytes(dict.fromkeys(_used(kernel))),
        bytes_written=_bytes(kernel.outputs),
    )


def flops_of(op: Operation) -> int:
    """Operations of one `nd` op, at all points of its iteration. One that does not say how it iterates, as a sort or
    what `decompose-nd` takes apart, has one for each element that it reads or gives. 0 for any other op."""
    if not op.name.startswith("nd.") or op.name in CONVERTING:
        return 0
    if (pattern := pattern_of(op)) is None:
        return max(sum(map(_elements, op.operands)), sum(map(_elements, op.results)))
    each = len(op.operands) if pattern is Pattern.WINDOW else FLOPS[pattern]
    return each and each * points_of(op)


def points_of(op: Operation) -> int:
    """The points of an op; of a contraction, those at which there is a tap of its kernel."""
    iteration = iteration_of(op)
    points = iteration.points
    if pattern_of(op) not in CONTRACTIONS:
        return points
    for bound in iteration.inputs[1].inside:
        dims = sorted(bound.expr.used_dims())
        places = list(product(*(range(iteration.dims[i].extent) for i in dims)))
        values = [0] * len(iteration.dims)
        held = 0
        for place in places:
            for i, at in zip(dims, place, strict=True):
                values[i] = at
            held += bound.low <= bound.expr.eval(values, []) < bound.high
        points = points * held // max(1, len(places))
    return points


def _used(kernel: FusedOp) -> Iterable[SSAValue]:
    return (value for value, argument in zip(kernel.inputs, kernel.block.args, strict=True) if argument.uses)


def _bytes(values: Iterable[SSAValue]) -> int:
    return sum(_elements(value) * element_of(_type(value)).size for value in values)


def _elements(value: SSAValue) -> int:
    return prod(_type(value).get_shape())


def _type(value: SSAValue) -> TensorType[Any]:
    return cast("TensorType[Any]", value.type)
