"""outer-products: matrix products that contract nothing become multiplications.

The gradient of a dot product multiplies an array without axes by a vector, that of a matrix times a vector two vectors:
such a product reads no row of its operands twice, and multiplies without a sum. The operands are rounded already where
a product rounds them (`widen-arithmetic`), so that the multiplication is exact where the product was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from irc.canonicalization.simplify import SimplifyPattern
from irc.dialects import nd
from irc.dialects.nd.base import element_of, ints, shape_of
from irc.dialects.nd.terms import Term
from irc.ir.dtypes import Element, element_named
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, rewrite


@dataclass(frozen=True)
class OuterProductsPass(Pass):
    """Turns products that contract nothing into multiplications of broadcasts."""

    name = "outer-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [SimplifyPattern({nd.MatmulOp: [multiplication]})], what=self.name, recursive=False)


def multiplication(op: nd.MatmulOp, at: Inserter) -> SSAValue | None:
    """In the type of the result, or of the operands where that is wider, as the product is accumulated."""
    if ints(op.lhs_contract):
        return None
    result = element_of(op.result)
    wide = max(result, element_of(op.lhs), key=lambda element: element.size)
    first = len(ints(op.lhs_batch))
    lhs = _factor(Term(op.lhs, at), op, ints(op.lhs_batch), first, wide)
    rhs = _factor(Term(op.rhs, at), op, ints(op.rhs_batch), first + len(op.lhs_free), wide)
    return (lhs * rhs).cast(result).value


def _factor(x: Term, op: nd.MatmulOp, batches: Sequence[int], first: int, element: Element) -> Term:
    """An operand as the product takes it, spread over the result, where its free axes begin at `first`."""
    if op.precision.data == "bf16":
        x = x.cast(element_named("bf16"))
    others = count(first)
    dims = [batches.index(axis) if axis in batches else next(others) for axis in range(len(x.shape))]
    return x.cast(element).broadcast(shape_of(op.result), dims)
