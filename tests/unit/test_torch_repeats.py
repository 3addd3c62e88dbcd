"""Equal nodes of a graph as one, beside torch's own pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._functorch.compile_utils import fx_graph_cse
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch.repeats import without_repeats

X = torch.randn(4, 6)


def traced(function: Callable[..., Any], *inputs: Any) -> GraphModule:
    return make_fx(function, tracing_mode="fake")(*inputs)


def targets(graph: Graph) -> list[str]:
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


def twice(x: torch.Tensor) -> torch.Tensor:
    return (x.t() @ x).sum() + (x.t() @ x).amax()


def layers(x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
    y = F.layer_norm(x, (6,)) + F.layer_norm(x, (6,))
    values, places = x.max(0)
    again, _ = x.max(0)
    return model(y[None]).sum() + values.sum() + again.sum() + places.sum()


@pytest.mark.parametrize("function", [twice, layers])
def test_the_graph_is_torchs(function: Callable[..., Any]) -> None:
    module = traced(function, X)
    found, theirs = without_repeats(module.graph), fx_graph_cse(module.graph)
    found.lint()
    assert targets(found) == targets(theirs)
    assert len(targets(found)) < len(targets(module.graph))
    torch.manual_seed(1)
    wanted = module(X)
    torch.manual_seed(1)
    torch.testing.assert_close(GraphModule(module, found)(X), wanted)


def test_results_stay_arrays_of_their_own() -> None:
    module = traced(lambda x: (x + 1, x + 1, (x * 2).view(-1), (x * 2).view(-1)), X)
    found = GraphModule(module, without_repeats(module.graph))(X)
    assert len({y.data_ptr() for y in found}) == 4


def test_what_is_another_thing_each_time_stays() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        drawn = torch.rand_like(x) - torch.rand_like(x)
        empty = torch.empty(4, 6).fill_(1) + torch.empty(4, 6).fill_(2)
        return (drawn + empty).sum()

    module = traced(function, X)
    assert targets(without_repeats(module.graph)) == targets(module.graph)


def test_numbers_are_told_apart_by_type_and_sign() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        one, other = torch.full_like(x, 0.0), torch.full_like(x, -0.0)
        return (torch.copysign(x, one) + torch.copysign(x, other) + x.pow(2) + x.pow(2.0)).sum()

    module = traced(function, X)
    assert targets(without_repeats(module.graph)) == targets(module.graph)


def test_what_is_read_before_a_write_is_not_what_is_read_behind_it() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        before = x.sum()
        x.copy_(x * 2)
        return before * x.sum()

    module = traced(function, X.clone())
    found = GraphModule(module, without_repeats(module.graph))
    torch.testing.assert_close(found(X.clone()), X.sum() * (2 * X).sum())
