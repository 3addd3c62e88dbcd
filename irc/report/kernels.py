"""What a page shows of one kernel beside its code: its config among those that could be, what it takes of the chip,
its layouts, and its pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice

from irc.analysis.resources import NAMED_BARRIERS, named_barriers
from irc.codegen.nvrtc import Resources
from irc.configs.footprint import Estimator, Footprint
from irc.configs.space import KernelSpace
from irc.dialects import cuda, tile
from irc.dialects.kernel import ConfigAttr, ConfigFields, FusedOp, TileSizes
from irc.ir.properties import values_of
from irc.ir.targets import Target, target_of
from irc.report.layouts import Drawing, drawings
from irc.report.timeline import Timeline, timeline
from irc.support.diagnostics import IrcError

MOST_ALTERNATIVES = 16
"""Configs that are shown, the best first."""


@dataclass(frozen=True)
class Alternatives:
    """Configs of a kernel in the order of what they should take, by the model that the tuner begins with. columns: what
    they differ in, and what they take. chosen: the number of the row that became the kernel's; -1 where it is none of
    them. count: how many there are."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    chosen: int
    count: int


@dataclass(frozen=True)
class KernelReport:
    """config, resources: (what, how much) pairs. alternatives: None where nothing was chosen."""

    name: str
    config: Sequence[tuple[str, str]] = ()
    alternatives: Alternatives | None = None
    resources: Sequence[tuple[str, str]] = ()
    drawings: Sequence[Drawing] = ()
    timeline: Timeline | None = None


def of_config(kernel: FusedOp, space: KernelSpace | None) -> KernelReport:
    """A kernel that has its config; `space` is that of the kernel before."""
    assert kernel.config is not None
    machine = target_of(kernel)
    config = kernel.config
    shown = [(name, _text(config, name)) for name in _set_fields([config])]
    found = None if space is None else _alternatives(kernel, config, space, machine)
    return KernelReport("" if kernel.sym_name is None else kernel.sym_name.data, shown, found)


def space_of(kernel: FusedOp) -> KernelSpace | None:
    """The configs that a kernel can have; None where the heuristic has none for it."""
    try:
        return KernelSpace(kernel, target_of(kernel))
    except IrcError:
        return None


def _alternatives(kernel: FusedOp, config: ConfigAttr, space: KernelSpace, machine: Target) -> Alternatives:
    """The heuristic's candidates and the neighbors of what was chosen."""
    ranked = space.ranked(list(dict.fromkeys([config, *space.seeds, *space.neighbors(config)])))
    shown = list(islice(ranked, MOST_ALTERNATIVES))
    if config not in shown:
        shown[-1] = config
    estimator = Estimator(kernel, machine)
    names = [name for name in _set_fields(shown) if len({_text(each, name) for each in shown}) > 1]
    taken = () if machine.exact_tiles else ("tiles", "registers", "shared memory", "blocks of an SM")
    rows = [
        [
            str(1 + ranked.index(each)),
            f"{space.estimate(each) * 1e6:.2f} us",
            *(_text(each, name) for name in names),
            *(() if machine.exact_tiles else _footprint(estimator, each, machine)),
        ]
        for each in shown
    ]
    return Alternatives(("", "estimate", *names, *taken), rows, shown.index(config), len(ranked))


def _footprint(estimator: Estimator, config: ConfigAttr, machine: Target) -> tuple[str, ...]:
    taken = estimator.footprint(config)
    return (f"{taken.tiles}", f"{taken.registers}", _kib(taken.shared), f"{taken.resident(machine)}")


def _set_fields(configs: Sequence[ConfigAttr]) -> list[str]:
    names = [field.name for field in fields(ConfigFields)]
    return [name for name in names if any(getattr(each.data, name) is not None for each in configs)]


def _text(config: ConfigAttr, name: str) -> str:
    value = getattr(config.data, name)
    if isinstance(value, TileSizes):
        return " ".join(f"{dim}={size}" for dim, size in value.items())
    if isinstance(value, tuple):
        return " x ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return "" if value is None else str(value)


def with_program(report: KernelReport, program: tile.ProgramOp) -> KernelReport:
    """With what its tile program shows."""
    return replace(report, resources=_barriers(program), drawings=drawings(program), timeline=timeline(program))


def with_resources(report: KernelReport, kernel: cuda.KernelOp, used: Resources | None) -> KernelReport:
    """With what the kernel takes behind what its program takes. used: what the assembler says, where there is one."""
    machine = target_of(kernel)
    threads, cluster = kernel.block.value.data, values_of(kernel.cluster)
    dynamic = 0 if kernel.shared is None else kernel.shared.value.data
    shared = dynamic + (0 if used is None else used.shared)
    rows = [
        ("grid", " x ".join(map(str, values_of(kernel.grid)))),
        ("cluster", " x ".join(map(str, cluster)) if cluster else "none"),
        ("threads of a block", f"{threads}: {threads // machine.warp_size} warps"),
        ("shared memory of a block", f"{_kib(shared)} of {_kib(machine.shared_memory)}"),
        *report.resources,
    ]
    if used is not None:
        taken = Footprint(1, threads, used.registers, shared, 0, 0)
        resident = taken.resident(machine)
        rows += [
            ("registers of a thread", f"{used.registers} of {machine.registers_per_thread}"),
            ("spilled", f"{used.spills} bytes, stack frame of {used.stack} bytes"),
            ("blocks that share an SM", f"{resident}: {resident * threads // machine.warp_size} warps"),
        ]
    return replace(report, resources=rows)


def _barriers(program: tile.ProgramOp) -> list[tuple[str, str]]:
    """Those of the block: 16 by number, and two of each stage of a channel that TMA fills."""
    partitions = [op for op in program.walk() if isinstance(op, tile.PartitionsOp)]
    named = 1 + max((len(named_barriers(op)) for op in partitions), default=0)
    channels = [op for op in program.walk() if isinstance(op, tile.ChannelOp)]
    stages = " + ".join(str(channel.stage_count) for channel in channels)
    return [
        ("barriers by number", f"{named} of {NAMED_BARRIERS}"),
        ("stages of channels", f"{stages}, each with a full and an empty barrier" if channels else "none"),
    ]


def _kib(size: int) -> str:
    return f"{size} B" if size < 1024 else f"{size / 1024:.4g} KiB"
