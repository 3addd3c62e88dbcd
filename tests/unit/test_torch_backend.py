"""`torch.compile(model, backend="irc")` on the cpu target: forward and backward against eager."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from irc_frontend.torch import backend

pytestmark = [
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
    pytest.mark.usefixtures("fresh_torch"),
]


def check(model: nn.Module, *inputs: torch.Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """The same results, gradients and buffers as eager."""
    twin = copy.deepcopy(model)
    compiled = torch.compile(model, backend=backend)
    found, wanted = (_step(run, inputs) for run in (compiled, twin))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol)
    assert found[0].stride() == wanted[0].stride()
    for a, b in zip([*model.parameters()], [*twin.parameters()], strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=rtol, atol=atol)
    for a, b in zip(model.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol)


def _step(run: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    torch.manual_seed(1)
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    y = run(*leaves)
    y.float().square().mean().backward()
    return [y.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


class Block(nn.Module):
    """A transformer's block, with dropout."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part.view(*part.shape[:2], self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(x.shape)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm(x)))))


def test_mlp() -> None:
    check(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)), torch.randn(8, 16))


def test_attention_block_with_dropout() -> None:
    """Dropout draws the numbers that eager draws."""
    check(Block(32, 4, 0.2), torch.randn(2, 6, 32))


def test_convolutions_are_left_in_place() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.GroupNorm(2, 4)
    )
    check(model, torch.randn(2, 3, 12, 12))


@pytest.mark.parametrize("outlier", [0.0, 30.0])
@pytest.mark.parametrize("mean", [0.0, 100.0])
def test_statistics_of_narrow_arrays(mean: float, outlier: float) -> None:
    """They are f32's, far from zero too, and where one element is many deviations away: any of a channel."""
    x = (torch.randn(8, 3, 6, 6) * 4 + mean).bfloat16()
    x[4, 1, 3, 3] += 4 * outlier
    norm = nn.BatchNorm2d(3, momentum=1.0)
    torch.compile(norm, backend=backend)(x)
    wide = x.double().transpose(0, 1).flatten(1)
    torch.testing.assert_close(norm.running_mean, wide.mean(1).float(), rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(norm.running_var, wide.var(1).float(), rtol=1e-4, atol=0)


def test_channels_last() -> None:
    model: Any = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    check(model.to(memory_format=torch.channels_last), torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last))


def test_embedding_and_log_softmax() -> None:
    check(nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 8), nn.LogSoftmax(-1)), torch.randint(0, 10, (4, 5)))


def test_torch_is_imported_by_this_module_alone() -> None:
    code = "import sys, irc, irc_frontend; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
