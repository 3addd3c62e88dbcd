"""What of a graph each program computes, and what it computes again instead of reading it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch import backend, division
from irc_frontend.torch.division import Subgraph, divide

NARROW, WIDE = torch.empty(1024, 512, dtype=torch.bfloat16), torch.empty(1024, 512)
"""Arrays of one and two MiB."""


def subgraphs_of(function: Callable[..., Any], *inputs: torch.Tensor) -> list[list[Subgraph]]:
    graph = make_fx(function, tracing_mode="fake")(*inputs).graph
    refused = graph.find_nodes(op="call_function", target=torch.ops.aten.erfinv.default)
    return divide(graph, dict.fromkeys(refused, "a test")).subgraphs


def left(x: torch.Tensor) -> torch.Tensor:
    """Something that torch does."""
    return torch.erfinv(x)


def names(nodes: list[torch.fx.Node]) -> list[str]:
    return [str(node.target).removeprefix("aten.").partition(".")[0] for node in nodes]


def test_what_torch_stands_before_is_computed_behind_it() -> None:
    """A cast for a later program alone: that reads what is cast, and the first program has nothing to do."""
    first, second = subgraphs_of(lambda x, y: (x.float() - 1) * left(y), NARROW, WIDE)
    assert not first
    assert names(second[0].inputs) == ["x_1", "erfinv"]
    assert (names(second[0].repeated), names(second[0].own)) == (["_to_copy", "sub"], ["mul"])


def test_what_is_stored_anyway_is_read_unless_less_is() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> Any:
        wide = x.float() - 1
        return wide, wide * left(y)

    first, second = subgraphs_of(both, NARROW, WIDE)
    assert names(first[0].results) == ["sub"]
    assert names(second[0].inputs) == ["x_1", "erfinv"]
    first, second = subgraphs_of(both, WIDE, WIDE)
    assert names(second[0].inputs) == ["sub", "erfinv"] and not second[0].repeated


def test_a_sum_that_is_read_in_its_place_too_is_stored() -> None:
    def residual(x: torch.Tensor, y: torch.Tensor) -> Any:
        both = x + y
        return both + left(both.sum(1, keepdim=True))

    first, second = subgraphs_of(residual, WIDE, WIDE.clone())
    assert names(first[0].results) == ["add", "sum"]
    assert names(second[0].inputs) == ["add", "erfinv"]


def test_several_arrays_that_are_made_of_one() -> None:
    """The second costs nothing more to read."""

    def gelu(x: torch.Tensor, y: torch.Tensor) -> Any:
        wide = x.float()
        inner, other = torch.tanh(wide * wide), torch.exp(wide)
        return inner * left(y) + other

    first, second = subgraphs_of(gelu, NARROW, WIDE)
    assert not first
    assert names(second[0].inputs) == ["x_1", "erfinv"]


def test_through_views_and_from_what_others_store() -> None:
    """A mean is reduced once, and read; what is subtracted from it is computed again."""

    def centred(x: torch.Tensor, y: torch.Tensor) -> Any:
        wide = x.float()
        mean = wide.mean(1)
        return (wide - mean.unsqueeze(1)).reshape(512, 1024) * left(y)

    first, second = subgraphs_of(centred, NARROW, WIDE.reshape(512, 1024))
    assert names(first[0].results) == ["mean"]
    assert names(second[0].inputs) == ["x_1", "mean", "erfinv"]
    assert names(second[0].repeated) == ["_to_copy", "sub"]


def test_small_arrays_and_long_chains_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sin().cos() * left(y)

    first, _ = subgraphs_of(scaled, torch.empty(64), torch.empty(64))
    assert names(first[0].results) == ["cos"]
    monkeypatch.setattr(division, "MAX_REPEATED", 1)
    first, _ = subgraphs_of(scaled, WIDE, WIDE)
    assert names(first[0].results) == ["cos"]
    monkeypatch.setattr(division, "MAX_REPEATED", 2)
    first, _ = subgraphs_of(scaled, WIDE, WIDE)
    assert not first


def test_numbers_that_wait_for_nothing_are_drawn_first() -> None:
    """They cut no program; others keep their order behind them."""

    def drawn(x: torch.Tensor) -> torch.Tensor:
        y = (x.sin() * 2).sum(1, keepdim=True)
        return y * torch.randint(0, 100, (512, 1024)) + y

    assert len(subgraphs_of(drawn, torch.ones(512, 1024))) == 1

    def both(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first = torch.rand(3)
        dropped = torch.nn.functional.dropout(x.sin(), 0.5)
        return first * dropped[0, :3], torch.rand(3) + first, dropped

    x, found = torch.ones(4, 8), list[tuple[torch.Tensor, ...]]()
    for function in (both, torch.compile(both, backend=backend)):
        torch.manual_seed(1)
        found.append(function(x))
    torch.testing.assert_close(found[1], found[0])


def donated_of(function: Callable[..., Any], *inputs: torch.Tensor) -> tuple[list[str], list[str]]:
    """The arguments that the one program of a graph on a GPU writes to, and the copies that stay with torch."""
    graph = make_fx(function, tracing_mode="fake")(*inputs).graph
    with FakeTensorMode() as mode:
        for node in graph.nodes:
            if isinstance(x := node.meta.get("val"), torch.Tensor):
                node.meta["val"] = mode.from_tensor(
                    torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda")
                )
    refused = graph.find_nodes(op="call_function", target=torch.ops.aten.erfinv.default)
    found = divide(graph, dict.fromkeys(refused, "a test"))
    ((subgraph,),) = found.subgraphs
    assert [node.all_input_nodes for node in graph.nodes if node.target is torch.ops.aten.copy_.default]
    return [node.name for node in subgraph.donated], [str(node.all_input_nodes[0]) for node in found.writes]


def test_arguments_with_new_values_are_written_by_their_program() -> None:
    place, row = torch.zeros(1, dtype=torch.long), torch.zeros(1024, 1, dtype=torch.bfloat16)

    def step(cache: torch.Tensor, place: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        new = torch.ops.aten.index_put(cache, [None, place], row)
        cache.copy_(new)
        return new.sum(1)

    assert donated_of(step, NARROW, place, row) == (["cache_1"], [])


def test_arguments_that_are_read_elsewhere_are_copied_into() -> None:
    def given(x: torch.Tensor) -> torch.Tensor:
        new = x + 1
        x.copy_(new)
        return new.view(-1)

    assert donated_of(given, NARROW) == ([], ["x_1"])  # the caller gets the array itself

    def viewed(x: torch.Tensor) -> torch.Tensor:
        flat = x.view(-1)
        x.copy_(x + flat.view(x.shape))
        return left(flat)

    assert donated_of(viewed, NARROW) == ([], ["x_1"])  # torch reads it later, by a view that the program reads too

    def small(x: torch.Tensor) -> torch.Tensor:
        new = x + 1
        x.copy_(new)
        return new.sum(0)

    assert donated_of(small, torch.zeros(16, 16)) == ([], ["x_1"])
    assert donated_of(small, NARROW) == (["x_1"], [])
