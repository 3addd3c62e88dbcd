"""What a rule is, and what rules share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from irc.dialects.nd.terms import Term

Rule: TypeAlias = "Callable[[Any, Term], Sequence[Term | None]]"
"""(op, cotangent of its first result) -> a cotangent for each operand: None where nothing flows.

The cotangent has the result's type, what is returned the operand's shape and any float element type; the walk converts
it by a deferred cast. A rule inserts ops at the cotangent's place; those that nothing uses are removed.
"""


def zero_where(condition: Term, g: Term) -> Term:
    """`g`, but 0 where the condition holds: unlike a product with 0 also of inf and NaN."""
    return condition.where(g.filled(0), g)


def kept_where(condition: Term, g: Term) -> Term:
    """`g` where the condition holds, else 0."""
    return condition.where(g, g.filled(0))
