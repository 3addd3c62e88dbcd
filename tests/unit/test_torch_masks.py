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
from irc_frontend.torch.scaled_dot_product import with_fast_attention

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


def of_window(x: Tensor) -> Tensor:
    away = torch.arange(LENGTH, device=x.device) - torch.arange(LENGTH, device=x.device)[:, None]
    return (away <= 0) & (away > -3)


def of_window_both_ways(x: Tensor) -> Tensor:
    away = torch.arange(LENGTH, device=x.device) - torch.arange(LENGTH, device=x.device)[:, None]
    return (away.abs() < 2)[None, None]


def diagonal(x: Tensor) -> Tensor:
    return torch.eye(LENGTH, dtype=torch.bool, device=x.device)


def with_a_hole(x: Tensor) -> Tensor:
    return causal(x) & (torch.arange(LENGTH, device=x.device) != 2)


def attend(mask: Mask, owner: str = "irc") -> Callable[[Tensor], Tensor]:
    """Attention that is irc's, or with an axis more torch's."""

    def function(x: Tensor) -> Tensor:
        q = x if owner == "irc" else x[None]
        return F.scaled_dot_product_attention(q, q * 2, q + 1, attn_mask=mask(x))

    return function


def arguments_seen(function: Callable[[Tensor], Tensor], x: Tensor) -> tuple[bool, bool, int | None]:
    """Whether attention keeps a mask, whether it is told that it is causal, and of what window."""
    seen: list[tuple[bool, bool, int | None]] = []

    def inspect(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        changed = with_fast_attention(module)
        for node in changed.graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention):
            seen.append((node.kwargs.get("attn_mask") is not None, bool(node.kwargs.get("is_causal")), None))
        for node in changed.graph.find_nodes(op="call_function", target=torch.ops.irc.attention.default):
            _, _, _, bias, _, causal, window, *_ = node.args
            seen.append((bias is not None, causal, window))
        return changed.forward

    state = torch.random.get_rng_state()
    found = torch.compile(function, backend=inspect, fullgraph=True)(x)
    torch.random.set_rng_state(state)
    torch.testing.assert_close(found, function(x))
    (result,) = seen
    return result


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 3, LENGTH, 4)


OWNERS = pytest.mark.parametrize("owner", ["irc", "torch"])


@OWNERS
@pytest.mark.parametrize("mask", [causal, causal_of_positions, causal_added, causal_by_lowest])
def test_causal_masks_go(mask: Mask, owner: str, x: Tensor) -> None:
    assert arguments_seen(attend(mask, owner), x) == (False, True, None)


@OWNERS
@pytest.mark.parametrize("mask", [everything, added_zeros])
def test_masks_that_hide_nothing_go(mask: Mask, owner: str, x: Tensor) -> None:
    assert arguments_seen(attend(mask, owner), x) == (False, False, None)


@OWNERS
@pytest.mark.parametrize(
    "mask", [anti_causal, biased, causal_but_soft, of_argument, with_a_hole, written, written_by_view]
)
def test_other_masks_stay(mask: Mask, owner: str, x: Tensor) -> None:
    assert arguments_seen(attend(mask, owner), x) == (True, False, None)


@pytest.mark.parametrize(
    ("mask", "causal", "window"), [(of_window, True, 3), (of_window_both_ways, False, 2), (diagonal, True, 1)]
)
def test_windows_go_where_attention_has_them(mask: Mask, causal: bool, window: int, x: Tensor) -> None:
    """irc's has, torch's has none."""
    assert arguments_seen(attend(mask), x) == (False, causal, window)
    assert arguments_seen(attend(mask, "torch"), x) == (True, False, None)


def test_random_masks_stay(x: Tensor) -> None:
    """And compiling draws no numbers."""
    state = torch.random.get_rng_state()
    seen: list[bool] = []

    def inspect(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        seen.append(torch.equal(torch.random.get_rng_state(), state))
        module = with_fast_attention(module)
        seen.append(torch.equal(torch.random.get_rng_state(), state))
        return module.forward

    torch.compile(attend(drawn), backend=inspect, fullgraph=True)(x)
    assert seen == [True, True]
    assert arguments_seen(attend(drawn), x) == (True, False, None)


@pytest.mark.parametrize(("owner", "seen"), [("irc", (False, True, None)), ("torch", (True, False, None))])
def test_causal_masks_of_other_lengths(owner: str, seen: tuple[bool, bool, int | None], x: Tensor) -> None:
    """irc's causal attention is that of any lengths, torch's of equal ones."""

    def function(x: Tensor) -> Tensor:
        q = x if owner == "irc" else x[None]
        return F.scaled_dot_product_attention(q[..., :4, :], q, q, attn_mask=causal(x)[:4])

    assert arguments_seen(function, x) == seen


def test_masks_of_one_row_stay(x: Tensor) -> None:
    """They broadcast to the scores: what one says by its places is not what they say."""
    assert arguments_seen(attend(lambda x: causal(x)[:1]), x) == (True, False, None)


def test_arguments_by_place(x: Tensor) -> None:
    f = lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], causal(x), 0.25, False)  # noqa: E731
    changed: list[tuple[object, ...]] = []

    def inspect(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        (node,) = with_fast_attention(module).graph.find_nodes(
            op="call_function", target=F.scaled_dot_product_attention
        )
        changed.append((*node.args[3:], dict(node.kwargs)))
        return module.forward

    torch.compile(f, backend=inspect)(x)
    assert changed in ([(None, 0.25, True, {})], [({"attn_mask": None, "dropout_p": 0.25, "is_causal": True},)])


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
    bodies = [str(node.target) for graph in seen for program in graph.programs for node in program.subgraph.body]
    assert not [target for target in bodies if "cumsum" in target or "arange" in target]
