"""How often Python looks for garbage while IR is rewritten: IR is millions of objects that stay, in cycles."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

OBJECTS = 1_000_000
"""New objects between two looks at the youngest ones, in place of Python's 700, which is a quarter of the time of a
lowering. The lowering of a training step of GPT-2 makes so many: without a look it takes 15 MiB of 180 more."""

_lock = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def seldom_collecting() -> Generator[None]:
    """Within the block, in all threads, the collector runs seldom; blocks of several threads may overlap."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = gc.get_threshold()[0]
            gc.set_threshold(max(OBJECTS, _before) if _before else 0)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                gc.set_threshold(_before)
