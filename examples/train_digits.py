"""A classifier of handwritten digits: scikit-learn's 1797 images of 8x8, 97 % right on those it was not trained on.

python examples/train_digits.py --out digits
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from loop import options, train
from sklearn.datasets import load_digits

import irc_frontend as ir
from irc_frontend import nn, optim

BATCH = 64
HELD_OUT = 360


@dataclass(frozen=True)
class Classifier(nn.Layer):
    hidden: nn.Linear
    dropout: nn.Dropout
    scores: nn.Linear

    def __call__(self, params: nn.Params, x: Any, seed: Any = None) -> ir.Tensor:
        hidden = ir.relu(self.hidden(params["hidden"], x))
        return self.scores(params["scores"], self.dropout(params["dropout"], hidden, seed))


def data() -> tuple[Any, Any]:
    """Images in 0..1, f32[1797, 64], and what they show, in a random order."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    return (images[order] / 16).astype(np.float32), labels[order].astype(np.int64)


def main(argv: list[str] | None = None) -> float:
    """The share of the held out images that the trained classifier gets right."""
    how = options(__doc__, 1500, argv)
    images, labels = data()
    shown, named = images[HELD_OUT:], labels[HELD_OUT:]
    model = Classifier(nn.Linear(64, 256), nn.Dropout(0.3), nn.Linear(256, 10))
    optimizer = optim.AdamW(optim.warmup(50, optim.cosine(3e-3, how.steps)))

    @ir.jit(donate=0)
    def step(state: Any, x: Any, y: Any, seed: Any) -> tuple[Any, Any]:
        def loss(params: nn.Params) -> ir.Tensor:
            return nn.cross_entropy(model(params, x, seed), y)

        value, gradients = ir.value_and_grad(loss)(state["params"])
        params, memory = optimizer.update(state["params"], gradients, state["optimizer"])
        return {"params": params, "optimizer": memory}, value

    def batch(number: int) -> tuple[Any, ...]:
        chosen = np.random.default_rng((how.seed, number)).integers(0, len(shown), BATCH)
        return shown[chosen], named[chosen], np.int64(nn.fold(how.seed, number))

    with ir.target(how.target):
        params = model.init(how.seed)
        state, _ = train(step, {"params": params, "optimizer": optimizer.init(params)}, batch, how)
        share = nn.accuracy(model(state["params"], images[:HELD_OUT]), labels[:HELD_OUT]).item()
    print(f"{share:.1%} of {HELD_OUT} held out images right")
    return share


if __name__ == "__main__":
    main()
