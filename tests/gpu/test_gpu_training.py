"""Training on a GPU: the GPT of `examples/train_gpt.py` beside the same model, start and batches in torch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.driver import is_present
from irc_frontend import nn, optim

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

STEPS = 200
AVERAGED = 20
"""Steps at the end whose losses are compared by their mean."""


def torch_layer(torch: Any, kind: str, params: Any, x: Any) -> Any:
    f = torch.nn.functional
    if kind == "linear":
        return f.linear(x, params["weight"].T, params.get("bias"))
    return f.layer_norm(x, x.shape[-1:], params["scale"], params["shift"])


def torch_gpt(torch: Any, heads: int, params: Any, text: Any) -> Any:
    """The forward pass of `Gpt` on a tree of torch's tensors."""
    f = torch.nn.functional
    x = params["characters"]["table"][text] + params["positions"]["table"][: text.shape[-1]]
    for p in params["blocks"]:
        inner = torch_layer(torch, "norm", p["before"], x)
        wide = torch_layer(torch, "linear", p["attention"]["inputs"], inner)
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(-3, -2) for part in wide.chunk(3, -1))
        mixed = f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(-3, -2).flatten(-2)
        x = x + torch_layer(torch, "linear", p["attention"]["outputs"], mixed)
        hidden = torch_layer(torch, "linear", p["up"], torch_layer(torch, "norm", p["between"], x))
        x = x + torch_layer(torch, "linear", p["down"], f.gelu(hidden, approximate="tanh"))
    return torch_layer(torch, "linear", params["scores"], torch_layer(torch, "norm", params["last"], x))


def losses_of_torch(torch: Any, heads: int, params: Any, batch: Any) -> list[float]:
    tree = ir.tree_map(lambda p: torch.tensor(p.numpy(), device="cuda", requires_grad=True), params)
    leaves = ir.tree_leaves(tree)
    groups = [
        {"params": [p for p in leaves if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in leaves if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    losses: list[float] = []
    for number in range(STEPS):
        x, y = (torch.tensor(each, device="cuda") for each in batch(number))
        loss = torch.nn.functional.cross_entropy(torch_gpt(torch, heads, tree, x).flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(leaves, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_the_gpt_learns_as_it_does_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    module: Any = importlib.import_module("train_gpt")
    characters, text = module.corpus()
    model = module.gpt(len(characters))
    optimizer = optim.AdamW(1e-3, decay=0.1)
    step = module.training_step(model, optimizer)

    def batch(number: int) -> Any:
        return module.batch_of(text, 0, number)

    losses: list[float] = []
    with ir.target("cuda"):
        params = model.init(0)
        ir.realize(*ir.tree_leaves(params))
        start: nn.Params = ir.tree_map(lambda leaf: ir.Tensor(leaf.numpy()), params)  # the step takes the memory
        state: Any = {"params": params, "optimizer": optimizer.init(params)}
        for number in range(STEPS):
            state, loss = step(state, *batch(number))
            losses.append(loss.item())
    theirs = losses_of_torch(torch, module.HEADS, start, batch)
    np.testing.assert_allclose(losses[:10], theirs[:10], rtol=2e-3)
    np.testing.assert_allclose(np.mean(losses[-AVERAGED:]), np.mean(theirs[-AVERAGED:]), rtol=0.02)
    assert np.mean(losses[-AVERAGED:]) < 2.6
