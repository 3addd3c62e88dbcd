"""Graphs in inference as CUDA graphs: which arguments are read where they are, and what is captured again. What is
captured is done anew by the function that enqueued it, on the arrays that it had then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch import replays
from irc_frontend.torch.replays import NotCaptured, Replays, why_not_captured

captures: list[list[Any]] = []


class Again:
    """A graph that works as a CUDA graph does: into the arrays that it made when it was captured."""

    def __init__(self, work: Callable[[], Sequence[Any]], results: Sequence[torch.Tensor]):
        self._work, self._results = work, results

    def replay(self) -> None:
        for result, value in zip(self._results, self._work(), strict=True):
            result.copy_(value)


def again(work: Callable[[], Sequence[Any]]) -> tuple[Again, Sequence[Any]]:
    results = work()
    captures.append([results])
    return Again(work, results), results


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

    return Replays(module, run, static, again)


def test_a_graph_does_what_calls_do() -> None:
    replays, weight, cache = replays_of(), torch.full((4,), 2.0), torch.zeros(4)
    assert replays.fixed == [0, 2], "the weight, and the cache, which it writes to"
    kept: list[torch.Tensor] = []
    wanted = torch.zeros(4)
    for number in range(4):
        x = torch.full((4,), float(number))
        captured_before = len(captures)
        (y,) = replays([weight, x, cache])
        if len(captures) > captured_before:  # this capture enqueues by doing
            wanted += x
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
    with pytest.warns(NotCaptured, match="moved 8 times"):
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
