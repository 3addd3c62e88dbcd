"""Runs of a tile in segments: where an affine map takes neighbors to coordinates that are linear in their number.

A coordinate that is divided, (w mod 67, w floordiv 67), moves by fixed steps until the dividend reaches a multiple of
the divisor. So a run of 16 elements needs no division for each: it is two segments at most, and each begins at a place
that is computed once. Quotients that are divided again change where the first ones do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from irc.layout.affine import slope_of

DIVIDES = (AffineBinaryOpKind.Mod, AffineBinaryOpKind.FloorDiv)


@dataclass(frozen=True)
class Segments:
    """A run along a dimension of a tile. Within a segment each coordinate moves by its slope for each element; a
    segment ends where `dividend` reaches a multiple of `by`. No dividend: the run is one segment."""

    slopes: tuple[int, ...]
    dividend: AffineExpr | None = None
    by: int = 1

    def count(self, length: int) -> int:
        """The most segments of a run of `length` elements."""
        return 1 if self.dividend is None else 1 + ceil((length - 1) / self.by)


def segments_of(exprs: Sequence[AffineExpr], dim: int) -> Segments | None:
    """The segments of coordinates along a dimension; None where they end in several ways."""
    slopes = [slope_of(expr, dim, within=True) for expr in exprs]
    known = [slope for slope in slopes if slope is not None]
    if len(known) < len(slopes):
        return None
    ends = [end for expr in exprs for end in _ends(expr, dim)]
    if not ends:
        return Segments(tuple(known))
    dividend, by = ends[0][0], min(divisor for _, divisor in ends)
    alike = all(lhs == dividend and divisor % by == 0 for lhs, divisor in ends)
    return Segments(tuple(known), dividend, by) if alike and slope_of(dividend, dim, within=True) == 1 else None


def _ends(expr: AffineExpr, dim: int) -> Iterator[tuple[AffineExpr, int]]:
    """The dividends that move within a segment, with what they are divided by."""
    for part in expr.dfs():
        if not isinstance(part, AffineBinaryOpExpr) or part.kind not in DIVIDES:
            continue
        if isinstance(part.rhs, AffineConstantExpr) and slope_of(part.lhs, dim, within=True):
            yield part.lhs, part.rhs.value
