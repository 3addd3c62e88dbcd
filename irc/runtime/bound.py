"""Calls that are prepared: with their arrays fixed, or as a CUDA graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, Any, TypeAlias

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
    from irc.runtime.outputs import Made

InPlace: TypeAlias = "tuple[Library, Device, list[int], Sequence[Any]]"
"""Arguments that kernels use as they are: their library, device and addresses, and what keeps them alive."""


class Bound:
    """A call whose arrays are fixed: `bound()` reads what they hold then, overwrites the arrays of the results and
    returns them, the same ones every time.

    It enqueues the plan and nothing else. It has an arena of its own, so runs on several streams must not overlap. One
    thread at a time may call it.
    """

    def __init__(self, program: CudaProgram, executor: Executor, arguments: InPlace, made: Made):
        """`made` are the results and their addresses."""
        self._program, self._executor = program, executor
        self._library, self._device, addresses, self._owners = arguments
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

UPDATED_NODES = 2
"""Of a graph, that are given the address of a changed array rather than that it is copied: on an H200, a node that is
updated takes 1.5 us of the host's time a replay, part of it when the graph is launched; a copy 1.2 us of it, and 1.3 us
of the device's for 128 KiB."""


class Graph(Bound):
    """A call as a CUDA graph: `graph()` runs it on the arrays of the call before, `graph(*arrays)` on others of the
    same kind, which it keeps. The arrays of the results are the same ones every time, and overwritten.

    Arguments are read where they are. Where an array changes, its address is written into the nodes that see it. One of
    up to a MiB that many nodes see gets a buffer of the graph instead, and a node that copies it there before each
    replay from then on, unless it is donated. Runs on several streams must not overlap; threads may share it.
    """

    def __init__(self, program: CudaProgram, executor: Executor, arguments: InPlace, made: Made):
        super().__init__(program, executor, arguments, made)
        self._lock = threading.Lock()
        self._sizes = [spec.nbytes for spec in program.arguments]
        moved = [b for s in self._frame.steps if isinstance(s, Copy) for b in (s.source, s.destination)]
        moved += [s.buffer for s in self._frame.steps if isinstance(s, Memset)]
        moved_slots = {self._frame.slot(buffer) for buffer in moved}
        self._donated = list(program.outputs.donated.items())
        can_copy = set(range(len(self._sizes))).difference(program.outputs.donated.values())
        self._copied = {slot for slot in can_copy if self._copies(slot, slot in moved_slots)}
        """Arguments that get a buffer when their array changes."""
        self._captured_anew = moved_slots | self._copied
        """Where the array of one of these changes, the graph is captured again: copies of the plan see its address, or
        it gets a buffer."""
        self._buffers: dict[int, Memory] = {}
        self._wanted = self._placed = list(self._frame.cells.addresses)
        """The address of the array of each slot, and the one that the nodes know, -1 where that is unknown."""
        self._capture()

    def _copies(self, slot: int, is_moved: bool) -> bool:
        """Whether an argument is copied when its array changes; `is_moved` says that copies of the plan see it."""
        is_seen_often = is_moved or len(self._frame.cells.users[slot]) > UPDATED_NODES
        return is_seen_often and 0 < self._sizes[slot] <= COPIED_BYTES

    def _capture(self) -> None:
        copies = [(buffer.address, self._wanted[slot], self._sizes[slot]) for slot, buffer in self._buffers.items()]
        self._graph, copied, launched = self._executor.capture(self._frame, copies)
        self._sources = dict(zip(self._buffers, map(self._graph.copy_updater, copied), strict=True))
        pairs = zip(self._frame.launches, launched, strict=True)
        self._updates = [launch.call.updater(self._graph.handle, node) for launch, node in pairs]

    def __call__(self, *arrays: Any, stream: Any | None = None) -> Any:
        """One replay, on the stream or on the current one of the arrays' library."""
        try:
            with self._lock:
                if arrays:
                    self._take(arrays)
                if self._wanted is not self._placed:
                    self._place()
                on = self._stream(stream)
                if (trace := active()) is None:
                    self._graph.enqueue(on)
                else:
                    with trace.on_device(self._device, on, "graph", "graph"):
                        self._graph.enqueue(on)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error
        return self.results

    def _take(self, arrays: Sequence[Any]) -> None:
        """Notes the arrays and what the nodes have to see for them."""
        library, on, addresses, owners = self._program.in_place(arrays)
        if library is not self._library or on is not self._device:
            raise IrcError("a graph takes arrays of the library and the device that it was made with")
        wanted = [*addresses, *self._wanted[len(addresses) :]]
        for result, argument in self._donated:
            self._results[result] = arrays[argument]
            wanted[len(addresses) + result] = addresses[argument]
        self._owners, self._wanted = owners, wanted

    def _place(self) -> None:
        """Writes the addresses that changed into the nodes that see them."""
        wanted, before = self._wanted, self._placed
        self._placed = [-1] * len(wanted)
        changed = list(compress(count(), map(ne, wanted, before)))
        seen = [slot for slot in changed if slot not in self._sources]
        if not self._captured_anew.isdisjoint(seen):
            self._add_buffers(seen)
            self._place_frame()
            self._capture()
        else:
            if seen:
                self._place_frame()
            for launch in set[int]().union(*[self._frame.cells.users[slot] for slot in seen]):
                self._updates[launch]()
            if len(seen) < len(changed):
                for slot, write in self._sources.items():
                    write(wanted[slot])
        self._placed = wanted

    def _add_buffers(self, changed: Sequence[int]) -> None:
        """Gives their buffers to the arguments that are copied."""
        added = self._copied.intersection(changed)
        self._buffers |= {slot: self._executor.lasting(self._sizes[slot]) for slot in added}
        self._copied -= added
        self._captured_anew -= added

    def _place_frame(self) -> None:
        """Takes the addresses that launches see."""
        addresses = list(self._wanted)
        for slot, buffer in self._buffers.items():
            addresses[slot] = buffer.address
        self._frame.cells.place(addresses)
