"""Dropout, whose numbers are the caller's choice."""

from __future__ import annotations

from dataclasses import dataclass

from irc_frontend.elementwise_functions import where
from irc_frontend.making_functions import random_uniform
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.tensor import Like, Tensor, node_of


@dataclass(frozen=True)
class Dropout(Layer):
    """x with each element 0 with probability `rate`, the others divided by 1 - rate; without a seed, x.

    seed: an int, or an i64 Tensor, which may differ in each call of one program. The same seed drops the same elements
    on every target: pass another one in each step, and one of its own to each use (`fold`).
    """

    rate: float

    def init(self, seed: int) -> Params:
        return {}

    def __call__(self, params: Params, x: Like, seed: int | Tensor | None = None) -> Tensor:
        tensor = Tensor.of(node_of(x))
        if seed is None or not self.rate:
            return tensor
        kept = random_uniform(tensor.shape, seed) >= self.rate
        return where(kept, tensor / (1 - self.rate), 0)
