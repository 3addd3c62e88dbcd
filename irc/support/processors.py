"""How many processors this process may use."""

from __future__ import annotations

import os


def processor_count() -> int:
    """Those of its affinity, where the system has one."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
