"""One operator with samples of one element type: eager beside torch.compile, results and gradients.

Each call is compiled by itself. Of those that differ in values alone, or in how their arguments are spelled, irc compiles
one: the others find its program in the cache.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import running
import samples
import torch
from comparison import difference
from graphs import Graph, watched
from outcomes import FORWARD, GRADIENT, Outcome
from running import Found

from irc_frontend.torch import backend as irc_backend

MAX_PROBLEMS = 8
"""Problems that are kept of an operator."""

NO_GRAPH = "no graph"
"""Left to torch where it runs a call without compiling it."""


def check(
    op: Any, element: str, limit: int | None = None, backend: Any = "irc", start: int = 0, device: str = "cpu"
) -> Outcome:
    """Calls the operator with its samples (the first `limit` without the first `start`) on a device, by eager torch and
    compiled by the backend."""
    dtype = samples.DTYPES[element]
    outcome = Outcome(op.name, op.variant_test_name, element, start=start, limit=limit)
    checker = _Checker(op, dtype, irc_backend if backend == "irc" else backend, outcome)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in samples.calls(op, dtype, limit, start, device):
            checker.take(call)
    return outcome


class _Checker:
    """Takes the calls of an operator one after another."""

    def __init__(self, op: Any, dtype: torch.dtype, backend: Any, outcome: Outcome):
        self._dtype, self._backend, self._outcome = dtype, backend, outcome
        self._tolerances = samples.tolerances(op, dtype) if samples.is_defined(op) else None

    def take(self, call: samples.Call) -> None:
        try:
            expected = running.eager(call, self._dtype)
        except Exception:  # eager torch refuses the sample
            return
        self._outcome.calls += 1
        found = Found()
        with watched() as graphs:
            error, is_broken = running.compiled(call, self._dtype, self._backend, found)
        if error is not None:
            where = self._outcome.gradient if FORWARD in found else self._outcome.forward
            _note(where.refused if self._is_refused(call) else where.failed, call, error)
        elif expected.keys() != found.keys():
            text = f"eager has {' and '.join(expected)}, compiled {' and '.join(found)}"
            _note(self._outcome.gradient.wrong, call, text)
        for direction, verdict in ((FORWARD, self._outcome.forward), (GRADIENT, self._outcome.gradient)):
            if direction not in found:
                continue
            problem = self._difference(call, expected, found, direction)
            if problem is not None:
                _note(verdict.wrong, call, problem)
                continue
            left = ["graph break"] if is_broken else _left(graphs, direction)
            verdict.count(left, _is_view(graphs, direction))

    def _is_refused(self, call: samples.Call) -> bool:
        """Whether torch.compile refuses the call whatever the backend."""
        return running.compiled(call, self._dtype, "aot_eager", {})[0] is not None

    def _difference(self, call: samples.Call, expected: Found, found: Found, direction: str) -> str | None:
        """How the results are wrong; the finer ones are looked at where they are not as eager's."""
        values, wanted = found[direction], expected.get(direction, ())
        if difference(values, wanted, None, self._tolerances) is None:
            return None
        fine = running.finer(call, self._dtype)
        return difference(values, wanted, None if fine is None else fine[direction], self._tolerances)


def _own(graphs: Sequence[Graph], direction: str) -> list[Graph]:
    return [graph for graph in graphs if graph.is_backward == (direction == GRADIENT)]


def _is_view(graphs: Sequence[Graph], direction: str) -> bool:
    return not any(graph.programs for graph in _own(graphs, direction))


def _left(graphs: Sequence[Graph], direction: str) -> list[str]:
    """What the graphs of a direction leave to torch, or that there is none: then it ran without. The gradient of a view
    is a view too: torch makes both anew from the input."""
    own = _own(graphs, direction)
    if own:
        return [text for graph in own for text in graph.left]
    return [] if graphs and not any(graph.programs or graph.left for graph in graphs) else [NO_GRAPH]


def _note(notes: list[str], call: samples.Call, text: object) -> None:
    if len(notes) < MAX_PROBLEMS:
        notes.append(f"{call.summary}: {text}"[:2000])
