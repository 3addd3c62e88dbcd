"""torch's modules of attention, whose attention is irc's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from drawing import long
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import irc_frontend
from irc_frontend.torch import backend
from irc_frontend.torch.graphs import Compiled, watching

pytestmark = [
    pytest.mark.usefixtures("fresh_torch"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

BATCH, LENGTH, WIDTH = 2, 6, 16
HIDDEN = torch.arange(LENGTH) >= torch.tensor([[LENGTH], [3]])
CAUSAL = nn.Transformer.generate_square_subsequent_mask(LENGTH)

Call = Callable[..., Tensor]


def heads(**options: Any) -> nn.MultiheadAttention:
    return nn.MultiheadAttention(WIDTH, 2, **options)


def layer() -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(WIDTH, 2, 32, dropout=0.0, batch_first=True)


CASES: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "heads": (heads, lambda m, x: m(x, x, x, need_weights=False)[0]),
    "heads, batch first": (lambda: heads(batch_first=True), lambda m, x: m(x, x, x, need_weights=False)[0]),
    "without a batch": (heads, lambda m, x: m(x[0], x[1], x[1], need_weights=False)[0]),
    "more keys": (
        lambda: heads(add_bias_kv=True, add_zero_attn=True),
        lambda m, x: m(x, x, x, need_weights=False)[0],
    ),
    "layer": (layer, lambda m, x: m(x)),
    "padding": (layer, lambda m, x: m(x, src_key_padding_mask=HIDDEN)),
    "causal": (layer, lambda m, x: m(x, src_mask=CAUSAL, is_causal=True)),
    "both": (layer, lambda m, x: m(x, src_mask=CAUSAL.isinf(), src_key_padding_mask=HIDDEN)),
    "checkpoint": (layer, lambda m, x: checkpoint(m, x, use_reentrant=False)),
}


@long(4)
@pytest.mark.parametrize("is_training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CASES)
def test_modules(name: str, is_training: bool) -> None:
    """Results and gradients are eager's; nothing stays with torch."""
    make, call = CASES[name]
    model = make().train(is_training)
    twin, x = copy.deepcopy(model), torch.randn(BATCH, LENGTH, WIDTH, requires_grad=True)
    other, attentions = x.detach().clone().requires_grad_(), list[str]()

    def watch(kind: str, graph: Compiled) -> None:
        assert not graph.division.reasons
        attentions.extend(kind for target in targets(graph) if target is torch.ops.irc.attention.default)

    with watching(watch):
        found = torch.compile(call, backend=backend, fullgraph=True)(model, x)
        found.square().sum().backward()
    wanted = call(twin, other)
    wanted.square().sum().backward()
    close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-5)
    close(found, wanted)
    close(x.grad, other.grad)
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        close(mine.grad, theirs.grad)
    assert found.stride() == wanted.stride()
    assert attentions[0] == "forward"


def test_a_checkpointed_layer_has_kernels_on_a_cpu() -> None:
    with irc_frontend.target("cpu"):
        test_modules("checkpoint", is_training=True)


def targets(graph: Compiled) -> list[Any]:
    return [node.target for program in graph.programs for node in program.subgraph.body]


def test_autocast() -> None:
    """Attention has the type that the products before it give."""
    model, x, kinds = layer(), torch.randn(BATCH, LENGTH, WIDTH), set[torch.dtype]()
    twin = copy.deepcopy(model)

    def watch(kind: str, graph: Compiled) -> None:
        nodes = [node for program in graph.programs for node in program.subgraph.body]
        kinds.update(node.meta["val"][0].dtype for node in nodes if "irc" in str(node.target))

    def call(model: nn.Module, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return model(x, src_key_padding_mask=HIDDEN)

    with watching(watch):
        found = torch.compile(call, backend=backend, fullgraph=True)(model, x)
        found.square().sum().backward()
    torch.testing.assert_close(found, call(twin, x), rtol=0.03, atol=0.03)
    assert kinds == {torch.bfloat16}


def test_weights_are_products() -> None:
    model, x, seen = heads(), torch.randn(LENGTH, BATCH, WIDTH), list[Compiled]()
    call = lambda x: model(x, x, x)  # noqa: E731
    with watching(lambda kind, graph: seen.append(graph)):
        found = torch.compile(call, backend=backend)(x)
    for mine, theirs in zip(found, call(x), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    assert not seen[0].division.reasons and torch.ops.irc.attention.default not in targets(seen[0])


def test_transforms_stay_with_torch() -> None:
    model, x = heads().requires_grad_(False), torch.randn(LENGTH, BATCH, WIDTH)
    call = torch.func.grad(lambda x: model(x, x, x, need_weights=False)[0].square().sum())
    torch.testing.assert_close(torch.compile(call, backend=backend)(x), call(x))
