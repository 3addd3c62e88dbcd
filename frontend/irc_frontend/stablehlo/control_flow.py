"""Ops with regions that run: loops whose numbers of steps are known, step by step, and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from irc.support.diagnostics import IrcError
from irc_frontend.stablehlo.syntax import Body, Op
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import MAX_STEPS, branch, known, steps

Record: TypeAlias = Callable[[Body, Sequence[Tensor]], list[Tensor]]
"""The results of a region for its arguments; it sees the values around it."""


def _while(op: Op, operands: Sequence[Tensor], record: Record) -> list[Tensor]:
    """The carried values after the last step."""
    condition, step = op.regions
    carried = list(operands)
    hint = f"irc records the steps of a loop from a constant by constants to a constant, {MAX_STEPS} at most"

    def goes_on() -> bool:
        return bool(known(record(condition, carried)[0], "the condition of stablehlo.while", hint).item())

    for _ in steps(goes_on):
        carried = [_settled(each) for each in record(step, carried)]
    return carried


def _settled(x: Tensor) -> Tensor:
    """A counter as a number, so that the next step does not compute it from the first one on."""
    if not x.ndim and not x.node.is_float and not x.node.is_recorded:
        known(x, "a counter")
    return x


def _if(op: Op, operands: Sequence[Tensor], record: Record) -> list[Tensor]:
    on_true, on_false = op.regions
    return branch(operands[0], lambda: record(on_true, []), lambda: record(on_false, []))


def _case(op: Op, operands: Sequence[Tensor], record: Record) -> list[Tensor]:
    """The last branch is that of all other numbers, too."""
    (index,) = operands
    if not op.regions:
        raise IrcError("expected a branch")

    def chosen(number: int) -> list[Tensor]:
        if number == len(op.regions) - 1:
            return record(op.regions[number], [])
        return branch(index == number, lambda: record(op.regions[number], []), lambda: chosen(number + 1))

    return chosen(0)


CONTROL = {"stablehlo.while": _while, "stablehlo.if": _if, "stablehlo.case": _case}
"""By the op's name."""
