"""A thread's place in the grid, register arrays, and ops that order or hint."""

from __future__ import annotations

from typing import Any

import numpy as np

from irc.dialects import cuda
from irc.dialects.scalar import CheckIndexOp
from irc.interpreters.sim.clocks import WARP
from irc.interpreters.sim.memory import RegisterArray
from irc.interpreters.sim.products import products
from irc.interpreters.sim.register_use import RegisterUse, register_index
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.scalars import dtype_of
from irc.interpreters.sim.strands import Strand
from irc.ir.rounding import cast_array


@simulates(cuda.ThreadIdOp)
def thread_id(s: Strand, op: cuda.ThreadIdOp) -> Any:
    return s.frame.thread


@simulates(cuda.BlockIdOp)
def block_id(s: Strand, op: cuda.BlockIdOp) -> Any:
    return s.frame.place(op.axis.value.data)


@simulates(cuda.ClusterRankOp)
def cluster_rank(s: Strand, op: cuda.ClusterRankOp) -> Any:
    return s.frame.cluster_rank()


@simulates(cuda.WarpUniformOp)
def warp_uniform(s: Strand, op: cuda.WarpUniformOp, value: Any) -> Any:
    if np.ndim(value) == 0:
        return value
    return np.repeat(value.reshape(-1, WARP)[:, 0], WARP)


@simulates(cuda.FirstLaneOp)
def first_lane(s: Strand, op: cuda.FirstLaneOp, value: Any) -> Any:
    others = s.numbers % WARP != 0
    if others.any():
        s.fail("divergence", op, f"{op.name} is for lane 0 of a warp alone, others run it too", others)
    return value


@simulates(cuda.RegistersOp)
def registers(s: Strand, op: cuda.RegistersOp) -> RegisterArray:
    assert isinstance(op.result.type, cuda.RegistersType)
    type = op.result.type
    array = RegisterArray(type.count, dtype_of(type.element, s.frame.code.index), s.frame.lane_count)
    if any(isinstance(use.operation, cuda.WgmmaOp | cuda.WgmmaRegistersOp) for use in op.result.uses):
        array.use = RegisterUse(type.count, products(s))
    return array


@simulates(cuda.GetOp)
def get(s: Strand, op: cuda.GetOp, array: RegisterArray, index: Any) -> Any:
    """A copy: the register may be written again while the value lives."""
    return array.data[register_index(s, op, array, index)].copy()


@simulates(cuda.SetOp)
def set_element(s: Strand, op: cuda.SetOp, array: RegisterArray, index: Any, value: Any) -> None:
    row = array.data[register_index(s, op, array, index)]
    if s.mask is None:
        row[...] = value
    else:
        np.copyto(row, value, where=s.mask)


@simulates(cuda.PackedOp)
def packed(
    s: Strand,
    op: cuda.PackedOp,
    array: RegisterArray,
    index: Any,
    lhs: RegisterArray,
    lhs_index: Any,
    rhs: RegisterArray,
    rhs_index: Any,
) -> None:
    """In f64, which is exact but for sums that round far below."""
    operands: list[Any] = []
    for source, at in ((lhs, lhs_index), (rhs, rhs_index)):
        first = register_index(s, op, source, at, cuda.PAIR)
        operands.append(source.data[first : first + cuda.PAIR].astype(np.float64))
    with np.errstate(all="ignore"):
        values = cast_array(cuda.PACKED[op.kind.data].meaning(*operands), array.data.dtype)
    first = register_index(s, op, array, index, cuda.PAIR)
    rows = array.data[first : first + cuda.PAIR]
    np.copyto(rows, values, where=True if s.mask is None else s.mask)


@simulates(cuda.PackedWidenOp)
def packed_widen(
    s: Strand,
    op: cuda.PackedWidenOp,
    array: RegisterArray,
    index: Any,
    source: RegisterArray,
    lhs_index: Any,
    rhs_index: Any,
) -> None:
    read = [source.data[register_index(s, op, source, at)] for at in (lhs_index, rhs_index)]
    values = np.stack(read)
    values = values.view(np.uint8) if op.unsigned is not None else values
    if op.field is not None:
        first, count = op.field
        values = (values << (cuda.BYTE - first - count)) >> (cuda.BYTE - count)
    values = cast_array(values, array.data.dtype)
    first = register_index(s, op, array, index, cuda.PAIR)
    np.copyto(array.data[first : first + cuda.PAIR], values, where=True if s.mask is None else s.mask)


@simulates(CheckIndexOp)
def check_index(s: Strand, op: CheckIndexOp, index: Any, inside: Any) -> Any:
    held = s.spread(inside)
    if not held.all():
        s.fail("out of bounds", op, f"an index is out of range: {op.expected}", ~held)
    return index


@simulates(cuda.DependencyWaitOp, cuda.LaunchDependentsOp)
def nothing(s: Strand, op: Any, *operands: Any) -> None:
    """Hints: launches run one after the other."""
