"""What a `kernel.fused` computes and moves: floating-point or integer operations, and bytes of global memory.

Counts are of the program as written, not of a schedule: every operand is read once and every result written once,
whatever the tiles read again. A multiply-add is two operations, an elementwise op one for each element of its result,
a reduction or a scan one for each element of its operand; moving data costs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Operation, SSAValue

from irc.dialects.kernel import FusedOp
from irc.ir.dtypes import element_of

MOVING = frozenset(
    f"nd.{name}"
    for name in (
        "cast bitcast broadcast permute reshape concat pad slice flip tile tril triu "
        "take take_along check_indices one_hot constant iota"
    ).split()
)
"""Ops that compute nothing: they choose, place or convert elements."""

REDUCING = frozenset(
    f"nd.{name}"
    for name in "sum prod mean var max min any all argmax argmin cumsum cumprod sort topk scatter_add".split()
)
"""Ops that cost one operation for each element of their operand."""


@dataclass(frozen=True)
class Cost:
    """flops: operations. bytes_read, bytes_written: of the kernel's operands and results."""

    flops: int
    bytes_read: int
    bytes_written: int


def cost_of(kernel: FusedOp) -> Cost:
    """The cost of one launch. An operand that is bound to several arguments is read once."""
    return Cost(
        flops=sum(flops_of(op) for op in kernel.block.ops),
        bytes_read=_bytes(dict.fromkeys(_used(kernel))),
        bytes_written=_bytes(kernel.outputs),
    )


def flops_of(op: Operation) -> int:
    """Operations of one `nd` op; 0 for any other op."""
    if not op.name.startswith("nd.") or op.name in MOVING:
        return 0
    if op.name == "nd.matmul":
        return _matmul_flops(op)
    if op.name in REDUCING:
        return _elements(op.operands[0])
    return sum(_elements(result) for result in op.results)


def _matmul_flops(op: Operation) -> int:
    """Two for each element of the result and of the contracted extents."""
    contracted = cast("DenseArrayBase[Any]", op.properties["lhs_contract"])
    shape = _type(op.operands[0]).get_shape()
    return 2 * _elements(op.results[0]) * prod(shape[int(axis)] for axis in contracted.get_values())


def _used(kernel: FusedOp) -> Iterable[SSAValue]:
    return (value for value, argument in zip(kernel.inputs, kernel.block.args, strict=True) if argument.uses)


def _bytes(values: Iterable[SSAValue]) -> int:
    return sum(_elements(value) * element_of(_type(value)).size for value in values)


def _elements(value: SSAValue) -> int:
    return prod(_type(value).get_shape())


def _type(value: SSAValue) -> TensorType[Any]:
    return cast("TensorType[Any]", value.type)
