"""What ranks exchange on the host: the interface, and which communicator the current thread has."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias

import numpy as np

from irc.support.diagnostics import IrcError

Array: TypeAlias = np.ndarray[Any, Any]


class Communicator(Protocol):
    """Exchanges arrays of the host with the ranks that differ along some axes of the mesh alone. Every rank of a group
    calls the same, in the same order. A rank may write over its arrays as soon as its call returns, whatever the others
    still do. IrcError where another rank is gone."""

    def all_reduce(self, arrays: Sequence[Array], monoid: str, axes: Sequence[str]) -> list[Array]:
        """For each array the `sum`, `prod`, `max` or `min` over the ranks, element by element."""
        ...

    def all_gather(self, x: Array, axes: Sequence[str]) -> Array:
        """The arrays of the ranks, one behind the other along the first axis."""
        ...

    def reduce_scatter(self, x: Array, monoid: str, axes: Sequence[str]) -> Array:
        """This rank's part along the first axis of what the monoid makes of the arrays."""
        ...


class DeviceCommunicator(Protocol):
    """Enqueues exchanges of arrays of the device on its streams. Every rank of a group enqueues the same, in the same
    order."""

    def enqueue(self, step: Any, sources: Sequence[int], destinations: Sequence[int], stream: int) -> None:
        """`step` is an `irc.runtime.plan.Collective`, of arrays at these addresses."""
        ...


_on_host: ContextVar[Communicator | None] = ContextVar("irc_communicator", default=None)
_on_device: ContextVar[DeviceCommunicator | None] = ContextVar("irc_device_communicator", default=None)


@contextmanager
def communicating(host: Communicator | None = None, device: DeviceCommunicator | None = None) -> Generator[None]:
    """Within the block, programs on the host or on a device exchange through these."""
    tokens = _on_host.set(host), _on_device.set(device)
    try:
        yield
    finally:
        _on_host.reset(tokens[0])
        _on_device.reset(tokens[1])


def communicator() -> Communicator:
    """Of programs on the host; IrcError where there is none."""
    if (found := _on_host.get()) is None:
        raise _no_mesh()
    return found


def device_communicator() -> DeviceCommunicator:
    """Of programs on a device; IrcError where there is none."""
    if (found := _on_device.get()) is None:
        raise _no_mesh()
    return found


def _no_mesh() -> IrcError:
    return IrcError("a collective runs, and there is no mesh of ranks", hint="call the program through jit(mesh=...)")
