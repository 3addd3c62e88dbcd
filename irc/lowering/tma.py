"""Boxes that TMA brings to shared memory, or takes from there (PTX ISA, 9.7.9.25 cp.async.bulk.tensor)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue

from irc.analysis.tma import BoxAccess, box_access
from irc.dialects import cuda, tile
from irc.lowering import channels, exchanges, memory, step_channels
from irc.lowering.emitter import Index
from irc.lowering.memory import element_offset
from irc.lowering.order import ANY
from irc.lowering.places import Place, Walk
from irc.lowering.values import Buffer, Code, element_bytes
from irc.scheduling.channels import is_staging
from irc.support.diagnostics import IrcError

SWIZZLE_ROWS = 8
"""Rows of a panel after which the hardware's swizzles repeat (PTX ISA, 5.5.6)."""


def lower_copy(code: Code, op: tile.CopyOp) -> None:
    """TMA, a box a panel of the buffer's layout; counted on the full barrier of the channel's current stage. No swizzle
    moves the start of a panel, or of 8 rows of one."""
    if op.via is not None and op.via.data == "cp_async":
        step_channels.copy(code, op)
        return
    buffer = code.buffer(op.buffer)
    box = box_access(op, buffer.shape)
    assert box is not None
    e = code.e
    channel = channels.channel_of(code, op.buffer)
    barrier = channel.filling(code)
    width = buffer.layout.modes[box.inner][0][0]
    part = _own_part(code, op, channel.cluster, buffer.shape, box.inner, width)
    extents = tuple(width if d == box.inner else n for d, n in enumerate(part.shape))
    mapping = _tensor_map(code, op, box, buffer, extents)
    with e.when(channels.issuer(code)):
        for panel in range(part.shape[box.inner] // width):
            local = list(part.start)
            local[box.inner] = e.add(local[box.inner], panel * width)
            address, at = _place(code, op, buffer, local)
            e.insert(cuda.TmaLoadOp(mapping, barrier, address, at, part.mask))


def _place(code: Code, op: tile.AccessOp, buffer: Buffer, local: Sequence[Index]) -> tuple[SSAValue, list[SSAValue]]:
    """The address in the buffer and the coordinates in the view of a tile coordinate that a panel starts at."""
    e = code.e
    dims = [e.add(code.scalar(o), at) for o, at in zip(op.offsets, local, strict=True)]
    symbols = [code.scalar(s) for s in op.symbols]
    walk, places = Walk(e, ()), [Place(at) for at in dims]
    offset = e.mul(element_offset(code, buffer, local), element_bytes(buffer.element))
    at = [e.i32(walk.affine(expr, places, symbols).base) for expr in op.access_map.results]
    return e.i32(e.add(buffer.address, offset)), at


def lower_store(code: Code, op: tile.StoreOp) -> None:
    """Registers to global memory, or a buffer by TMA: the threads that have written it meet, then one of them issues a
    box a panel."""
    if isinstance(op.tile.type, TensorType):
        exchanges.lower_store(code, op)
        return
    buffer = code.buffer(op.tile)
    box = box_access(op, buffer.shape)
    if box is None or box.inner != 1:
        raise IrcError("TMA cannot store this buffer: it goes to no box of aligned rows", op.location)
    e = code.e
    width = buffer.layout.modes[1][0][0]
    mapping = _tensor_map(code, op, box, buffer, (buffer.shape[0], width))
    if code.dirty:
        code.sync()
    with e.when(channels.issuer(code)):
        for panel in range(buffer.shape[1] // width):
            address, at = _place(code, op, buffer, [0, panel * width])
            e.insert(cuda.TmaStoreOp(mapping, address, at))
        e.insert(cuda.TmaStoreCommitOp())


def lower_write(code: Code, op: tile.WriteOp) -> None:
    """Registers to a buffer. What TMA stores from there, each thread makes visible to it after its last write."""
    memory.lower_write(code, op)
    if is_staging(op) and not _is_followed(op):
        code.e.insert(cuda.FenceProxyAsyncOp())


def _is_followed(op: tile.WriteOp) -> bool:
    """Whether another write to what TMA stores comes before the next store."""
    following = op.next_op
    while following is not None and not isinstance(following, tile.StoreOp):
        if is_staging(following):
            return True
        following = following.next_op
    return False


def lower_store_wait(code: Code, op: tile.StoreWaitOp) -> None:
    """The thread that issues stores waits for them; the others meet it before they write."""
    with code.e.when(channels.issuer(code)):
        code.e.insert(cuda.TmaStoreWaitOp(op.pending_count, read=True))
    code.stale.append(ANY)


@dataclass(frozen=True)
class Part:
    """The part of a box that this block brings: its first coordinate in the tile, its extents, and the blocks of the
    cluster that get it (None: this one)."""

    start: list[Index]
    shape: tuple[int, ...]
    mask: SSAValue | None = None


def _own_part(
    code: Code, op: tile.CopyOp, cluster: tuple[int, int], shape: tuple[int, ...], inner: int, width: int
) -> Part:
    """All of it, or with `multicast` one of as many as blocks share it: some of the panels, or some rows of each."""
    whole = Part([0] * len(shape), shape)
    if op.multicast is None or cluster[op.multicast.value.data] == 1:
        return whole
    e, dim = code.e, op.multicast.value.data
    blocks, (row, column) = cluster[dim], channels.place(e, cluster)
    cut = inner if shape[inner] // width % blocks == 0 else 1 - inner
    if shape[cut] // blocks % SWIZZLE_ROWS:
        raise IrcError(f"{blocks} blocks cannot share a box of {list(shape)}", op.location, "a smaller cluster")
    whole.start[cut] = e.mul((row, column)[dim], shape[cut] // blocks)
    own = tuple(n // blocks if d == cut else n for d, n in enumerate(shape))
    stride, others = (1, e.mul(column, cluster[0])) if dim == 0 else (cluster[0], row)
    bits = e.constant(sum(1 << (stride * block) for block in range(blocks)), i32)
    return Part(whole.start, own, e.value(arith.ShLIOp(bits, e.i32(others))))


def _tensor_map(code: Code, op: tile.AccessOp, box: BoxAccess, buffer: Buffer, shape: tuple[int, ...]) -> SSAValue:
    """The kernel argument with the tensor map of this view and boxes of this shape."""
    view = op.view_type
    extents = [1 if d is None else shape[d] for d in box.dims]
    swizzle = 0 if buffer.layout.swizzle.is_identity else shape[box.inner] * element_bytes(buffer.element)
    type = cuda.TensorMapType.of(view.element_type, view.get_shape(), view.get_strides(), extents, swizzle)
    key = (op.view, type)
    if key not in code.tensor_maps:
        code.tensor_maps[key] = code.kernel.insert_arg(type, len(code.kernel.args))
    return code.tensor_maps[key]
