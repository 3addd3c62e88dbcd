"""Gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irc_frontend.optim.optimizer import Optimizer, State, first_step, updated, zeros_of
from irc_frontend.tensor import Tensor


@dataclass(frozen=True)
class SGD(Optimizer):
    """m = momentum * m + g; p = p - rate * m, and with `nesterov` p - rate * (g + momentum * m); g includes decay * p.

    As torch.optim.SGD.
    """

    momentum: float = 0.0
    nesterov: bool = False
    decay: float = 0.0

    def init(self, params: Any) -> State:
        state: State = {"step": first_step()}
        return {**state, "momentum": zeros_of(params)} if self.momentum else state

    def update(self, params: Any, gradients: Any, state: State) -> tuple[Any, State]:
        rate = self.rate_after(state["step"])
        after: State = {"step": Tensor(state["step"]) + 1}
        if not self.momentum:
            (made,) = updated(lambda p, g: (p - rate.astype(p.element) * self._pull(p, g),), params, gradients)
            return made, after

        def step(p: Tensor, g: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
            g = self._pull(p, g)
            m = self.momentum * m + g
            return p - rate.astype(p.element) * (g + self.momentum * m if self.nesterov else m), m

        made, momentum = updated(step, params, gradients, state["momentum"])
        return made, {**after, "momentum": momentum}

    def _pull(self, p: Tensor, g: Tensor) -> Tensor:
        return g + self.decay * p if self.decay else g
