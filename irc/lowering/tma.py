"""Boxes that TMA brings to shared memory, or takes from there (PTX ISA, 9.7.9.25 cp.async.bulk.tensor)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from irc.analysis.im2col import channel_dim, first_pixel
from irc.analysis.matrix_instructions import reads_shared
from irc.analysis.tma import box_access
from irc.dialects import cuda, tile
from irc.ir.blocks import behind
from irc.lowering import channels, memory, step_channels
from irc.lowering.clusters import cluster_coordinates
from irc.lowering.coordinates import Coordinate, Walk
from irc.lowering.emitter import Index
from irc.lowering.memory import element_offset
from irc.lowering.values import Buffer, Code, element_bytes
from irc.scheduling.channels import is_staging, readers_of, root_of
from irc.support.diagnostics import IrcError

SWIZZLE_ROWS = 8
"""Rows of a panel after which the hardware's swizzles repeat (PTX ISA, 5.5.6)."""


def lower_copy(code: Code, op: tile.CopyOp) -> None:
    """TMA, a box a panel of the buffer's layout; counted on the full barrier of the channel's current stage. No swizzle
    moves the start of a panel, or of 8 rows of one."""
    if op.is_via("cp_async"):
        step_channels.copy(code, op)
        return
    buffer = code.buffer(op.buffer)
    if isinstance(op.via, tile.Im2colAttr):
        inner = channel_dim(op, len(buffer.shape))
    else:
        inner = None if (box := box_access(op, buffer.shape)) is None else box.inner
    assert inner is not None
    e = code.e
    channel = channels.channel_of(code, op.buffer)
    barrier = channel.filling(code)
    width = buffer.layout.modes[inner][0][0]
    part = _own_part(code, op, channel.cluster, buffer.shape, inner, width)
    extents = tuple(width if d == inner else n for d, n in enumerate(part.shape))
    if isinstance(op.via, tile.Im2colAttr):
        mapping = _window_map(code, op, op.via, buffer, (extents[1 - inner], extents[inner]))
        exprs, moves = first_pixel(op, op.via, len(buffer.shape))
    else:
        mapping, exprs, moves = _tensor_map(code, op, buffer, extents), op.access_map.results, ()
    with e.when(channels.issuer(code)):
        for panel in range(part.shape[inner] // width):
            local = list(part.start)
            local[inner] = e.add(local[inner], panel * width)
            address, at = _box_start(code, op, buffer, local, (*exprs, *moves))
            at, moved = at[: len(exprs)], at[len(exprs) :]
            e.insert(cuda.TmaLoadOp(mapping, address, barrier, part.mask, at, moved))


def _box_start(
    code: Code, op: tile.AccessOp, buffer: Buffer, local: Sequence[Index], exprs: Sequence[AffineExpr]
) -> tuple[SSAValue, list[SSAValue]]:
    """The address in the buffer of a tile coordinate that a panel starts at, and the values of expressions of it."""
    e = code.e
    dims = [e.add(code.scalar(o), at) for o, at in zip(op.offsets, local, strict=True)]
    symbols = [code.scalar(s) for s in op.symbols]
    walk, coordinates = Walk(e, ()), [Coordinate(at) for at in dims]
    offset = e.mul(element_offset(code, buffer, local), element_bytes(buffer.element))
    at = [e.i32(walk.affine(expr, coordinates, symbols).base) for expr in exprs]
    return e.i32(e.add(buffer.address, offset)), at


def lower_store(code: Code, op: tile.StoreOp) -> None:
    """Registers to global memory, or a buffer by TMA: the threads that have written it meet, then one of them issues a
    box a panel."""
    if isinstance(op.tile.type, TensorType):
        if op.tile in code.values:  # what is not was stored as it was loaded
            memory.lower_store(code, op)
        return
    buffer = code.buffer(op.tile)
    box = box_access(op, buffer.shape)
    if box is None or box.inner != 1:
        raise IrcError("TMA cannot store this buffer: it goes to no box of aligned rows", op.location)
    e = code.e
    width = buffer.layout.modes[1][0][0]
    mapping = _tensor_map(code, op, buffer, (buffer.shape[0], width))
    code.access("begin_read")
    with e.when(channels.issuer(code)):
        for panel in range(buffer.shape[1] // width):
            address, at = _box_start(code, op, buffer, [0, panel * width], op.access_map.results)
            e.insert(cuda.TmaStoreOp(mapping, address, at, add=op.add is not None))
        e.insert(cuda.TmaStoreCommitOp())


def lower_write(code: Code, op: tile.WriteOp) -> None:
    """Registers to a buffer. What TMA stores from there, or wgmma reads, each thread makes visible to it after its last
    write (PTX ISA, 9.7.15.4)."""
    memory.lower_write(code, op)
    is_multiplied = any(isinstance(each, tile.DotOp) and reads_shared(each) for each in readers_of(root_of(op.buffer)))
    is_own = isinstance(root_of(op.buffer).owner, tile.AllocOp)
    if (is_own and is_multiplied) or (is_staging(op) and not _is_followed(op)):
        code.e.insert(cuda.FenceProxyAsyncOp())


def _is_followed(op: tile.WriteOp) -> bool:
    """Whether another write to what TMA stores comes before the next store."""
    return any(map(is_staging, takewhile(lambda each: not isinstance(each, tile.StoreOp), behind(op))))


def lower_store_wait(code: Code, op: tile.StoreWaitOp) -> None:
    """The thread that issues stores waits for them; the others meet it before they write."""
    with code.e.when(channels.issuer(code)):
        code.e.insert(cuda.TmaStoreWaitOp(op.pending_count, read=True))
    code.access("end_read")


@dataclass(frozen=True)
class BoxPart:
    """The part of a box that this block brings: its first coordinate in the tile, its extents, and the blocks of the
    cluster that get it (None: this one)."""

    start: list[Index]
    shape: tuple[int, ...]
    mask: SSAValue | None = None


def _own_part(
    code: Code, op: tile.CopyOp, cluster: tuple[int, int], shape: tuple[int, ...], inner: int, width: int
) -> BoxPart:
    """All of it, or with `multicast` one of as many as blocks share it: some of the panels, or some rows of each."""
    whole = BoxPart([0] * len(shape), shape)
    if op.multicast is None or cluster[op.multicast.value.data] == 1:
        return whole
    e, dim = code.e, op.multicast.value.data
    blocks, (row, column) = cluster[dim], cluster_coordinates(e, cluster)
    cut = inner if shape[inner] // width % blocks == 0 else 1 - inner
    if shape[cut] // blocks % SWIZZLE_ROWS:
        raise IrcError(f"{blocks} blocks cannot share a box of {list(shape)}", op.location, "a smaller cluster")
    whole.start[cut] = e.mul((row, column)[dim], shape[cut] // blocks)
    own = tuple(n // blocks if d == cut else n for d, n in enumerate(shape))
    stride, others = (1, e.mul(column, cluster[0])) if dim == 0 else (cluster[0], row)
    bits = e.constant(sum(1 << (stride * block) for block in range(blocks)), i32)
    return BoxPart(whole.start, own, e.value(arith.ShLIOp(bits, e.i32(others))))


def _tensor_map(code: Code, op: tile.AccessOp, buffer: Buffer, shape: tuple[int, ...]) -> SSAValue:
    """The kernel argument with the tensor map of this view and boxes of this shape."""
    view, box = op.view_type, box_access(op, buffer.shape)
    assert box is not None
    extents = [1 if d is None else shape[d] for d in box.dims]
    swizzle = _swizzle(buffer, shape[box.inner])
    type = cuda.TensorMapType.of(view.element_type, view.get_shape(), view.get_strides(), extents, swizzle)
    return _argument(code, op, type)


def _window_map(
    code: Code, op: tile.AccessOp, window: tile.Im2colAttr, buffer: Buffer, box: tuple[int, int]
) -> SSAValue:
    """The kernel argument with the tensor map of a window and boxes of so many pixels and channels."""
    view, alone = op.view_type, window.dimensions[0] < 0
    dims = window.dimensions[1:] if alone else window.dimensions
    extents, strides = ([values[d] for d in dims] for values in (view.get_shape(), view.get_strides()))
    if alone:
        extents, strides = [1, *extents], [extents[0] * strides[0], *strides]
    swizzle = _swizzle(buffer, box[1])
    type = cuda.TensorMapType.of(view.element_type, extents, strides, box, swizzle, window.window)
    return _argument(code, op, type)


def _swizzle(buffer: Buffer, width: int) -> int:
    """The bytes of the swizzle's pattern, of panels of so many elements."""
    return 0 if buffer.layout.swizzle.is_identity else width * element_bytes(buffer.element)


def _argument(code: Code, op: tile.AccessOp, type: cuda.TensorMapType) -> SSAValue:
    key = (op.view, type)
    if key not in code.tensor_maps:
        code.tensor_maps[key] = code.kernel.insert_arg(type, len(code.kernel.args))
    return code.tensor_maps[key]
