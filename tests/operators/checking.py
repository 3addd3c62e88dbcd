"""One operator with samples of one element type: eager beside torch.compile, results and gradients.

The first call is compiled by itself, then twice as many together as before, in one function, as long as all are right
and it is known of which call each node that is left to torch is; the calls of a function where that is not so are
compiled again, each by itself.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
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

MAX_TOGETHER = 32
"""Calls that are compiled in one function."""


def check(op: Any, element: str, limit: int | None = None, backend: Any = "irc", start: int = 0) -> Outcome:
    """Calls the operator with its samples (the first `limit` without the first `start`), by eager torch and compiled by
    the backend."""
    dtype = samples.DTYPES[element]
    outcome = Outcome(op.name, op.variant_test_name, element, start=start, limit=limit)
    checker = _Checker(op, dtype, irc_backend if backend == "irc" else backend, outcome)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in samples.calls(op, dtype, limit, start):
            checker.take(call)
        checker.check_waiting()
    return outcome


@dataclass
class _Expected:
    """A call and what eager torch gives for it."""

    call: samples.Call
    found: Found


class _Checker:
    """Takes the calls of an operator one after another."""

    def __init__(self, op: Any, dtype: torch.dtype, backend: Any, outcome: Outcome):
        self._dtype, self._backend, self._outcome = dtype, backend, outcome
        self._tolerances = samples.tolerances(op, dtype) if samples.is_defined(op) else None
        self._verdicts = {FORWARD: outcome.forward, GRADIENT: outcome.gradient}
        self._waiting: list[_Expected] = []
        self._count = max(1, min(outcome.start, MAX_TOGETHER))
        """How many are to be compiled together."""

    def take(self, call: samples.Call) -> None:
        try:
            found, draws = running.eager(call, self._dtype)
        except Exception:  # eager torch refuses the sample
            return
        self._outcome.calls += 1
        if draws:  # torch's generator is set once, before the function
            self._check_alone(_Expected(call, found))
            return
        self._waiting.append(_Expected(call, found))
        if len(self._waiting) >= self._count:
            self.check_waiting()

    def check_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if len(waiting) > 1 and self._check_together(waiting):
            self._count = min(2 * self._count, MAX_TOGETHER)
            return
        are_plain = [self._check_alone(each) for each in waiting]
        self._count = min(2, MAX_TOGETHER) if all(are_plain) else 1

    def _check_together(self, several: Sequence[_Expected]) -> bool:
        """Counts the calls, if all are right and it is known of which what is left to torch is."""
        found: list[Found] = [{} for _ in several]
        with watched() as graphs:
            error, is_broken = running.compiled([each.call for each in several], self._dtype, self._backend, found)
        if error is not None or is_broken:
            return False
        if any(each.found.keys() != own.keys() for each, own in zip(several, found, strict=True)):
            return False
        directions = {direction for own in found for direction in own}
        left = {direction: _left_by_line(graphs, direction) for direction in directions}
        if None in left.values():
            return False
        for each, own in zip(several, found, strict=True):
            if any(self._difference(each, own, direction) for direction in own):
                return False
        for direction, of_line in left.items():
            is_view = _is_view(graphs, direction)
            for line, own in enumerate(found, 1):
                if direction in own and of_line is not None:
                    self._verdicts[direction].count(of_line.get(line, []), is_view)
        return True

    def _check_alone(self, expected: _Expected) -> bool:
        """Whether all is right, and the graph is whole."""
        call, found = expected.call, Found()
        with watched() as graphs:
            error, is_broken = running.compiled([call], self._dtype, self._backend, [found])
        if error is not None:
            where = self._outcome.gradient if FORWARD in found else self._outcome.forward
            _note(where.refused if self._is_refused(call) else where.failed, call, error)
        elif expected.found.keys() != found.keys():
            text = f"eager has {' and '.join(expected.found)}, compiled {' and '.join(found)}"
            _note(self._outcome.gradient.wrong, call, text)
        is_plain = error is None
        for direction in found:
            verdict = self._verdicts[direction]
            problem = self._difference(expected, found, direction)
            if problem is not None:
                _note(verdict.wrong, call, problem)
                is_plain = False
                continue
            left = ["graph break"] if is_broken else _left(graphs, direction)
            verdict.count(left, _is_view(graphs, direction))
        return is_plain and not is_broken

    def _is_refused(self, call: samples.Call) -> bool:
        """Whether torch.compile refuses the call whatever the backend."""
        return running.compiled([call], self._dtype, "aot_eager", [{}])[0] is not None

    def _difference(self, expected: _Expected, found: Found, direction: str) -> str | None:
        """How the results are wrong; the finer ones are looked at where they are not as eager's."""
        values, wanted = found[direction], expected.found.get(direction, ())
        if difference(values, wanted, None, self._tolerances) is None:
            return None
        fine = running.finer(expected.call, self._dtype)
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
        return [left.text for graph in own for left in graph.left]
    return [] if graphs and not any(graph.programs or graph.left for graph in graphs) else [NO_GRAPH]


def _left_by_line(graphs: Sequence[Graph], direction: str) -> dict[int, list[str]] | None:
    """What is left of the call in each line; None where that is not known."""
    lines: dict[int, list[str]] = defaultdict(list)
    for left in (left for graph in _own(graphs, direction) for left in graph.left):
        if left.line is None:
            return None
        lines[left.line].append(left.text)
    return None if _left(graphs, direction) == [NO_GRAPH] else lines


def _note(notes: list[str], call: samples.Call, text: object) -> None:
    if len(notes) < MAX_PROBLEMS:
        notes.append(f"{call.summary}: {text}"[:2000])
