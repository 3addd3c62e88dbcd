"""Step sizes that depend on the number of steps: functions of Tensors, so that they are part of the program."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import TypeAlias

from irc_frontend.elementwise_functions import cos, minimum
from irc_frontend.making_functions import full
from irc_frontend.tensor import Tensor

Schedule: TypeAlias = Callable[[Tensor], Tensor]
"""From the number of steps done, f32[], to the rate of the next, f32[]."""

Rate: TypeAlias = float | Schedule


def cosine(peak: float, steps: int, floor: float = 0.0) -> Schedule:
    """From `peak` at the first step down half a cosine to `floor` after `steps`, and there from then on."""

    def rate(step: Tensor) -> Tensor:
        share = minimum(step / max(steps, 1), 1.0)
        return floor + (peak - floor) * 0.5 * (1 + cos(share * pi))

    return rate


def warmup(steps: int, then: Rate) -> Schedule:
    """1/steps of the rate at the first step, 2/steps at the next, and so on; then the schedule, which counts from the
    first step."""
    return lambda step: minimum((step + 1) / max(steps, 1), 1.0) * rate_at(then, step)


def rate_at(rate: Rate, step: Tensor) -> Tensor:
    """The rate after `step` steps, f32[]."""
    count = Tensor(step).astype("f32")
    return rate(count).astype("f32") if callable(rate) else full([], rate)
