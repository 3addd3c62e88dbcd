"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from irc_frontend.elementwise_functions import expm1, sqrt
from irc_frontend.optim.optimizer import Optimizer, State, first_step, updated, zeros_of
from irc_frontend.tensor import Tensor


@dataclass(frozen=True)
class Adam(Optimizer):
    """p - rate * m' / (sqrt(v') + eps), with the means m of g and v of g * g, corrected for their start at 0.

    Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015; numbers as torch.optim.Adam.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def init(self, params: Any) -> State:
        return {"step": first_step(), "mean": zeros_of(params), "square": zeros_of(params)}

    def update(self, params: Any, gradients: Any, state: State) -> tuple[Any, State]:
        rate = self.rate_after(state["step"])
        count = Tensor(state["step"]) + 1

        def step(p: Tensor, g: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            m = self.beta1 * m + (1 - self.beta1) * g
            v = self.beta2 * v + (1 - self.beta2) * (g * g)
            number, own = count.astype(p.element), rate.astype(p.element)
            size = own / _weight(self.beta1, number)
            root = sqrt(v / _weight(self.beta2, number))
            return self._decayed(p, own) - size * m / (root + self.eps), m, v

        made, mean, square = updated(step, params, gradients, state["mean"], state["square"])
        return made, {"step": count, "mean": mean, "square": square}

    def _decayed(self, p: Tensor, rate: Tensor) -> Tensor:
        """The parameter before the step."""
        return p


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam that first takes rate * decay * p off each parameter that is a matrix or has more axes still.

    Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019. Biases and scales, of one axis or none,
    are not decayed unless `decay_all`, which is what torch.optim.AdamW does.
    """

    decay: float = 0.01
    decay_all: bool = False

    def _decayed(self, p: Tensor, rate: Tensor) -> Tensor:
        return p * (1 - rate * self.decay) if self.decay_all or p.ndim > 1 else p


def _weight(beta: float, count: Tensor) -> Tensor:
    """1 - beta ** count, right to the last digits where beta is near 1: what the weights of a mean add up to."""
    return -expm1(count * log(beta)) if beta else count * 0 + 1
