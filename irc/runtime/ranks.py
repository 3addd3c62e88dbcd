"""This process among the ranks, and what it exchanges with the others by."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irc.runtime.rendezvous import Place, Rendezvous
from irc.support.communicator import Communicator, DeviceCommunicator, communicating
from irc.support.diagnostics import IrcError
from irc.support.files import written_aside
from irc.support.mesh import Mesh

if TYPE_CHECKING:
    from irc.runtime.gloo import Gloo
    from irc.runtime.nccl import Nccl
    from irc.runtime.trace import Trace


T = TypeVar("T")


class Ranks:
    """All ranks of a run, seen from this one."""

    def __init__(self, place: Place):
        self.place = place
        self._lock = threading.Lock()
        self._calls = 0
        self._gathered = 0
        self._rendezvous: Rendezvous | None = None
        self._on_host: dict[Mesh, Gloo] = {}
        self._on_device: dict[Mesh, Nccl] = {}

    @property
    def rendezvous(self) -> Rendezvous:
        """Connected when it is first used."""
        with self._lock:
            if self._rendezvous is None:
                self._rendezvous = Rendezvous(self.place)
            return self._rendezvous

    def check(self, mesh: Mesh) -> None:
        """IrcError where the mesh is not of as many ranks as there are."""
        if mesh.size != self.place.size:
            axes = ", ".join(f"{name}={size}" for name, size in zip(mesh.names, mesh.sizes, strict=True))
            raise IrcError(
                f"the mesh {axes} has {mesh.size} ranks, and {self.place.size} are running",
                hint=f"python -m irc_tools.launch -n {mesh.size} script.py",
            )

    def on_host(self, mesh: Mesh) -> Communicator:
        """What exchanges arrays of the host."""
        from irc.runtime.gloo import Gloo

        if mesh not in self._on_host:
            self._on_host[mesh] = Gloo(mesh, self.place, self.rendezvous)
        return self._on_host[mesh]

    def on_device(self, mesh: Mesh) -> DeviceCommunicator:
        """What exchanges arrays of the device."""
        from irc.runtime.nccl import Nccl

        if mesh not in self._on_device:
            self._on_device[mesh] = Nccl(mesh, self.place, self.rendezvous)
        return self._on_device[mesh]

    def gathered(self, name: str, content: bytes) -> list[bytes]:
        """What each rank gives, by rank, on all of them."""
        if self.place.size == 1:
            return [content]
        self._gathered += 1
        return self.rendezvous.exchange(f"{name} (number {self._gathered})", content)

    def save_trace(self, trace: Trace, path: Path) -> None:
        """Writes the traces of all ranks to one file, each as a process; rank 0 writes it. All ranks call it."""
        since = min(float(each) for each in self.gathered("the beginning of a trace", repr(trace.began).encode()))
        rank = self.place.rank
        own = json.dumps(trace.to_json(rank, f"rank {rank}", since)["traceEvents"]).encode()
        parts = self.gathered("a trace", own)
        if rank == 0:
            events = [event for part in parts for event in json.loads(part)]
            with written_aside(path) as file:
                file.write(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode())

    def in_turn(self, mesh: Mesh, name: str, make: Callable[[], T]) -> T:
        """What `make` gives on each rank, on rank 0 first: the others find what that put into the cache."""
        if mesh.size == 1:
            return make()
        name = f"the compilation of {name}"
        if self.place.rank == 0:
            made = make()
            self.gathered(name, b"")
            return made
        self.gathered(name, b"")
        return make()

    @contextmanager
    def calling(self, mesh: Mesh, target: str, program: str) -> Generator[None]:
        """A call of a program, which all ranks make in the same order; `program` tells it from others. Within the block
        its collectives have what they exchange by."""
        if mesh.size == 1:
            yield
            return
        self._calls += 1
        self.rendezvous.note(self._calls, program)
        with communicating(device=self.on_device(mesh)) if target == "cuda" else communicating(self.on_host(mesh)):
            yield


@cache
def ranks() -> Ranks:
    """Those of the environment. IrcError where it is set in part."""
    return Ranks(Place.from_environment())
