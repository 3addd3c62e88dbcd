"""Which of several configs a kernel gets: the one with which it is fastest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.dialects.kernel import ConfigAttr
from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError
from irc_frontend.evaluation import compile_nodes
from irc_frontend.graph import Node, fail, sorted_nodes
from irc_frontend.kernels.gradients import Recorded
from irc_frontend.place import Known

if TYPE_CHECKING:
    from irc.runtime.executable import Executable


class NotTimed(UserWarning):
    """There is no GPU to time configs: the first one that compiles is taken."""


@contextmanager
def said_at(place: Known | None) -> Generator[None]:
    """Within the block, a diagnostic is about what was said there."""
    try:
        yield
    except IrcError as error:
        error.location = error.location if place is None else place.span()
        raise


def fastest(name: str, configs: Sequence[ConfigAttr], traced: Callable[[ConfigAttr], Recorded]) -> Recorded:
    """The call with the config that takes the least time on the GPU; without one, with the first that compiles, which a
    warning says. Configs that do not compile for this kind of call are passed over. IrcError where none does."""
    times: list[tuple[float, Recorded]] = []
    faults: list[IrcError] = []
    for config in configs:
        try:
            found = traced(config)
            executable = _compiled(found)
            if executable.target != "cuda":
                _tell(name, config, len(configs))
                return found
            times.append((_seconds(executable, found), found))
        except IrcError as error:
            faults.append(error)
    if not times:
        raise _none_of(name, faults)
    return min(times, key=lambda each: each[0])[1]


def _compiled(recorded: Recorded) -> Executable:
    order = sorted_nodes([*recorded.inputs, *recorded.roots])
    return compile_nodes(order, recorded.roots, recorded.inputs)


def _seconds(executable: Executable, recorded: Recorded) -> float:
    """The median time of a run's kernels, on drawn numbers; integers are 0, an index that there is."""
    rng = np.random.default_rng(0)
    return sum(executable.kernel_times(*(_drawn(node, rng) for node in recorded.inputs)).values())


def _drawn(node: Node, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if node.is_float:
        return rng.standard_normal(node.shape, np.float32).astype(DTYPES[node.element])
    return np.zeros(node.shape, DTYPES[node.element])


def _tell(name: str, config: ConfigAttr, count: int) -> None:
    message = f"{name}: {count} configs are timed on a GPU; here the first that compiles is taken, {config}"
    warnings.warn(message, NotTimed, stacklevel=2)


def _none_of(name: str, faults: Sequence[IrcError]) -> IrcError:
    found = fail(f"none of the configs of {name} compiles: {faults[0].message}", faults[0].hint)
    found.location = faults[0].location or found.location
    return found
