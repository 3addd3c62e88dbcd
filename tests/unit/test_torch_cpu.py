"""CPU tensors of torch as machine code: the target `cpu` around the call that compiles."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import irc_frontend as ir
from irc_frontend.torch import program


def test_the_target_around_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[str] = []
    begin = program.begin_nodes

    def noting(*args: Any, **options: Any) -> Any:
        begun = begin(*args, **options)
        targets.append(begun().target)
        return begun

    monkeypatch.setattr(program, "begin_nodes", noting)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 70), nn.GELU(), nn.LayerNorm(70), nn.Linear(70, 30), nn.Softmax(-1))
    x = torch.randn(9, 40)
    ours = torch.compile(model, backend="irc")
    with ir.target("cpu"):
        torch.testing.assert_close(ours(x), model(x))
    assert set(targets) == {"cpu"}
    torch.testing.assert_close(ours(2 * x), model(2 * x))


def test_a_training_step() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 5))
    x, labels = torch.randn(16, 20), torch.randint(0, 5, (16,))
    nn.functional.cross_entropy(model(x), labels).backward()
    expected = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    torch.compiler.reset()
    with ir.target("cpu"):
        nn.functional.cross_entropy(torch.compile(model, backend="irc")(x), labels).backward()
    for p, grad in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad, grad)


def test_lazy_tensors() -> None:
    with ir.target("cpu"):
        x = ir.arange(1000).astype("f32") / 100
        found = (ir.exp(-x) * ir.sin(x)).sum().numpy()
    expected = (torch.exp(-(t := torch.arange(1000.0) / 100)) * torch.sin(t)).sum()
    torch.testing.assert_close(torch.tensor(float(found)), expected, rtol=1e-5, atol=1e-5)
