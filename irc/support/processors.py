"""How many processors this process may use."""

from __future__ import annotations

import os


def processor_count() -> int:
    """Those of its affinity, where the system has one. Of ranks of a host, which a launcher counts in LOCAL_WORLD_SIZE
    as torchrun does, each has its part."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, known // int(ranks) if ranks.isdecimal() and int(ranks) else known)
