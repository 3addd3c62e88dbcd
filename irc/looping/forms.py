"""Linear forms of index values: how offsets and coordinates are computed, compared and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

Range = tuple[int, int]
"""The least and the greatest value."""


@dataclass(frozen=True)
class Form:
    """The sum of index values times factors, and a constant."""

    terms: tuple[tuple[SSAValue, int], ...] = ()
    constant: int = 0

    @staticmethod
    def of(value: SSAValue) -> Form:
        return Form(((value, 1),))

    def __add__(self, other: Form | int) -> Form:
        if isinstance(other, int):
            return Form(self.terms, self.constant + other)
        if not other.terms:
            return Form(self.terms, self.constant + other.constant)
        factors = dict(self.terms)
        for value, factor in other.terms:
            factors[value] = factors.get(value, 0) + factor
        terms = tuple((value, factor) for value, factor in factors.items() if factor)
        return Form(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> Form:
        if factor == 0:
            return Form()
        return Form(tuple((value, f * factor) for value, f in self.terms), self.constant * factor)

    def __sub__(self, other: Form | int) -> Form:
        return self + (-other if isinstance(other, int) else other * -1)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __hash__(self) -> int:
        return hash((frozenset(self.terms), self.constant))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same terms, in whatever order."""
        if not isinstance(other, Form):
            return NotImplemented
        return self.constant == other.constant and frozenset(self.terms) == frozenset(other.terms)

    def bounds(self, ranges: Mapping[SSAValue, Range]) -> Range | None:
        """The least and the greatest value; None where a value's range is not known."""
        low, high = self.constant, self.constant
        for value, factor in self.terms:
            if (found := ranges.get(value)) is None:
                return None
            least, greatest = sorted((factor * found[0], factor * found[1]))
            low, high = low + least, high + greatest
        return low, high


ZERO = Form()


def constant(value: int) -> Form:
    return Form((), value)
