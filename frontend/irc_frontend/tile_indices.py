"""What indexes a Tensor by tiles belongs to a trace, and the trace whose loop nest is being run."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from irc_frontend.graph import ARRAYS, Node

if TYPE_CHECKING:
    from irc_frontend.tensor import Tensor


class Tracer(Protocol):
    """A loop nest that is being traced (`kernels/trace.py`)."""

    def load(self, array: Tensor, key: Any) -> Tensor: ...

    def store(self, array: Tensor, key: Any, value: Any, *, add: bool = False) -> None: ...

    def check_iterated(self, value: Tensor) -> None: ...

    def check_decided(self, value: Tensor) -> None: ...


class TileIndex:
    """A tile or a position of a loop of `trace` (`kernels/indices.py`)."""

    __slots__ = ("trace",)
    trace: Tracer


_open: ContextVar[Tracer | None] = ContextVar("irc_trace", default=None)


def open_trace() -> Tracer | None:
    """The nest whose body is running."""
    return _open.get()


def set_trace(trace: Tracer | None) -> None:
    _open.set(trace)


def trace_at(array: Node, key: Any) -> Tracer | None:
    """The trace that an index of a Tensor belongs to: it has tiles, or is of a whole array in a loop over tiles."""
    keys: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    found = next((each.trace for each in keys if isinstance(each, TileIndex)), None)
    return _open.get() if found is None and array.op in ARRAYS else found
