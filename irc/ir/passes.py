"""Passes that say what they rely on, and what later ones may rely on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from irc.ir.rewriting import location_of
from irc.support.diagnostics import InternalError, IrcError


@dataclass(frozen=True)
class Invariant:
    """What holds of a module from one pass on.

    name: how documents and diagnostics call it. text: what holds, a clause. by: the pass that establishes it.
    offender: the first op of a module for which it does not hold, None where it holds. remedy: what to do then, by
    default to run that pass first.
    """

    name: str
    text: str
    by: str
    offender: Callable[[ModuleOp], Operation | None]
    remedy: str | None = None


class Pass(ModulePass):
    """A pass of irc. It runs only where what it `requires` holds, and leaves a module of which what it `establishes`
    holds."""

    requires: ClassVar[tuple[Invariant, ...]] = ()
    establishes: ClassVar[tuple[Invariant, ...]] = ()

    def check_given(self, module: ModuleOp) -> None:
        """IrcError for what the pass trusts IR of irc's own with, and verifiers do not see."""


def check_required(each: ModulePass, module: ModuleOp) -> None:
    """IrcError where something that the pass requires does not hold, or where it refuses what it was given. Passes that
    are not irc's require nothing."""
    if not isinstance(each, Pass):
        return
    for invariant in each.requires:
        if (op := invariant.offender(module)) is not None:
            raise IrcError(
                f"pass '{each.name}' requires that {invariant.text}: found '{op.name}'",
                location_of(op),
                invariant.remedy or f"run {invariant.by} first",
            )
    each.check_given(module)


def check_established(each: ModulePass, module: ModuleOp) -> None:
    """InternalError where something that the pass establishes does not hold behind it."""
    for invariant in each.establishes if isinstance(each, Pass) else ():
        if (op := invariant.offender(module)) is not None:
            raise InternalError(
                f"pass '{each.name}' establishes that {invariant.text}, but left '{op.name}'", location_of(op)
            )
