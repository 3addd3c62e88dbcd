"""What ONNX operators mean: a rule an operator, a function of Tensors that records it.

A rule takes the operator's inputs by position, None for those that are left out, and its attributes by their names;
where it has such a parameter, `outputs` is how many results are taken and `opset` the version of the operators. It
gives a Tensor, or a tuple of them. It raises IrcError where it does not do a case; who calls it names the node.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from irc.support.diagnostics import IrcError
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import known

RuleT = TypeVar("RuleT", bound=Callable[..., Any])

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rule:
    """How an operator is recorded."""

    record: Callable[..., Any]

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The attributes that it has."""
        found: set[str] = set()
        for each in inspect.signature(self.record).parameters.values():
            if each.kind is inspect.Parameter.KEYWORD_ONLY:
                found.add(each.name)
            elif each.kind is inspect.Parameter.VAR_KEYWORD:  # those of a TypedDict
                found.update(get_args(get_type_hints(self.record)[each.name])[0].__annotations__)
        return frozenset(found)

    def __call__(self, inputs: list[Any], attributes: Mapping[str, Any], context: Mapping[str, int]) -> Any:
        if unknown := sorted(set(attributes) - self.keywords):
            raise IrcError(f"the attribute {unknown[0]} is not supported", hint=f"irc has {', '.join(self.keywords)}")
        more = {name: value for name, value in context.items() if name in self.keywords}
        return self.record(*inputs, **attributes, **more)


RULES: dict[str, Rule] = {}
"""By the operator's name."""


def rule(*names: str) -> Callable[[RuleT], RuleT]:
    """Registers the decorated function as the rule of operators."""

    def register(function: RuleT) -> RuleT:
        for name in names:
            RULES[name] = Rule(function)
        return function

    return register


def integers(x: Tensor, what: str) -> list[int]:
    """The same as a list."""
    return [int(each) for each in known(x, what).reshape(-1)]


def number(x: Tensor, what: str) -> int | float:
    """The same as one number."""
    return known(x, what).item()


def given_axes(axes: Any, rank: int) -> list[int]:
    """The axes of an attribute or an operand, none of them negative; all of them where there are none."""
    if axes is None:
        return list(range(rank))
    found = integers(axes, "axes") if isinstance(axes, Tensor) else [int(each) for each in axes]
    return [in_range(axis, rank) for axis in found]


def in_range(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if not -rank <= axis < max(1, rank):
        raise IrcError(f"axis {axis} of an array with {rank} axes")
    return axis % rank if rank else 0
