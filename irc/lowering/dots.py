"""Matrix products: scalar multiply-adds, mma.sync of a warp, wgmma of a warp group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AnyFloat, Float32Type, FloatAttr, IntegerType, Signedness, TensorType, i1, i64
from xdsl.ir import Attribute, Block, SSAValue

from irc.analysis.pending_dots import COMPLETE, is_awaited, issued_since, leaves_in_flight
from irc.dialects import cuda, tile
from irc.ir.blocks import block_of
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import LANES, WARP_GROUP, WGMMA_ROWS, mma_operand, replicated, warp_grid, wgmma_depth
from irc.layout.traffic import shared_vector
from irc.layout_assignment.operand_layouts import mma_atom
from irc.lowering.coordinates import Coordinate, Walk
from irc.lowering.emitter import Index
from irc.lowering.memory import element_offset, in_channel, shared_address
from irc.lowering.tf32 import tf32_products
from irc.lowering.values import Buffer, Code, Registers, Splat, Tile, element_bytes, tile_element
from irc.support.diagnostics import IrcError

MAX_PENDING = 7
"""Groups of wgmma that a wait can leave in flight (PTX ISA, wgmma.wait_group)."""

MATRIX_ROW = 16
"""Bytes of a row of the matrices that ldmatrix loads (PTX ISA, ldmatrix)."""
MATRICES = 4
"""How many it loads at most."""

_U8 = IntegerType(8, Signedness.UNSIGNED)


def lower_dot(code: Code, op: tile.DotOp) -> None:
    element = tile_element(op.acc.type)
    source = code.tile(op.acc)
    instruction = op.instruction.data if op.instruction is not None else ""
    starts = instruction == "wgmma" and _is_zero(source)
    if starts:
        acc = code.array(source.fragment, element, op.result.name_hint)
    elif isinstance(source, Registers) and (isinstance(op.acc.type, tile.PendingType) or _is_last_use(op)):
        acc = source
    else:
        acc = code.array(source.fragment, element, op.result.name_hint)
        code.copy(source, acc)
    rhs = code.buffer(op.rhs)
    match instruction:
        case "wgmma":
            _wgmma(code, op, rhs, acc, accumulates=not starts)
        case "mma":
            _mma(code, op, code.buffer(op.lhs), rhs, acc)
        case "fma":
            _fma(code, op, code.buffer(op.lhs), rhs, acc)
        case _:
            raise IrcError(f'a dot without an instruction: "{instruction}"', op.location, "run assign-layouts first")
    code.values[op.result] = acc


def _is_zero(tile: Tile) -> bool:
    """Whether a tile is zero everywhere, which the first wgmma on it need not be told in registers."""
    if not isinstance(tile, Splat) or not isinstance(tile.scalar.owner, arith.ConstantOp):
        return False
    value = tile.scalar.owner.value
    return isinstance(value, FloatAttr) and value.value.data == 0


def _is_last_use(op: tile.DotOp) -> bool:
    return op.acc.has_one_use() and _block_of(op.acc) is op.parent_block()


def _block_of(value: SSAValue) -> Block | None:
    """Where a value is made. One from outside a loop is used once an iteration."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent_block()


def lower_as_pending(code: Code, op: tile.AsPendingOp) -> None:
    code.values[op.result] = code.tile(op.tile)


def lower_dot_wait(code: Code, op: tile.DotWaitOp) -> None:
    """A wait, unless one before it was enough: ptxas 13.0 serializes products where a later wait leaves more of them in
    flight (C7514)."""
    acc = code.tile(op.acc)
    if (since := issued_since(op.acc, op)) < COMPLETE:
        assert isinstance(acc, Registers)
        if not is_awaited(op.acc, op):
            code.e.insert(_waiting(since))
        code.e.insert(cuda.RegistersFenceOp(acc.array))
        if isinstance(op.acc.owner, tile.DotOp) and isinstance(op.acc.owner.lhs.type, TensorType):
            operand = code.tile(op.acc.owner.lhs)
            assert isinstance(operand, Registers)
            code.e.insert(cuda.RegistersFenceOp(operand.array))
    code.values[op.result] = acc


def _waiting(since: int) -> cuda.WgmmaWaitOp:
    """A wait that leaves in flight what was issued since, or as many groups of it as an instruction can leave."""
    return cuda.WgmmaWaitOp(min(since, MAX_PENDING))


def lower_await(code: Code, op: tile.AwaitOp) -> None:
    """Waits until only dots that were issued later are in flight. The last wait of an iteration is also for these
    where no iteration follows, see `_wait_in_last`."""
    since = issued_since(op.dot, op)
    if since == COMPLETE:
        return
    e, block = code.e, op.parent_block()
    assert block is not None
    if op is _last_wait(block) and leaves_in_flight(block):
        e.branch(
            _more(code, block),
            lambda: e.insert(_waiting(since)),
            lambda: e.insert(cuda.WgmmaWaitOp(0)),
        )
    else:
        e.insert(_waiting(since))
    e.insert(cuda.RegistersFenceOp(_accumulator(code, op.dot)))


def _wait_in_last(code: Code, block: Block) -> None:
    """In the last iteration of a loop that keeps dots in flight, waits for them, unless its last wait will.

    The wait after the loop would do, but ptxas 13.0 moves conversions of the accumulator up over it. It does not move
    them into a branch.
    """
    if isinstance(block.parent_op(), scf.ForOp) and leaves_in_flight(block) and _last_wait(block) is None:
        with code.e.when(_more(code, block, "uge")):
            code.e.insert(cuda.WgmmaWaitOp(0))


def _last_wait(block: Block) -> tile.AwaitOp | None:
    """The last wait behind the last dot of a block."""
    ops = [op for op in block.ops if isinstance(op, tile.AwaitOp | tile.DotOp)]
    return ops[-1] if ops and isinstance(ops[-1], tile.AwaitOp) else None


def _more(code: Code, block: Block, predicate: str = "ult") -> SSAValue:
    """Whether an iteration follows; with `uge`, whether none does."""
    loop = block.parent_op()
    assert isinstance(loop, scf.ForOp)
    following = code.e.add(code.scalar(block.args[0]), code.scalar(loop.step))
    return code.e.compare(predicate, following, code.scalar(loop.ub))


def _accumulator(code: Code, dot: SSAValue) -> SSAValue:
    """The registers that a dot in flight adds to: those of the dots that it goes on with."""
    known = code.values.get(dot)
    if isinstance(known, Registers):
        return known.array
    source = dot.owner.acc if isinstance(dot.owner, tile.DotOp) else tile.carried_from(dot)[1]
    return _accumulator(code, source)


# Scalar multiply-adds


def _fma(code: Code, op: tile.DotOp, lhs: Buffer, rhs: Buffer, acc: Registers) -> None:
    code.access("read")
    e, element, unsigned = code.e, tile_element(op.acc.type), op.unsigned is not None
    rows, columns = acc.fragment.project([1]), acc.fragment.project([0])
    with e.loop(0, lhs.shape[1], unroll=True, hint="k") as k:
        a = _operand(code, lhs, rows, 1, k)
        b = _operand(code, rhs, columns, 0, k)
        with code.each(acc.fragment) as at:
            x = _convert(code, code.element(a, acc.fragment, at), element, unsigned)
            y = _convert(code, code.element(b, acc.fragment, at), element, unsigned)
            before = code.element(acc, acc.fragment, at)
            if isinstance(element, IntegerType):
                after = e.value(arith.AddiOp(before, e.value(arith.MuliOp(x, y))))
            else:
                after = e.value(arith.AddfOp(before, e.value(arith.MulfOp(x, y))))
            code.set(acc, at, after)


def _operand(code: Code, buffer: Buffer, fragment: Fragment, k_dim: int, k: Index) -> Registers:
    """The thread's part of an operand from `k` on, from shared memory to registers: as deep as the fragment is."""
    result = code.array(fragment, buffer.element)
    vector = shared_vector(fragment, buffer.layout, element_bytes(buffer.element))
    with code.each(fragment, vector) as at:
        element = code.coordinates(fragment, at)
        element[k_dim] = code.e.add(element[k_dim], k)
        address = shared_address(code, buffer, element)
        register = code.e.index(code.register(result, at))
        code.e.insert(cuda.SharedLoadOp(address, result.array, register, count=vector))
    return result


def _convert(code: Code, value: SSAValue, element: Attribute, unsigned: bool) -> SSAValue:
    if value.type == element:
        return value
    if isinstance(element, IntegerType):
        return code.e.value(arith.ExtUIOp(value, element) if unsigned else arith.ExtSIOp(value, element))
    assert isinstance(element, AnyFloat)
    return code.e.value(arith.ExtFOp(value, element))


# mma.sync


def _mma(code: Code, op: tile.DotOp, lhs: Buffer, rhs: Buffer, acc: Registers) -> None:
    atom = mma_atom(op)
    e = code.e
    if in_channel(op.lhs) and in_channel(op.rhs):
        code.access("end_read")
    else:
        code.access("read")
    (m, n), k = acc.fragment.shape, lhs.shape[1]
    warps = warp_grid(acc.fragment)
    parts = 1 if op.parts is None else op.parts.value.data
    if parts > 1:
        k //= parts
        first = e.mul(e.div(code.group.thread, code.group.count // parts), k)
        lhs, rhs = _from(code, lhs, 1, first), _from(code, rhs, 0, first)
    repeats_m, repeats_n = m // (atom.m * warps[0]), n // (atom.n * warps[1])
    size_a, size_b, size_c = atom.held
    is_split = isinstance(lhs.element, Float32Type) and op.precision is None
    with e.loop(0, k, atom.k, unroll=True, hint="k") as step:
        a = _matrix_operand(code, lhs, replicated(mma_operand(atom, "a", m, warps), parts), 1, step)
        b = _matrix_operand(code, rhs, replicated(mma_operand(atom, "b", n, warps), parts), 0, step)
        pairs = tf32_products(code, a, b) if is_split else [(a, b)]
        with e.loop(0, repeats_m, unroll=True, hint="m") as i, e.loop(0, repeats_n, unroll=True, hint="n") as j:
            at = e.add(acc.base, e.mul(e.add(j, e.mul(i, repeats_n)), size_c))
            for left, right in pairs:
                e.insert(
                    cuda.MmaOp(
                        acc.array,
                        e.index(at),
                        left.array,
                        e.index(e.mul(i, size_a)),
                        right.array,
                        e.index(e.mul(j, size_b)),
                        instruction=atom.name,
                        unsigned_lhs=op.unsigned is not None,
                        unsigned_rhs=op.unsigned is not None,
                        truncated=is_split,
                    )
                )


def _from(code: Code, buffer: Buffer, dim: int, start: Index) -> Buffer:
    """The buffer from a coordinate on."""
    origin = [code.e.add(at, start) if each == dim else at for each, at in enumerate(buffer.origin)]
    return replace(buffer, origin=tuple(origin))


def _matrix_operand(code: Code, buffer: Buffer, fragment: Fragment, k_dim: int, k: Index) -> Registers:
    """As `_operand`, by ldmatrix where rows of 16 bytes lie in one piece, along K or, of 16-bit elements, across it."""
    size = element_bytes(buffer.element)
    row = MATRIX_ROW // size
    along = next((d for d in (k_dim, 1 - k_dim) if buffer.layout.run(d) >= row), None)
    others = [stride for d, modes in enumerate(buffer.layout.modes) for _, stride in modes[d == along :]]
    if size > 2 or along is None or (size == 1 and along != k_dim) or any(stride % row for stride in others):
        return _operand(code, buffer, fragment, k_dim, k)
    return _load_matrices(code, buffer, fragment, k_dim, k, transpose=along != k_dim)


def _load_matrices(
    code: Code, buffer: Buffer, fragment: Fragment, k_dim: int, k: Index, *, transpose: bool
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


def _wgmma(code: Code, op: tile.DotOp, rhs: Buffer, acc: Registers, *, accumulates: bool) -> None:
    """Steps of 32 bytes along K. Without `accumulates` the first of them overwrites the accumulator. The threads meet
    before they read what they have written themselves."""
    e = code.e
    if not all(in_channel(buffer) for buffer in (op.lhs, op.rhs) if isinstance(buffer.type, tile.BufferType)):
        code.access("read")
    if isinstance(op.lhs.type, TensorType):
        _wgmma_registers(code, op, rhs, acc, accumulates=accumulates)
        return
    lhs = code.buffer(op.lhs)
    groups = code.group.count // WARP_GROUP
    (m, n), k = acc.fragment.shape, lhs.shape[1]
    depth = wgmma_depth(element_bytes(lhs.element))
    e.insert(cuda.RegistersFenceOp(acc.array))
    e.insert(cuda.WgmmaFenceOp())
    group = e.value(cuda.WarpUniformOp(e.index(e.div(code.group.thread, WARP_GROUP)))) if groups > 1 else 0
    b, transpose_b = _descriptor(code, rhs, 0, 1, 0)
    for row in range(m // (64 * groups)):
        start = e.add(e.mul(group, 64), row * 64 * groups)
        a, transpose_a = _descriptor(code, lhs, 1, 0, start)
        with e.loop(0, k // depth, unroll=True, hint="k") as step:
            e.insert(
                cuda.WgmmaOp(
                    acc.array,
                    e.index(e.add(acc.base, row * n // 2)),
                    _advance(code, a, lhs, 1, step, depth),
                    _advance(code, b, rhs, 0, step, depth),
                    e.constant(1, i1) if accumulates else e.compare("ne", step, 0),
                    n=n,
                    lhs_type=_U8 if op.unsigned is not None else lhs.element,
                    rhs_type=_U8 if op.unsigned is not None else rhs.element,
                    transpose_lhs=transpose_a,
                    transpose_rhs=transpose_b,
                )
            )
    _finish(code, op, acc)


def _wgmma_registers(code: Code, op: tile.DotOp, rhs: Buffer, acc: Registers, *, accumulates: bool) -> None:
    """Steps of 32 bytes along K, with the left operand in registers: those of 64 rows follow each other, and in them
    those of a step."""
    e = code.e
    lhs = code.materialize(code.tile(op.lhs), tile_element(op.lhs.type))
    m, n = acc.fragment.shape
    for array in (acc.array, lhs.array):
        e.insert(cuda.RegistersFenceOp(array))
    e.insert(cuda.WgmmaFenceOp())
    b, transpose = _descriptor(code, rhs, 0, 1, 0)
    depth = wgmma_depth(element_bytes(rhs.element))
    rows, steps = m // (WGMMA_ROWS * code.group.count // WARP_GROUP), rhs.shape[0] // depth
    each = lhs.fragment.value_count // (rows * steps)
    for row in range(rows):
        at = e.add(acc.base, row * n // 2)
        for step in range(steps):
            first = e.add(lhs.base, (row * steps + step) * each)
            operand = _advance(code, b, rhs, 0, step, depth) if steps > 1 else b
            adds = e.constant(int(accumulates or step > 0), i1)
            e.insert(
                cuda.WgmmaRegistersOp(
                    acc.array, e.index(at), lhs.array, e.index(first), operand, adds, n=n, transpose_rhs=transpose
                )
            )
    _finish(code, op, acc)


def _finish(code: Code, op: tile.DotOp, acc: Registers) -> None:
    """What follows the products of a dot; the compiler sees their registers change where they are waited for."""
    code.e.insert(cuda.WgmmaCommitOp())
    block = block_of(op)
    if not isinstance(op.result.type, tile.PendingType):
        code.e.insert(cuda.WgmmaWaitOp(0))
        code.e.insert(cuda.RegistersFenceOp(acc.array))
    elif op is [each for each in block.ops if isinstance(each, tile.DotOp)][-1]:
        _wait_in_last(code, block)


def _advance(code: Code, descriptor: SSAValue, buffer: Buffer, k_dim: int, step: Index, depth: int) -> SSAValue:
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


def _descriptor(code: Code, buffer: Buffer, k_dim: int, free_dim: int, start: Index) -> tuple[SSAValue, bool]:
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
