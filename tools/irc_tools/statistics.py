"""Tables of what the simulator counted (`irc-run --target sim --stats`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from irc_tools.tables import print_table

if TYPE_CHECKING:
    from irc.interpreters.sim import KernelStatistics, OpStatistics

MAX_FAMILIES = 4
"""Kinds of ops that a kernel's row names."""


def print_statistics(kernels: Sequence[KernelStatistics]) -> None:
    """A row a kernel, then a row for each of its ops that accesses memory."""
    columns = ["kernel", "most frequent", "launches", "instructions", "sectors", "ideal", "wavefronts", "conflicts"]
    print_table("simulated", columns, [_kernel_row(kernel) for kernel in kernels], numbers_from=2)
    columns = ["kernel", "op", "at", "instructions", "requests", "sectors", "ideal", "wavefronts", "conflicts"]
    rows = [_op_row(kernel.name, entry) for kernel in kernels for entry in kernel.ops if entry.requests]
    print_table("accesses to memory", columns, rows, numbers_from=3)


def _kernel_row(kernel: KernelStatistics) -> list[str]:
    families: Counter[str] = Counter()
    for entry in kernel.ops:
        if entry.op != "arith.constant":
            families[entry.op] += entry.instructions
    frequent = ", ".join(f"{name} {count}" for name, count in families.most_common(MAX_FAMILIES))
    counts = (
        kernel.launches,
        kernel.instructions,
        kernel.sectors(),
        kernel.ideal_sectors(),
        kernel.wavefronts,
        kernel.conflicts,
    )
    return [kernel.name, frequent, *map(str, counts)]


def _op_row(kernel: str, entry: OpStatistics) -> list[str]:
    place = entry.location.rsplit("/", 1)[-1]
    sectors = [str(entry.sectors), str(entry.ideal_sectors)] if entry.sectors else ["", ""]
    shared = [str(entry.wavefronts), str(entry.conflicts)] if entry.wavefronts else ["", ""]
    return [kernel, entry.op, place, str(entry.instructions), str(entry.requests), *sectors, *shared]
