"""cp.async: copies of a thread from global to shared memory, a unit for each thread. Its writes are the generic
proxy's (PTX ISA, 9.7.9.25.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.interpreters.sim.access import check_global_read, global_byte_offsets, write_shared
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.memory import Array, Pointer, get_elements, put_elements
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Strand
from irc.interpreters.sim.units import Groups, fail_at_end, kept


class _Copies:
    """cp.async of a frame: a unit for each thread."""

    def __init__(self, frame: Frame):
        self.frame = frame
        self.groups = Groups(frame.lane_count)
        self.agents = frame.units.of_threads("a cp.async")
        self._pending: list[tuple[Array, Array, Array, Array]] = []
        self._ops: dict[int, Operation] = {}
        frame.units.at_end(self._check)

    def copy(self, s: Strand, op: Operation, byte_offsets: Array, values: Array) -> None:
        """Each active lane copies a row of bytes to a place in shared memory."""
        frame, lanes, size = self.frame, s.numbers, values.shape[1]
        groups = self.groups.committed[lanes]
        write_shared(s, op, byte_offsets, size, None, lanes, frame.clocks.async_key(self.agents[lanes], groups))
        if frame.counters is not None:
            frame.counters.shared_access(op, lanes, byte_offsets, size)
        self.groups.note(lanes)
        self._ops.update(dict.fromkeys(lanes.tolist(), op))
        if frame.units.lazy:
            self._pending.append((lanes, groups, byte_offsets, values))
        else:
            put_elements(frame.shared.data, byte_offsets, size, values)

    def wait(self, lanes: Array, pending: int) -> None:
        complete = self.groups.wait(lanes, pending)
        self.frame.clocks.learn_units(lanes, complete - 1)
        left: list[tuple[Array, Array, Array, Array]] = []
        for owners, groups, byte_offsets, values in self._pending:
            ends = groups < self.groups.complete[owners]
            put_elements(self.frame.shared.data, byte_offsets[ends], values.shape[1], values[ends])
            if not ends.all():
                left.append((owners[~ends], groups[~ends], byte_offsets[~ends], values[~ends]))
        self._pending = left

    def _check(self) -> None:
        lanes = self.groups.unfinished()
        if len(lanes):
            op = self._ops[int(lanes[0])]
            fail_at_end(self.frame, op, lanes, "threads end without a cuda.cp_async_wait for all of their copies")


def _copies(s: Strand) -> _Copies:
    return kept(s, "cp.async", lambda: _Copies(s.frame))


@simulates(cuda.CpAsyncOp)
def cp_async(s: Strand, op: cuda.CpAsyncOp, address: Any, pointer: Pointer, offset: Any, *predicate: Any) -> None:
    """Where the predicate is false nothing is read, and zeros are written."""
    size = op.bytes.value.data
    inside = s.spread(predicate[0]) if predicate else np.ones(s.count, np.bool_)
    lanes = s.numbers[inside]
    values = np.zeros((s.count, size), np.uint8)
    if len(lanes):
        sources = global_byte_offsets(s, op, pointer, s.spread(offset)[inside], size, lanes)
        check_global_read(s, op, pointer, sources, size, lanes)
        if s.frame.counters is not None:
            s.frame.counters.global_access(op, lanes, sources, size)
        values[inside] = get_elements(pointer.span.memory.data, sources, size)
    byte_offsets = s.frame.shared_byte_offsets(s, op, s.spread(address), size)
    _copies(s).copy(s, op, byte_offsets, values)


@simulates(cuda.CpAsyncCommitOp)
def cp_async_commit(s: Strand, op: cuda.CpAsyncCommitOp) -> None:
    _copies(s).groups.commit(s.numbers)


@simulates(cuda.CpAsyncWaitOp)
def cp_async_wait(s: Strand, op: cuda.CpAsyncWaitOp) -> None:
    _copies(s).wait(s.numbers, op.pending.value.data)
