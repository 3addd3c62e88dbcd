"""Products by tensor cores: mma.sync of a warp on operands that it loads, wgmma of a warp group on descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i64
from xdsl.ir import SSAValue

from irc.dialects import cuda
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import ATOMS, LANES, WARP_GROUP, WGMMA_ROWS, mma_operand, replicated, wgmma_depth
from irc.lowering.coordinates import Coordinate, Walk
from irc.lowering.emitter import Emitter, Index, known
from irc.lowering.memory import element_offset, read_operand
from irc.lowering.tf32 import tf32_products
from irc.lowering.values import Buffer, Registers, ThreadCode, ThreadGroup, element_bytes

MATRIX_ROW = 16
"""Bytes of a row of the matrices that ldmatrix loads (PTX ISA, ldmatrix)."""
MATRICES = 4
"""How many it loads at most."""

_U8 = IntegerType(8, Signedness.UNSIGNED)


def multiply(dot: cuda.DotOp, e: Emitter) -> None:
    """The instructions of a product."""
    code = ThreadCode(e, ThreadGroup(dot.thread, dot.threads))
    lower = _wgmma if dot.instruction.data == cuda.WGMMA else _mma
    lower(code, dot)


def _matrix(operand: SSAValue, shape: tuple[int, int]) -> Buffer:
    op = operand.owner
    assert isinstance(op, cuda.MatrixOp)
    assert isinstance(op.result.type, cuda.MatrixType)
    type = op.result.type
    return Buffer(known(op.address), type.layout.data, type.element, tuple(map(known, op.origin)), shape)


# mma.sync


def _mma(code: ThreadCode, dot: cuda.DotOp) -> None:
    e, atom, warps, parts = code.e, ATOMS[dot.instruction.data], dot.warp_grid, dot.part_count
    m, n, k = dot.mnk
    lhs, rhs = _matrix(dot.lhs, (m, k)), _matrix(dot.rhs, (k, n))
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
    e, (m, n, k), base = code.e, dot.mnk, known(dot.index)
    lhs, rhs = _matrix(dot.lhs, (m, k)), _matrix(dot.rhs, (k, n))
    groups = code.group.count // WARP_GROUP
    depth, types = _depth(rhs), [_U8 if dot.unsigned is not None else each.element for each in (lhs, rhs)]
    group = e.value(cuda.WarpUniformOp(e.index(e.div(code.group.thread, WARP_GROUP)))) if groups > 1 else 0
    b, transpose_b = _descriptor(code, rhs, 0, 1, 0)
    for row in range(m // (WGMMA_ROWS * groups)):
        start = e.add(e.mul(group, WGMMA_ROWS), row * WGMMA_ROWS * groups)
        a, transpose_a = _descriptor(code, lhs, 1, 0, start)
        with e.loop(0, k // depth, unroll=True, hint="k") as step:
            e.insert(
                cuda.WgmmaOp(
                    dot.accumulator,
                    e.index(e.add(base, row * n // 2)),
                    _advance(code, a, lhs, 1, step, depth),
                    _advance(code, b, rhs, 0, step, depth),
                    e.constant(1, i1) if dot.overwrites is None else e.compare("ne", step, 0),
                    n=n,
                    lhs_type=types[0],
                    rhs_type=types[1],
                    transpose_lhs=transpose_a,
                    transpose_rhs=transpose_b,
                )
            )


def _steps_of_registers(code: ThreadCode, dot: cuda.DotOp) -> None:
    """With the left operand in registers: those of 64 rows follow each other, and in them those of a step."""
    assert dot.lhs_index is not None
    e, (m, n, k), base, first = code.e, dot.mnk, known(dot.index), known(dot.lhs_index)
    rhs = _matrix(dot.rhs, (k, n))
    b, transpose = _descriptor(code, rhs, 0, 1, 0)
    depth = _depth(rhs)
    rows, steps = m * WARP_GROUP // (WGMMA_ROWS * code.group.count), k // depth
    each = WGMMA_ROWS * depth // WARP_GROUP
    for row in range(rows):
        at = e.add(base, row * n // 2)
        for step in range(steps):
            own = e.add(first, (row * steps + step) * each)
            operand = _advance(code, b, rhs, 0, step, depth) if steps > 1 else b
            adds = e.constant(int(dot.overwrites is None or step > 0), i1)
            e.insert(
                cuda.WgmmaRegistersOp(
                    dot.accumulator,
                    e.index(at),
                    dot.lhs,
                    e.index(own),
                    operand,
                    adds,
                    n=n,
                    transpose_rhs=transpose,
                )
            )


def _depth(operand: Buffer) -> int:
    return wgmma_depth(element_bytes(operand.element))


def _advance(code: ThreadCode, descriptor: SSAValue, buffer: Buffer, k_dim: int, step: Index, depth: int) -> SSAValue:
    """The descriptor of step `step` of `depth` elements along k, in units of 16 bytes: inside a panel, then from panel
    to panel."""
    e = code.e
    size = element_bytes(buffer.element)
    (width, stride), *panels = buffer.layout.modes[k_dim]
    counts = [width // depth, *(count for count, _ in panels)]
    units = [depth * stride * size // 16, *(stride * size // 16 for _, stride in panels)]
    offset: Index = 0
    for part, unit in zip(e.split(step, counts), units, strict=True):
        offset = e.add(offset, e.mul(part, unit))
    return e.value(arith.AddiOp(descriptor, e.value(arith.IndexCastOp(e.index(offset), i64))))


def _descriptor(code: ThreadCode, buffer: Buffer, k_dim: int, free_dim: int, start: Index) -> tuple[SSAValue, bool]:
    """The descriptor of an operand from free coordinate `start` on, and whether it is MN-major.

    K-major: panels of 64 x 16-bit elements along K; 8 rows of 128 bytes are a group. MN-major: panels along the free
    dimension, `leading` bytes apart; 8 rows of k are a group.
    """
    e = code.e
    size = element_bytes(buffer.element)
    modes = buffer.layout.modes
    at: list[Index] = [0, 0]
    at[free_dim] = start
    address = e.i32(e.add(buffer.address, e.mul(element_offset(code, buffer, at), size)))
    if modes[k_dim][0][1] == 1:
        pitch = modes[free_dim][0][1] * size
        return e.value(cuda.DescriptorOp(address, leading=16, stride=8 * pitch, swizzle=pitch)), False
    pitch = modes[k_dim][0][1] * size
    leading = modes[free_dim][1][1] * size if len(modes[free_dim]) > 1 else modes[k_dim][0][0] * pitch
    return e.value(cuda.DescriptorOp(address, leading=leading, stride=8 * pitch, swizzle=pitch)), True
