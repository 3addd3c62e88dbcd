"""Arrays of integers that are known from positions, in ATen graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch.linear_integers import fold_linear_integers

aten = torch.ops.aten


def folded(f: Callable[..., Any], *inputs: torch.Tensor) -> list[str]:
    """The ops of a function's graph after folding, once what it gives is what the function gives."""
    module: GraphModule = make_fx(f, tracing_mode="fake")(*inputs)
    fold_linear_integers(module.graph)
    module.graph.lint()
    module.recompile()
    torch.testing.assert_close(module(*inputs), f(*inputs), rtol=0, atol=0, equal_nan=True)
    return ops_of(module)


def ops_of(module: GraphModule) -> list[str]:
    return [str(node.target).split(".")[1] for node in module.graph.nodes if node.op == "call_function"]


X = torch.arange(12.0).reshape(3, 4)


def sequences(positions: torch.Tensor) -> torch.Tensor:
    """Which of the sequences of a packed row each word is of."""
    away = torch.diff(positions, prepend=positions[:, :1] - 1, dim=-1)
    return (away != 1).cumsum(-1)


def test_one_sequence_is_known() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        of = sequences(torch.arange(4).unsqueeze(0).expand(3, -1))
        row, column = torch.arange(4)[:, None], torch.arange(4)[None]
        same = of[torch.arange(3)[:, None, None], row] == of[torch.arange(3)[:, None, None], column]
        return torch.where(same & (column <= row), x[:, None], 0.0)

    ops = folded(f, X)
    assert "full" in ops and "le" in ops
    assert not {"cat", "cumsum", "index", "sub", "ne", "eq"} & set(ops)


def test_sequences_of_arguments_are_computed() -> None:
    ops = folded(lambda p: sequences(p) * 2, torch.tensor([[0, 1, 2, 0, 1, 0]]))
    assert {"cat", "cumsum", "ne"} <= set(ops)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + ((torch.arange(8)[2:6] - torch.arange(4)) == 2),
        lambda x: x + ((torch.arange(8)[-6:-2] - torch.arange(4)) == 2),
        lambda x: x + ((torch.arange(0, 16, 4) - 2 * torch.arange(0, 8, 2)) + 5),
        lambda x: x + (torch.arange(8)[::2] - 2 * torch.arange(4)),
        lambda x: x + (torch.cat([torch.arange(2), torch.arange(2, 4)]) - torch.arange(4)),
        lambda x: x + (torch.cat([torch.full((1,), -1), torch.arange(3)]) - torch.arange(4)),
        lambda x: x + (torch.cat([torch.full((1,), 3), torch.full((1,), 4)]).sub(torch.arange(3, 5), alpha=1)[:1]),
        lambda x: x + (torch.full((3, 4), 1).cumsum(1) - torch.arange(1, 5)),
        lambda x: x + (torch.full((), 3).cumsum(0) + 1),
        lambda x: x + (torch.arange(3)[1] * 7),
        lambda x: x + (torch.arange(4).view(1, 4) * 0 + 3),
        lambda x: torch.where((torch.arange(4) - torch.arange(4)).bool() | True, x, -x),
        lambda x: x + (torch.arange(4).expand(3, 4).permute(1, 0) - torch.arange(4).unsqueeze(1)).t(),
    ],
)
def test_what_is_known_is_filled(f: Callable[..., Any]) -> None:
    assert "full" in folded(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + (torch.cat([torch.arange(2), torch.arange(2)]) - torch.arange(4)),
        lambda x: x + (torch.cat([torch.arange(3), torch.full((1,), -1)]) - torch.arange(4)),
        lambda x: x + (torch.arange(12).view(3, 4) - torch.arange(4)),
        lambda x: x + (torch.full((4,), 200, dtype=torch.uint8) + torch.full((4,), 100, dtype=torch.uint8)),
        lambda x: x + (torch.arange(4) * torch.arange(4)),
        lambda x: x + (torch.arange(4.0) - torch.arange(4.0)),
        lambda x: x + (torch.arange(4) < 2),
        lambda x: x + torch.arange(4).cumsum(0),
        lambda x: x + (torch.full((4,), 44, dtype=torch.int8) == 300),
        lambda x: x + torch.add(torch.full((4,), True), torch.full((4,), True), alpha=-1),
        lambda x: (x, torch.arange(4) - torch.arange(4)),
    ],
)
def test_what_is_not_known_stays(f: Callable[..., Any]) -> None:
    """Rows that do not go on, numbers that wrap, floats, sums of truth values, results of the graph."""
    assert folded(f, X).count("full") == ops_of(make_fx(f, tracing_mode="fake")(X)).count("full")


def test_symbolic_shapes_are_left_alone() -> None:
    module = make_fx(lambda x: x + sequences(torch.arange(x.shape[1])[None]), tracing_mode="symbolic")(X)
    before = str(module.graph)
    fold_linear_integers(module.graph)
    assert str(module.graph) == before


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + (torch.arange(8)[x.shape[0] : x.shape[0] + 4] - torch.arange(4)),
        lambda x: x + (torch.arange(8).narrow(0, x.shape[0], 4) + 1),
        lambda x: x + (torch.ops.aten.select.int(torch.arange(8), 0, x.shape[0]) + 1),
    ],
)
def test_what_is_at_a_symbolic_place_is_not_known(f: Callable[..., Any]) -> None:
    """Its shape is static."""
    module = make_fx(f, tracing_mode="symbolic")(X)
    fold_linear_integers(module.graph)
    module.recompile()
    torch.testing.assert_close(module(X), f(X), rtol=0, atol=0)
