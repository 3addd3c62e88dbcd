"""A line on a terminal that says what a long compilation does."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

DELAY = 2.0
"""Seconds that a compilation takes before there is a line."""

INTERVAL = 0.25
"""Seconds between two looks at what it does."""

_step = ""


def note_step(step: str) -> None:
    """Says what the compilation does now: a pass, or another step."""
    global _step
    _step = step


@contextmanager
def progress(what: str) -> Generator[None]:
    """Within the block, a line on standard error says what is compiled, the step and the seconds, from `DELAY` seconds
    on; it is gone behind the block. That is so on a terminal, unless `IRC_PROGRESS` is `off`."""
    if not sys.stderr.isatty() or os.environ.get("IRC_PROGRESS") == "off":
        yield
        return
    note_step("")
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(what, done), name="irc progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(what: str, done: threading.Event) -> None:
    begin, width = time.monotonic(), 0
    if done.wait(DELAY):
        return
    while not done.is_set():
        line = f"irc compiles {what}: {time.monotonic() - begin:.0f} s{_step and f', {_step}'}"
        sys.stderr.write("\r" + line.ljust(width))
        sys.stderr.flush()
        width = len(line)
        done.wait(INTERVAL)
    sys.stderr.write("\r" + " " * width + "\r")
    sys.stderr.flush()
