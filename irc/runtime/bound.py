"""Calls that are prepared: with their arrays fixed, or as a CUDA graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
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

UPDATED_NODES = 4
"""Of a graph, that are given the address of a changed array rather than that it is copied: an update takes 0.7 us of
the host's time and none of an H200's, a copy 4 us of its and 1 us of the host's. Four chains whose weights 8 launches
see take 26 us a replay with updates, 21 with a copy: launching a graph takes longer behind updates."""


class Graph(Bound):
    """A call as a CUDA graph: `graph()` runs it on the arrays of the call before, `graph(*arrays)` on others of the
    same kind, which it keeps. The arrays of the results are the same ones every time, and overwritten.

    Arguments are read where they are. Where an array changes, its address is written into the nodes that see it. One of
    up to a MiB that many nodes see gets a buffer of the graph instead, into which it is copied before each replay from
    then on, unless it is donated. Runs on several streams must not
    overlap; threads may share it.
    """

    def __init__(self, program: CudaProgram, executor: Executor, arguments: InPlace, made: Made):
        super().__init__(program, executor, arguments, made)
        self._lock = threading.Lock()
        self._sizes = [spec.nbytes for spec in program.arguments]
        moved = [b for s in self._frame.steps if isinstance(s, Copy) for b in (s.source, s.destination)]
        moved += [s.buffer for s in self._frame.steps if isinstance(s, Memset)]
        self._moved_slots = {self._frame.slot(buffer) for buffer in moved}
        self._donated = list(program.outputs.donated.items())
        donated = set(program.outputs.donated.values())
        self._copied = [slot for slot in range(len(self._sizes)) if self._copies(slot) and slot not in donated]
        """Arguments that get a buffer where their array changes."""
        self._buffers: dict[int, Memory] = {}
        self._given = arguments[2]
        """The addresses of the arguments."""
        self._wanted = self._placed = self._frame.cells.addresses
        """The address of each slot that the nodes have to see, and the one that they do, -1 where that is unknown."""
        self._capture()

    def _copies(self, slot: int) -> bool:
        """Whether an argument is copied where its array changes."""
        is_seen_often = slot in self._moved_slots or len(self._frame.cells.users[slot]) > UPDATED_NODES
        return is_seen_often and 0 < self._sizes[slot] <= COPIED_BYTES

    def _capture(self) -> None:
        self._graph, nodes = self._executor.capture(self._frame)
        pairs = zip(self._frame.launches, nodes, strict=True)
        self._updates = [launch.call.updater(self._graph.handle, node) for launch, node in pairs]

    def __call__(self, *arrays: Any, stream: Any | None = None) -> Any:
        """One replay, on the stream or on the current one of the arrays' library."""
        try:
            with self._lock:
                if arrays:
                    self._take(arrays)
                if self._wanted != self._placed:
                    self._place()
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
        """Notes the arrays and what the nodes have to see for them."""
        library, on, addresses, owners = self._program.in_place(arrays)
        if library is not self._library or on is not self._device:
            raise IrcError("a graph takes arrays of the library and the device that it was made with")
        for slot in self._copied:
            if addresses[slot] != self._given[slot] and slot not in self._buffers:
                self._buffers[slot] = self._executor.lasting(self._sizes[slot])
        wanted = [*addresses, *self._wanted[len(addresses) :]]
        for slot, buffer in self._buffers.items():
            wanted[slot] = buffer.address
        for result, argument in self._donated:
            self._results[result] = arrays[argument]
            wanted[len(addresses) + result] = addresses[argument]
        self._given, self._owners, self._wanted = addresses, owners, wanted

    def _place(self) -> None:
        """Writes the addresses that changed into the nodes that see them; the graph is captured again where nodes that
        are not launches do."""
        cells, wanted, before = self._frame.cells, self._wanted, self._placed
        self._placed = [-1] * len(wanted)
        cells.place(wanted)
        changed = [slot for slot, address in enumerate(wanted) if address != before[slot]]
        if not self._moved_slots.isdisjoint(changed):
            self._capture()
        else:
            for launch in {launch for slot in changed for launch in cells.users[slot]}:
                self._updates[launch]()
        self._placed = wanted
