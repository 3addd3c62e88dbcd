"""A classifier of handwritten digits with a mixture of experts: each image goes through 2 of 8 perceptrons.

python examples/train_experts.py --out experts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from loop import options, train
from train_digits import BATCH, HELD_OUT, data

import irc_frontend as ir
from irc_frontend import nn, optim


@dataclass(frozen=True)
class Classifier(nn.Layer):
    """Rows of one expert are beside each other in a `grouped_matmul`: how many there are is data."""

    experts: nn.MixtureOfExperts
    scores: nn.Linear

    def __call__(self, params: nn.Params, x: Any) -> ir.Tensor:
        given = ir.Tensor(x) if isinstance(x, np.ndarray) else x
        return self.scores(params["scores"], given + self.experts(params["experts"], given))


def main(argv: list[str] | None = None) -> float:
    """The share of the held out images that the trained classifier gets right."""
    how = options(__doc__, 600, argv)
    images, labels = data()
    shown, named = images[HELD_OUT:], labels[HELD_OUT:]
    model = Classifier(nn.MixtureOfExperts(64, 64, experts=8), nn.Linear(64, 10))
    optimizer = optim.AdamW(optim.warmup(50, optim.cosine(3e-3, how.steps)))

    @ir.jit(donate=0)
    def step(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        def loss(params: nn.Params) -> ir.Tensor:
            return nn.cross_entropy(model(params, x), y)

        value, gradients = ir.value_and_grad(loss)(state["params"])
        params, memory = optimizer.update(state["params"], gradients, state["optimizer"])
        return {"params": params, "optimizer": memory}, value

    def batch(number: int) -> tuple[Any, ...]:
        chosen = np.random.default_rng((how.seed, number)).integers(0, len(shown), BATCH)
        return shown[chosen], named[chosen]

    with ir.target(how.target):
        params = model.init(how.seed)
        state, _ = train(step, {"params": params, "optimizer": optimizer.init(params)}, batch, how)
        share = nn.accuracy(model(state["params"], images[:HELD_OUT]), labels[:HELD_OUT]).item()
    print(f"{share:.1%} of {HELD_OUT} held out images right")
    return share


if __name__ == "__main__":
    main()
