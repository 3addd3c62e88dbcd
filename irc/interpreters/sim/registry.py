"""What each op means: the table of rules, and how one is added.

    @simulates(cuda.BarrierArriveOp)
    def barrier_arrive(s: Strand, op: cuda.BarrierArriveOp, address: Value) -> None: ...

A rule is called for every execution of the op by a strand, with the values of the op's operands in their order; it
gives the results (nothing, one value, or a tuple of values). A value is a numpy scalar where all lanes have the same,
or an array of one element for each lane of the frame, whose elements are meaningful for the lanes that are active;
a `RegisterArray`, `Pointer` or `TensorMap` for those types.

A rule that is a generator function can wait: `yield Waiting(...)` lets other strands run until what it waits for has
happened (`irc/interpreters/sim/strands.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.ir import Operation

Rule = Callable[..., Any]
RuleT = TypeVar("RuleT", bound=Rule)

_RULES: dict[type[Operation], Rule] = {}


def simulates(*types: type[Operation]) -> Callable[[RuleT], RuleT]:
    """Register the meaning of ops of these types."""

    def register(rule: RuleT) -> RuleT:
        for type in types:
            _RULES[type] = rule
        return rule

    return register


def rule_of(op: Operation) -> Rule | None:
    """The op's rule; None where it has none."""
    return _RULES.get(type(op))


def waits(op: Operation) -> bool:
    """Whether the op's rule can wait for other threads."""
    rule = _RULES.get(type(op))
    return rule is not None and inspect.isgeneratorfunction(rule)


def simulated_ops() -> frozenset[type[Operation]]:
    """The op types that have a rule, scalars and control flow aside."""
    return frozenset(_RULES)
