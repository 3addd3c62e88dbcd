"""Matrices of a warp: mma.sync, and the loads and stores of 8 x 8 matrices (ldmatrix, stmatrix)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.interpreters.sim.access import read_shared, write_shared
from irc.interpreters.sim.clocks import WARP
from irc.interpreters.sim.matrix_fragments import (
    coordinates,
    matrix_elements,
    mma_fragments,
    multiply_add,
    round_tf32,
    truncate_tf32,
)
from irc.interpreters.sim.memory import Array, RegisterArray
from irc.interpreters.sim.register_use import register_index
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Strand
from irc.layout.fragment import Fragment

ROW_BYTES = 16
"""Of a matrix in shared memory."""


def active_warps(s: Strand, op: Operation) -> Array:
    """The active warps, which have to be whole."""
    s.require_whole_warps(op)
    return np.unique(s.numbers // WARP)


def warp_registers(array: RegisterArray, first: int, count: int, warps: Array) -> Array:
    """Registers of some warps of the frame: warps x lanes x count."""
    rows = array.data[first : first + count].reshape(count, -1, WARP)
    return rows[:, warps].transpose(1, 2, 0)


def set_warp_registers(array: RegisterArray, first: int, warps: Array, values: Array) -> None:
    """The inverse of `warp_registers`."""
    count = values.shape[2]
    array.data[first : first + count].reshape(count, -1, WARP)[:, warps] = values.transpose(2, 0, 1)


def gather_tiles(fragment: Fragment, registers: Array) -> Array:
    """The tiles that warps hold, warps x rows x columns, from warps x lanes x registers."""
    tiles = np.zeros((len(registers), *fragment.shape), registers.dtype)
    tiles[:, *coordinates(fragment)] = registers
    return tiles


def scatter_tiles(fragment: Fragment, tiles: Array) -> Array:
    """The inverse of `gather_tiles`."""
    return tiles[:, *coordinates(fragment)]


@simulates(cuda.MmaOp)
def mma(
    s: Strand,
    op: cuda.MmaOp,
    accumulator: RegisterArray,
    index: Any,
    lhs: RegisterArray,
    lhs_index: Any,
    rhs: RegisterArray,
    rhs_index: Any,
) -> None:
    warps = active_warps(s, op)
    fragments = mma_fragments(op.instruction.data)
    slices = ((lhs, lhs_index), (rhs, rhs_index), (accumulator, index))
    starts = [register_index(s, op, a, i, f.value_count) for f, (a, i) in zip(fragments, slices, strict=True)]
    a, b, c = (
        gather_tiles(fragment, warp_registers(array, start, fragment.value_count, warps))
        for fragment, (array, _), start in zip(fragments, slices, starts, strict=True)
    )
    if op.truncated.value.data:
        a, b = truncate_tf32(a), truncate_tf32(b)
    else:
        a, b = _as_read(a, bool(op.unsigned_lhs.value.data)), _as_read(b, bool(op.unsigned_rhs.value.data))
    set_warp_registers(accumulator, starts[2], warps, scatter_tiles(fragments[2], multiply_add(a, b, c)))


def _as_read(tiles: Array, unsigned: bool) -> Array:
    """f32 operands are rounded to tf32, 8-bit integers are what the op says."""
    if tiles.dtype == np.float32:
        return round_tf32(tiles)
    return tiles.view(np.uint8) if unsigned else tiles


class _Rows:
    """The rows of the matrices: where they are in the frame's shared memory, and the lanes that name them."""

    def __init__(self, s: Strand, op: cuda.LdmatrixOp | cuda.StmatrixOp, address: Any):
        named = s.numbers % WARP < 8 * op.count.value.data
        self.lanes = s.numbers[named]
        self.byte_offsets = s.frame.shared_byte_offsets(s, op, s.spread(address)[named], ROW_BYTES, self.lanes)
        holders = self.lanes // WARP * WARP + self.lanes % 8 * 4 + 3
        self.keys: Array = s.frame.clocks.key[holders]
        """Their accesses count as those of a lane that holds some of the row, which is not the one that names it."""
        if s.frame.counters is not None:
            s.frame.counters.shared_access(op, self.lanes, self.byte_offsets, ROW_BYTES)


def _halves(op: cuda.LdmatrixOp | cuda.StmatrixOp) -> tuple[npt.NDArray[np.int64], ...]:
    """For each lane and 16-bit register: the row of those named, and the 16-bit column."""
    table = matrix_elements(op.count.value.data, transpose=bool(op.transpose.value.data))
    matrix, row, column = np.moveaxis(table, -1, 0)
    return matrix * 8 + row, column


@simulates(cuda.LdmatrixOp)
def ldmatrix(s: Strand, op: cuda.LdmatrixOp, address: Any, array: RegisterArray, index: Any) -> None:
    warps, count = active_warps(s, op), op.count.value.data
    named = _Rows(s, op, address)
    read_shared(s, op, named.byte_offsets, ROW_BYTES, named.lanes, named.keys)
    content = s.frame.shared.table(np.dtype(np.uint16), 8)[named.byte_offsets // ROW_BYTES]
    rows = content.reshape(len(warps), 8 * count, 8)
    row, column = _halves(op)
    values = np.ascontiguousarray(rows[:, row, column]).view(array.data.dtype)
    set_warp_registers(array, register_index(s, op, array, index, values.shape[2]), warps, values)


@simulates(cuda.StmatrixOp)
def stmatrix(s: Strand, op: cuda.StmatrixOp, address: Any, array: RegisterArray, index: Any) -> None:
    warps, count = active_warps(s, op), op.count.value.data
    named = _Rows(s, op, address)
    elements = 4 * count // array.data.itemsize
    held = warp_registers(array, register_index(s, op, array, index, elements), elements, warps)
    rows = np.zeros((len(warps), 8 * count, 8), np.uint16)
    row, column = _halves(op)
    rows[:, row, column] = np.ascontiguousarray(held).view(np.uint16)
    content = rows.reshape(-1, 8)
    write_shared(s, op, named.byte_offsets, ROW_BYTES, content, named.lanes, named.keys)
    s.frame.shared.table(np.dtype(np.uint16), 8)[named.byte_offsets // ROW_BYTES] = content
