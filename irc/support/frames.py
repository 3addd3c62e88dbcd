"""What Python shows of a diagnostic that nobody catches: the frames of the user's own code, not those of irc.

The first diagnostic that is made puts a hook before `sys.excepthook`, which is called for everything else as before;
IPython asks the exception. `IRC_DEBUG` in the environment shows all frames.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType, TracebackType

PACKAGES = frozenset({"irc", "irc_frontend", "irc_tools", "xdsl"})

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def hide_frames(kind: type[BaseException]) -> None:
    """Exceptions of a kind, and of kinds derived from it, are shown without irc's frames from now on."""
    if not getattr(sys.excepthook, "hides_frames_of_irc", False):
        sys.excepthook = _hook(kind, sys.excepthook)


def _hook(kind: type[BaseException], inner: Hook) -> Hook:
    def hook(of: type[BaseException], error: BaseException, tb: TracebackType | None) -> object:
        if not isinstance(error, kind) or os.environ.get("IRC_DEBUG"):
            return inner(of, error, tb)
        with _trimmed(error):
            return inner(of, error, error.__traceback__)

    hook.hides_frames_of_irc = True  # pyright: ignore[reportFunctionMemberAccess]
    return hook


def shown(error: BaseException) -> list[str]:
    """The lines of a traceback."""
    import traceback

    if os.environ.get("IRC_DEBUG"):
        return traceback.format_exception(error)
    with _trimmed(error):
        return traceback.format_exception(error)


@contextmanager
def _trimmed(error: BaseException) -> Generator[None]:
    """Within the block the exception has the user's frames alone, and no cause that was raised inside of irc."""
    kept = error.__traceback__, error.__cause__, error.__suppress_context__
    cause = error.__cause__ or error.__context__
    try:
        error.__traceback__ = users(error.__traceback__)
        if cause is not None and not _ends_in_users_code(cause):
            error.__cause__, error.__suppress_context__ = None, True
        yield
    finally:
        error.__traceback__, error.__cause__, error.__suppress_context__ = kept


def users(tb: TracebackType | None) -> TracebackType | None:
    """A traceback without irc's frames, and without those of libraries that irc calls."""
    kept: list[TracebackType] = []
    inside = False
    for at in _walk(tb):
        inside = is_irc(at.tb_frame) or (inside and is_library(at.tb_frame))
        if not inside:
            kept.append(at)
    found: TracebackType | None = None
    for at in reversed(kept):
        found = TracebackType(found, at.tb_frame, at.tb_lasti, at.tb_lineno)
    return found


def _walk(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def is_irc(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in PACKAGES


def _ends_in_users_code(error: BaseException) -> bool:
    frames = [at.tb_frame for at in _walk(error.__traceback__)]
    return bool(frames) and not is_irc(frames[-1]) and not is_library(frames[-1])


def is_library(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(("<frozen ", *_library_folders()))


@cache
def _library_folders() -> tuple[str, ...]:
    import sysconfig

    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
