"""What `benchmarks/distributed.py` times: models, their batches, and the plan of a tensor parallel block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from cpu_models import Block
from torch import nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class Gpt2(nn.Module):
    """i64[batch, words] and the words that follow -> the loss; the table of words gives the scores too."""

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, places: int):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)
        self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), following.flatten())


class Bottleneck(nn.Module):
    """Three convolutions of ResNet-50 beside the identity, or beside one of points where the shape changes."""

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        self.convolutions = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)),
        )
        self.around: nn.Module = nn.Identity()
        if inputs != 4 * width:
            self.around = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.convolutions(x) + self.around(x))


class ResNet(nn.Module):
    """[batch, 3, side, side] and the classes -> the loss. ResNet-50 with depths (3, 4, 6, 3) and a width of 64."""

    def __init__(self, depths: tuple[int, ...], width: int, classes: int):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        blocks: list[nn.Module] = []
        inputs = width
        for stage, depth in enumerate(depths):
            for number in range(depth):
                blocks.append(Bottleneck(inputs, width << stage, 2 if stage and not number else 1))
                inputs = 4 * width << stage
        self.blocks, self.scores = nn.Sequential(*blocks), nn.Linear(inputs, classes)

    def forward(self, x: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.scores(self.blocks(self.stem(x)).mean((2, 3))), classes)


class Attention(nn.Module):
    """That of Llama 3: rotary embeddings of interleaved halves, keys and values for several heads of queries."""

    def __init__(self, width: int, heads: int, shared: int):
        super().__init__()
        self.size = width // heads
        self.wq, self.wo = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, shared * self.size, bias=False)
        self.wv = nn.Linear(width, shared * self.size, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        q, k, v = (w(x).unflatten(-1, (-1, self.size)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.wo(y.transpose(1, 2).flatten(2))


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x[batch, heads, words, size], turned by the angles of [words, size]."""
    one, other = x.chunk(2, -1)
    return x * cos + torch.cat((-other, one), -1) * sin


class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int):
        super().__init__()
        self.w1, self.w3 = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    """A layer of Llama 3. [batch, words, width] and the angles' cos and sin -> as x."""

    def __init__(self, width: int, heads: int, shared: int, inner: int):
        super().__init__()
        self.attention, self.feed_forward = Attention(width, heads, shared), FeedForward(width, inner)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


def angles(words: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of [words, size]."""
    rates = 500_000.0 ** (-torch.arange(0, size, 2) / size)
    turns = torch.outer(torch.arange(words), rates).repeat(1, 2)
    return turns.cos(), turns.sin()


def parallelized(block: nn.Module, mesh: Any, *, sequence: bool) -> nn.Module:
    """The block with its weights on the ranks of a mesh, as torchtitan does it: sums of partial results by all-reduce,
    or, with `sequence`, the words between attention and feed-forward on the ranks too, by all-gather and
    reduce-scatter. It takes all words, or its rank's as a DTensor."""
    outside: Any = Shard(1) if sequence else Replicate()
    into: dict[str, Any] = {"input_layouts": (outside, None, None), "desired_input_layouts": (Replicate(), None, None)}
    norm: dict[str, Any] = {}
    if sequence:
        norm = {"attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel()}
    out = RowwiseParallel(output_layouts=outside, use_local_output=not sequence)
    plan: dict[str, Any] = {
        **norm,
        "attention": PrepareModuleInput(**into),
        **{f"attention.{name}": ColwiseParallel() for name in ("wq", "wk", "wv")},
        "attention.wo": out,
        "feed_forward": PrepareModuleInput(input_layouts=(outside,), desired_input_layouts=(Replicate(),)),
        **{f"feed_forward.{name}": ColwiseParallel() for name in ("w1", "w3")},
        "feed_forward.w2": out,
    }
    return parallelize_module(block, mesh, plan)


@dataclass(frozen=True)
class Training:
    """A model that gives its loss, and a batch for a rank."""

    name: str
    model: Callable[[], nn.Module]
    batch: Callable[[], tuple[torch.Tensor, ...]]


def channels_last(value: Any) -> Any:
    """A module or a tensor with channels last."""
    return value.to(memory_format=torch.channels_last)


def gpt2(*, small: bool) -> Training:
    sizes = (2, 64, 4, 128, 16) if small else (12, 768, 12, 50257, 1024)
    rows = 2 if small else 16
    texts = (2, rows, sizes[4])
    return Training("gpt2", lambda: Gpt2(*sizes), lambda: torch.randint(0, sizes[3], texts).unbind())


def resnet50(*, small: bool) -> Training:
    depths, width, classes, rows, side = ((1, 1), 8, 10, 4, 32) if small else ((3, 4, 6, 3), 64, 1000, 128, 224)
    return Training(
        "resnet50",
        lambda: channels_last(ResNet(depths, width, classes)),
        lambda: (channels_last(torch.randn(rows, 3, side, side)), torch.randint(0, classes, (rows,))),
    )


TRAINED = {"gpt2": gpt2, "resnet50": resnet50}
