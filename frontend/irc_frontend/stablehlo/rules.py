"""What StableHLO's ops mean: a rule an op, a function of the op and its operands that records it.

https://openxla.org/stablehlo/spec is the meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from irc_frontend.tensor import Tensor

Rule: TypeAlias = Callable[..., "Tensor | Sequence[Tensor]"]
"""Of the op and its operands."""

RuleT = TypeVar("RuleT", bound=Callable[..., Any])

RULES: dict[str, Rule] = {}
"""By the op's name."""


def rule(*names: str) -> Callable[[RuleT], RuleT]:
    """Registers the decorated function as the rule of ops."""

    def register(function: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register
