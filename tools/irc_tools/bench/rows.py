"""Rows of suites: what irc-bench runs, and what it has to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irc_tools.bench.bars import Bar
from irc_tools.bench.python_files import KernelCall, PythonFunction

FIRST_CALL = "first call"

CLOCKS = ("device", "calls", "graph", "host", FIRST_CALL)
"""What is timed: the work on the device, with the host ahead of it; calls one after another, the host's part too;
replays of irc's programs as CUDA graphs, and calls of the peers, likewise; the host's part of calls alone; or the first
call of a compiled model in a process of its own, with empty caches and with full ones, which needs no GPU."""


@dataclass(frozen=True)
class Row:
    """One program to time, and what it has to reach."""

    name: str
    program: str
    group: str = ""
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    small: Mapping[str, int] = field(default_factory=dict[str, int])
    torch: str = ""
    reference: str = ""
    rival: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    bars: tuple[Bar, ...] = ()
    peers: tuple[str, ...] = ()
    clock: str = "device"
    tolerance: Mapping[str, float] = field(default_factory=dict[str, float])
    model: str = ""
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    loss: str = ""
    any_order: bool = False
    kernel: KernelCall | None = None
    triton: PythonFunction | None = None

    @property
    def swept(self) -> list[dict[str, int]]:
        """The values of the dims of `sizes`, in turn. Empty where there are none."""
        return [dict(zip(self.sizes, each, strict=True)) for each in zip(*self.sizes.values(), strict=True)]

    @property
    def is_compiled(self) -> bool:
        """Whether irc compiles it as it is, without a model of torch around it."""
        return bool(self.program) or self.kernel is not None


@dataclass(frozen=True)
class Summary:
    """A bar for a group of rows together, or for all rows where it names none: a statistic of their ratios."""

    group: str
    statistic: str
    bar: Bar


@dataclass(frozen=True)
class Suite:
    """Rows in the order in which they run. `show` says how a table writes speeds: as `bandwidth` or as `time`."""

    name: str
    title: str
    rows: tuple[Row, ...]
    summaries: tuple[Summary, ...] = ()
    show: str = "time"

    @property
    def times_first_calls(self) -> bool:
        """Of all rows: none is measured beside others."""
        return any(row.clock == FIRST_CALL for row in self.rows)
