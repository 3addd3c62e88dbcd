"""Running the pipelines of `irc/driver/pipelines.py` on a module, level by level."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.driver.manager import PassManager, Step, is_lowered, passes_had
from irc.driver.pipelines import PASSES, PIPELINES
from irc.driver.program import new_context
from irc.driver.reports import Instruments, watch
from irc.driver.universe import resolve
from irc.ir.targets import set_target
from irc.support.diagnostics import IrcError
from irc.support.garbage import seldom_collecting
from irc.support.stack import with_room

LEVELS: tuple[str, ...] = ("nd", "kernel", "tile", "cuda", "all")
"""The pipelines in order, each of which extends the one before."""


def passes_of(names: Sequence[str], **options: Any) -> list[ModulePass]:
    """The passes with these names; every option goes to each pass that has it."""
    return [_build(resolve(PASSES[name]), options) for name in names]


def _build(cls: type[ModulePass], options: dict[str, Any]) -> ModulePass:
    fields = {field.name for field in dataclasses.fields(cls)}
    return cls(**{name: value for name, value in options.items() if name in fields})


def run_passes(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    instruments: Instruments | None = None,
    verified: bool = True,
) -> None:
    """Runs the passes on the module, in place. instruments: what watches them, instead of the reports that are entered.
    verified: verify the module at the end."""
    manager = PassManager(new_context(), watch(module) if instruments is None else instruments)
    manager.run(module, [Step(each) for each in passes])
    if passes and verified:
        manager.verify_end(module, passes[-1].name)


def levels(
    module: ModuleOp,
    stops: Sequence[str] = LEVELS,
    *,
    context: Context | None = None,
    instruments: Instruments | None = None,
    lowered: Callable[[], object] | None = None,
    **options: Any,
) -> Iterator[tuple[str, ModuleOp]]:
    """Lowers the module in place, which has been verified, and yields it after each of the levels `stops`. The last one
    is verified; `lowered` is called before that, behind the last pass. `options` (`strict_rounding`, `any_order`) go to
    the passes that have them. Passes that the module had are not run again. instruments: as for `run_passes`."""
    done, given = passes_had(module), is_lowered(module)
    instruments = watch(module) if instruments is None else instruments
    checked = given or instruments.verify_each
    manager = PassManager(new_context() if context is None else context, instruments, checked=checked, given=given)
    for level in stops:
        names = PIPELINES[level]
        manager.run(module, [Step(each) for each in passes_of(names[done:], **options)], done + 1)
        if level == stops[-1]:
            if lowered is not None:
                lowered()
            if names[done:]:
                manager.verify_end(module, names[-1])
        done = max(done, len(names))
        yield level, module


@with_room
def lower(module: ModuleOp, upto: str = "cuda", *, arch: str | None = None, **options: Any) -> ModuleOp:
    """A lowered copy of the module: `nd`, `kernel`, `tile`, `cuda`, `all` with the host plan, or `cpu`. `arch` says
    what it is for, where it does not say so itself."""
    if upto not in PIPELINES:
        raise IrcError(f"unknown level {upto}", hint=f"levels are {', '.join(PIPELINES)}")
    copy = module.clone()
    if arch is not None:
        set_target(copy, arch)
    with seldom_collecting():
        for _ in levels(copy, [upto], **options):
            pass
    return copy
