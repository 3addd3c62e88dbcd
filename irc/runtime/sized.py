"""An executable for a class of sizes: compiled once, it has an executable for each size that it is called with."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from irc.runtime.artifact import ArraySpec, Artifact
from irc.runtime.bound import Bound, Graph
from irc.runtime.executable import REPETITIONS, Executable
from irc.runtime.sizes import sizes_of
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, Sizes

if TYPE_CHECKING:
    from irc.interpreters.sim.statistics import KernelStatistics
    from irc.runtime.profile import Profile

MAX_KEPT = 64
"""Sizes whose executables are kept; the one used least recently goes first."""


class SizedExecutable(Executable):
    """A compiled function whose arrays have run-time extents (`dims`).

    A call finds their sizes in its arrays. `exe.at(N=24)` is an executable for one size, with what a call with sizes
    cannot say by itself: its manifest, its launcher, its arena. Nothing is compiled for a size on the targets `cuda`
    and `sim`; `interpret` has nothing to compile, and `cpu` compiles for each.
    """

    def __init__(
        self,
        name: str,
        target: str,
        arguments: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        dims: Sequence[Dim],
        make: Callable[[Sizes], Executable],
        artifact: Artifact | None = None,
        manifest: dict[str, Any] | None = None,
    ):
        """`make` gives the executable for a size of each dim."""
        super().__init__(name, target, arguments, results, self, artifact, manifest)
        self.dims = tuple(dims)
        self._make = make
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[int, ...], Executable] = OrderedDict()

    def at(self, **sizes: int) -> Executable:
        """The executable for a size of each dim. IrcError where one is missing, or none of the dim's."""
        names = [dim.name for dim in self.dims]
        if sorted(names) != sorted(sizes):
            found = ", ".join(sizes) or "none"
            ranges = ", ".join(dim.text for dim in self.dims)
            raise IrcError(f"{self.name}: expected a size for {', '.join(names)}, found {found}", hint=ranges)
        for dim in self.dims:
            dim.check(sizes[dim.name], self.name)
        key = tuple(sizes[name] for name in names)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(sizes)
                self._made[key].reporter = self.reporter
                if len(self._made) > MAX_KEPT:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]

    def of(self, arrays: Sequence[Any]) -> Executable:
        """The executable for these arguments. IrcError where they do not fit."""
        if len(arrays) != len(self.arguments):
            wanted = ", ".join(f"{spec.name}: {spec.type}" for spec in self.arguments)
            raise IrcError(f"expected {len(self.arguments)} arrays ({wanted}), found {len(arrays)}")
        return self.at(**sizes_of(self.dims, self.arguments, [tuple(_shape(array)) for array in arrays]))

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call."""
        return self.of(arrays).run(arrays, stream, out)

    def launcher(self, device: int = 0) -> Callable[..., None]:
        raise self._needs_sizes("a launcher")

    @property
    def arena_bytes(self) -> int:
        raise self._needs_sizes("an arena")

    def _needs_sizes(self, what: str) -> IrcError:
        sizes = ", ".join(f"{dim.name}=..." for dim in self.dims)
        return IrcError(f"{what} of {self.name} is for one size", hint=f"exe.at({sizes}) has one")

    def bind(self, *arrays: Any) -> Bound:
        return self.of(arrays).bind(*arrays)

    def graph(self, *arrays: Any) -> Graph:
        return self.of(arrays).graph(*arrays)

    def profile(self, *arrays: Any, repetitions: int = REPETITIONS) -> Profile:
        return self.of(arrays).profile(*arrays, repetitions=repetitions)

    def kernel_times(self, *arrays: Any, repetitions: int = REPETITIONS) -> dict[str, float]:
        return self.of(arrays).kernel_times(*arrays, repetitions=repetitions)

    def statistics(self, *arrays: Any) -> list[KernelStatistics]:
        return self.of(arrays).statistics(*arrays)


def _shape(array: Any) -> Sequence[int]:
    """The shape of an array of any library; () of what has none, which the checks of the call refuse."""
    return getattr(array, "shape", ())
