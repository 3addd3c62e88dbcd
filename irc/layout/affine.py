"""Affine expressions of tile coordinates (dims) and block-level scalars (symbols): their slopes and their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

UNBOUNDED = -(1 << 62)
"""What `least` gives of an expression that has no lower bound."""


@dataclass(frozen=True)
class LinearForm:
    """The sum of `constant` and each dim and symbol, in order, times its factor."""

    factors: tuple[int, ...]
    constant: int


def linear_form(expr: AffineExpr, dims: int, symbols: int) -> LinearForm | None:
    """An expression of so many dims and symbols as a sum; None where it has divisions, remainders or products."""
    match expr:
        case AffineConstantExpr():
            return LinearForm((0,) * (dims + symbols), expr.value)
        case AffineDimExpr() | AffineSymExpr():
            at = expr.position + (dims if isinstance(expr, AffineSymExpr) else 0)
            return LinearForm(tuple(int(at == i) for i in range(dims + symbols)), 0)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            a, b = linear_form(expr.lhs, dims, symbols), linear_form(expr.rhs, dims, symbols)
            if a is None or b is None:
                return None
            return LinearForm(tuple(map(int.__add__, a.factors, b.factors)), a.constant + b.constant)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=by)):
            a = linear_form(expr.lhs, dims, symbols)
            return None if a is None else LinearForm(tuple(f * by for f in a.factors), a.constant * by)
        case _:
            return None


def slope_of(expr: AffineExpr, dim: int, *, within: bool = False) -> int | None:
    """The coefficient of tile dimension `dim` in an expression that is linear in it; None where it is not. `within`:
    while no dividend reaches a multiple of its divisor."""
    if dim not in expr.used_dims():
        return 0
    match expr:
        case AffineDimExpr():
            return 1
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            lhs, rhs = slope_of(expr.lhs, dim, within=within), slope_of(expr.rhs, dim, within=within)
            return None if lhs is None or rhs is None else lhs + rhs
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=by)):
            lhs = slope_of(expr.lhs, dim, within=within)
            return None if lhs is None else lhs * by
        case AffineBinaryOpExpr(rhs=AffineConstantExpr()) if within:
            lhs = slope_of(expr.lhs, dim, within=within)
            return lhs if lhs is None or expr.kind is AffineBinaryOpKind.Mod else 0
        case _:
            return None


def is_monotone(expr: AffineExpr) -> bool:
    """Whether an expression does not fall where its dims and symbols grow."""
    match expr:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            return is_monotone(expr.lhs) and is_monotone(expr.rhs)
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mul | AffineBinaryOpKind.FloorDiv, rhs=AffineConstantExpr(value=by)
        ):
            return by >= 0 and is_monotone(expr.lhs)
        case AffineBinaryOpExpr():
            return False
        case _:
            return True


Bounds = tuple[int | None, int | None]
"""The least and the greatest value; None where there is none."""


def bounds(expr: AffineExpr, symbols: Sequence[int | None] = ()) -> Bounds:
    """The bounds of an expression whose dims and symbols are 0 or more. `symbols`: what each is at most, where that is
    known."""
    match expr:
        case AffineConstantExpr():
            return expr.value, expr.value
        case AffineSymExpr() if symbols:
            return 0, symbols[expr.position]
        case AffineDimExpr() | AffineSymExpr():
            return 0, None
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            sides = zip(bounds(expr.lhs, symbols), bounds(expr.rhs, symbols), strict=True)
            low, high = (None if a is None or b is None else a + b for a, b in sides)
            return low, high
        case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=by)):
            return _bounds_by(expr.kind, bounds(expr.lhs, symbols), by)
        case _:
            return None, None


def _bounds_by(kind: AffineBinaryOpKind, of: Bounds, by: int) -> Bounds:
    low, high = of
    match kind:
        case AffineBinaryOpKind.Mul:
            low, high = (None if end is None else end * by for end in (of if by >= 0 else (high, low)))
            return low, high
        case AffineBinaryOpKind.Mod:
            return 0, by - 1 if high is None else min(high, by - 1)
        case AffineBinaryOpKind.FloorDiv if by > 0:
            low, high = (None if end is None else end // by for end in of)
            return low, high
        case _:
            return None, None


def least(expr: AffineExpr) -> int:
    """A lower bound of an expression whose dims and symbols are 0 or more (and unbounded above)."""
    low, _ = bounds(expr)
    return UNBOUNDED if low is None else low
