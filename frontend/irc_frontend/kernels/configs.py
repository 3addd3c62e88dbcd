"""Which of several configs a kernel gets: the one with which it is fastest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from irc.configs.alone import config_text, parse_config
from irc.dialects.kernel import ConfigAttr
from irc.ir.printer import print_ir
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey
from irc.tuning.bench import NotTimed
from irc.tuning.session import Settings
from irc_frontend.evaluation import compile_nodes
from irc_frontend.graph import fail, sorted_nodes
from irc_frontend.kernels.gradients import Recorded
from irc_frontend.kernels.space import ListSpace
from irc_frontend.kernels.tuning import chip, module_of, search_configs, timed_target
from irc_frontend.place import Known

LONGEST = 600.0
"""Seconds that the configs are timed: all of them are."""

Traced = Callable[[ConfigAttr], Recorded]


@contextmanager
def said_at(place: Known | None) -> Generator[None]:
    """Within the block, a diagnostic is about what was said there."""
    try:
        yield
    except IrcError as error:
        error.location = error.location if place is None else place.span()
        raise


def fastest(name: str, configs: Sequence[ConfigAttr], traced: Traced) -> Recorded:
    """The call with the config that takes the least time, where there are times; elsewhere with the first that
    compiles, which a warning says. Configs that do not compile for this kind of call, or cannot be timed, are passed
    over. IrcError where all are."""
    where, faults = timed_target(), list[IrcError]()
    for number, config in enumerate(configs):
        try:
            found = traced(config)
            _compile(found)
            if where is not None:
                return traced(_timed(name, found, configs[number:], traced, where))
        except IrcError as error:
            faults.append(error)
            continue
        _tell(name, config, len(configs))
        return found
    raise _none_of(name, faults)


def _timed(name: str, first: Recorded, configs: Sequence[ConfigAttr], traced: Traced, where: str) -> ConfigAttr:
    """The fastest; what is known of an earlier run is not timed again."""
    listed = "".join(f"// {config_text(config)}\n" for config in configs)
    key = KernelKey.of(print_ir(module_of(first)) + listed)
    if tuned.has(key, chip()) and (known := tuned.lookup(key, chip())) is not None:
        return parse_config(known)
    settings = Settings(budget=LONGEST, search="ranked")
    return search_configs(name, key, ListSpace(configs), traced, where, settings).config


def _compile(recorded: Recorded) -> None:
    order = sorted_nodes([*recorded.inputs, *recorded.roots])
    compile_nodes(order, recorded.roots, recorded.inputs)


def _tell(name: str, config: ConfigAttr, count: int) -> None:
    message = f"{name}: {count} configs are timed on a GPU; here the first that compiles is taken, {config}"
    warnings.warn(message, NotTimed, stacklevel=2)


def _none_of(name: str, faults: Sequence[IrcError]) -> IrcError:
    found = fail(f"none of the configs of {name} can be taken: {faults[0].message}", faults[0].hint)
    found.location = faults[0].location or found.location
    return found
