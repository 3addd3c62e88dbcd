"""A kernel's call with the config that a tuner finds, or found before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from irc.configs.alone import parse_config
from irc.configs.space import ConfigSpace
from irc.dialects.kernel import ConfigAttr
from irc.driver.compiler import Options, default_target, resolve_arch
from irc.driver.measuring import Job
from irc.driver.tuning import TARGETS, say, settings_of, tuner, warn_not_timed
from irc.ir.printer import print_ir
from irc.ir.targets import target as target_named
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey
from irc.tuning.session import Outcome, Settings, Subject
from irc_frontend.build import build_module
from irc_frontend.evaluation import current_autotune, current_target
from irc_frontend.graph import sorted_nodes
from irc_frontend.kernels.facts import Facts
from irc_frontend.kernels.gradients import Recorded
from irc_frontend.kernels.space import NestSpace

Traced = Callable[[ConfigAttr], Recorded]
"""Traces the call with a config. IrcError where that does not apply."""


def timed_target() -> str | None:
    """Where the call runs, if kernels are timed there."""
    found = current_target() or default_target()
    return found if found in TARGETS else None


def chip() -> str:
    """The architecture that the call is for."""
    return "cpu" if (current_target() or default_target()) == "cpu" else resolve_arch(None)


def tuned_call(
    name: str, given: ConfigAttr, nests: Sequence[Facts], traced: Traced, autotune: bool | float
) -> Recorded:
    """The call with what a tuner found around the given config; with the heuristic's where it was not tuned."""
    plain, autotune = traced(given), autotune or current_autotune()
    if not autotune and not tuned.stamp(chip()):
        return plain
    key = KernelKey.of(print_ir(module_of(plain)))
    if autotune and not tuned.has(key, chip()):
        _tune(name, key, NestSpace(nests, given, target_named(chip())), traced, autotune)
    found = tuned.lookup(key, chip())
    try:
        return plain if found is None else traced(parse_config(found))
    except (IrcError, ParseError):  # of an earlier irc
        return plain


def _tune(name: str, key: KernelKey, space: ConfigSpace, traced: Traced, autotune: bool | float) -> None:
    settings = settings_of(autotune)
    if (where := timed_target()) is None:
        warn_not_timed(f"{name}: no GPU is here, and the target is not cpu")
        return
    try:
        search_configs(name, key, space, traced, where, settings)
    except IrcError as error:
        say(error.message)


def search_configs(
    name: str, key: KernelKey, space: ConfigSpace, traced: Traced, where: str, settings: Settings
) -> Outcome:
    """The outcome of a search on a target, whose log is on standard error. IrcError where the first config of the space
    cannot be timed."""
    at_work = tuner(where, settings, say)
    try:
        return at_work.tune(subject_of(name, key, space, traced))
    finally:
        at_work.close()


def subject_of(name: str, key: KernelKey, space: ConfigSpace, traced: Traced) -> Subject:
    """What the tuner is given for a call."""
    options = Options(chip())

    def job(config: ConfigAttr) -> Job:
        return Job(print_ir(module_of(traced(config))), options)

    return Subject(name, key, chip(), space, job)


def module_of(recorded: Recorded) -> ModuleOp:
    """The call as a program."""
    order = sorted_nodes([*recorded.inputs, *recorded.roots])
    return build_module(order, recorded.roots, recorded.inputs)
