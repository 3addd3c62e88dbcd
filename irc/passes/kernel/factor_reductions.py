"""factor-reductions: factors of whole rows leave the products that are computed from another product's rows.

`softmax(s) v` divides each row of weights by its sum before it multiplies. Divided afterwards, the sum is needed once
the rows have been walked over, and not in each step: the two products become a cascade that one kernel can walk through
(`irc/analysis/cascades.py`). FlashAttention (Dao, 2022) divides at the end, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from irc.analysis.cascades import RowFactor
from irc.analysis.op_classes import shape_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, ints
from irc.dialects.nd.terms import Term
from irc.fusion.cascades import cascades_in
from irc.ir.discardable import DECLARED, STRICT
from irc.ir.iteration import iteration_of
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, remove_dead_among, remove_dead_code


@dataclass(frozen=True)
class FactorReductionsPass(Pass):
    """`(e * r) v`, with a factor r for each row -> `(e v) * r`, where e is computed from the rows of a product that
    one kernel can hold beside this one. Rounded to the type of v, e and e * r have the same relative error. Only where
    e is at most 1, so that it fits any type: the exponential of what its row's maximum was taken from. Elements that
    are masked by 0, as by dropout, stay so. A module with strict rounding is left alone.
    """

    name: ClassVar[str] = "factor-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if STRICT in op.attributes:
            return
        remove_dead_code(op)
        for cascade in cascades_in(op):
            for product in cascade.products:
                if (factor := cascade.row_factor(product)) is not None:
                    _move(product, factor)
            remove_dead_among(cascade.between)


def _move(product: Operation, factor: RowFactor) -> None:
    """Multiplies what is left of the operand, and scales the product."""
    at = Inserter.before(product)
    lhs = Term(factor.rest, at)
    for mask in reversed(factor.masks):
        lhs = Term(mask.condition, at).where(lhs, lhs.filled(0))
    lhs = lhs.cast(element_of(product.operands[0]))
    unscaled = at(product.clone({product.operands[0]: lhs.value}))
    unscaled.attributes.pop(DECLARED, None)
    result = Term(unscaled.results[0], at)
    rows = Term(factor.rows.x, at).broadcast(shape_of(product.results[0]), _dims(product, factor.rows))
    scaled = result * rows if isinstance(factor.scaling, nd.MulOp) else result / rows
    scaled.op.attributes |= product.attributes
    Rewriter.replace_op(product, [], [scaled.value])


def _dims(product: Operation, rows: nd.BroadcastOp) -> list[int]:
    """The axes of the product's result that the axes of the rows are."""
    iteration = iteration_of(product)
    place = {e: at for at, e in enumerate(iteration.result.results)}
    return [place[iteration.inputs[0].map.results[axis]] for axis in ints(rows.dims)]
