"""Graphs as CUDA graphs: which arguments are read where they are, what is captured again, and what is lent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
import torch
from faked_captures import again, captures, recording, replayed
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch import replays
from irc_frontend.torch.replays import NotCaptured, Replays, why_not_captured


def step(weight: torch.Tensor, x: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    """What AOTAutograd makes of a model that writes to a cache."""
    new = cache + x
    cache.copy_(new)
    return new * weight


def replays_of(static: Sequence[int] = (0,)) -> Replays:
    module = make_fx(step, tracing_mode="fake")(torch.ones(4), torch.ones(4), torch.zeros(4))
    captures.clear()

    def run(arguments: list[Any]) -> Any:
        weight, x, cache = arguments
        arguments.clear()
        cache += x
        return [cache * weight]

    return Replays(module, recording(run), static, again)


def test_a_graph_does_what_calls_do() -> None:
    replays, weight, cache = replays_of(), torch.full((4,), 2.0), torch.zeros(4)
    assert replays.fixed == [0, 2], "the weight, and the cache, which it writes to"
    kept: list[torch.Tensor] = []
    wanted = torch.zeros(4)
    for number in range(4):
        x = torch.full((4,), float(number))
        (y,) = replays([weight, x, cache])
        wanted += x
        torch.testing.assert_close(cache, wanted)
        torch.testing.assert_close(y, wanted * 2)
        kept.append(y)
    assert len(captures) == 1
    assert len({y.data_ptr() for y in kept}) == 4, "results are the caller's own"


def test_arguments_are_emptied() -> None:
    replays, given = replays_of(), [torch.ones(4), torch.ones(4), torch.zeros(4)]
    arguments = list(given)
    for _ in range(3):
        arguments = list(given)
        replays(arguments)
        assert not arguments


def test_what_moves_is_captured_again() -> None:
    replays, x = replays_of(), torch.ones(4)
    caches = [torch.zeros(4) for _ in range(3)]
    for cache in (caches[0], caches[0], caches[1], caches[2], caches[2]):
        replays([torch.ones(4) if cache is caches[2] else x, x, cache])
    assert len(captures) >= 3
    assert all(bool(cache.any()) for cache in caches)


def test_what_always_moves_is_not_captured() -> None:
    replays, x = replays_of(), torch.ones(4)
    kept = [torch.zeros(4) for _ in range(replays_module_limit() + 2)]
    with pytest.warns(NotCaptured, match="cache_1 moved, and it was captured 8 times before"):
        for cache in kept:
            replays([x, x, cache])
    before = len(captures)
    (y,) = replays([x, x, torch.zeros(4)])
    assert len(captures) == before and bool((y == 1).all())


def replays_module_limit() -> int:
    return replays.MAX_CAPTURES


def test_what_cannot_be_captured_runs() -> None:
    def refuse(_: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    found = Replays(make_fx(torch.relu, tracing_mode="fake")(torch.ones(4)), lambda x: [x.pop().relu()], (), refuse)
    found([torch.ones(4)])
    with pytest.warns(NotCaptured, match="not permitted when stream is capturing$"):
        (y,) = found([torch.ones(4)])
    assert bool((y == 1).all())
    (y,) = found([torch.ones(4)])
    assert bool((y == 1).all())


def on_gpu(function: Callable[..., Any], *inputs: torch.Tensor) -> GraphModule:
    module = make_fx(function, tracing_mode="fake")(*inputs)
    with FakeTensorMode() as mode:
        for node in module.graph.nodes:
            if isinstance(x := node.meta.get("val"), torch.Tensor):
                node.meta["val"] = mode.from_tensor(torch.empty_strided(x.shape, x.stride(), device="cuda"))
    return module


def test_graphs_that_can_be_captured() -> None:
    x = torch.ones(4)
    assert why_not_captured(on_gpu(torch.relu, x)) is None
    assert why_not_captured(on_gpu(lambda x: torch.var_mean(x, 0), x)) is None
    assert why_not_captured(make_fx(torch.relu, tracing_mode="fake")(x)) == "arg0_1 is on the cpu"


options: dict[str, Any] = {}
"""Those of what is compiled."""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, 32), torch.nn.BatchNorm1d(32), torch.nn.GELU(), torch.nn.Linear(32, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).square().mean()


def one_by_one(step: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]) -> Any:
    for x in xs:
        loss = step(x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()


def kept_losses(step: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]) -> Any:
    losses: list[torch.Tensor] = []
    for x in xs:
        losses.append(step(x))
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    yield from map(torch.Tensor.item, losses)


def sums(step: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]) -> Any:
    """Gradients of two batches: the first ones are kept."""
    for number, x in enumerate(xs):
        loss = step(x)
        loss.backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
        yield loss.item()


def two_forward(step: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]) -> Any:
    """Some steps have two forward passes before the backward passes."""
    for number, (x, y) in enumerate(pairwise(xs)):
        first = step(x)
        second = step(y) if number in (3, 4, 7) else first
        first.backward(retain_graph=True)
        if number % 3 == 2:
            first.backward()
        if second is not first:
            second.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield first.item() + second.item()


def no_backward(step: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]) -> Any:
    for number, x in enumerate(xs):
        loss = step(x)
        if number % 4 != 3:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        yield loss.item()


def two_copies(step: partial[torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]) -> Any:
    """Two models by turns, which call one graph."""
    model = copy.deepcopy(step.args[0])
    second = torch.optim.SGD(model.parameters(), 0.1)
    for x in xs:
        for each, its in ((step, optimizer), (partial(step.func, model), second)):
            loss = each(x)
            loss.backward()
            its.step()
            its.zero_grad()
            yield loss.item()


def compiled_updates(
    step: Callable[..., torch.Tensor], optimizer: torch.optim.Optimizer, xs: Sequence[torch.Tensor]
) -> Any:
    """A graph in inference reads gradients where the backward graph lends them."""
    update = torch.compile(optimizer.step, backend="irc", dynamic=False, options=dict(options))
    for x in xs:
        loss = step(x)
        loss.backward()
        update()
        optimizer.zero_grad()
        yield loss.item()


@pytest.mark.parametrize(
    "train", [one_by_one, kept_losses, sums, two_forward, no_backward, two_copies, compiled_updates]
)
def test_training_with_graphs_has_the_numbers_of_calls(train: Callable[..., Any], monkeypatch: Any) -> None:
    def replays(module: GraphModule, run: Any, static: Sequence[int], **others: Any) -> Replays:
        return Replays(module, recording(run), static, again, **others)

    module = import_module("irc_frontend.torch.backend")  # whose name is also that of its function
    monkeypatch.setattr(module, "Replays", replays)
    monkeypatch.setattr("irc_frontend.torch.replays.MIN_LENT", 0)
    monkeypatch.setattr(module, "why_not_captured", lambda module: None)
    captures.clear()
    torch.manual_seed(0)
    first, xs = Net(), torch.randn(10, 16, 6).unbind()
    found: dict[bool, Any] = {}
    for graphs in (False, True):
        torch._dynamo.reset()
        options["graphs"] = graphs
        model = copy.deepcopy(first)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        call = torch.compile(Net.__call__, backend="irc", dynamic=False, options=dict(options))
        replayed.clear()
        losses = list(train(partial(call, model), optimizer, xs))
        found[graphs] = losses, [x.detach().clone() for x in model.state_dict().values()]
        assert bool(replayed) == graphs
    assert found[False][0] == found[True][0]
    for one, other in zip(found[False][1], found[True][1], strict=True):
        assert torch.equal(one, other)
    assert 2 <= len(captures) <= 6
    assert len(replayed) >= 8
