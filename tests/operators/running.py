"""Calls of an operator: by eager torch, also in a wider type, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import samples
import torch
import torch._dynamo
from comparison import Values
from outcomes import FORWARD, GRADIENT
from torch._dynamo.utils import counters
from torch.utils._pytree import tree_leaves

Found = dict[str, Values]
"""By direction the leaves of the results, and the gradients (None where there is none) if something has one."""


def eager(call: samples.Call, dtype: torch.dtype) -> Found:
    """What a call gives."""
    found: Found = {}
    _run(_function(call), call.inputs(dtype), found)
    return found


def finer(call: samples.Call, dtype: torch.dtype) -> Found | None:
    """The call in a wider type, its results as the narrow one has them; None where that is not another way to the same
    results."""
    wide = samples.WIDER.get(dtype)
    if wide is None:
        return None
    found: Found = {}
    try:
        _run(_function(call), call.inputs(dtype, wide), found)
    except Exception:
        return None

    def narrowed(x: Any) -> Any:
        return x.to(dtype) if isinstance(x, torch.Tensor) and x.dtype == wide else x

    return {direction: [narrowed(x) for x in values] for direction, values in found.items()}


def compiled(call: samples.Call, dtype: torch.dtype, backend: Any, found: Found) -> tuple[str | None, bool]:
    """Runs the call compiled, and puts what it gave into `found`; the error that ended it, and whether torch broke its
    graph."""
    torch._dynamo.reset()
    counters.clear()
    error = None
    try:
        _run(torch.compile(_function(call), backend=backend, dynamic=False), call.inputs(dtype), found)
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    return error, bool(counters["graph_break"])


def _function(call: samples.Call) -> Callable[[samples.Inputs], Any]:
    function = call.function

    def called(inputs: samples.Inputs) -> Any:
        first, args, options = inputs
        return function(first, *args, **options)

    return called


def _run(function: Callable[[samples.Inputs], Any], inputs: samples.Inputs, found: Found) -> None:
    """The results of a call, and the gradients of a fixed weighted sum of those that have one; put into `found` as they
    come."""
    samples.seed()
    leaves = tree_leaves(function(inputs))
    found[FORWARD] = [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves]
    outputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    parameters = [x for x in tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    if outputs and parameters:
        gradients = torch.autograd.grad(outputs, parameters, list(map(_weights, outputs)), allow_unused=True)
        found[GRADIENT] = list(gradients)


def _weights(x: torch.Tensor) -> torch.Tensor:
    """Numbers between 0.5 and 1.5 that bf16 has exactly."""
    numbers = torch.arange(x.numel(), dtype=torch.float32).mul(37).remainder(65).div(64).add(0.5)
    return numbers.reshape(x.shape).to(x.device, x.dtype)
