"""A residual network on scikit-learn's handwritten digits: 98 % right on the images that it was not trained on.

python examples/train_resnet.py --out resnet
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from loop import options, train
from train_digits import HELD_OUT, data

import irc_frontend as ir
from irc_frontend import nn, optim

BATCH = 64
SHIFT = 1
"""Pixels by which images are moved in training, at most."""


@dataclass(frozen=True)
class Block(nn.Layer):
    """Two convolutions beside the identity, or beside a convolution of points where the shape changes."""

    first: nn.Conv
    norm: nn.BatchNorm
    second: nn.Conv
    after: nn.BatchNorm
    around: tuple[nn.Conv, ...]

    @staticmethod
    def of(inputs: int, outputs: int, stride: int) -> Block:
        return Block(
            nn.Conv(inputs, outputs, (3, 3), stride, 1, bias=False),
            nn.BatchNorm(outputs),
            nn.Conv(outputs, outputs, (3, 3), padding=1, bias=False),
            nn.BatchNorm(outputs),
            () if (inputs, stride) == (outputs, 1) else (nn.Conv(inputs, outputs, (1, 1), stride),),
        )

    def __call__(self, params: nn.Params, x: Any, batch: nn.Batch | None = None) -> ir.Tensor:
        y = ir.relu(self.norm(params["norm"], self.first(params["first"], x), batch))
        y = self.after(params["after"], self.second(params["second"], y), batch)
        around = self.around[0](params["around"][0], x) if self.around else x
        return ir.relu(around + y)


@dataclass(frozen=True)
class ResNet(nn.Layer):
    stem: nn.Conv
    blocks: tuple[Block, ...]
    scores: nn.Linear

    def __call__(self, params: nn.Params, x: Any, batch: nn.Batch | None = None) -> ir.Tensor:
        x = ir.relu(self.stem(params["stem"], x))
        for block, own in zip(self.blocks, params["blocks"], strict=True):
            x = block(own, x, batch)
        return self.scores(params["scores"], x.mean((1, 2)))


def shifted(images: Any, random: np.random.Generator) -> Any:
    """The images, f32[N, 8, 8, 1], each moved by a pixel or none."""
    padded = np.pad(images, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)))
    at = random.integers(0, 2 * SHIFT + 1, (len(images), 2))
    return np.stack([image[i : i + 8, j : j + 8] for image, (i, j) in zip(padded, at, strict=True)])


def main(argv: list[str] | None = None) -> float:
    """The share of the held out images that the trained network gets right."""
    how = options(__doc__, 300, argv)
    images, labels = data()
    images = images.reshape(-1, 8, 8, 1)
    shown, named = images[HELD_OUT:], labels[HELD_OUT:]
    model = ResNet(nn.Conv(1, 16, (3, 3), padding=1), (Block.of(16, 16, 1), Block.of(16, 32, 2)), nn.Linear(32, 10))
    optimizer = optim.AdamW(optim.warmup(20, optim.cosine(5e-3, how.steps)))

    @ir.jit(donate=0)
    def step(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        def loss(params: nn.Params) -> tuple[ir.Tensor, nn.Params]:
            batch = nn.Batch()
            return nn.cross_entropy(model(params, x, batch), y), batch.averaged(params)

        (value, params), gradients = ir.value_and_grad(loss, has_aux=True)(state["params"])
        params, memory = optimizer.update(params, gradients, state["optimizer"])
        return {"params": params, "optimizer": memory}, value

    def batch(number: int) -> tuple[Any, ...]:
        random = np.random.default_rng((how.seed, number))
        chosen = random.integers(0, len(shown), BATCH)
        return shifted(shown[chosen], random), named[chosen]

    with ir.target(how.target):
        params = model.init(how.seed)
        state, _ = train(step, {"params": params, "optimizer": optimizer.init(params)}, batch, how)
        share = nn.accuracy(model(state["params"], images[:HELD_OUT]), labels[:HELD_OUT]).item()
    print(f"{share:.1%} of {HELD_OUT} held out images right")
    return share


if __name__ == "__main__":
    main()
