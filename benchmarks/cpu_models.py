"""Models whose forward passes `benchmarks/cpu.py` times."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """A layer of GPT-2."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, words, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, words, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, words, width))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2, cut to 4 layers of 512 and 8000 words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(8000, 512), nn.Embedding(256, 512)
        self.blocks = nn.ModuleList([Block(512, 8) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(512), nn.Linear(512, 8000, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    """Two convolutions of ResNet-18 beside the identity, or beside one of points where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm, self.after = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.around: nn.Module = nn.Identity()
        if stride > 1:
            self.around = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm(self.first(x)))
        return F.relu(self.after(self.second(y)) + self.around(x))


class ResNet(nn.Module):
    """ResNet-18, of 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        blocks = [[Residual(*each), Residual(each[1], each[1], 1)] for each in widths]
        self.blocks = nn.Sequential(*(block for pair in blocks for block in pair))
        self.scores = nn.Linear(512, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scores(self.blocks(self.stem(x)).mean((2, 3)))
