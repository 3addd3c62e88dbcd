"""Logistic regression on scikit-learn's breast cancer data: 569 cases of 30 measurements, benign or malign.

python examples/train_cancer.py --out cancer
"""

from __future__ import annotations

from typing import Any

import numpy as np
from loop import options, train
from sklearn.datasets import load_breast_cancer

import irc_frontend as ir
from irc_frontend import nn, optim

BATCH = 64
HELD_OUT = 114


def data() -> tuple[Any, Any]:
    """Measurements, each with mean 0 and variance 1 over the cases to train on, f32[569, 30], and 1 where benign."""
    cases, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(cases))
    cases, labels = cases[order], labels[order]
    mean, spread = cases[HELD_OUT:].mean(0), cases[HELD_OUT:].std(0)
    return ((cases - mean) / spread).astype(np.float32), labels.astype(np.int64)


def main(argv: list[str] | None = None) -> float:
    """The share of the held out cases that the trained model gets right."""
    how = options(__doc__, 300, argv)
    cases, labels = data()
    known, named = cases[HELD_OUT:], labels[HELD_OUT:]
    model = nn.Linear(30, 2)
    optimizer = optim.SGD(optim.cosine(0.1, how.steps), momentum=0.9, nesterov=True, decay=1e-3)

    @ir.jit(donate=0)
    def step(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        value, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, x), y))(state["params"])
        params, memory = optimizer.update(state["params"], gradients, state["optimizer"])
        return {"params": params, "optimizer": memory}, value

    def batch(number: int) -> tuple[Any, ...]:
        chosen = np.random.default_rng((how.seed, number)).integers(0, len(known), BATCH)
        return known[chosen], named[chosen]

    with ir.target(how.target):
        params = model.init(how.seed)
        state, _ = train(step, {"params": params, "optimizer": optimizer.init(params)}, batch, how)
        share = nn.accuracy(model(state["params"], cases[:HELD_OUT]), labels[:HELD_OUT]).item()
    print(f"{share:.1%} of {HELD_OUT} held out cases right")
    return share


if __name__ == "__main__":
    main()
