"""Calls of an operator: by eager torch, also in a wider type, and compiled, one by itself or several in one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import samples
import torch
import torch._dynamo
from comparison import Values
from graphs import CALLS
from outcomes import FORWARD, GRADIENT
from torch._dynamo.utils import counters
from torch.utils._pytree import tree_leaves

Found = dict[str, Values]
"""By direction the leaves of the results, and the gradients (None where there is none) if something has one."""


def eager(call: samples.Call, dtype: torch.dtype) -> tuple[Found, bool]:
    """What a call gives, and whether it draws from torch's generator."""
    samples.seed()
    before = torch.get_rng_state()
    found: Found = {}
    _run(lambda inputs: [_called(call, inputs[0])], [call.inputs(dtype)], [found])
    return found, not torch.equal(before, torch.get_rng_state())


def finer(call: samples.Call, dtype: torch.dtype) -> Found | None:
    """The call in a wider type, its results as the narrow one has them; None where that is not another way to the same
    results."""
    wide = samples.WIDER.get(dtype)
    if wide is None:
        return None
    found: Found = {}
    try:
        _run(lambda inputs: [_called(call, inputs[0])], [call.inputs(dtype, wide)], [found])
    except Exception:
        return None

    def narrowed(x: Any) -> Any:
        return x.to(dtype) if isinstance(x, torch.Tensor) and x.dtype == wide else x

    return {direction: [narrowed(x) for x in values] for direction, values in found.items()}


def compiled(
    calls: Sequence[samples.Call], dtype: torch.dtype, backend: Any, found: Sequence[Found]
) -> tuple[str | None, bool]:
    """Runs the calls compiled, in one function, and puts what they gave into `found`; the error that ended it, and
    whether torch broke the function's graph."""
    torch._dynamo.reset()
    counters.clear()

    error = None
    try:
        _run(
            torch.compile(_function(calls), backend=backend, dynamic=False),
            [call.inputs(dtype) for call in calls],
            found,
        )
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    return error, bool(counters["graph_break"])


def _function(calls: Sequence[samples.Call]) -> Callable[[Sequence[samples.Inputs]], Sequence[Any]]:
    """The function that makes the calls, the one with the number n in line n + 1."""
    lines = [f"f[{number}](x[{number}][0], *x[{number}][1], **x[{number}][2])" for number in range(len(calls))]
    text = "def called(x): return [" + ",\n".join(lines) + "]"
    names: dict[str, Any] = {"f": tuple(call.function for call in calls)}
    exec(compile(text, CALLS, "exec"), names)
    return names["called"]


def _called(call: samples.Call, inputs: samples.Inputs) -> Any:
    first, args, options = inputs
    return call.function(first, *args, **options)


def _run(
    function: Callable[[Sequence[samples.Inputs]], Sequence[Any]],
    inputs: Sequence[samples.Inputs],
    found: Sequence[Found],
) -> None:
    """The results of each call, and the gradients of a fixed weighted sum of those that have one; put into `found` as
    they come."""
    samples.seed()
    outputs: list[torch.Tensor] = []
    wanted: list[tuple[Found, list[torch.Tensor]]] = []
    for each, given, results in zip(found, inputs, function(inputs), strict=True):
        leaves = tree_leaves(results)
        each[FORWARD] = [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves]
        differentiable = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
        parameters = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor) and x.requires_grad]
        if differentiable and parameters:
            outputs += differentiable
            wanted.append((each, parameters))
    if wanted:
        parameters = [x for _, some in wanted for x in some]
        gradients = iter(torch.autograd.grad(outputs, parameters, list(map(_weights, outputs)), allow_unused=True))
        for each, some in wanted:
            each[GRADIENT] = [next(gradients) for _ in some]


def _weights(x: torch.Tensor) -> torch.Tensor:
    """Numbers between 0.5 and 1.5 that bf16 has exactly."""
    numbers = torch.arange(x.numel(), dtype=torch.float32).mul(37).remainder(65).div(64).add(0.5)
    return numbers.reshape(x.shape).to(x.dtype)
