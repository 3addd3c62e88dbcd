"""Kernels that are tiled elsewhere than in the thread that runs `tile-kernels`: in processes, side by side."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr

from irc.dialects import tile
from irc.dialects.kernel import FusedOp

Strides = tuple[tuple[int, ...], ...]
"""Of a kernel's operands and of its results, in elements along each axis."""


@dataclass(frozen=True)
class Untiled:
    """A kernel that is to be tiled, the name and the location of its program, and how its arrays lie."""

    kernel: FusedOp
    name: str
    location: LocationAttr
    strides: Strides


Tiler = Callable[[Sequence[Untiled]], Sequence[tile.ProgramOp | None]]
"""The programs of kernels, in order; None of one that it leaves to who asks."""

_tiler: ContextVar[Tiler | None] = ContextVar("irc_tiler", default=None)


@contextmanager
def tiled_by(tiler: Tiler | None) -> Generator[None]:
    """In the block `tile-kernels` asks the tiler first, if there is one."""
    token = _tiler.set(tiler)
    try:
        yield
    finally:
        _tiler.reset(token)


def tiled_elsewhere(untiled: Sequence[Untiled]) -> Sequence[tile.ProgramOp | None]:
    """What the tiler makes of the kernels."""
    tiler = _tiler.get()
    return [None] * len(untiled) if tiler is None else tiler(untiled)
