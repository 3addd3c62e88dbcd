"""Kernels written in Python: functions with loops over tiles (docs/kernels.md)."""

from irc_frontend.kernels.kernel import Kernel, addmm, atomic_add, copy_of, empty, empty_like, kernel
from irc_frontend.kernels.tiles import tiles

__all__ = ["Kernel", "addmm", "atomic_add", "copy_of", "empty", "empty_like", "kernel", "tiles"]
