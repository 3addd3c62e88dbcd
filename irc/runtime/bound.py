"""Calls that are prepared: with their arrays fixed, or as a CUDA graph."""

from __future__ import annotations

import threading
from collections.abc import Container, Sequence
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, Any, TypeAlias

from irc.runtime.driver import DriverError
from irc.runtime.libraries import stream_handle
from irc.runtime.plan import Collective, Copy, Memset
from irc.runtime.trace import active
from irc.support.diagnostics import IrcError

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
        self._results, self._made = [array for array, _ in made], [address for _, address in made]
        self._frame.place(addresses, self._made, self._arena.address)

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
        self._kinds = tuple(map(type, self._owners))
        self._quick = program.quick(self._kinds)
        number = len(program.arguments)
        self._sizes = [spec.nbytes for spec in program.arguments]
        self._donated = list(program.outputs.donated.items())
        self._slots = [[slot, *(number + r for r, a in self._donated if a == slot)] for slot in range(number)]
        """Of each argument, the slots that have its address: its own, and those of results that are written over it."""
        moved = [b for s in self._frame.steps if isinstance(s, Copy) for b in (s.source, s.destination)]
        moved += [b for s in self._frame.steps if isinstance(s, Collective) for b in (*s.sources, *s.destinations)]
        moved += [s.buffer for s in self._frame.steps if isinstance(s, Memset)]
        moved_slots = {self._frame.slot(buffer) for buffer in moved}
        self._copied = {slot for slot in range(number) if self._copies(slot, moved_slots)}
        """Arguments that get a buffer when their array changes."""
        self._captured_anew = {
            a for a, slots in enumerate(self._slots) if moved_slots.intersection(slots)
        } | self._copied
        """Where the array of one of these changes, the graph is captured again: copies of the plan see its address, or
        it gets a buffer."""
        self._buffers: dict[int, Memory] = {}
        cells = self._frame.cells
        self._writers = [[cells.writer(slot) for slot in slots] for slots in self._slots]
        """Of each argument, what writes its address into what nodes are updated from, or into the node of its copy."""
        self._seen_by = [{launch for slot in slots for launch in cells.users[slot]} for slots in self._slots]
        """Of each argument, the launches that see its address."""
        self._unknown = [-1] * number
        self._wanted = self._given = arguments[2]
        """The addresses of the arrays, and those that the nodes know."""
        self._capture()

    def _copies(self, slot: int, moved: Container[int]) -> bool:
        """Whether an argument is copied when its array changes, where copies of the plan see the slots in `moved`."""
        is_seen_often = slot in moved or len(self._frame.cells.users[slot]) > UPDATED_NODES
        return is_seen_often and 0 < self._sizes[slot] <= COPIED_BYTES and self._slots[slot] == [slot]

    def _capture(self) -> None:
        copies = [(buffer.address, self._wanted[slot], self._sizes[slot]) for slot, buffer in self._buffers.items()]
        graph, copied, launched = self._executor.capture(self._frame, copies)
        pairs = zip(self._frame.launches, launched, strict=True)
        updates = [launch.call.updater(graph.handle, node) for launch, node in pairs]
        writers = {argument: graph.copy_updater(node) for argument, node in zip(self._buffers, copied, strict=True)}
        self._graph, self._updates = graph, updates
        for argument, write in writers.items():
            self._writers[argument], self._seen_by[argument] = [write], set[int]()

    def __call__(self, *arrays: Any, stream: Any | None = None) -> Any:
        """One replay, on the stream or on the current one of the arrays' library."""
        try:
            with self._lock:
                on = self._stream(stream)
                if arrays:
                    self._take(arrays)
                if self._wanted != self._given:
                    self._move()
                if (trace := active()) is None:
                    self._graph.enqueue(on)
                else:
                    with trace.on_device(self._device, on, "graph", "graph"):
                        self._graph.enqueue(on)
                return self.results
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error

    def _take(self, arrays: Sequence[Any]) -> None:
        """Notes the arrays and where they are."""
        addresses, owners = None, arrays
        if self._quick is not None and tuple(map(type, arrays)) == self._kinds:
            addresses = self._quick(arrays, self._device.ordinal)
        if addresses is None:
            library, on, addresses, owners = self._program.in_place(arrays)
            if library is not self._library or on is not self._device:
                raise IrcError("a graph takes arrays of the library and the device that it was made with")
        for result, argument in self._donated:
            self._results[result] = arrays[argument]
        self._owners, self._wanted = owners, addresses

    def _move(self) -> None:
        """Writes the addresses that changed into the nodes that see them. Where that fails, the nodes know none."""
        wanted, given = self._wanted, self._given
        self._given = self._unknown
        changed = list(compress(count(), map(ne, wanted, given)))
        if not self._captured_anew.isdisjoint(changed):
            self._capture_anew(changed)
        else:
            launches = set[int]()
            for argument in changed:
                for write in self._writers[argument]:
                    write(wanted[argument])
                launches |= self._seen_by[argument]
            for launch in launches:
                self._updates[launch]()
        self._given = wanted

    def _capture_anew(self, changed: Sequence[int]) -> None:
        """Captures the graph with the addresses that are wanted. Arguments that are copied get their buffers when they
        change."""
        added = self._copied.intersection(changed)
        self._buffers |= {argument: self._executor.lasting(self._sizes[argument]) for argument in added}
        for result, argument in self._donated:
            self._made[result] = self._wanted[argument]
        seen = [*self._wanted]
        for argument, buffer in self._buffers.items():
            seen[argument] = buffer.address
        self._frame.place(seen, self._made, self._arena.address)
        self._capture()
        self._copied -= added
        self._captured_anew -= added
