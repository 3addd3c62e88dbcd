"""row-products: products of one row become sums of products along the other operand's rows.

A step of decoding multiplies one word by each weight of a model: what counts is how fast the weight is read. A kernel
on tensor cores has tiles of 64 rows of the weight, which are too few for a GPU, so that K is cut into parts, and a
second kernel adds these up. A sum along rows has as many blocks as there are rows, and finishes each by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

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

MAX_SUMS = 8
"""Of one kernel that multiplies one row by parts of several operands: each thread holds elements of all."""

ROWS_PER_SM = 2
"""Rows of each of these parts that an SM has at least."""

Sides = tuple[SSAValue, SSAValue]
"""Of a product: the operand that is one row, and the other, with the rows that it meets."""


@dataclass(frozen=True)
class RowProductsPass(Pass):
    """On a GPU, turns a product of one row by an operand of 16-bit floats whose rows are contracted, [n, k], into sums
    of products in f32, the type that it is accumulated in; into several, side by side, where the row meets operands of
    different heights. Products in batches, of other types, of several rows, by columns, and small ones are left
    alone."""

    name = "row-products"

    min_elements: int = MIN_ELEMENTS
    """Elements of the operand that has the rows, at least."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if target_of(op).exact_tiles:
            return
        products = [each for each in op.walk() if isinstance(each, nd.MatmulOp)]
        sides = {each: _row_and_rows(self.min_elements, each) for each in products}
        found: dict[Operation, Sides] = {each: known for each, known in sides.items() if known is not None}
        parts = {each: _parts(each, found) for each in found}
        pattern = SimplifyPattern({nd.MatmulOp: [partial(sum_of_products, found, parts)]})
        rewrite(op, [pattern], what=self.name, recursive=False)


def sum_of_products(
    found: Mapping[Operation, Sides], parts: Mapping[Operation, int], op: nd.MatmulOp, at: Inserter
) -> SSAValue | None:
    """In the type of the result; None where the product stays. found: the operands of those that are sums. parts: how
    many sums each is."""
    if op not in found:
        return None
    row, rows = found[op]
    wide, last = element_of(op.result), rank_of(rows) - 1
    many, (count, *rest) = Term(rows, at), shape_of(rows)
    size = count // parts[op]
    starts = range(0, count, size) if size < count else ()
    cut = [many.slice([start, *[0] * last], [start + size, *rest]) for start in starts] or [many]
    wider = [each.cast(wide) for each in cut]
    factor = Term(row, at).cast(wide).reshape(rest[-1:])
    sums = [(each * factor.broadcast(each.shape, [last])).sum([last], wide) for each in wider]
    total = sums[0] if len(sums) == 1 else Term(at.value(nd.ConcatOp([each.value for each in sums], 0)), at)
    return total.reshape(shape_of(op.result)).value


def _row_and_rows(min_elements: int, op: nd.MatmulOp) -> Sides | None:
    """The operand that is one row, and the one with the rows that it is multiplied by; None of other products."""
    if ints(op.lhs_batch) or element_of(op.result).name != "f32":
        return None
    sides = (op.lhs, ints(op.lhs_contract)), (op.rhs, ints(op.rhs_contract))
    for (row, contracted), (rows, along) in (sides, sides[::-1]):
        is_large = prod(shape_of(rows)) >= min_elements
        if is_large and _is_row(row, contracted) and _has_rows(rows, along) and element_of(row) == element_of(rows):
            return row, rows
    return None


def _parts(op: Operation, found: Mapping[Operation, Sides]) -> int:
    """How many sums a product is: of parts with as many rows as the shortest operand has that the row is multiplied by,
    as queries beside keys and values of fewer heads. Sums of equal shapes are one kernel, where they are few, each has
    a row or two for every SM, and none takes longer than a launch."""
    row, rows = found[op]
    shapes = [shape_of(other) for each, other in found.values() if each is row]
    least, machine = min(shape[0] for shape in shapes), target_of(op)
    is_alike = all(len(shape) == 2 and shape[0] % least == 0 for shape in shapes)
    total = sum(shape[0] // least for shape in shapes)
    nbytes = least * shape_of(rows)[-1] * element_of(rows).size
    is_apart = total > MAX_SUMS or least < ROWS_PER_SM * machine.sms or nbytes > machine.costs.small_bytes
    return 1 if is_apart or not is_alike else shape_of(rows)[0] // least


def _is_row(x: SSAValue, contracted: tuple[int, ...]) -> bool:
    """Whether all its elements are contracted along one axis."""
    return len(contracted) == 1 and prod(shape_of(x)) == shape_of(x)[contracted[0]]


def _has_rows(x: SSAValue, contracted: tuple[int, ...]) -> bool:
    """Whether it has long rows of 16-bit floats, along which it is contracted."""
    is_last = contracted == (rank_of(x) - 1,) and shape_of(x)[-1] >= MIN_ROW
    return is_last and element_of(x).name in ("bf16", "f16")
