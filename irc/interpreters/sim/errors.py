"""What the simulator finds wrong with a kernel: an `IrcError` with the op's place, the kernel, and the threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from xdsl.ir import Attribute

from irc.support.diagnostics import IrcError

Kind = Literal[
    "race",
    "uninitialized",
    "out of bounds",
    "divergence",
    "misaligned",
    "deadlock",
    "unwritten",
    "unsupported",
    "protocol",
]
"""`protocol`: a rule of an asynchronous op that is broken, such as a wait for a group that was never committed."""


class SimulationError(IrcError):
    """A kernel that does what it must not. `kind` says which rule it broke; `kernel` names the kernel."""

    def __init__(self, kind: Kind, message: str, location: Attribute | None, kernel: str, *, hint: str | None = None):
        super().__init__(f"{kind} in kernel {kernel}: {message}", location, hint)
        self.kind: Kind = kind
        self.kernel = kernel


MAX_NAMED = 4
"""Ranges of threads, or blocks, that a message names."""


def ranges(numbers: Iterable[int]) -> str:
    """`3`, `0-31`, `0-31, 64 and 8 more`."""
    found = sorted(set(numbers))
    runs: list[list[int]] = []
    for number in found:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number, number])
    texts = [str(low) if low == high else f"{low}-{high}" for low, high in runs[:MAX_NAMED]]
    rest = sum(high - low + 1 for low, high in runs[MAX_NAMED:])
    return ", ".join(texts) + (f" and {rest} more" if rest else "")


def threads_text(blocks: Sequence[int], threads: Sequence[int]) -> str:
    """`block 0, threads 0-31`: the threads of the first of the blocks, and how many blocks more."""
    if not blocks:
        return "no thread"
    first = blocks[0]
    mine = [thread for block, thread in zip(blocks, threads, strict=True) if block == first]
    others = len(set(blocks)) - 1
    more = f" (and threads of {others} other block{'s' if others > 1 else ''})" if others else ""
    return f"block {first}, thread{'s' if len(set(mine)) > 1 else ''} {ranges(mine)}{more}"
