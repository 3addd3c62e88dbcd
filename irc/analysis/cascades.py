"""Cascades: products whose left operand is computed from the rows of another product, among it reductions of the rows.

`softmax(q k^T) v` is one. Walked over in steps along the rows, a reduction has seen what came so far, and what depends
on it would have to be computed again whenever it changes. Not so where the dependence is a factor: what is
`g(column) * exp(c * r)` of a reduction `r` becomes right by `exp(c * (new - old))`, and with it sums of it, products
among them. That is the rescaling of online softmax (Milakov and Gimelshein, 2018), FlashAttention (Dao, 2022) and of
cascaded reductions in general (RedFuser, 2025).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import log, prod

from xdsl.ir import Block, Operation, SSAValue

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
from irc.ir.iteration import is_broadcast, iteration_of

MAX_OPS = 64
"""Ops between two products of a cascade, at most."""

MIN_ROWS = 64
"""Rows of a tile, at least: the instructions of a warp group have as many. A cascade whose last axis of rows has them
is walked over along this axis alone, whose places conditions can tell apart; others, of heads that share keys, are
batches."""

Exponents = Mapping[Operation, float]
"""Of a value that is g * exp(sum of c * r): c by the reduction that gives r."""


@dataclass(frozen=True)
class Cascade:
    """`product` multiplies on the left what is computed from the rows of the product `scores`. `between`: what depends
    on the scores and feeds the product, or reduces what does along `axis`; each op after what it reads."""

    scores: Operation
    product: Operation
    axis: int
    between: tuple[Operation, ...]

    @property
    def domain(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return shape_of(self.scores.results[0])

    @property
    def reductions(self) -> list[Operation]:
        return [op for op in self.between if is_splittable(op)]

    @cached_property
    def factors(self) -> Factors:
        return Factors(set(self.reductions))

    @property
    def is_rolled(self) -> bool:
        """Whether reductions that the rows have come to so far are enough: whatever depends on them can be rescaled."""
        values = [self.product.operands[0], *(op.operands[0] for op in self.reductions)]
        return all(self.rescales(value) for value in values)

    def rescales(self, value: SSAValue) -> bool:
        """Whether a value depends on the reductions by factors, which are at most 1: those of maxima that grow, and of
        minima that fall."""
        found = self.factors.of(value)
        return found is not None and all(
            monoid_of(op) == ("max" if coefficient < 0 else "min") for op, coefficient in found.items()
        )


def cascade_of(product: Operation) -> Cascade | None:
    """The cascade that ends in a product; None where its left operand is no such work on another product's rows, or
    where something else reads that."""
    if not is_product(product):
        return None
    iteration = iteration_of(product)
    axes = iteration.axes(iteration.inputs[0].map, "k")
    scores = _scores_of(product.operands[0])
    if scores is None or len(axes) != 1 or _roles(product) != _roles_of_result(scores):
        return None
    cascade = Cascade(scores, product, axes[0], _between(scores, product, axes[0]))
    return cascade if _is_apart(cascade) else None


def rows_of(product: Operation) -> int:
    """The extent along which tiles of a cascade lie that ends in the product."""
    extents = iteration_of(product).extents("m")
    return extents[-1] if extents[-1] >= MIN_ROWS else prod(extents)


def _roles(product: Operation) -> list[str | None]:
    """The roles of the left operand's axes, with `n` for what is contracted."""
    iteration = iteration_of(product)
    return ["n" if role == "k" else role for role in iteration.roles(iteration.inputs[0].map)]


def _roles_of_result(product: Operation) -> list[str | None]:
    iteration = iteration_of(product)
    return list(iteration.roles(iteration.result))


def _scores_of(value: SSAValue) -> Operation | None:
    """The one product of a value's shape that it is computed from."""
    shape, seen = shape_of(value), set[Operation]()
    found: set[Operation] = set()
    pending = [value.owner]
    while pending and len(seen) < MAX_OPS:
        op = pending.pop()
        if isinstance(op, Block) or op in seen:
            continue
        seen.add(op)
        if is_product(op):
            found |= {op} if shape_of(op.results[0]) == shape else set()
        elif _is_between(op):
            pending += [operand.owner for operand in op.operands]
    return found.pop() if len(found) == 1 else None


def _is_between(op: Operation) -> bool:
    return is_elementwise(op) or is_broadcast(op) or is_unit_reshape(op) or is_splittable(op)


def _between(scores: Operation, product: Operation, axis: int) -> tuple[Operation, ...]:
    """What depends on the scores, as far as it feeds the product, and the reductions of that; each after what it
    reads."""
    feeding = _feeding(scores, product)
    found: dict[Operation, None] = {}
    pending = [scores]
    while pending:
        users = {use.operation for use in pending.pop().results[0].uses}
        added = [op for op in users if op not in found and (op in feeding or _reduces(op, scores, axis))]
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


def _feeding(scores: Operation, product: Operation) -> set[Operation]:
    found: set[Operation] = set()
    pending = [product.operands[0].owner]
    while pending:
        op = pending.pop()
        if isinstance(op, Operation) and op is not scores and op not in found and _is_between(op):
            found.add(op)
            pending += [operand.owner for operand in op.operands]
    return found


def _reduces(op: Operation, scores: Operation, axis: int) -> bool:
    return is_splittable(op) and reduced_axes(op) == (axis,) and shape_of(op.operands[0]) == shape_of(scores.results[0])


def _is_apart(cascade: Cascade) -> bool:
    """Whether nothing else reads the scores, or what lies along their rows."""
    inside = {cascade.scores, *cascade.between}
    for op in inside:
        if op in cascade.reductions and not _reduces(op, cascade.scores, cascade.axis):
            return False
        if shape_of(op.results[0]) == cascade.domain:
            users = {use.operation for use in op.results[0].uses}
            if not users <= {*cascade.between, cascade.product}:
                return False
    lhs = cascade.product.operands[0]
    return lhs is not cascade.product.operands[1] and shape_of(lhs) == cascade.domain


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


@dataclass
class Factors:
    """How values depend on reductions, as factors."""

    reductions: set[Operation]
    _known: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])

    def of(self, value: SSAValue) -> Exponents | None:
        """Of a value that is g * exp(sum of c * r), with a g that no reduction has a part in; None of others."""
        if not self._depends(value):
            return {}
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case nd.ExpOp():
                return self._sum(op.operands[0])
            case nd.Exp2Op():
                return _scaled(self._sum(op.operands[0]), log(2))
            case nd.MulOp():
                return _joined(self.of(op.lhs), self.of(op.rhs))
            case nd.DivOp():
                return _joined(self.of(op.lhs), _scaled(self.of(op.rhs), -1))
            case nd.WhereOp():
                return self._either(op)
            case nd.NegOp():
                return self.of(op.operands[0])
            case _ if _passes(op):
                return self.of(op.operands[0])
            case _:
                return None

    def _either(self, op: nd.WhereOp) -> Exponents | None:
        condition, *choices = op.operands
        found = [self.of(value) for value in choices if not _is_zero(value)]
        alike = all(each == found[0] for each in found)
        return found[0] if found and alike and not self._depends(condition) else None

    def _sum(self, value: SSAValue) -> Exponents | None:
        """Of a value that is h + sum of c * r."""
        if not self._depends(value):
            return {}
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case nd.AddOp():
                return _joined(self._sum(op.lhs), self._sum(op.rhs))
            case nd.SubOp():
                return _joined(self._sum(op.lhs), _scaled(self._sum(op.rhs), -1))
            case nd.NegOp():
                return _scaled(self._sum(op.operands[0]), -1)
            case nd.MulOp():
                pairs = ((op.lhs, _number(op.rhs)), (op.rhs, _number(op.lhs)))
                return next((_scaled(self._sum(v), n) for v, n in pairs if n is not None), None)
            case _ if op in self.reductions:
                return {op: 1.0}
            case _ if _passes(op) and not is_cast(op):
                return self._sum(op.operands[0])
            case _:
                return None

    def _depends(self, value: SSAValue) -> bool:
        """Whether a reduction has a part in the value."""
        if value not in self._known:
            op = value.owner
            self._known[value] = isinstance(op, Operation) and (
                op in self.reductions or (_is_between(op) and any(self._depends(operand) for operand in op.operands))
            )
        return self._known[value]


def _passes(op: Operation) -> bool:
    """Whether elements of the result are those of the operand, but for a rounding."""
    return is_cast(op) or is_broadcast(op) or is_unit_reshape(op)


def _joined(a: Exponents | None, b: Exponents | None) -> Exponents | None:
    if a is None or b is None:
        return None
    total = {op: a.get(op, 0.0) + b.get(op, 0.0) for op in {**a, **b}}
    return {op: coefficient for op, coefficient in total.items() if coefficient}


def _scaled(found: Exponents | None, by: float) -> Exponents | None:
    return None if found is None else {op: by * coefficient for op, coefficient in found.items()}


def _number(value: SSAValue) -> float | None:
    """The one element of a constant."""
    number = value.owner.splat_value if isinstance(value.owner, nd.ConstantOp) else None
    return None if number is None else float(number)


def _is_zero(value: SSAValue) -> bool:
    return _number(value) == 0.0
