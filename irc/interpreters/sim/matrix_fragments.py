"""Matrix instructions on arrays: which lane holds which element, and what their products are.

A product is exact: operands are widened to float64 (integers to int64), summed, added to the accumulator and rounded
once to its type. Tensor cores instead align the products of one instruction, truncate them and add them with
truncation, so that their error grows towards 0 with K (docs/levels/tile.md, Numbers on tensor cores): results here are
right where the hardware's are, to the hardware's tolerance, and never the same bits by construction.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from irc.ir.rounding import cast_array
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import ATOMS, LANES

Array = npt.NDArray[Any]

_TF32_DROPPED = 13
"""Bits of an f32 that tf32 does not have: it keeps 10 of the significand."""


@cache
def coordinates(fragment: Fragment) -> tuple[npt.NDArray[np.int64], ...]:
    """For each dimension of the tile, the coordinate that each thread holds in each register: arrays of threads x
    registers."""
    threads = np.arange(fragment.thread_count, dtype=np.int64)[:, None]
    values = np.arange(fragment.value_count, dtype=np.int64)[None, :]
    at = [np.zeros((fragment.thread_count, fragment.value_count), np.int64) for _ in fragment.shape]
    for index, modes in ((threads, fragment.threads), (values, fragment.values)):
        for mode in modes:
            if not mode.is_replicated:
                at[mode.dim] += index % mode.size * mode.step
            index = index // mode.size
    return tuple(at)


def gather(fragment: Fragment, registers: Array) -> Array:
    """The tile that threads hold: `registers` is threads x registers."""
    tile = np.zeros(fragment.shape, registers.dtype)
    tile[coordinates(fragment)] = registers
    return tile


def scatter(fragment: Fragment, tile: Array) -> Array:
    """The registers, threads x registers, of threads that hold the tile."""
    return tile[coordinates(fragment)]


@cache
def mma_fragments(instruction: str) -> tuple[Fragment, Fragment, Fragment]:
    """The fragments of a, b and the accumulator of an mma.sync."""
    atom = ATOMS[instruction]
    return (
        Fragment((atom.m, atom.k), *atom.a),
        Fragment((atom.k, atom.n), *atom.b),
        Fragment((atom.m, atom.n), *atom.c),
    )


@cache
def wgmma_accumulator_rows(n: int) -> Fragment:
    """The 16 x n part of a wgmma's accumulator that one of the group's four warps holds (PTX ISA, 9.7.15.5.1)."""
    return Fragment((16, n), (Mode(4, 1, 2), Mode(8, 0, 1)), (Mode(2, 1, 1), Mode(2, 0, 8), Mode(n // 8, 1, 8)))


def wgmma_operand_rows(element_bytes: int) -> Fragment:
    """The 16 x k part of a left operand in registers that one warp holds: mma.sync's a with 32 bytes of k."""
    return mma_fragments({1: "m16n8k32", 2: "m16n8k16", 4: "m16n8k8"}[element_bytes])[0]


def truncate_tf32(x: Array) -> Array:
    """f32 as wgmma reads tf32: the low bits are ignored."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return (bits >> _TF32_DROPPED << _TF32_DROPPED).view(np.float32)


def round_tf32(x: Array) -> Array:
    """f32 to tf32, nearest, ties away from zero (PTX ISA, cvt.rna.tf32): what irc prints before mma.sync."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    finite = bits & np.uint32(0x7F800000) != np.uint32(0x7F800000)
    return truncate_tf32(np.where(finite, bits + np.uint32(1 << _TF32_DROPPED - 1), bits).view(np.float32))


def multiply_add(a: Array, b: Array, accumulator: Array) -> Array:
    """a b + accumulator, in the accumulator's type."""
    if accumulator.dtype.kind == "i":
        product = a.astype(np.int64) @ b.astype(np.int64)
        return (accumulator.astype(np.int64) + product).astype(accumulator.dtype)
    with np.errstate(all="ignore"):
        total = accumulator.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64)
    return cast_array(total, accumulator.dtype)


@cache
def matrix_elements(count: int, *, transpose: bool) -> npt.NDArray[np.int64]:
    """ldmatrix and stmatrix: for each lane and each of its 2 * count 16-bit registers, (matrix, row, column); an array
    of lanes x 2 count x 3 (PTX ISA, 9.7.14.5.15)."""
    lane = np.arange(LANES)[:, None]
    register = np.arange(2 * count)[None, :]
    matrix = np.broadcast_to(register // 2, (LANES, 2 * count))
    outer = np.broadcast_to(lane // 4, (LANES, 2 * count))
    inner = lane % 4 * 2 + register % 2
    row, column = (inner, outer) if transpose else (outer, inner)
    return np.stack([matrix, row, column], axis=-1).astype(np.int64)
