"""scale-exponents: the exponentials of a cascade take one multiply-add each, before the special function unit.

`exp(c x - m)` with `m = max(c x)` takes a product, a difference, and the product with log2(e) that the hardware's
exponential of 2 needs. As `exp2(c' x - c' max(x))` with `c' = c log2(e)`, the elements take one multiply-add; the other
factors are those of rows (FlashAttention-2: Dao, 2023, section 3.1, has the same in its kernel).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log2
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.cascades import maximum_below
from irc.canonicalization.simplify import is_splat, splat_of
from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.dialects.nd.declared import declared_element, is_relaxed, relax
from irc.dialects.nd.terms import Term
from irc.fusion.cascades import cascades_in
from irc.ir.discardable import STRICT
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, remove_dead_among, remove_dead_code


@dataclass(frozen=True)
class ScaleExponentsPass(Pass):
    """`exp(c x - max(c x))` -> `exp2(c' x - c' max(x))`, with a number c > 0, or without one, between the products of a
    cascade, where the exponential may be approximated, and `exp(c x - r)` -> `exp2(c' x - r log2(e))`, with an r for
    each row or column. A mask of `c x` becomes one of x. A module with strict rounding is left alone.
    """

    name: ClassVar[str] = "scale-exponents"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if STRICT in op.attributes:
            return
        vectors: dict[SSAValue, Term] = {}
        remove_dead_code(op)
        for cascade in cascades_in(op):
            for power in cascade.between if cascade.is_rolled else ():
                if not isinstance(power, nd.ExpOp) or not _may_be_approximated(power):
                    continue
                if maximum := maximum_below(power.result):
                    _scale(power, maximum)
                elif vector := _vector_below(power):
                    _scale_by(power, vector, vectors)
            remove_dead_among(cascade.between)


def _may_be_approximated(power: nd.ExpOp) -> bool:
    """Its value is part of a narrow one, or was declared narrow."""
    return is_relaxed(power) or declared_element(power.result) is not None


def _scale(power: nd.ExpOp, maximum: nd.MaxOp) -> None:
    at = Inserter.after(maximum)
    x, factor = _unscaled(maximum.x, at)
    largest = Term(maximum.result, at)
    if factor != 1:
        largest = x.max(ints(maximum.axes))
    exponent = Term((x * (factor * log2(e))).value, Inserter.before(power))
    difference = power.operands[0].owner
    assert isinstance(difference, nd.SubOp)
    rows = _like(difference.rhs, maximum.result, (largest * (factor * log2(e))).value, exponent.at)
    scaled = nd.Exp2Op((exponent - Term(rows, exponent.at)).value)
    relax(scaled)
    Rewriter.replace_op(power, [], [exponent.at.value(scaled)])
    if factor != 1:
        Rewriter.replace_op(maximum, [], [(largest * factor).value])


def _vector_below(power: nd.ExpOp) -> nd.BroadcastOp | None:
    """The vector r of exp(x - r)."""
    difference = power.operands[0].owner
    vector = difference.rhs.owner if isinstance(difference, nd.SubOp) else None
    return vector if isinstance(vector, nd.BroadcastOp) else None


def _scale_by(power: nd.ExpOp, vector: nd.BroadcastOp, scaled: dict[SSAValue, Term]) -> None:
    """`scaled`: vectors in units of log2(e), which all exponentials share."""
    difference, source = power.operands[0].owner, vector.x.owner
    assert isinstance(difference, nd.SubOp)
    if vector.x not in scaled:
        first = source.first_op if isinstance(source, Block) else None
        at = Inserter.before(first) if first else Inserter.after(source if isinstance(source, Operation) else vector)
        scaled[vector.x] = Term(vector.x, at) * log2(e)
    at = Inserter.before(power)
    x, factor = _unscaled(difference.lhs, at)
    rows = Term(scaled[vector.x].value, at).broadcast(x.shape, ints(vector.dims))
    result = nd.Exp2Op((x * (factor * log2(e)) - rows).value)
    relax(result)
    Rewriter.replace_op(power, [], [at.value(result)])


def _unscaled(value: SSAValue, at: Inserter) -> tuple[Term, float]:
    """A value that is a number > 0 times another one, as these two."""
    owner = value.owner
    match owner:
        case nd.MulOp():
            for x, factor in ((owner.lhs, splat_of(owner.rhs)), (owner.rhs, splat_of(owner.lhs))):
                if factor is not None and 0 < factor < inf:
                    return Term(x, at), float(factor)
        case nd.WhereOp() if is_splat(owner.rhs, -inf):
            x, factor = _unscaled(owner.lhs, at)
            if factor != 1:
                return Term(owner.condition, at).where(x, x.filled(-inf)), factor
        case _:
            pass
    return Term(value, at), 1.0


def _like(value: SSAValue, old: SSAValue, new: SSAValue, at: Inserter) -> SSAValue:
    """A value that is made of `old` by ops of one operand, made of `new`."""
    if value is old:
        return new
    owner = value.owner
    assert isinstance(owner, Operation)
    operand = _like(owner.operands[0], old, new, at)
    return at.value(owner.clone({owner.operands[0]: operand}))
