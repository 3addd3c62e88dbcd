"""TMA: boxes of tensor maps between global and shared memory.

A load is an access of its barrier's unit (`mbarriers.py`); a store reads shared memory as one unit of its thread and
writes global memory as another, as a wait may be for the reads alone. Both go through the asynchronous proxy: what
threads wrote to shared memory themselves has to be fenced before (PTX ISA, 8.3 "Proxies").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.interpreters.sim.access import read_shared, write_shared
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.mbarriers import Barrier, barrier_at, barriers_of, require_fenced
from irc.interpreters.sim.memory import Array, TensorMap, get_elements, put_elements
from irc.interpreters.sim.proxies import last_writes, require_proxy_fence
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.shadow import Shadow
from irc.interpreters.sim.shared_matrix import CHUNK
from irc.interpreters.sim.strands import Strand
from irc.interpreters.sim.tensor_box import ALIGNMENT, TensorBox
from irc.interpreters.sim.units import Groups, fail_at_end, kept
from irc.ir.properties import values_of
from irc.ir.windows import MAX_OFFSET
from irc.support.integers import ceil_div


def _box(s: Strand, op: Operation, map: TensorMap) -> TensorBox:
    type = map.type
    element = cuda.size_of(type.element)
    try:
        extents, strides, box, *window = (
            values_of(values) for values in (type.extents, type.strides, type.box, type.lower, type.upper, type.steps)
        )
        return TensorBox(extents, strides, box, element, type.swizzle.data, *window)
    except ValueError as error:
        s.fail("unsupported", op, str(error))


class _Copy:
    """One box that one lane copies: bytes of shared memory, and bytes of global memory."""

    def __init__(
        self,
        s: Strand,
        op: Operation,
        map: TensorMap,
        lane: int,
        start: Sequence[int],
        moved: Sequence[int] = (),
    ):
        self.frame, self.lane, self.box = s.frame, lane, _box(s, op, map)
        self.element = self.box.element_bytes
        self.pointer = map.pointer
        if start[-1] * self.element % CHUNK:
            text = f"{op.name} of rows that begin at byte {start[-1] * self.element}, which is no multiple of {CHUNK}"
            s.fail("misaligned", op, text, s.numbers == lane)
        try:
            offset, self.inside = self.box.elements(start, moved)
        except ValueError as error:
            s.fail("out of bounds", op, str(error), s.numbers == lane)
        self.source: Array = offset[self.inside] * self.element + self.pointer.span.start
        self._check_array(s, op)

    def _check_array(self, s: Strand, op: Operation) -> None:
        span, box = self.pointer.span, self.box
        last = sum((extent - 1) * stride for extent, stride in zip(box.extents, box.strides, strict=True))
        if (last + 1) * self.element > span.size:
            text = f"{op.name} with a map of {last + 1} elements over a buffer of {span.size // self.element}"
            s.fail("out of bounds", op, text, s.numbers == self.lane)
        if span.start % CHUNK:
            s.fail("misaligned", op, f"{op.name} from an array that is not aligned to {CHUNK} bytes")

    def shared_bytes(self, s: Strand, op: Operation, address: int, block: int) -> Array:
        """The byte of each element in the frame's shared memory, for the box at an address of a block of the frame."""
        own = np.array([block * self.frame.threads])
        size = self.box.bytes
        (byte_offset,) = self.frame.shared_byte_offsets(s, op, np.array([address]), size, lanes=own, align=ALIGNMENT)
        return self.box.shared(address) - address + byte_offset

    def chunks(self, byte_offsets: Array) -> Array:
        """The 16-byte chunks that elements at these bytes fill."""
        return byte_offsets.reshape(-1, CHUNK // self.element)[:, 0]

    def count(self, op: Operation) -> None:
        counters = self.frame.counters
        if counters is not None:
            touched = len(np.unique(self.source // 32))
            counters.add_global(op, 1, touched, ceil_div(len(self.source) * self.element, 32))


def _starts(s: Strand, coordinates: Sequence[Any]) -> list[tuple[int, tuple[int, ...]]]:
    """Each active lane with its coordinates."""
    columns = [s.spread(c).astype(np.int64).tolist() for c in coordinates]
    return [(lane, tuple(c[i] for c in columns)) for i, lane in enumerate(s.numbers.tolist())]


@simulates(cuda.TmaLoadOp)
def tma_load(s: Strand, op: cuda.TmaLoadOp, map: TensorMap, address: Any, barrier: Any, *rest: Any) -> None:
    rank = len(op.coordinates)
    count = len(rest) - rank - len(op.moved)
    masks, coordinates = rest[:count], rest[count:]
    barriers, addresses = s.spread(barrier), s.spread(address)
    chosen = s.spread(masks[0]).astype(np.int64) if masks else None
    cluster = s.frame.grid.cluster_blocks
    for i, (lane, start) in enumerate(_starts(s, coordinates)):
        copy = _Copy(s, op, map, lane, start[:rank], _as_moved(s, op, lane, start[rank:]))
        own = lane // s.frame.threads
        blocks = [own] if chosen is None else [own // cluster * cluster + r for r in range(16) if chosen[i] >> r & 1]
        if chosen is not None and (not blocks or max(blocks) >= own // cluster * cluster + cluster):
            text = f"{op.name} to blocks {int(chosen[i]):#b} of a cluster of {cluster}"
            s.fail("out of bounds", op, text, s.numbers == lane)
        _check_source(s, op, copy)
        copy.count(op)
        for block in blocks:
            _load_box(s, op, copy, int(addresses[i]), int(barriers[i]), block)


def _as_moved(s: Strand, op: cuda.TmaLoadOp, lane: int, moved: Sequence[int]) -> Sequence[int]:
    """What the instruction makes of moves: it takes the lowest bits of them."""
    most = MAX_OFFSET.get(len(moved), 0)
    if any(not 0 <= at <= most for at in moved):
        s.fail("out of bounds", op, f"{op.name} moves pixels by 0 to {most}, found {list(moved)}", s.numbers == lane)
    return moved


def _check_source(s: Strand, op: Operation, copy: _Copy) -> None:
    """Global memory is read through the asynchronous proxy; a kernel that also writes it would need more fences."""
    _require_written(s, op, copy)
    memory = copy.pointer.span.memory
    if copy.pointer.tracked:
        lanes = np.full(len(copy.source), copy.lane)
        copy.frame.grid.shadow(memory).read(s, op, lanes, copy.source, copy.element)


def _require_written(s: Strand, op: Operation, copy: _Copy) -> None:
    memory = copy.pointer.span.memory
    missing = ~memory.is_written(copy.source // copy.element, copy.element)
    if missing.any():
        element = int(copy.source[missing][0] - copy.pointer.span.start) // copy.element
        text = f"{op.name} of element {element} of {memory.name}, which nothing has written"
        s.fail("uninitialized", op, text, s.numbers == copy.lane)


def _load_box(s: Strand, op: cuda.TmaLoadOp, copy: _Copy, address: int, barrier: int, block: int) -> None:
    frame, lane = s.frame, np.array([copy.lane])
    (byte_offset,) = frame.shared_byte_offsets(s, op, np.array([barrier]), 8, lanes=np.array([block * frame.threads]))
    target = barrier_at(s, op, int(byte_offset), lane)
    require_fenced(s, op, target, lane)
    byte_offsets = copy.shared_bytes(s, op, address, block)
    chunks = copy.chunks(byte_offsets)
    lanes = np.full(len(chunks), copy.lane)
    before = last_writes(s, chunks)
    phase = target.state.phase
    keys = np.full(len(chunks), frame.clocks.async_key(target.agent, phase))
    write_shared(s, op, chunks, CHUNK, None, lanes, keys)
    require_proxy_fence(s, op, lanes, chunks, before)
    _watch(s, op, target, phase, copy.lane)
    content = np.zeros((len(copy.inside), copy.element), np.uint8)
    content[copy.inside] = get_elements(copy.pointer.span.memory.data, copy.source, copy.element)

    def land() -> None:
        put_elements(frame.shared.data, byte_offsets, copy.element, content)
        if target.state.phase != phase:
            text = f"the bytes of {op.name} come when phase {phase} of {target.describe()} is over without them"
            s.fail("protocol", op, text, s.numbers == copy.lane)
        barriers_of(s).count(s, op, target, lane, target.state.complete, copy.box.bytes)

    frame.units.start(land)


def _watch(s: Strand, op: Operation, barrier: Barrier, phase: int, lane: int) -> None:
    """When the threads have ended, one of the block has to have waited for the phase: shared memory ends with them."""
    frame = s.frame
    watched: set[tuple[int, int, int]] = kept(s, "watched phases", set)
    key = (barrier.block, barrier.offset, phase)
    if key in watched:
        return
    watched.add(key)

    def check() -> None:
        lanes = np.arange(barrier.block * frame.threads, barrier.block * frame.threads + frame.block_threads)
        agents, phases = np.full(len(lanes), barrier.agent), np.full(len(lanes), phase)
        if not frame.clocks.knows(lanes, agents, phases).any():
            text = f"no thread has waited for phase {phase} of {barrier.describe()}, in which {op.name} writes"
            fail_at_end(frame, op, np.array([lane]), text)

    frame.units.at_end(check)


@dataclass(frozen=True)
class _Write:
    """What a store wrote to global memory: elements of `size` bytes at `byte_offsets`, noted with `key` and `op`."""

    lane: int
    group: int
    shadow: Shadow
    byte_offsets: Array
    size: int
    key: int
    op: int


class _Stores:
    """The TMA stores of a frame's lanes, in bulk groups."""

    def __init__(self, frame: Frame):
        self.frame = frame
        self.groups = Groups(frame.lane_count)
        """Complete where their shared memory was read."""
        self._unseen: list[_Write] = []
        self._ops: dict[int, Operation] = {}
        frame.units.at_end(self._check)

    def agents(self, lane: int) -> tuple[int, int]:
        """The units that read shared memory and write global memory for a lane."""
        thread = int(self.frame.clocks.agent[lane])
        units, who = self.frame.units, f"a TMA store of thread {self.frame.thread[lane]}"
        return units.agent(("store reads", thread), who), units.agent(("store writes", thread), who)

    def store(self, s: Strand, op: Operation, copy: _Copy, byte_offsets: Array, *, adds: bool) -> None:
        """Additions are atomic: those of several threads to one element are no race, and order nothing."""
        frame, lane = self.frame, copy.lane
        reads, writes = self.agents(lane)
        group = int(self.groups.committed[lane])
        self._ops[lane] = op
        chunks = copy.chunks(byte_offsets)
        lanes = np.full(len(chunks), lane)
        read_shared(s, op, chunks, CHUNK, lanes, np.full(len(chunks), frame.clocks.async_key(reads, group)))
        require_proxy_fence(s, op, lanes, chunks, last_writes(s, chunks))
        memory, size = copy.pointer.span.memory, copy.element
        if adds:
            _require_written(s, op, copy)
        else:
            key = int(frame.clocks.async_key(writes, group))
            shadow = frame.grid.shadow(memory)
            shadow.write(s, op, np.full(len(copy.source), lane), copy.source, size, np.full(len(copy.source), key))
            self._unseen.append(_Write(lane, group, shadow, copy.source, size, key, frame.code.number(op)))
            memory.mark(copy.source // size, size)
        copy.count(op)

        def finish() -> None:
            content = get_elements(frame.shared.data, byte_offsets[copy.inside], size)
            if adds:
                before = get_elements(memory.data, copy.source, size).view(np.float32)
                content = (before + content.view(np.float32)).view(np.uint8)
            put_elements(memory.data, copy.source, size, content)

        self.groups.issue(lane, finish, lazy=frame.units.lazy)

    def wait(self, lanes: Array, pending: int, *, read: bool) -> None:
        lanes = lanes[self.groups.latest[lanes] >= 0]
        complete = self.groups.wait(lanes, pending)
        for lane, count in zip(lanes.tolist(), complete.tolist(), strict=True):
            if count:
                self.frame.clocks.learn(np.array([lane]), self.agents(lane)[0], count - 1)
        if not read:
            self._see(dict(zip(lanes.tolist(), complete.tolist(), strict=True)))

    def _see(self, complete: Mapping[int, int]) -> None:
        """The writes of complete groups become those of the lanes themselves, which order them as they do others."""
        left: list[_Write] = []
        for write in self._unseen:
            if write.group >= complete.get(write.lane, 0):
                left.append(write)
                continue
            own = int(self.frame.clocks.key[write.lane])
            write.shadow.adopt(write.byte_offsets, write.size, write.key + write.op, own + write.op)
        self._unseen = left

    def _check(self) -> None:
        for lane in self.groups.unfinished().tolist():
            text = "a thread ends while its TMA store may still read shared memory: no cuda.tma_store_wait covers it"
            fail_at_end(self.frame, self._ops[lane], np.array([lane]), text)


def _stores(s: Strand) -> _Stores:
    return kept(s, "tma stores", lambda: _Stores(s.frame))


@simulates(cuda.TmaStoreOp)
def tma_store(s: Strand, op: cuda.TmaStoreOp, map: TensorMap, address: Any, *coordinates: Any) -> None:
    addresses = s.spread(address)
    for i, (lane, start) in enumerate(_starts(s, coordinates)):
        copy = _Copy(s, op, map, lane, start)
        byte_offsets = copy.shared_bytes(s, op, int(addresses[i]), lane // s.frame.threads)
        _stores(s).store(s, op, copy, byte_offsets, adds=op.adds)


@simulates(cuda.TmaStoreCommitOp)
def tma_store_commit(s: Strand, op: cuda.TmaStoreCommitOp) -> None:
    _stores(s).groups.commit(s.numbers)


@simulates(cuda.TmaStoreWaitOp)
def tma_store_wait(s: Strand, op: cuda.TmaStoreWaitOp) -> None:
    _stores(s).wait(s.numbers, op.pending.value.data, read=bool(op.read.value.data))
