"""The choices of kernels that are traced several times for one program: for a class of sizes, and for sizes of it.

The sizes of tiles follow from extents. A program for all sizes of a class has one choice, which is that of the numbers
that stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from irc.support.extents import Dim, varying


class Choices:
    """Those that were made in the first run, in order, and how many of them a later run has had."""

    def __init__(self, dims: Iterable[Dim]):
        self._dims = tuple(dims)
        self._made: list[Any] = []
        self._taken: int | None = None

    def restart(self) -> None:
        """Another run begins, which takes the choices of the first."""
        self._taken = 0

    def next(self, choose: Callable[[], Any]) -> Any:
        """The next choice: a new one in the first run, and where a later run has more."""
        if self._taken is None:
            self._made.append(choose())
            return self._made[-1]
        self._taken += 1
        return self._made[self._taken - 1] if self._taken <= len(self._made) else choose()

    def varies(self, extent: int) -> bool:
        """Whether an extent stands for sizes."""
        return bool(varying(extent, self._dims))


_choices: ContextVar[Choices | None] = ContextVar("irc_choices", default=None)


@contextmanager
def same_choices(dims: Iterable[Dim]) -> Generator[Choices]:
    """Within the block, runs of one function make the same choices."""
    token = _choices.set(choices := Choices(dims))
    try:
        yield choices
    finally:
        _choices.reset(token)


def open_choices() -> Choices | None:
    """Those of the block that this is in; None outside of one."""
    return _choices.get()
