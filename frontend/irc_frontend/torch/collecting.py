"""How often Python looks for garbage while torch's compiler traces: a look at all objects of torch takes 0.3 s, and
Dynamo makes so many that there are several in a first call."""

from __future__ import annotations

import gc
from contextlib import ExitStack
from typing import Any

from torch._dynamo import config
from torch._dynamo.callback import callback_handler

from irc.support.garbage import seldom_collecting

_tracing = ExitStack()
"""What is to be ended with Dynamo's compilation, of which torch calls the outermost alone."""


def _begin(*_: Any) -> None:
    _tracing.enter_context(seldom_collecting())


def _end(*_: Any) -> None:
    if config.run_gc_after_compile:
        gc.collect(1)  # as torch does next: once, where the collector would look at all new objects before that
    _tracing.close()


def collect_seldom() -> None:
    """From now on the collector runs seldom while Dynamo compiles, for this backend or another one, until
    `torch._dynamo.reset`."""
    if _begin not in callback_handler.start_callbacks:
        callback_handler.register_start_callback(_begin)
        callback_handler.register_end_callback(_end)
