"""Where the lines of a pool's state begin, in bytes: `generation` is the first.

The machine code of threads works on it (`irc/codegen/cpu/threads.py`), the pool fills it (`irc/runtime/threads.py`).
"""

from __future__ import annotations

LINE = 64
NEXT, ACTIVE, WORK, WORKERS = (n * LINE for n in range(1, 5))

FUNCTIONS = ("irc_pool_begin", "irc_pool_finish", "irc_pool_serve")
"""The functions of the code: what the caller does before and after its own part, and what a thread does."""
