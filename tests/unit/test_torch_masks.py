"""Masks of attention that torch.compile's graph makes from nothing: which go, which stay, and that results hold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from irc_frontend.torch import backend
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.masks import with_fast_masks

pytestmark = pytest.mark.usefixtures("fresh_torch")

LENGTH = 6
LOWEST = torch.finfo(torch.float32).min

Mask = Callable[[Tensor], Tensor]


def causal(x: Tensor) -> Tensor:
    return torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=x.device).tril()


def causal_of_positions(x: Tensor) -> Tensor:
    """As transformers makes it: batches, positions of packed sequences, and a view of repeated batches."""
    positions = torch.arange(LENGTH, device=x.device)
    packed = (torch.diff(positions.expand(2, -1), prepend=positions[:1].expand(2, 1) - 1) != 1).cumsum(-1)
    seen = (positions <= positions[:, None])[None, None] & (packed[:, None, :, None] == packed[:, None, None, :])
    return seen.expand(2, 1, LENGTH, LENGTH)


def causal_added(x: Tensor) -> Tensor:
    return torch.full((LENGTH, LENGTH), float("-inf"), device=x.device).triu(1)


def causal_by_lowest(x: Tensor) -> Tensor:
    return torch.full((1, 1, LENGTH, LENGTH), LOWEST, device=x.device).triu(1)


def everything(x: Tensor) -> Tensor:
    return (torch.arange(LENGTH, device=x.device)[:, None] >= 0).expand(2, 1, LENGTH, LENGTH)


def added_zeros(x: Tensor) -> Tensor:
    return torch.zeros(LENGTH, LENGTH, device=x.device)


def anti_causal(x: Tensor) -> Tensor:
    return torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=x.device).triu()


def biased(x: Tensor) -> Tensor:
    return torch.arange(LENGTH, device=x.device).float().expand(LENGTH, LENGTH).tril()


def causal_but_soft(x: Tensor) -> Tensor:
    return torch.full((LENGTH, LENGTH), -1.0, device=x.device).triu(1)


def of_argument(x: Tensor) -> Tensor:
    return (x[0, 0, :, :1] < 100).expand(LENGTH, LENGTH)


def written(x: Tensor) -> Tensor:
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=x.device)
    mask[1:, 1] = x[0, 0, 1:, 0] > 0
    return mask


def written_by_view(x: Tensor) -> Tensor:
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=x.device)
    rows = mask[1:]
    rows.logical_and_(x[0, 0, 1:, :1] > 0)
    mask[0].logical_not_().logical_not_()
    return mask


def drawn(x: Tensor) -> Tensor:
    return torch.rand(LENGTH, LENGTH, device=x.device) < 2


def attend(mask: Mask) -> Callable[[Tensor], Tensor]:
    return lambda x: F.scaled_dot_product_attention(x, x * 2, x + 1, attn_mask=mask(x))


def arguments_seen(function: Callable[[Tensor], Tensor], x: Tensor) -> tuple[bool, bool]:
    """Whether attention keeps a mask, and whether it is told that it is causal."""
    seen: list[tuple[bool, bool]] = []

    def inspect(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        changed = with_fast_masks(module)
        for node in changed.graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention):
            seen.append((node.kwargs.get("attn_mask") is not None, bool(node.kwargs.get("is_causal"))))
        return changed.forward

    found = torch.compile(function, backend=inspect, fullgraph=True)(x)
    state = torch.random.get_rng_state()
    torch.testing.assert_close(found, function(x))
    torch.random.set_rng_state(state)
    return seen[0]


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 3, LENGTH, 4)


@pytest.mark.parametrize("mask", [causal, causal_of_positions, causal_added, causal_by_lowest])
def test_causal_masks_go(mask: Mask, x: Tensor) -> None:
    assert arguments_seen(attend(mask), x) == (False, True)


@pytest.mark.parametrize("mask", [everything, added_zeros])
def test_masks_that_hide_nothing_go(mask: Mask, x: Tensor) -> None:
    assert arguments_seen(attend(mask), x) == (False, False)


@pytest.mark.parametrize("mask", [anti_causal, biased, causal_but_soft, of_argument, written, written_by_view])
def test_other_masks_stay(mask: Mask, x: Tensor) -> None:
    assert arguments_seen(attend(mask), x) == (True, False)


def test_random_masks_stay(x: Tensor) -> None:
    """And compiling draws no numbers."""
    state = torch.random.get_rng_state()
    seen: list[bool] = []

    def inspect(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        seen.append(torch.equal(torch.random.get_rng_state(), state))
        module = with_fast_masks(module)
        seen.append(torch.equal(torch.random.get_rng_state(), state))
        return module.forward

    torch.compile(attend(drawn), backend=inspect, fullgraph=True)(x)
    assert seen == [True, True]
    assert arguments_seen(attend(drawn), x) == (True, False)


def test_causal_masks_of_other_lengths_stay(x: Tensor) -> None:
    """torch's causal attention is that of equal lengths."""
    f = lambda x: F.scaled_dot_product_attention(x[:, :, :4], x, x, attn_mask=causal(x)[:4])  # noqa: E731
    assert arguments_seen(f, x) == (True, False)


def test_arguments_by_place(x: Tensor) -> None:
    f = lambda x: F.scaled_dot_product_attention(x, x, x, causal(x), 0.0, False)  # noqa: E731
    changed: list[tuple[object, ...]] = []

    def inspect(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        (node,) = with_fast_masks(module).graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention)
        changed.append((*node.args[3:], dict(node.kwargs)))
        return module.forward

    torch.testing.assert_close(torch.compile(f, backend=inspect)(x), f(x))
    assert changed in ([(None, 0.0, True, {})], [({"attn_mask": None, "dropout_p": 0.0, "is_causal": True},)])


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_through_the_backend(mode: Callable[[], AbstractContextManager[object]], x: Tensor) -> None:
    """No program makes the mask any more; results and gradients hold."""
    seen: list[Compiled] = []
    f = attend(causal_of_positions)
    with watching(lambda kind, graph: seen.append(graph)), mode():
        leaf = x.clone().requires_grad_(mode is torch.enable_grad)
        found = torch.compile(f, backend=backend)(leaf)
        torch.testing.assert_close(found, f(x), rtol=1e-5, atol=1e-5)
        if mode is torch.enable_grad:
            twin = x.clone().requires_grad_()
            found.square().sum().backward()
            f(twin).square().sum().backward()
            torch.testing.assert_close(leaf.grad, twin.grad, rtol=1e-4, atol=1e-4)
    bodies = [str(node.target) for graph in seen for program in graph.programs for node in program.part.body]
    assert not [target for target in bodies if "cumsum" in target or "arange" in target]
