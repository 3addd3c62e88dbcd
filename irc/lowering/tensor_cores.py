"""Products by tensor cores: mma.sync of a warp on operands that it loads, wgmma of a warp group on descriptors;
those of tcgen05 are in `irc/lowering/tcgen05.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from irc.dialects import cuda
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import ATOMS, LANES, WARP_GROUP, WGMMA_ROWS, mma_operand, replicated
from irc.lowering.coordinates import Coordinate, Walk
from irc.lowering.emitter import Emitter, Index, known
from irc.lowering.memory import read_operand
from irc.lowering.operand_descriptors import advanced, depth_of, descriptor_of, insert_steps, matrix_of
from irc.lowering.tcgen05 import multiply_tcgen05
from irc.lowering.tf32 import tf32_products
from irc.lowering.values import Buffer, Registers, ThreadCode, ThreadGroup, element_bytes

MATRIX_ROW = 16
"""Bytes of a row of the matrices that ldmatrix loads (PTX ISA, ldmatrix)."""
MATRICES = 4
"""How many it loads at most."""


def multiply(dot: cuda.DotOp, e: Emitter) -> None:
    """The instructions of a product."""
    code = ThreadCode(e, ThreadGroup(dot.thread, dot.threads))
    lower = {cuda.WGMMA: _wgmma, cuda.TCGEN05: multiply_tcgen05}.get(dot.instruction.data, _mma)
    lower(code, dot)


# mma.sync


def _mma(code: ThreadCode, dot: cuda.DotOp) -> None:
    e, atom, warps, parts = code.e, ATOMS[dot.instruction.data], dot.warp_grid, dot.part_count
    m, n, k = dot.mnk
    lhs, rhs = matrix_of(dot.lhs, (m, k)), matrix_of(dot.rhs, (k, n))
    k //= parts
    if parts > 1:
        first = e.mul(e.div(code.group.thread, code.group.count // parts), k)
        lhs, rhs = _from(code, lhs, 1, first), _from(code, rhs, 0, first)
    repeats_m, repeats_n = m // (atom.m * warps[0]), n // (atom.n * warps[1])
    size_a, size_b, size_c = atom.held
    is_split, unsigned, base = dot.tf32x3 is not None, dot.unsigned is not None, known(dot.index)
    with e.loop(0, k, atom.k, unroll=True, hint="k") as step:
        a = _matrix_operand(code, lhs, replicated(mma_operand(atom, "a", m, warps), parts), 1, step)
        b = _matrix_operand(code, rhs, replicated(mma_operand(atom, "b", n, warps), parts), 0, step)
        pairs = tf32_products(code, a, b) if is_split else [(a, b)]
        with e.loop(0, repeats_m, unroll=True, hint="m") as i, e.loop(0, repeats_n, unroll=True, hint="n") as j:
            at = e.add(base, e.mul(e.add(j, e.mul(i, repeats_n)), size_c))
            for left, right in pairs:
                e.insert(
                    cuda.MmaOp(
                        dot.accumulator,
                        e.index(at),
                        left.array,
                        e.index(e.mul(i, size_a)),
                        right.array,
                        e.index(e.mul(j, size_b)),
                        instruction=atom.name,
                        unsigned_lhs=unsigned,
                        unsigned_rhs=unsigned,
                        truncated=is_split,
                    )
                )


def _from(code: ThreadCode, buffer: Buffer, dim: int, start: Index) -> Buffer:
    """The buffer from a coordinate on."""
    origin = [code.e.add(at, start) if each == dim else at for each, at in enumerate(buffer.origin)]
    return replace(buffer, origin=tuple(origin))


def _matrix_operand(code: ThreadCode, buffer: Buffer, fragment: Fragment, k_dim: int, k: Index) -> Registers:
    """As `read_operand`, by ldmatrix where rows of 16 bytes lie in one piece, along K, or across it where
    elements have 16 bits."""
    size = element_bytes(buffer.element)
    row = MATRIX_ROW // size
    along = next((d for d in (k_dim, 1 - k_dim) if buffer.layout.run(d) >= row), None)
    others = [stride for d, modes in enumerate(buffer.layout.modes) for _, stride in modes[d == along :]]
    if size > 2 or along is None or (size == 1 and along != k_dim) or any(stride % row for stride in others):
        return read_operand(code, buffer, fragment, k_dim, k)
    return _load_matrices(code, buffer, fragment, k_dim, k, transpose=along != k_dim)


def _load_matrices(
    code: ThreadCode, buffer: Buffer, fragment: Fragment, k_dim: int, k: Index, *, transpose: bool
) -> Registers:
    """The first value mode of an operand and the first two thread modes are a matrix of 8 rows of 16 bytes; the value
    modes behind are the matrices that one instruction loads, then its repeats."""
    e = code.e
    together, repeats = _matrix_modes(fragment.values[1:])
    count = prod(mode.size for mode in together)
    lane, warp = e.split(code.group.thread, [LANES, code.group.count // LANES])
    row, number = e.split(lane, [8, LANES // 8])
    at: list[Index] = [0, 0]
    at[k_dim if transpose else 1 - k_dim] = row
    parts = e.split(e.rem(number, count), [mode.size for mode in together]) if together else []
    parts += e.split(warp, [mode.size for mode in fragment.threads[2:]])
    for mode, part in zip((*together, *fragment.threads[2:]), parts, strict=True):
        if not mode.is_replicated:
            at[mode.dim] = e.add(at[mode.dim], e.mul(part, mode.step))
    coordinates = [
        Coordinate(e.add(base, origin), (int(dim == k_dim), *(mode.step if mode.dim == dim else 0 for mode in repeats)))
        for dim, (base, origin) in enumerate(zip(at, buffer.origin, strict=True))
    ]
    apart = fragment.is_linear and not any(origin != 0 for origin in buffer.origin)
    result = code.array(fragment, buffer.element)
    with code.nest(repeats) as components:
        offset = Walk(e, [k, *components]).swizzled(buffer.layout, coordinates, apart=apart)
        address = e.i32(e.add(buffer.address, e.mul(offset, element_bytes(buffer.element))))
        register, unit = 0, count * fragment.values[0].size
        for mode, component in zip(repeats, components, strict=True):
            register = e.add(register, e.mul(component, unit))
            unit *= mode.size
        e.insert(cuda.LdmatrixOp(address, result.array, e.index(register), count=count, transpose=transpose))
    return result


def _matrix_modes(modes: Sequence[Mode]) -> tuple[list[Mode], list[Mode]]:
    """The modes that up to four matrices make, and those of the repeats."""
    together: list[Mode] = []
    left = list(modes)
    count = 1
    while left and count < MATRICES:
        size, dim, step = left.pop(0)
        taken = gcd(size, MATRICES // count)
        if taken > 1:
            together.append(Mode(taken, dim, step))
        count *= taken
        if taken < size:
            return together, [Mode(size // taken, dim, step * taken), *left]
    return together, left


# wgmma


def _wgmma(code: ThreadCode, dot: cuda.DotOp) -> None:
    """Steps of 32 bytes along K. Where the product overwrites the accumulator, the first of them does."""
    e, held = code.e, [dot.accumulator]
    if isinstance(dot.lhs.type, cuda.RegistersType):
        held.append(dot.lhs)
    for array in held:
        e.insert(cuda.RegistersFenceOp(array))
    e.insert(cuda.WgmmaFenceOp())
    steps = _steps_of_registers if dot.lhs_index is not None else _steps_of_descriptors
    steps(code, dot)
    e.insert(cuda.WgmmaCommitOp())


def _steps_of_descriptors(code: ThreadCode, dot: cuda.DotOp) -> None:
    e, (m, n, _), base = code.e, dot.mnk, known(dot.index)
    groups = code.group.count // WARP_GROUP
    group = e.value(cuda.WarpUniformOp(e.index(e.div(code.group.thread, WARP_GROUP)))) if groups > 1 else 0
    starts = (e.add(e.mul(group, WGMMA_ROWS), row) for row in range(0, m, WGMMA_ROWS * groups))

    def instruction(row: int, lhs: SSAValue, rhs: SSAValue, adds: SSAValue, **properties: Any) -> Operation:
        at = e.index(e.add(base, row * n // 2))
        return cuda.WgmmaOp(dot.accumulator, at, rhs, adds, lhs=lhs, **properties)

    insert_steps(code, dot, starts, instruction)


def _steps_of_registers(code: ThreadCode, dot: cuda.DotOp) -> None:
    """With the left operand in registers: those of 64 rows follow each other, and in them those of a step."""
    assert dot.lhs_index is not None
    e, (m, n, k), base, first = code.e, dot.mnk, known(dot.index), known(dot.lhs_index)
    rhs = matrix_of(dot.rhs, (k, n))
    b, transpose = descriptor_of(code, rhs, 0, 1, 0)
    depth = depth_of(rhs)
    rows, steps = m * WARP_GROUP // (WGMMA_ROWS * code.group.count), k // depth
    each = WGMMA_ROWS * depth // WARP_GROUP
    for row in range(rows):
        at = e.add(base, row * n // 2)
        for step in range(steps):
            own = e.add(first, (row * steps + step) * each)
            operand = advanced(code, b, rhs, 0, step, depth) if steps > 1 else b
            adds = e.constant(int(dot.overwrites is None or step > 0), i1)
            e.insert(
                cuda.WgmmaRegistersOp(
                    dot.accumulator,
                    e.index(at),
                    operand,
                    adds,
                    lhs=dot.lhs,
                    lhs_index=e.index(own),
                    n=n,
                    lhs_type=rhs.element,
                    rhs_type=rhs.element,
                    transpose_rhs=transpose,
                )
            )
