"""A model of PyTorch with kernels written in Python, trained under torch.compile.

python examples/torch_kernel.py       trains it, and shows what irc makes of it
"""

from __future__ import annotations

from typing import Any

import torch
from kernels import rms_norm

import irc_frontend as ir
from irc_frontend.torch import explain

WIDTH = 32


@ir.kernel
def gated(x: ir.Tensor, a: ir.Tensor, b: ir.Tensor):
    """silu(x @ a) * (x @ b), whose gradient is found by irc."""
    (M, K), N = x.shape, a.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        gate, up = ir.zeros((m, n)), ir.zeros((m, n))
        for k in ir.tiles(K):
            gate = ir.addmm(gate, x[m, k], a[k, n])
            up = ir.addmm(up, x[m, k], b[k, n])
        out[m, n] = ir.silu(gate) * up
    return out


class Block(torch.nn.Module):
    """What stands behind the kernel is done in its epilogue: a launch less."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.Parameter(torch.ones(WIDTH))
        self.gate = torch.nn.Parameter(torch.randn(WIDTH, WIDTH) * WIDTH**-0.5)
        self.up = torch.nn.Parameter(torch.randn(WIDTH, WIDTH) * WIDTH**-0.5)
        self.scale = torch.nn.Parameter(torch.full((WIDTH,), 0.5))

    def forward(self, x: Any) -> Any:
        return x + self.scale * gated(rms_norm(x, self.norm), self.gate, self.up)


def main(steps: int = 60) -> tuple[float, float]:
    """The loss at the beginning and in the end."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, WIDTH), Block(), Block(), torch.nn.Linear(WIDTH, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    x = torch.rand(256, 2) * 2 - 1
    y = torch.sin(3 * x[:, :1]) * torch.cos(3 * x[:, 1:])
    compiled = torch.compile(model, backend="irc", fullgraph=True)
    losses: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((compiled(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print(explain(model, x))
    return losses[0], losses[-1]


if __name__ == "__main__":
    main()
