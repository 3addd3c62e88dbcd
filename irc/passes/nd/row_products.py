"""row-products: products of one row become sums of products along the other operand's rows.

A step of decoding multiplies one word by each weight of a model: what counts is how fast the weight is read. A kernel
on tensor cores has tiles of 64 rows of the weight, which are too few for a GPU, so that K is cut into parts, and a
second kernel adds these up. A sum along rows has as many blocks as there are rows, and finishes each by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from irc.canonicalization.simplify import SimplifyPattern
from irc.dialects import nd
from irc.dialects.nd.base import element_of, ints, rank_of, shape_of
from irc.dialects.nd.terms import Term
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, rewrite
from irc.ir.targets import target_of

MIN_ROW = 512
"""Elements of a row that a sum is along, at least."""

MIN_ELEMENTS = 1 << 18
"""Of the operand of many rows: smaller ones are in the L2, and products of them side by side."""


@dataclass(frozen=True)
class RowProductsPass(Pass):
    """On a GPU, turns a product of one row by an operand of 16-bit floats whose rows are contracted, [n, k], into sums
    of products in f32, the type that it is accumulated in. Products in batches, of other types, of several rows, by
    columns, and small ones are left alone."""

    name = "row-products"

    min_elements: int = MIN_ELEMENTS
    """Elements of the operand that has the rows, at least."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if target_of(op).exact_tiles:
            return
        found = SimplifyPattern({nd.MatmulOp: [partial(sum_of_products, self.min_elements)]})
        rewrite(op, [found], what=self.name, recursive=False)


def sum_of_products(min_elements: int, op: nd.MatmulOp, at: Inserter) -> SSAValue | None:
    """In the type of the result; None where the product stays."""
    if ints(op.lhs_batch) or element_of(op.result).name != "f32":
        return None
    sides = (op.lhs, ints(op.lhs_contract)), (op.rhs, ints(op.rhs_contract))
    for (row, contracted), (rows, along) in (sides, sides[::-1]):
        is_large = prod(shape_of(rows)) >= min_elements
        if is_large and _is_row(row, contracted) and _has_rows(rows, along) and element_of(row) == element_of(rows):
            wide, last = element_of(op.result), rank_of(rows) - 1
            many = Term(rows, at).cast(wide)
            factor = Term(row, at).cast(wide).reshape(shape_of(rows)[last:]).broadcast(many.shape, [last])
            return (many * factor).sum([last], wide).reshape(shape_of(op.result)).value
    return None


def _is_row(x: SSAValue, contracted: tuple[int, ...]) -> bool:
    """Whether all its elements are contracted along one axis."""
    return len(contracted) == 1 and prod(shape_of(x)) == shape_of(x)[contracted[0]]


def _has_rows(x: SSAValue, contracted: tuple[int, ...]) -> bool:
    """Whether it has long rows of 16-bit floats, along which it is contracted."""
    is_last = contracted == (rank_of(x) - 1,) and shape_of(x)[-1] >= MIN_ROW
    return is_last and element_of(x).name in ("bf16", "f16")
