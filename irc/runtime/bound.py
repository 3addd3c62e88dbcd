"""Calls that are prepared: with their arrays fixed, or as a CUDA graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irc.diagnostics import IrcError
from irc.runtime.driver import DriverError
from irc.runtime.libraries import stream_handle
from irc.runtime.plan import Copy, Memset
from irc.runtime.trace import active

if TYPE_CHECKING:
    from irc.runtime.cuda import CudaProgram
    from irc.runtime.device import Device, Memory
    from irc.runtime.executor import Executor
    from irc.runtime.libraries import Library


class Bound:
    """A call whose arrays are fixed: `bound()` reads what they hold then, overwrites the arrays of the results and
    returns them, the same ones every time.

    It enqueues the plan and nothing else. It has an arena of its own, so runs on several streams must not overlap. One
    thread at a time may call it.
    """

    def __init__(
        self,
        program: CudaProgram,
        executor: Executor,
        library: Library,
        on: Device,
        addresses: Sequence[int],
        owners: Sequence[Any],
        made: Sequence[tuple[Any, int]],
    ):
        """`owners` keep the arguments alive; `made` are the results and their addresses."""
        self._program, self._executor, self._library, self._device = program, executor, library, on
        self._owners = owners
        self._frame = executor.frame()
        self._arena = executor.lasting(executor.arena_bytes)
        self._frame.place(addresses, [address for _, address in made], self._arena.address)
        self._results = [array for array, _ in made]

    @property
    def results(self) -> Any:
        """The arrays that a run writes."""
        return self._results[0] if len(self._results) == 1 else tuple(self._results)

    def __call__(self, *, stream: Any | None = None) -> Any:
        """One run, on the stream or on the current one of the arrays' library."""
        try:
            self._executor.run(self._frame, self._stream(stream))
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error
        return self.results

    def _stream(self, stream: Any | None) -> int:
        self._device.use()
        return self._library.current_stream(self._device.ordinal) if stream is None else stream_handle(stream)


COPIED_BYTES = 1 << 20
"""The largest argument of a graph that is copied where its array changes."""

UPDATED_NODES = 4
"""Of a graph, that are given the address of a changed array rather than that it is copied: an update takes 0.7 us of
the host's time and none of an H200's, a copy 4 us of its."""


class Graph(Bound):
    """A call as a CUDA graph: `graph()` runs it on the arrays of the call before, `graph(*arrays)` on others of the
    same kind, which it keeps. The arrays of the results are the same ones every time, and overwritten.

    Arguments are read where they are. Where an array changes, its address is written into the nodes that see it. One of
    up to a MiB that many nodes see gets a buffer of the graph instead, into which it is copied before each replay from
    then on, unless it is donated. Runs on several streams must not
    overlap; threads may share it.
    """

    def __init__(
        self,
        program: CudaProgram,
        executor: Executor,
        library: Library,
        on: Device,
        addresses: Sequence[int],
        owners: Sequence[Any],
        made: Sequence[tuple[Any, int]],
    ):
        super().__init__(program, executor, library, on, addresses, owners, made)
        self._lock = threading.Lock()
        self._sizes = [spec.nbytes for spec in program.arguments]
        self._buffers: dict[int, Memory] = {}
        self._given = addresses
        moved = [b for s in self._frame.steps if isinstance(s, Copy) for b in (s.source, s.destination)]
        moved += [s.buffer for s in self._frame.steps if isinstance(s, Memset)]
        self._moved_slots = {self._frame.slot(buffer) for buffer in moved}
        self._donated = list(program.outputs.donated.items())
        donated = set(program.outputs.donated.values())
        self._is_copied = [self._copies(slot) and slot not in donated for slot in range(len(self._sizes))]
        self._graph, self._nodes = self._executor.capture(self._frame)

    def _copies(self, slot: int) -> bool:
        """Whether an argument is copied where its array changes."""
        is_seen_often = slot in self._moved_slots or len(self._frame.cells.users[slot]) > UPDATED_NODES
        return is_seen_often and 0 < self._sizes[slot] <= COPIED_BYTES

    def __call__(self, *arrays: Any, stream: Any | None = None) -> Any:
        """One replay, on the stream or on the current one of the arrays' library."""
        try:
            with self._lock:
                if arrays:
                    self._take(arrays)
                on = self._stream(stream)
                for slot, buffer in self._buffers.items():
                    self._device.copy(buffer.address, self._given[slot], self._sizes[slot], on)
                if (trace := active()) is None:
                    self._graph.enqueue(on)
                else:
                    with trace.on_device(self._device, on, "graph", "graph"):
                        self._graph.enqueue(on)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error
        return self.results

    def _take(self, arrays: Sequence[Any]) -> None:
        library, on, addresses, owners = self._program.in_place(arrays)
        if library is not self._library or on is not self._device:
            raise IrcError("a graph takes arrays of the library and the device that it was made with")
        changed = [slot for slot, pair in enumerate(zip(addresses, self._given, strict=True)) if pair[0] != pair[1]]
        for result, argument in self._donated:
            self._results[result] = arrays[argument]
        moved = [slot for slot in changed if slot not in self._buffers]
        if moved:
            self._given = [-1] * len(addresses)  # so that all is written again where this fails
            self._move(moved, addresses)
        self._given, self._owners = addresses, owners

    def _move(self, arguments: Sequence[int], addresses: Sequence[int]) -> None:
        """Writes the addresses of arguments, or of buffers for them, into the graph; it is captured again where nodes
        that are not launches see them."""
        cells = self._frame.cells
        slots = list(arguments)
        for slot in arguments:
            if self._is_copied[slot]:
                self._buffers[slot] = self._executor.lasting(self._sizes[slot])
                cells.move(slot, self._buffers[slot].address)
            else:
                cells.move(slot, addresses[slot])
        for result, argument in self._donated:
            slots.append(len(addresses) + result)
            cells.move(slots[-1], addresses[argument])
        if not self._moved_slots.isdisjoint(slots):
            self._graph, self._nodes = self._executor.capture(self._frame)
            return
        for index in {launch for slot in slots for launch in cells.users[slot]}:
            self._frame.launches[index].call.update(self._graph.handle, self._nodes[index])
