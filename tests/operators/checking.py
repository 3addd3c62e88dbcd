"""One operator with samples of one element type: eager beside torch.compile, results and gradients."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import samples
import torch
import torch._dynamo
from comparison import Values, difference
from graphs import Graph, watched
from torch._dynamo.utils import counters
from torch.utils._pytree import tree_leaves

from irc_frontend.torch import backend as irc_backend

FORWARD = "forward"
GRADIENT = "gradient"

MOST_PROBLEMS = 8
"""Problems that are kept of an operator."""


@dataclass
class Verdict:
    """What was found in one direction. right: calls with right results; compiled: those with nothing left to torch;
    views: those where there was nothing to compute either. left: the ops that were left, and how often. refused:
    errors of torch.compile whatever the backend."""

    right: int = 0
    compiled: int = 0
    views: int = 0
    left: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def count(self, graphs: Sequence[Graph], breaks: Sequence[str]) -> None:
        """Counts a right call with its graphs, and what ran beside them."""
        left = [*(name for graph in graphs for name in graph.left), *breaks]
        self.right += 1
        self.left = dict(Counter(self.left) + Counter(left))
        self.compiled += not left
        self.views += not left and not any(graph.programs for graph in graphs)

    @property
    def word(self) -> str:
        """One of those that `table.HEAD` explains, or empty without any call."""
        if self.wrong:
            return "wrong"
        if self.failed:
            return "failed"
        if self.refused:
            return "refused"
        if not self.right:
            return ""
        if self.views == self.right:
            return "views"
        if self.compiled == self.right:
            return "irc"
        return "partly" if self.compiled else "torch"


@dataclass
class Outcome:
    """What was found of an operator with one element type."""

    operator: str
    variant: str
    dtype: str
    calls: int = 0
    seconds: float = 0.0
    forward: Verdict = field(default_factory=Verdict)
    gradient: Verdict = field(default_factory=Verdict)

    @property
    def name(self) -> str:
        return f"{self.operator}.{self.variant}" if self.variant else self.operator

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_record(record: dict[str, Any]) -> Outcome:
        verdicts: dict[str, Any] = {name: Verdict(**record[name]) for name in (FORWARD, GRADIENT)}
        return Outcome(**(record | verdicts))


def check(op: Any, element: str, limit: int | None = None, backend: Any = "irc") -> Outcome:
    """Calls the operator with its samples (the first `limit`), by eager torch and compiled by the backend."""
    dtype = samples.DTYPES[element]
    outcome = Outcome(op.name, op.variant_test_name, element)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in samples.calls(op, dtype, limit):
            _check_call(op, call, dtype, backend, outcome)
    return outcome


Found = dict[str, Values]
"""By direction the leaves of the results, and the gradients (None where there is none) if something has one."""


def _check_call(op: Any, call: samples.Call, dtype: torch.dtype, backend: Any, outcome: Outcome) -> None:
    try:
        expected = _run(call.function, call.inputs(dtype))
    except Exception:  # eager torch refuses the sample
        return
    outcome.calls += 1
    finer = _finer(call, dtype)
    found: Found = {}
    with watched() as graphs:
        error = _compiled(call, dtype, irc_backend if backend == "irc" else backend, found)
    breaks = ["graph break"] * bool(counters["graph_break"])
    if error is not None:
        where = outcome.gradient if FORWARD in found else outcome.forward
        kind = where.refused if _is_refused(call, dtype) else where.failed
        _note(kind, call, error)
    elif expected.keys() != found.keys():
        _note(outcome.gradient.wrong, call, f"eager has {' and '.join(expected)}, compiled {' and '.join(found)}")
    tolerances = samples.tolerances(op, dtype) if samples.is_defined(op) else None
    for direction, verdict in ((FORWARD, outcome.forward), (GRADIENT, outcome.gradient)):
        if direction not in found:
            continue
        problem = difference(
            found[direction], expected[direction], None if finer is None else finer[direction], tolerances
        )
        if problem is not None:
            _note(verdict.wrong, call, problem)
            continue
        own = [graph for graph in graphs if graph.is_backward == (direction == GRADIENT)]
        verdict.count(own, breaks or _beside(graphs, own))


def _beside(graphs: Sequence[Graph], own: Sequence[Graph]) -> list[str]:
    """What ran without a graph. The gradient of a view is a view too: torch makes both anew from the input."""
    return [] if own or (graphs and not any(graph.programs or graph.left for graph in graphs)) else ["no graph"]


def _note(notes: list[str], call: samples.Call, text: object) -> None:
    if len(notes) < MOST_PROBLEMS:
        notes.append(f"{call.summary}: {text}"[:2000])


def _compiled(call: samples.Call, dtype: torch.dtype, backend: Any, found: Found) -> str | None:
    """Runs the call compiled and puts what it gave into `found`; the error that ended it."""
    torch._dynamo.reset()
    counters.clear()

    def called(*args: Any, **options: Any) -> Any:
        return call.function(*args, **options)

    try:
        _run(torch.compile(called, backend=backend, dynamic=False), call.inputs(dtype), found)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _is_refused(call: samples.Call, dtype: torch.dtype) -> bool:
    """Whether torch.compile refuses the call whatever the backend."""
    return _compiled(call, dtype, "aot_eager", {}) is not None


def _finer(call: samples.Call, dtype: torch.dtype) -> Found | None:
    """The call in a wider type, its results as the narrow one has them; None where that is not another way to the same
    results."""
    wide = samples.WIDER[dtype]
    try:
        found = _run(call.function, call.inputs(dtype, wide))
    except Exception:
        return None

    def narrowed(x: Any) -> Any:
        return x.to(dtype) if isinstance(x, torch.Tensor) and x.dtype == wide else x

    return {direction: [narrowed(x) for x in values] for direction, values in found.items()}


def _run(
    function: Callable[..., Any], inputs: tuple[Any, tuple[Any, ...], dict[str, Any]], found: Found | None = None
) -> Found:
    """The results, and the gradients of a fixed weighted sum of those that have one; put into `found` as they come."""
    found = {} if found is None else found
    first, args, options = inputs
    samples.seed()
    results = tree_leaves(function(first, *args, **options))
    found[FORWARD] = [x.detach() if isinstance(x, torch.Tensor) else x for x in results]
    wanted = [x for x in tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    differentiable = [x for x in results if isinstance(x, torch.Tensor) and x.requires_grad]
    if wanted and differentiable:
        weights = [_weights(x) for x in differentiable]
        found[GRADIENT] = torch.autograd.grad(differentiable, wanted, weights, allow_unused=True)
    return found


def _weights(x: torch.Tensor) -> torch.Tensor:
    """Numbers between 0.5 and 1.5 that bf16 has exactly."""
    numbers = torch.arange(x.numel(), dtype=torch.float32).mul(37).remainder(65).div(64).add(0.5)
    return numbers.reshape(x.shape).to(x.dtype)
