"""What a replay gives has what a call gives: who shares memory with whom, versions, kinds of tensors, and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from faked_captures import again, captures, recording, replayed
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch import lending, replays
from irc_frontend.torch.replays import Replays


def replays_of(function: Callable[..., Any], *examples: Tensor, **options: Any) -> Replays:
    """The replays of a graph that gives what a function gives, a list."""
    captures.clear()
    replayed.clear()

    def run(arguments: list[Any]) -> Sequence[Any]:
        given = list(arguments)
        arguments.clear()
        return function(*given)

    module = make_fx(function, tracing_mode="fake")(*examples)
    return Replays(module, recording(run), (), again, **options)


def called(run: Replays, *arguments: Any) -> list[Any]:
    """What the third call gives: a replay."""
    for _ in range(2):
        run(list(arguments))
    assert replayed
    return run(list(arguments))


def test_results_that_share_memory_share_that_of_a_copy() -> None:
    def function(x: Tensor) -> list[Tensor]:
        y = x + 1
        return [y[1:], y, y.t(), y.view(-1)]

    x = torch.arange(12.0).view(3, 4)
    found = called(replays_of(function, x), x)
    for a, b in zip(found, function(x), strict=True):
        assert (a.shape, a.stride(), a.storage_offset()) == (b.shape, b.stride(), b.storage_offset())
        assert torch.equal(a, b)
    found[1][2, 3] = 100
    assert found[0][1, 3] == found[2][3, 2] == found[3][11] == 100
    assert torch.equal(called(replays_of(function, x), x)[1], x + 1)


def test_views_of_memory_that_is_no_result() -> None:
    """Parts with gaps, and elements that are repeated, also over as many places as there are."""

    def function(x: Tensor) -> list[Tensor]:
        return [(x + 1)[:, 1:3], (x * 2)[0, 0].expand(2, 5), (x + 3)[:, ::2], (x + 4)[:2, :1].expand(2, 4)]

    x = torch.arange(21.0).view(3, 7)
    for a, b in zip(called(replays_of(function, x), x), function(x), strict=True):
        assert (a.shape, a.stride()) == (b.shape, b.stride())
        assert torch.equal(a, b)


def test_results_that_share_memory_and_have_several_types_are_not_captured() -> None:
    def function(x: Tensor) -> list[Tensor]:
        y = x + 1
        return [y, y.view(torch.int32)]

    run, x = replays_of(function, torch.ones(4)), torch.ones(4)
    run([x])
    with pytest.warns(replays.NotCaptured, match="share memory, and are of different types"):
        y, bits = run([x])
    assert y.data_ptr() == bits.data_ptr()


@pytest.mark.parametrize("kind", ["inference", "backward"])
def test_one_result_given_twice_is_one(kind: str) -> None:
    """Else it would become the gradients of two parameters, which one update of both in place would change twice."""

    def function(kept: Tensor, tangents: Tensor) -> list[Any]:
        y = kept * tangents
        return [y, None, y]

    kept, tangents = torch.ones(1 << 15), torch.ones(1 << 15)
    lending.lent[kept.data_ptr()] = lender = lending.Lender()
    found = called(replays_of(function, kept, tangents, kind=kind), kept, tangents)
    assert found[0] is found[2] and found[1] is None
    del lender


def test_arguments_that_are_written_to_are_newer() -> None:
    """torch finds by it that something kept for a gradient has changed."""

    def function(x: Tensor, cache: Tensor) -> list[Tensor]:
        new = cache + x
        cache.copy_(new)
        return [new * 2]

    x, cache = torch.ones(4), torch.zeros(4)
    run = replays_of(function, x, cache)
    called(run, x, cache)
    weight = torch.ones(4, requires_grad=True)
    loss = (weight * cache).sum()
    run([x, cache])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_graph_captured_in_inference_mode_is_replayed_elsewhere() -> None:
    run, x = replays_of(lambda x: [x + 1], torch.ones(4)), torch.ones(4)
    with torch.inference_mode():
        found = called(run, x)
    assert found[0].is_inference()
    (y,) = run([x + 1])
    assert torch.equal(y, x + 2) and not y.is_inference()
    y.add_(1)


def test_a_call_that_is_captured_is_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    run, x = replays_of(lambda x: [x + 1], torch.ones(4)), torch.ones(4)
    called(run, x)
    before = len(replayed)
    monkeypatch.setattr(replays, "is_capturing", lambda: True)
    assert torch.equal(run([x])[0], x + 1)
    assert len(replayed) == before


def test_a_graph_whose_memory_was_freed_is_captured_anew() -> None:
    def function(tangents: Tensor) -> list[Tensor]:
        return [tangents * 2]

    x = torch.ones(1 << 15)
    run = replays_of(function, x, kind="forward")
    (y,) = called(run, x)
    before = len(captures)
    y.untyped_storage().resize_(0)
    del y
    (y,) = run([x])
    assert torch.equal(y, x * 2) and len(captures) == before + 1


def test_a_result_that_is_an_argument_is_that_of_the_call() -> None:
    """Also where it is another part of its memory."""

    def function(x: Tensor) -> list[Tensor]:
        return [x.view(2, 6)[:, 1:], x + 1]

    base = torch.arange(48.0)
    run = replays_of(function, base[:12], kind="forward")
    run.fixed = [0]
    called(run, base[12:24])
    for result in (run([base[12:24]])[0], function(base[12:24])[0]):
        assert result.data_ptr() == base[13:].data_ptr() and result.shape == (2, 5)


@pytest.mark.parametrize("calls", [1, 3])
def test_an_argument_without_memory_is_an_ordinary_call(calls: int) -> None:
    """Whose programs say so; neither does a replay read it, nor a capture."""
    run, x = replays_of(lambda x: [x + 1], torch.ones(4)), torch.ones(4)
    for _ in range(calls):
        run([x])
    before = len(replayed), len(captures)
    run._run = lambda arguments: ["an ordinary call"]
    x.untyped_storage().resize_(0)
    assert run([x]) == ["an ordinary call"] and (len(replayed), len(captures)) == before
