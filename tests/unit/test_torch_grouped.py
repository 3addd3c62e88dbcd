"""torch._grouped_mm under torch.compile: irc's grouped products, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import irc_frontend as ir
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.rules import RULES, Left

ENDS = torch.tensor([10, 10, 40, 64], dtype=torch.int32)

pytestmark = [
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
    pytest.mark.usefixtures("fresh_torch"),
]


def drawn(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).bfloat16().requires_grad_()


def watched(function: Any, *args: Any) -> tuple[Any, list[Compiled]]:
    graphs: list[Compiled] = []
    with watching(lambda kind, graph: graphs.append(graph)):
        result = torch.compile(function, backend="irc", fullgraph=True)(*args)
        if result.requires_grad:
            result.backward(torch.ones_like(result))
    return result, graphs


FORMS = {
    "rows": ((64, 32), (4, 32, 48), ENDS),
    "contracted": ((16, 64), (64, 24), ENDS),
    "columns": ((4, 16, 32), (32, 64), ENDS),
    "batches": ((4, 16, 32), (4, 32, 8), None),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_and_their_gradients(form: str) -> None:
    left, right, ends = FORMS[form]
    a, b = drawn(*left), drawn(*right)
    wanted = F.grouped_mm(a, b, offs=ends)
    gradients = torch.autograd.grad(wanted, (a, b), torch.ones_like(wanted))
    found, graphs = watched(lambda a, b: F.grouped_mm(a, b, offs=ends), a, b)
    assert len(graphs) == 2 and not any(graph.division.reasons for graph in graphs)
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)
    for x, gradient in zip((a, b), gradients, strict=True):
        torch.testing.assert_close(x.grad, gradient, rtol=2e-2, atol=2e-2)


def test_gated_experts_are_one_graph() -> None:
    def experts(x: Any, gate: Any, up: Any, down: Any, ends: Any) -> Any:
        hidden = F.silu(F.grouped_mm(x, gate, offs=ends)) * F.grouped_mm(x, up, offs=ends)
        return F.grouped_mm(hidden, down.transpose(1, 2), offs=ends)

    arrays = drawn(64, 32), drawn(4, 32, 48), drawn(4, 32, 48), drawn(4, 32, 48)
    wanted = experts(*arrays, ENDS)
    gradients = torch.autograd.grad(wanted, arrays, torch.ones_like(wanted))
    found, graphs = watched(experts, *arrays, ENDS)
    assert len(graphs) == 2 and not any(graph.division.reasons for graph in graphs)
    for a, b in zip((found, *(x.grad for x in arrays)), (wanted, *gradients), strict=True):
        assert a is not None and (a - b).abs().max() <= 2e-2 * b.abs().max()


def test_a_bias_stays_with_torch() -> None:
    with pytest.raises(Left, match="a grouped product with a bias"):
        RULES[torch.ops.aten._grouped_mm.default].record(None, None, None, bias=ir.zeros(3))
