"""Cascades: products whose left operand is computed from other products, among it reductions of their rows.

`softmax(q k^T) v` is one, and so are its gradients, which multiply what is computed from two products of one shape.
Walked over in steps along the rows, a reduction has seen what came so far, and what depends
on it would have to be computed again whenever it changes. Not so where the dependence is a factor: what is
`g(column) * exp(c * r)` of a reduction `r` becomes right by `exp(c * (new - old))`, and with it sums of it, products
among them. That is the rescaling of online softmax (Milakov and Gimelshein, 2018), FlashAttention (Dao, 2022) and of
cascaded reductions in general (RedFuser, 2025).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.factors import Factors, is_between, is_zero
from irc.analysis.op_classes import (
    is_cast,
    is_elementwise,
    is_product,
    is_splittable,
    is_unit_reshape,
    monoid_of,
    reduced_axes,
    shape_of,
)
from irc.dialects import nd
from irc.dialects.kernel import FusedOp
from irc.dialects.nd.base import ints
from irc.ir.discardable import ANY_ORDER
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import location_of
from irc.ir.walks import makers, makers_of, reached
from irc.support.diagnostics import IrcError

MAX_OPS = 64
"""Ops between two products of a cascade, at most."""

MAX_SCORES = 4
"""Scores of a cascade, at most: each of them is a tile of accumulators. A residual stream is a sum of more products,
each of which reads the sum of those before it."""

MIN_ROWS = 64
"""Rows of a tile, at least: the instructions of a warp group have as many. A cascade whose last axis of rows has them
is walked over along this axis alone, whose places conditions can tell apart; others, of heads that share keys, are
batches."""


@dataclass(frozen=True)
class Cascade:
    """`products` multiply on the left what is computed from `scores`, products of one shape, element by element, and
    contract the same axes of it. `between`: what depends on the scores and feeds the products, or reduces what does
    along `axes`; each op after what it reads. `across`: products that contract the other axes, those of the rows. Each
    tile of rows has a part of their sums, which are added up in any order."""

    scores: tuple[Operation, ...]
    products: tuple[Operation, ...]
    axes: tuple[int, ...]
    between: tuple[Operation, ...]
    across: tuple[Operation, ...] = ()

    @property
    def domain(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return shape_of(self.scores[0].results[0])

    @property
    def operands(self) -> list[SSAValue]:
        """The arrays that its products multiply."""
        read = [value for op in self.scores for value in op.operands]
        return list(dict.fromkeys([*read, *(op.operands[1] for op in (*self.products, *self.across))]))

    @property
    def reductions(self) -> list[Operation]:
        return [op for op in self.between if is_splittable(op)]

    @cached_property
    def factors(self) -> Factors:
        return Factors(set(self.reductions))

    @property
    def references(self) -> set[Operation]:
        """The reductions that others, or the product, are relative to by factors."""
        found = (self.factors.of(value) for value in self._summed)
        return {op for exponents in found for op in exponents or {}}

    @property
    def is_rolled(self) -> bool:
        """Whether reductions that the rows have come to so far are enough: whatever depends on them can be rescaled."""
        return all(self.rescales(value) for value in self._summed)

    @property
    def _summed(self) -> list[SSAValue]:
        return [op.operands[0] for op in (*self.products, *self.reductions)]

    def sides(self, scores: Operation) -> tuple[SSAValue, SSAValue]:
        """The operand that has the rows of the scores, which products keep, and the one that has the columns."""
        lhs, rhs = scores.operands
        return (rhs, lhs) if is_crosswise(self.products[0], scores) else (lhs, rhs)

    @property
    def can_be_rolled(self) -> bool:
        """The same once factors of whole rows have been moved behind the products."""
        weights = [self.row_factor(product) for product in self.products]
        values = [product.operands[0] for product, factor in zip(self.products, weights, strict=True) if factor is None]
        return all(self.rescales(value) for value in (*values, *(op.operands[0] for op in self.reductions)))

    def row_factor(self, product: Operation) -> RowFactor | None:
        """The factor of whole rows of the left operand, where the rest can be rescaled and is at most 1, so that it
        fits any type: the exponential of what its row's maximum was taken from. Some elements may be masked after it,
        by 0: dropped."""
        value, masks = product.operands[0], list[nd.WhereOp]()
        while isinstance(value.owner, Operation) and (is_cast(value.owner) or _keeps(value.owner)):
            masks += [value.owner] if isinstance(value.owner, nd.WhereOp) else []
            value = value.owner.operands[isinstance(value.owner, nd.WhereOp)]
        scaling = value.owner
        if not isinstance(scaling, nd.MulOp | nd.DivOp):
            return None
        sides = [(scaling.lhs, scaling.rhs), (scaling.rhs, scaling.lhs)]
        for rest, factor in sides[:1] if isinstance(scaling, nd.DivOp) else sides:
            rows = factor.owner
            if not isinstance(rows, nd.BroadcastOp) or set(self.axes) & set(ints(rows.dims)):
                continue
            if maximum_below(rest) is not None and self.rescales(rest):
                return RowFactor(rest, scaling, rows, tuple(masks))
        return None

    def rescales(self, value: SSAValue) -> bool:
        """Whether a value depends on the reductions by factors, which are at most 1: those of maxima that grow, and of
        minima that fall."""
        found = self.factors.of(value)
        return found is not None and all(
            monoid_of(op) == ("max" if coefficient < 0 else "min") for op, coefficient in found.items()
        )


@dataclass(frozen=True)
class RowFactor:
    """A left operand is `rest`, scaled by an op with what is in `rows` for each row, then masked by 0, last by the
    first of `masks`."""

    rest: SSAValue
    scaling: nd.MulOp | nd.DivOp
    rows: nd.BroadcastOp
    masks: tuple[nd.WhereOp, ...]


def cascade_in(kernel: FusedOp) -> Cascade:
    """The cascade that a kernel is built around; an IrcError where it has none."""
    found = next(filter(None, map(cascade_of, kernel.cores())), None)
    if found is None:
        message = "a kernel with the anchor cascade has a product of what is computed from another one, found none"
        raise IrcError(message, location_of(kernel))
    return found


def cascade_of(product: Operation) -> Cascade | None:
    """The cascade that ends in a product, and in those beside it that are computed from the same scores; None where its
    left operand is no such work on other products, or where something else reads that."""
    scores: dict[Operation, None] = {}
    products: dict[Operation, None] = {}
    along: dict[SSAValue, None] = {}
    added = [product]
    while added:
        for each in added:
            products[each] = None
            if not (found := scores_of(each)):
                return None
            scores |= dict.fromkeys(found)
        along = computed_from(scores)
        added = [op for op in dict.fromkeys(_products_of(along)) if op not in products]
    cascade = joined_cascade(tuple(scores), tuple(products))
    return cascade if cascade is not None and _is_apart(cascade, along) else None


def joined_cascade(scores: tuple[Operation, ...], products: Sequence[Operation]) -> Cascade | None:
    """The cascade of all these products. Those that may be added up in any order are `across` where they contract
    other axes than the rest do, and nothing has to be rescaled."""
    by_axes: dict[tuple[int, ...], list[Operation]] = {}
    for op in products:
        by_axes.setdefault(contracted_axes(op), []).append(op)
    axes = max(by_axes, key=lambda each: len(by_axes[each]))
    along = by_axes.pop(axes)
    across = [op for ops in by_axes.values() for op in ops]
    if len({shape_of(op.results[0]) for op in along}) > 1 or not all(ANY_ORDER in op.attributes for op in across):
        return None
    between = cascade_between(scores, products, axes)
    cascade = Cascade(scores, tuple(along), axes, between, tuple(across))
    return None if across and (len(across) > 1 or cascade.reductions) else cascade


def contracted_axes(product: Operation) -> tuple[int, ...]:
    """The axes of the left operand that a product sums over."""
    iteration = iteration_of(product)
    return iteration.axes(iteration.inputs[0].map, "k")


def scores_of(product: Operation) -> tuple[Operation, ...]:
    """The products that the left operand of a product is computed from, element by element, if all of them have rows
    and columns where the product has what it keeps and what it sums over."""
    if not is_product(product):
        return ()
    along = _computed_along(product)
    if not any(map(is_product, along)):
        return ()
    found = [op for op in _in_order(along) if is_product(op)]
    return tuple(found) if all(_crosses(product, op) for op in found) else ()


def computed_along(product: Operation) -> list[Operation]:
    """What the left operand of a product is computed from, element by element, up to products, which are part of it;
    each after what it reads. Nothing of one that is computed by more than `MAX_OPS`, or from more than `MAX_SCORES`."""
    return _in_order(_computed_along(product))


def _computed_along(product: Operation) -> set[Operation]:
    shape = shape_of(product.operands[0])
    found: set[Operation] = set()
    scores = 0
    pending = [product.operands[0].owner]
    while pending:
        op = pending.pop()
        if op in found or isinstance(op, Block):
            continue
        is_score = is_product(op)
        if (is_score or is_elementwise(op)) and shape_of(op.results[0]) == shape:
            found.add(op)
            scores += is_score
            pending += [] if is_score else [operand.owner for operand in op.operands]
        if len(found) > MAX_OPS or scores > MAX_SCORES:
            return set()
    return found


def rows_of(product: Operation) -> int:
    """The extent along which tiles of a cascade lie that ends in the product."""
    extents = iteration_of(product).extents("m")
    return extents[-1] if extents[-1] >= MIN_ROWS else prod(extents)


def _crosses(product: Operation, scores: Operation) -> bool:
    """Whether the rows of the scores are what the product keeps of its left operand and the columns what it sums over,
    or the other way round. Of columns in parts, each part may have products of its own."""
    last, first = iteration_of(product), iteration_of(scores)
    pairs = set(zip(last.roles(last.inputs[0].map), first.roles(first.result), strict=True)) - {("b", "b")}
    return any(pairs - {("b", n)} == {("m", m), ("k", n)} for m, n in ("mn", "nm"))


def is_crosswise(product: Operation, scores: Operation) -> bool:
    """Whether the product sums over the rows of the scores, and not over their columns."""
    iteration = iteration_of(scores)
    return set(contracted_axes(product)) == set(iteration.axes(iteration.result, "m"))


def computed_from(scores: Collection[Operation]) -> dict[SSAValue, None]:
    """The scores, and what is computed of them element by element."""
    found: dict[SSAValue, None] = dict.fromkeys(op.results[0] for op in scores)
    pending = list(found)
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if is_elementwise(op) and op.results[0] not in found:
                found[op.results[0]] = None
                pending.append(op.results[0])
    return found


def _products_of(values: Iterable[SSAValue]) -> Iterator[Operation]:
    """The products that have one of the values on the left."""
    for value in values:
        yield from (use.operation for use in value.uses if is_product(use.operation) and use.index == 0)


def cascade_between(
    scores: Iterable[Operation], products: Iterable[Operation], axes: tuple[int, ...]
) -> tuple[Operation, ...]:
    """What depends on the scores, as far as it feeds the products, and the reductions of that; each after what it
    reads."""
    feeding = _feeding(products)
    found: dict[Operation, None] = {}
    pending = list(scores)
    domain = shape_of(pending[0].results[0])
    while pending:
        users = {use.operation for use in pending.pop().results[0].uses}
        added = [op for op in users if op not in found and (op in feeding or _reduces(op, domain, axes))]
        found |= dict.fromkeys(added)
        pending += added
    return tuple(_in_order(found))


def _in_order(ops: Collection[Operation]) -> list[Operation]:
    ordered: dict[Operation, None] = {}

    def add(op: Operation) -> None:
        for operand in op.operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner in ops and owner not in ordered:
                add(owner)
        ordered.setdefault(op)

    for op in ops:
        add(op)
    return list(ordered)


def _feeding(products: Iterable[Operation]) -> set[Operation]:
    start = makers(product.operands[0] for product in products)
    return set(filter(is_between, reached(start, lambda op: makers_of(op) if is_between(op) else ())))


def _reduces(op: Operation, domain: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    return is_splittable(op) and reduced_axes(op) == axes and shape_of(op.operands[0]) == domain


def _is_apart(cascade: Cascade, along: Iterable[SSAValue]) -> bool:
    """Whether nothing else reads the scores, or what is computed `along` them, and reductions are of their rows."""
    if not all(_reduces(op, cascade.domain, cascade.axes) for op in cascade.reductions):
        return False
    users = {*cascade.between, *cascade.products, *cascade.across}
    if any(use.operation not in users for value in along for use in value.uses):
        return False
    return all(op.operands[1] not in along for op in (*cascade.products, *cascade.across))


def _keeps(op: Operation) -> bool:
    """Whether elements of the result are those of the second operand, or 0."""
    return isinstance(op, nd.WhereOp) and is_zero(op.rhs)


def maximum_below(value: SSAValue) -> nd.MaxOp | None:
    """The maximum m of a value exp(x - m), of all x of a row, which is at most 1; None of any other."""
    power = value.owner
    difference = power.operands[0].owner if isinstance(power, nd.ExpOp | nd.Exp2Op) else None
    if not isinstance(difference, nd.SubOp) or not isinstance(difference.rhs.owner, nd.BroadcastOp):
        return None
    maximum = difference.rhs.owner.x.owner
    while isinstance(maximum, Operation) and is_unit_reshape(maximum):
        maximum = maximum.operands[0].owner
    return maximum if isinstance(maximum, nd.MaxOp) and maximum.x is difference.lhs else None
