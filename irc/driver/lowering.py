"""Running the pipelines of `irc/driver/pipelines.py` on a module, level by level."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from traceback import walk_tb
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from irc.driver.pipelines import PASSES, PIPELINES
from irc.driver.program import new_context
from irc.driver.universe import resolve
from irc.ir.passes import run_pass
from irc.ir.targets import set_target, target_of
from irc.ir.verification import verify
from irc.support.diagnostics import IrcError

LEVELS: tuple[str, ...] = ("nd", "kernel", "tile", "cuda", "all")
"""The pipelines in order, each of which extends the one before."""

AFTER = "irc.after"
"""The attribute of a module that names the pass of the pipelines that it had last: whoever reads its text goes on from
there. Passes up to `choose-config` find their work done where they run again, and are not noted."""

FIRST_NOTED = PIPELINES["all"].index("split-reductions")

Observer = Callable[[ModulePass, ModuleOp], None]
"""Called after a pass with the pass and what it made."""


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
    context: Context | None = None,
    after: Observer | None = None,
    verified: bool = True,
    checked: bool = True,
    given: bool = False,
) -> None:
    """Runs the passes on the module, in place. `IrcError`s of passes are passed on. verified: verify the module at the
    end. checked: look whether what each pass requires holds. given: somebody else wrote IR below nd, of which passes
    can expect less; see `unexpected`."""
    context = new_context() if context is None else context
    for each in passes:
        try:
            run_pass(each, context, module, checked=checked)
        except (IrcError, RecursionError, MemoryError):
            raise
        except Exception as error:
            if not given:
                raise
            raise unexpected(each, error) from error
        note_pass(module, each.name)
        if after is not None:
            after(each, module)
    if passes and verified:
        verify(module, after=passes[-1].name)


def is_lowered(module: ModuleOp) -> bool:
    """Whether the module has something of a level below nd."""
    return any(op.name.startswith(("kernel.", "tile.", "cuda.")) for op in module.walk())


def unexpected(entry: ModulePass, error: Exception) -> IrcError:
    """The diagnostic of an exception of a pass on IR that somebody else wrote, at the op that the pass was at.

    What a pass relies on below nd the passes before it made, and verifiers check but a part of it. Where irc made all
    of the IR, an exception is an error in irc, and stays what it is."""
    detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return IrcError(
        f"pass '{entry.name}' does not expect such IR: {detail}",
        _place(error),
        "it goes on from IR as passes print it; to change a program, stop before fuse-kernels",
    )


def _place(error: Exception) -> LocationAttr | None:
    """That of the op that was worked on, as far as the functions in which the error was know one."""
    found = None
    for frame, _ in walk_tb(error.__traceback__):
        ops = [value for value in frame.f_locals.values() if isinstance(value, Operation)]
        found = next((op.location for op in ops if not isinstance(op.location, UnknownLoc)), found)
    return found


def note_pass(module: ModuleOp, name: str) -> None:
    """Notes that the module had the pass, unless it had a later one, and the architecture that it was lowered for."""
    if name in PIPELINES["all"][max(FIRST_NOTED, passes_had(module)) :]:
        set_target(module, target_of(module).name)
        module.attributes[AFTER] = StringAttr(name)


def passes_had(module: ModuleOp) -> int:
    """How many of the passes of `all` the module had, by what is noted on it. Where nothing is, a program whose shared
    memory is planned, by hand for one, had those of its level."""
    noted = module.attributes.get(AFTER)
    if noted is None:
        return len(PIPELINES["tile"]) if any(map(_is_planned, module.ops)) else 0
    if not isinstance(noted, StringAttr) or noted.data not in PIPELINES["all"]:
        raise IrcError(f"{AFTER}: expected a pass of the pipelines, found {noted}", module.location)
    return PIPELINES["all"].index(noted.data) + 1


def _is_planned(op: Operation) -> bool:
    return op.name == "tile.program" and "shared" in op.properties


def levels(
    module: ModuleOp, stops: Sequence[str] = LEVELS, *, context: Context | None = None, **options: Any
) -> Iterator[tuple[str, ModuleOp]]:
    """Lowers the module in place, which has been verified, and yields it after each of the levels `stops`. The last one
    is verified. `options` (`strict_rounding`) go to the passes that have them. Passes that the module had are not run
    again."""
    context = new_context() if context is None else context
    done, given = passes_had(module), is_lowered(module)
    for level in stops:
        names = PIPELINES[level]
        passes = passes_of(names[done:], **options)
        run_passes(module, passes, context=context, verified=level == stops[-1], checked=given, given=given)
        done = max(done, len(names))
        yield level, module


def lower(module: ModuleOp, upto: str = "cuda", *, arch: str | None = None, **options: Any) -> ModuleOp:
    """A lowered copy of the module: `nd`, `kernel`, `tile`, `cuda`, or `all` with the host plan. `arch` says what it is
    for, where it does not say so itself."""
    if upto not in LEVELS:
        raise IrcError(f"unknown level {upto}", hint=f"levels are {', '.join(LEVELS)}")
    copy = module.clone()
    if arch is not None:
        set_target(copy, arch)
    for _ in levels(copy, [upto], **options):
        pass
    return copy
