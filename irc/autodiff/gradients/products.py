"""Gradients of matrix products: two products with the same pairs of axes, of which what was free is contracted.

The cotangent is rounded to the operands' type, as any operand of a product is. f8 operands multiply in bf16, which
holds them exactly and has the range that cotangents need.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints
from irc.dialects.nd.terms import Gradient, Term, deferred_cast
from irc.ir.dtypes import Element, accumulator, element_named
from irc.support.shapes import inverse


def matmul(op: nd.MatmulOp, g: Term) -> list[Term | None]:
    """The axes of `g` are the batches, the free axes of lhs, those of rhs."""
    batches, first = range(len(ints(op.lhs_batch))), len(ints(op.lhs_batch)) + len(op.lhs_free)
    rows, columns = range(len(batches), first), range(first, len(g.shape))
    lhs_pairs, rhs_pairs = ints(op.lhs_contract), ints(op.rhs_contract)
    lhs, rhs, g = _factor(op.lhs, g), _factor(op.rhs, g), deferred_cast(g, factor_element(element_of(op.lhs)))
    precision = "default" if op.precision.data == "f16" else op.precision.data  # gradients are summed in f32
    of_lhs = nd.MatmulOp(
        g.value,
        rhs.value,
        lhs_batch=batches,
        rhs_batch=ints(op.rhs_batch),
        lhs_contract=columns,
        rhs_contract=op.rhs_free,
        element=accumulator(g.element),
        precision=precision,
    )
    of_rhs = nd.MatmulOp(
        lhs.value,
        g.value,
        lhs_batch=ints(op.lhs_batch),
        rhs_batch=batches,
        lhs_contract=op.lhs_free,
        rhs_contract=rows,
        element=accumulator(g.element),
        precision=precision,
    )
    lhs_axes = [*ints(op.lhs_batch), *op.lhs_free, *(lhs_pairs[rhs_pairs.index(axis)] for axis in sorted(rhs_pairs))]
    rhs_axes = [*ints(op.rhs_batch), *(rhs_pairs[lhs_pairs.index(axis)] for axis in sorted(lhs_pairs)), *op.rhs_free]
    return [_in_order(of_lhs, lhs_axes, g), _in_order(of_rhs, rhs_axes, g)]


def grouped_matmul(op: nd.GroupedMatmulOp, g: Term) -> list[Term | None]:
    """Products in the same groups: by the matrices for an operand that has the rows, over the rows for the matrices."""
    lhs, rhs, g = _factor(op.lhs, g), _factor(op.rhs, g), deferred_cast(g, factor_element(element_of(op.lhs)))
    of_lhs, of_rhs, groups = (integer(each) for each in (op.lhs_contract, op.rhs_contract, op.rhs_group))

    def product(a: Term, b: Term, first: int, second: int, group: int = 0) -> Term:
        """Of these axes of two arrays, in the same groups."""
        found = nd.GroupedMatmulOp(
            a.value,
            b.value,
            op.ends,
            lhs_contract=first,
            rhs_contract=second,
            rhs_group=group,
            element=accumulator(g.element),
            precision=op.precision.data,
        )
        return Term(g.at.value(found), g.at)

    if op.contracts_rows:  # both operands have the rows, and g has the groups
        left, right = product(rhs, g, op.rhs_free, 2), product(lhs, g, op.lhs_free, 1)
        return [left.permute([of_lhs, op.lhs_free]), right.permute([of_rhs, op.rhs_free]), None]
    left, right = product(g, rhs, 1, op.rhs_free, groups), product(lhs, g, op.lhs_free, 0)
    axes = {groups: 0, of_rhs: 1, op.rhs_free: 2}
    return [left.permute([op.lhs_free, of_lhs]), right.permute([axes[axis] for axis in range(3)]), None]


def _factor(value: SSAValue, g: Term) -> Term:
    """An operand of the op as one of its gradient."""
    return deferred_cast(Term(value, g.at), factor_element(element_of(value)))


def factor_element(element: Element) -> Element:
    """The type that the products of a gradient of `element` are taken in."""
    return element_named("bf16") if element.size == 1 else element


def _in_order(product: nd.MatmulOp, axes: Sequence[int], g: Term) -> Term:
    """The product, whose axis i is the operand's axis `axes[i]`, as the operand has them."""
    return Term(g.at.value(product), g.at).permute(inverse(axes))


PRODUCTS: dict[type[nd.NdOp], Gradient] = {nd.MatmulOp: matmul, nd.GroupedMatmulOp: grouped_matmul}
