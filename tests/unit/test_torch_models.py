"""Whole models through `torch.compile(model, backend="irc")` on the cpu target: results and gradients of eager."""

from __future__ import annotations

import copy

import pytest
import torch
from torch_models import MODELS, first_tensor

from irc_frontend.torch import backend, division
from irc_frontend.torch.graphs import Compiled, watching

pytestmark = pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled")

LEFT = {"max_pool2d", "native_dropout"}
"""What torch does of these models: ops that have this in their names."""


@pytest.mark.parametrize("least", [division.MIN_REPEATED, 0])
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with all that programs can compute again computed again, in models that are too small for it to pay."""
    monkeypatch.setattr(division, "MIN_REPEATED", least)
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    # In training, batch norms of a few small images amplify differences without bound.
    model = model.eval() if name == "resnet18" else model.train()
    twin, seen = copy.deepcopy(model), list[Compiled]()
    with watching(lambda kind, graph: seen.append(graph)):
        torch.manual_seed(1)
        found = first_tensor(torch.compile(model, backend=backend)(*inputs))
        torch.manual_seed(1)
        wanted = first_tensor(twin(*inputs))
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        weights = torch.randn_like(wanted)
        (found * weights).sum().backward()
        (wanted * weights).sum().backward()
    for parameter, other in zip(model.parameters(), twin.parameters(), strict=True):
        if other.grad is not None:
            scale = max(1.0, float(other.grad.abs().max()))
            torch.testing.assert_close(parameter.grad, other.grad, rtol=1e-3, atol=1e-4 * scale)
    left = {str(node.target) for graph in seen for node in graph.division.reasons}
    ops = {op for op in left if "getitem" not in op}
    assert not {op for op in ops if not any(part in op for part in LEFT)}
