"""separate-cascades: products that several cascades are computed from become products of each of them.

The backward pass of attention multiplies by the weights, and by their gradient, along the keys and along the queries.
Both are computed from the scores, which the forward pass walked through without storing them. Scores that are stored
take as many bytes as rows times columns; computed again, they take their operands alone, in each kernel that needs them
(FlashAttention: Dao, 2022, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.cascades import (
    Cascade,
    cascade_between,
    computed_along,
    computed_from,
    contracted_axes,
    joined_cascade,
    scores_of,
)
from irc.analysis.op_classes import is_elementwise, is_product, is_splittable, reduced_axes, shape_of
from irc.fusion.cascade_cost import cascade_cost
from irc.fusion.cascades import fits, is_one_kernel
from irc.ir.blocks import block_of, ops_in
from irc.ir.discardable import ANY_ORDER, DECLARED
from irc.ir.passes import Pass
from irc.ir.rewriting import remove_dead_code
from irc.ir.targets import Target, target_of
from irc.ir.walks import makers_of, reached


@dataclass(frozen=True)
class SeparateCascadesPass(Pass):
    """Copies products, and what is computed of them element by element, for each cascade that multiplies by it, where
    one kernel computes each of these cascades. Reductions of their rows stay with the first one that they can be
    rescaled in. Where anything else needs an array of them, nothing is copied.

    With `any-order`, products that sum over the columns of the same scores and a product that sums over their rows stay
    one cascade, where that takes less time: the latter gets `nd.any_order`, and each tile of rows adds its part. One
    that has it stays whatever it costs.
    """

    name: ClassVar[str] = "separate-cascades"
    any_order: bool = False
    """Sums may be added up in any order: results differ in their last bits from run to run."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [inner for inner in ops_in(op) if isinstance(inner, FuncOp) and not inner.is_declaration]:
            block = function.body.block
            order = {each: i for i, each in enumerate(block.ops)}
            for products in list(_families(block)):
                _separate(products, order, target_of(op), any_order=self.any_order)
            remove_dead_code(function)


def _families(block: Block) -> Iterator[list[Operation]]:
    """Products of what is computed from some of the same scores."""
    families: list[tuple[set[Operation], list[Operation]]] = []
    for product in [op for op in block.ops if is_product(op)]:
        scores, products = set(scores_of(product)), [product]
        if not scores:
            continue
        for family in [each for each in families if each[0] & scores]:
            families.remove(family)
            scores, products = scores | family[0], family[1] + products
        families.append((scores, products))
    for _, products in families:
        if len(products) > 1:
            yield products


def _separate(
    products: Sequence[Operation], order: Mapping[Operation, int], machine: Target, *, any_order: bool
) -> None:
    any_order = any_order or any(ANY_ORDER in product.attributes for product in products)
    cascades = _cascades(products, order, machine)
    owner = next((each for each in cascades if each.reductions and each.can_be_rolled), None)
    if len(cascades) < 2 or not all(is_one_kernel(each, machine) for each in cascades):
        return
    if not _are_alone(cascades, owner):
        return
    if any_order:
        others = [cascade for cascade in cascades if cascade is not owner]
        if owner is not None:
            _copy([product for cascade in others for product in cascade.products])
        if len(others) < 2 or _stay_together(others, machine):
            return
        owner = others[0]
        cascades = others
    for cascade in cascades:
        if cascade is not (owner or cascades[0]):
            _copy(cascade.products)


def _stay_together(cascades: Sequence[Cascade], machine: Target) -> bool:
    """Marks what sums over other axes than most of the products do, where one kernel of all takes the least time."""
    products = [product for cascade in cascades for product in cascade.products]
    most = max(cascades, key=lambda each: len(each.products))
    across = [product for product in products if product not in most.products]
    unmarked = [product for product in across if ANY_ORDER not in product.attributes]
    for product in unmarked:
        product.attributes[ANY_ORDER] = UnitAttr()
    scores = tuple(dict.fromkeys(score for product in products for score in scores_of(product)))
    joined = joined_cascade(scores, products)
    if joined is not None and joined.products == most.products and fits(joined, machine):
        apart = sum(cascade_cost(each, machine).fused for each in cascades)
        if not unmarked or cascade_cost(joined, machine).fused < apart:
            for product in across:
                product.attributes.pop(DECLARED, None)  # What is added to is in f32.
            return True
    for product in unmarked:
        del product.attributes[ANY_ORDER]
    return False


def _cascades(products: Sequence[Operation], order: Mapping[Operation, int], machine: Target) -> list[Cascade]:
    """The products by what one kernel can hold: those that sum over the same axes, and do not need each other."""
    found: list[Cascade] = []
    for product in products:
        single = _cascade([product])
        for i, known in enumerate(found):
            joined = _cascade([*known.products, product])
            if joined is None or not is_one_kernel(joined, machine):
                continue
            if not _depends([product, *scores_of(product)], known.products, order):
                found[i] = joined
                break
        else:
            found += [single] if single is not None else []
    return found


def _cascade(products: Sequence[Operation]) -> Cascade | None:
    axes = {contracted_axes(product) for product in products}
    shapes = {shape_of(product.results[0]) for product in products}
    if len(axes) > 1 or len(shapes) > 1:
        return None
    scores = tuple(dict.fromkeys(score for product in products for score in scores_of(product)))
    (along,) = axes
    return Cascade(scores, tuple(products), along, cascade_between(scores, products, along))


def _depends(ops: Sequence[Operation], on: Sequence[Operation], order: Mapping[Operation, int]) -> bool:
    """Whether any op is computed from others."""
    first = min(order[op] for op in on)
    return not set(on).isdisjoint(reached(ops, lambda op: makers_of(op) if order.get(op, -1) > first else ()))


def _are_alone(cascades: Sequence[Cascade], owner: Cascade | None) -> bool:
    """Whether nothing but these cascades reads their scores, and what is computed of them element by element."""
    products = {product for each in cascades for product in each.products}
    scores = dict.fromkeys(score for each in cascades for score in each.scores)

    def is_inside(op: Operation) -> bool:
        if op in products or is_elementwise(op):
            return True
        return owner is not None and is_splittable(op) and reduced_axes(op) == owner.axes

    values = computed_from(scores)
    inside = all(is_inside(use.operation) for value in values for use in value.uses)
    return inside and all(product.operands[1] not in values for product in products)


def _copy(products: Sequence[Operation]) -> None:
    """Gives the products what only they are computed from."""
    copies: dict[SSAValue, SSAValue] = {}
    for op in dict.fromkeys(op for product in products for op in computed_along(product)):
        block = block_of(op)
        copy = op.clone({operand: copies.get(operand, operand) for operand in op.operands})
        block.insert_op_after(copy, op)
        copies[op.results[0]] = copy.results[0]
    for product in products:
        product.operands[0] = copies[product.operands[0]]
