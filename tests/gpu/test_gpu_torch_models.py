"""Whole models through `torch.compile(model, backend="irc")` on a GPU: results and gradients, as near to those in f64 as
eager's."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from irc.runtime.driver import is_present

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

from unit.torch_models import MODELS, first_tensor  # noqa: E402  (needs torch)

WORST = 1.5
"""How many times eager's error irc's may be."""


def on_gpu(inputs: tuple[Any, ...], dtype: Any) -> list[Any]:
    return [x.cuda().to(dtype) if x.is_floating_point() else x.cuda() for x in inputs]


def found(model: Any, inputs: list[Any], run: Any = None) -> tuple[Any, Any]:
    """A model's result, and the gradients of its weighted sum put together."""
    result = first_tensor((model if run is None else run)(*inputs)).double()
    weights = torch.randn(result.shape, generator=torch.Generator("cuda").manual_seed(1), device="cuda").double()
    (result * weights).sum().backward()
    return result.detach(), {name: p.grad.double() for name, p in model.named_parameters() if p.grad is not None}


def error(one: Any, reference: Any) -> float:
    return float((one - reference).norm() / reference.norm().clamp(min=1e-30))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype, least", [("float32", 1e-4), ("bfloat16", 4e-3)])
def test_results_and_gradients(name: str, dtype: str, least: float) -> None:
    """Gradients are compared all together: those of single parameters are sums that cancel in some, as a key's bias."""
    from irc_frontend.torch import backend

    torch._dynamo.reset()
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    element = getattr(torch, dtype)
    model = model.cuda().eval().to(element)  # dropout draws other numbers in f64
    exact, twin = copy.deepcopy(model).double(), copy.deepcopy(model)
    reference, gradients = found(exact, on_gpu(inputs, torch.float64))
    eager = found(twin, on_gpu(inputs, element))
    irc = found(model, on_gpu(inputs, element), torch.compile(model, backend=backend))
    assert irc[1].keys() >= eager[1].keys() == gradients.keys()  # torch.compile gives zeros where eager gives none
    assert error(irc[0], reference) <= max(WORST * error(eager[0], reference), least)
    joined = [torch.cat([each[key].flatten() for key in gradients]) for each in (irc[1], eager[1], gradients)]
    assert error(joined[0], joined[2]) <= max(WORST * error(joined[1], joined[2]), least)
