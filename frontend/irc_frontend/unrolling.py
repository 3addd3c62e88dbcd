"""Control flow of programs that come from elsewhere. nd has none: loops are recorded step by step, and conditions and
numbers of steps are known at import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from irc.support.diagnostics import IrcError
from irc_frontend.control_flow import cond
from irc_frontend.evaluation import target
from irc_frontend.tensor import Tensor

MAX_STEPS = 1024
"""Of a loop: each is recorded."""


def known(x: Tensor, what: str, hint: str = "irc's shapes are known when it compiles") -> np.ndarray[Any, Any]:
    """The value of an operand that decides what is recorded; IrcError where it depends on an input of the program."""
    if x.node.is_recorded:
        raise IrcError(f"{what} depends on an input of the program", hint=hint)
    with target("interpret"):
        return x.numpy()


def steps(goes_on: Callable[[], bool]) -> Iterator[int]:
    """The number of each step of a loop, as long as it goes on; IrcError where it takes more than MAX_STEPS."""
    for step in count():
        if not goes_on():
            return
        check_steps(step + 1)
        yield step


def check_steps(number: int) -> None:
    """IrcError for a loop of more than MAX_STEPS."""
    if number > MAX_STEPS:
        raise IrcError(f"more than {MAX_STEPS} steps are not supported", hint="each step is recorded by itself")


def branch(
    condition: Tensor, on_true: Callable[[], list[Tensor]], on_false: Callable[[], list[Tensor]]
) -> list[Tensor]:
    """The results of one branch, where the condition, a bool, is known; else elements of those of both."""
    if not condition.node.is_recorded:
        return on_true() if known(condition, "the condition").item() else on_false()
    return cond(condition.reshape(()), on_true, on_false)
