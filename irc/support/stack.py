"""Room for the frames of Python's calls.

CPython keeps the frames of a thread in chunks of 16 KiB. A call for which there is no room in the last one maps a new
chunk, which is unmapped when the call returns. A loop that calls at the end of a chunk does so each time, which
takes several hundred times as long as the call. Who is at an end depends on how deep the program is that called irc:
under torch.compile the same passes took two and a half times as long as alone (docs/decisions/room-for-frames.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SLOTS = 1 << 17
"""Of 8 bytes, for which the frame of `_within` asks. Chunks are a power of two of bytes: for 1 MiB and what a frame has
beside its slots 2 MiB, whose other half is for the calls within. That is room for more frames than Python's limit of
recursion. Memory that is not used is never touched."""


def with_room(run: Callable[P, R]) -> Callable[P, R]:
    """The function, with room for the frames of what it calls. It is for one that runs for milliseconds."""

    @wraps(run)
    def roomy(*arguments: P.args, **keywords: P.kwargs) -> R:
        return _within(run, arguments, keywords)

    return roomy


def _within(run: Callable[..., R], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> R:
    return run(*arguments, **keywords)


_within.__code__ = _within.__code__.replace(co_stacksize=SLOTS)
