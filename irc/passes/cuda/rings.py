"""Rings: stages of shared memory that TMA or a producer fills, guarded by a full and an empty mbarrier each.

Parity protocol (PTX ISA, 9.7.13.15 mbarrier): a consumer waits for phase 0 of `full` first; a producer starts with
phase 1 of `empty`, which a fresh barrier lets pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from irc.dialects import cuda, tile
from irc.dialects.tile import element_type_of, shape_of
from irc.layout.instructions import WARP_GROUP
from irc.passes.cuda.emitter import INDEX, Emitter, Index
from irc.passes.cuda.memory import element_offset, shared_base
from irc.passes.cuda.places import Place, Walk
from irc.passes.cuda.values import Buffer, Code, buffer_of, element_bytes
from irc.passes.tile.rings import BARRIER_BYTES, RingPlan, fills_of, ring_plan
from irc.passes.tile.tma import BoxAccess, box_access


@dataclass(frozen=True)
class Cursor:
    """A stage number and its phase parity, in registers that one role keeps."""

    stage: SSAValue
    phase: SSAValue


@dataclass(frozen=True)
class Ring:
    """A ring as one role sees it."""

    plan: RingPlan
    type: tile.RingType
    offset: int
    cursor: Cursor
    released: Cursor
    written: bool
    """Whether threads of the producer write stages themselves, besides TMA."""

    def barrier(self, code: Code, which: int, stage: Index) -> SSAValue:
        e = code.e
        return e.i32(e.add(shared_base(code, self.offset + which), e.mul(stage, BARRIER_BYTES)))


def _register(e: Emitter, initial: int) -> SSAValue:
    array = e.value(cuda.RegistersOp(1, INDEX))
    e.insert(cuda.SetOp(array, e.index(0), e.index(initial)))
    return array


def _read(e: Emitter, register: SSAValue) -> SSAValue:
    return e.value(cuda.GetOp(register, e.index(0)))


def _advance(e: Emitter, cursor: Cursor, stages: int) -> None:
    """To the next stage; the phase flips when it wraps."""
    following = e.add(_read(e, cursor.stage), 1)
    wraps = e.compare("eq", following, stages)
    phase = _read(e, cursor.phase)
    e.insert(cuda.SetOp(cursor.stage, e.index(0), e.index(e.select(wraps, 0, following))))
    e.insert(cuda.SetOp(cursor.phase, e.index(0), e.index(e.select(wraps, e.xor(phase, 1), phase))))


def offset_of(op: tile.RingOp | tile.AllocOp) -> int:
    return op.offset.value.data if op.offset is not None else 0


def _filled(ring: SSAValue) -> list[SSAValue]:
    """The buffers of the stages that a producer acquires."""
    acquires = [use.operation for use in ring.uses if isinstance(use.operation, tile.AcquireOp)]
    return [buffer for acquire in acquires for buffer in acquire.buffers]


def is_written(ring: SSAValue) -> bool:
    """Whether a `tile.write` fills part of a stage of the ring."""
    return any(isinstance(fill, tile.WriteOp) for buffer in _filled(ring) for fill in fills_of(buffer))


def is_copied(ring: SSAValue) -> bool:
    """Whether TMA fills part of a stage of the ring."""
    return any(isinstance(fill, tile.CopyOp) for buffer in _filled(ring) for fill in fills_of(buffer))


def initialise(code: Code, op: tile.RingOp, consumers: int, producers: int) -> None:
    """Thread 0 sets up the barriers: a full one takes the TMA thread and, where threads write, all of them; an empty
    one takes an arrival a consumer warp group."""
    e, plan = code.e, ring_plan(op)
    arrivals = (1 if is_copied(op.ring) else 0) + (producers if is_written(op.ring) else 0)
    with e.when(e.compare("eq", code.crew.thread, 0)), e.loop(0, plan.stages, unroll=True, hint="stage") as stage:
        base = shared_base(code, offset_of(op))
        for which, count in ((plan.full, arrivals), (plan.empty, consumers // WARP_GROUP)):
            at = e.i32(e.add(e.add(base, which), e.mul(stage, BARRIER_BYTES)))
            e.insert(cuda.BarrierInitOp(at, count))
    e.insert(cuda.FenceBarrierInitOp())


def enter(code: Code, op: tile.RingOp, *, producer: bool) -> None:
    """The role's own cursors."""
    e = code.e
    cursor = Cursor(_register(e, 0), _register(e, 1 if producer else 0))
    released = Cursor(_register(e, 0), _register(e, 0))
    assert isinstance(op.ring.type, tile.RingType)
    code.rings[op.ring] = Ring(ring_plan(op), op.ring.type, offset_of(op), cursor, released, is_written(op.ring))


def _stage_buffers(code: Code, ring: Ring, op: tile.AcquireOp | tile.WaitOp, stage: Index) -> None:
    e = code.e
    for value, start, pitch in zip(op.buffers, ring.plan.buffers, ring.plan.pitches, strict=True):
        assert isinstance(value.type, tile.BufferType)
        address = e.add(shared_base(code, ring.offset + start), e.mul(stage, pitch))
        code.values[value] = buffer_of(value.type, address)


def lower_acquire(code: Code, op: tile.AcquireOp) -> None:
    ring = code.rings[op.ring]
    stage, phase = _read(code.e, ring.cursor.stage), _read(code.e, ring.cursor.phase)
    code.e.insert(cuda.BarrierWaitOp(ring.barrier(code, ring.plan.empty, stage), code.e.i32(phase)))
    _stage_buffers(code, ring, op, stage)
    expected = sum(_copied_bytes(buffer) for buffer in op.buffers)
    if expected:
        with code.e.when(_issuer(code)):
            code.e.insert(cuda.BarrierExpectOp(ring.barrier(code, ring.plan.full, stage), expected))


def _copied_bytes(buffer: SSAValue) -> int:
    """Bytes that TMA brings to a stage's buffer."""
    types = [fill.buffer.type for fill in fills_of(buffer) if isinstance(fill, tile.CopyOp)]
    return sum(prod(shape_of(type)) * element_bytes(element_type_of(type)) for type in types)


def _issuer(code: Code) -> SSAValue | None:
    """The one thread that issues TMA; None where only that thread runs the code."""
    return None if code.crew.count == 1 else code.e.compare("eq", code.crew.thread, 0)


def lower_commit(code: Code, op: tile.CommitOp) -> None:
    ring = code.rings[op.ring]
    if ring.written:
        code.e.insert(cuda.FenceProxyAsyncOp())
        stage = _read(code.e, ring.cursor.stage)
        code.e.insert(cuda.BarrierArriveOp(ring.barrier(code, ring.plan.full, stage)))
    _advance(code.e, ring.cursor, ring.plan.stages)


def lower_wait(code: Code, op: tile.WaitOp) -> None:
    ring = code.rings[op.ring]
    stage, phase = _read(code.e, ring.cursor.stage), _read(code.e, ring.cursor.phase)
    code.e.insert(cuda.BarrierWaitOp(ring.barrier(code, ring.plan.full, stage), code.e.i32(phase)))
    _stage_buffers(code, ring, op, stage)
    _advance(code.e, ring.cursor, ring.plan.stages)


def lower_release(code: Code, op: tile.ReleaseOp) -> None:
    """One thread of each warp group arrives: its wgmmas that read the stage are complete."""
    ring = code.rings[op.ring]
    e = code.e
    stage = _read(e, ring.released.stage)
    with e.when(e.compare("eq", e.rem(code.crew.thread, WARP_GROUP), 0)):
        e.insert(cuda.BarrierArriveOp(ring.barrier(code, ring.plan.empty, stage)))
    _advance(e, ring.released, ring.plan.stages)


def lower_copy(code: Code, op: tile.CopyOp) -> None:
    """TMA, a box a panel of the buffer's layout; counted on the full barrier of the ring's current stage. No swizzle
    moves the start of a panel."""
    buffer = code.buffer(op.buffer)
    box = box_access(op, buffer.shape)
    assert box is not None
    e = code.e
    ring = _ring_of(code, op.buffer)
    barrier = ring.barrier(code, ring.plan.full, _read(e, ring.cursor.stage))
    dims = [code.scalar(o) for o in op.offsets]
    symbols = [code.scalar(s) for s in op.symbols]
    width = buffer.layout.modes[box.inner][0][0]
    mapping = _tensor_map(code, op, box, buffer, width)
    with e.when(_issuer(code)):
        for panel in range(buffer.shape[box.inner] // width):
            start = list(dims)
            start[box.inner] = e.add(start[box.inner], panel * width)
            walk, places = Walk(e, ()), [Place(at) for at in start]
            at = [e.i32(walk.affine(expr, places, symbols).base) for expr in op.access_map.results]
            local: list[Index] = [0] * len(dims)
            local[box.inner] = panel * width
            offset = e.mul(element_offset(code, buffer, local), element_bytes(buffer.element))
            e.insert(cuda.TmaLoadOp(mapping, barrier, e.i32(e.add(buffer.address, offset)), at))


def _tensor_map(code: Code, op: tile.CopyOp, box: BoxAccess, buffer: Buffer, width: int) -> SSAValue:
    """The kernel argument with the tensor map of this view and box."""
    view = op.view_type
    extents = [1 if d is None else (width if d == box.inner else buffer.shape[d]) for d in box.dims]
    swizzle = 0 if buffer.layout.swizzle.is_identity else width * element_bytes(buffer.element)
    type = cuda.TensorMapType.of(view.element_type, view.get_shape(), view.get_strides(), extents, swizzle)
    key = (op.view, type)
    if key not in code.tensor_maps:
        code.tensor_maps[key] = code.kernel.insert_arg(type, len(code.kernel.args))
    return code.tensor_maps[key]


def _ring_of(code: Code, buffer: SSAValue) -> Ring:
    owner = buffer.owner
    if isinstance(owner, tile.SubviewOp):
        return _ring_of(code, owner.buffer)
    assert isinstance(owner, tile.AcquireOp)
    return code.rings[owner.ring]


def lower_subview(code: Code, op: tile.SubviewOp) -> None:
    source = code.buffer(op.buffer)
    at: list[Index] = list(tile.ints(op.at)) or [0] * len(source.shape)
    for d, dynamic in enumerate(op.offsets):
        at[d] = code.e.add(at[d], code.scalar(dynamic))
    origin = tuple(code.e.add(o, a) for o, a in zip(source.origin, at, strict=True))
    assert isinstance(op.result.type, tile.BufferType)
    code.values[op.result] = Buffer(source.address, source.layout, source.element, origin, op.result.type.get_shape())
