"""How an op may be divided among ranks: its factors, as Shardy's sharding rules have them.

A factor is a dimension of the op's iteration, or of a reshape a part of several axes. An axis of an operand or a result
has the factors that it is made of, the outermost first; one without factors is whole on every rank. `c[i, j] = sum over
k of a[i, k] b[k, j]` is divided along i, j, or k: then each rank has a part of each sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from irc.dialects.nd import AxisOp, ConstantOp, ReshapeOp, ScatterAddOp, TopkOp
from irc.dialects.nd.base import integer, shape_of
from irc.ir.iteration import Access, Bound, Iteration, Kind, iteration_of, pattern_of
from irc.support.mesh import Mesh, Sharding

Axes: TypeAlias = tuple[str, ...]
"""Axes of a mesh, the outermost first."""

JOINS = {"sum": "sum", "prod": "prod", "max": "max", "min": "min", "any": "max", "all": "min"}
"""By which monoid of ranks the parts of a reduction are joined."""


@dataclass(frozen=True)
class Factor:
    """monoid: what joins the ranks' parts, where points along it are reduced; None where they are apart."""

    extent: int
    monoid: str | None = None


@dataclass(frozen=True)
class Rule:
    """operands, results: for each array, of each of its axes, the numbers of the factors that it is made of."""

    factors: tuple[Factor, ...]
    operands: tuple[tuple[tuple[int, ...], ...], ...]
    results: tuple[tuple[tuple[int, ...], ...], ...]


def rule_of(op: Operation) -> Rule:
    """The rule of an op of nd. One that says nothing of how it iterates is whole on every rank."""
    if isinstance(op, ReshapeOp):
        return _of_reshape(shape_of(op.x), shape_of(op.result))
    if isinstance(op, AxisOp | TopkOp) and pattern_of(op) is None:
        return _beside(op, integer(op.axis))
    if isinstance(op, ScatterAddOp):
        return _of_scatter_add(op)
    is_known = pattern_of(op) is not None and iteration_of(op).segments is None
    if not is_known or (isinstance(op, ConstantOp) and op.splat_value is None):
        return Rule((), *_whole(op))
    return _of_iteration(op, iteration_of(op))


def _whole(op: Operation) -> tuple[tuple[tuple[tuple[int, ...], ...], ...], ...]:
    return tuple(tuple(((),) * len(shape_of(v)) for v in values) for values in (op.operands, op.results))


def _beside(op: Operation, axis: int) -> Rule:
    """Of an op along one axis of all its arrays."""
    factors = tuple(Factor(extent) for extent in shape_of(op.operands[0]))
    axes = tuple(() if i == axis else (i,) for i in range(len(factors)))
    return Rule(factors, (axes,) * len(op.operands), (axes,) * len(op.results))


def _of_scatter_add(op: ScatterAddOp) -> Rule:
    """The updates may be divided, where each rank adds a part of them, and so may the axes beside the indexed one."""
    axis, shape, indices = integer(op.axis), shape_of(op.x), shape_of(op.indices)
    factors = (*(Factor(extent) for extent in shape), *(Factor(extent, "sum") for extent in indices))
    places = tuple((len(shape) + i,) for i in range(len(indices)))
    x = tuple(() if i == axis else (i,) for i in range(len(shape)))
    return Rule(factors, (x, places, (*x[:axis], *places, *x[axis + 1 :])), (x,))


def _of_iteration(op: Operation, iteration: Iteration) -> Rule:
    """Dimensions that are an axis of each array that depends on them are factors."""
    arrays = [
        *((access, value.type) for access, value in zip(iteration.inputs, op.operands, strict=True)),
        *((Access(iteration.result), value.type) for value in op.results),
    ]
    allowed = {i for i, dim in enumerate(iteration.dims) if _may_divide(dim.kind, dim.monoid)}
    for access, type in arrays:
        allowed -= _mixed(access, type, iteration)
    factors = tuple(
        Factor(dim.extent, None if dim.kind is Kind.PARALLEL else JOINS.get(dim.monoid or "")) for dim in iteration.dims
    )
    of = [tuple(_factors_of(e, allowed) for e in access.map.results) for access, _ in arrays]
    count = len(iteration.inputs)
    return Rule(factors, tuple(of[:count]), tuple(of[count:]))


def _may_divide(kind: Kind, monoid: str | None) -> bool:
    return kind is Kind.PARALLEL or (kind is Kind.REDUCE and monoid in JOINS)


def _factors_of(e: AffineExpr, allowed: set[int]) -> tuple[int, ...]:
    return (e.position,) if isinstance(e, AffineDimExpr) and e.position in allowed else ()


def _mixed(access: Access, type: Attribute, iteration: Iteration) -> set[int]:
    """The dimensions that an array depends on otherwise than by having them as whole axes."""
    assert isinstance(type, TensorType)
    found: set[int] = set()
    for e, extent in zip(access.map.results, type.get_shape(), strict=True):
        if not (isinstance(e, AffineDimExpr) and iteration.dims[e.position].extent == extent):
            found |= e.used_dims()
    for bound in access.inside:
        if not _always(bound, iteration):
            found |= bound.expr.used_dims()
    return found


def _always(bound: Bound, iteration: Iteration) -> bool:
    e = bound.expr
    return isinstance(e, AffineDimExpr) and bound.low <= 0 and iteration.dims[e.position].extent <= bound.high


def _of_reshape(source: Sequence[int], result: Sequence[int]) -> Rule:
    """Axes of both shapes are cut into common factors, from the outermost on, as far as they have such."""
    factors: list[Factor] = []
    of: tuple[list[list[int]], list[list[int]]] = ([[] for _ in source], [[] for _ in result])
    left = [(axis, extent) for axis, extent in enumerate(source) if extent != 1]
    right = [(axis, extent) for axis, extent in enumerate(result) if extent != 1]
    if prod(source) == 0:
        left = right = []
    while left and right:
        (i, a), (j, b) = left[0], right[0]
        common = min(a, b)
        if max(a, b) % common:
            break
        of[0][i].append(len(factors))
        of[1][j].append(len(factors))
        factors.append(Factor(common))
        left = left[1:] if a == common else [(i, a // common), *left[1:]]
        right = right[1:] if b == common else [(j, b // common), *right[1:]]
    operand, made = (tuple(map(tuple, each)) for each in of)
    return Rule(tuple(factors), (operand,), (made,))


@dataclass(frozen=True)
class Division:
    """What is decided for an op: the axes of the mesh that each of its factors is divided along."""

    rule: Rule
    axes: tuple[Axes, ...]

    def sharding(self, dims: Sequence[Sequence[int]]) -> Sharding:
        """Of an array whose axes have these factors."""
        return tuple(tuple(chain.from_iterable(self.axes[factor] for factor in each)) for each in dims)

    @property
    def partial(self) -> list[tuple[str, Axes]]:
        """What joins the ranks' parts of the results, and along which axes of the mesh."""
        pairs = zip(self.rule.factors, self.axes, strict=True)
        return [(factor.monoid, axes) for factor, axes in pairs if factor.monoid is not None and axes]


def divided(op: Operation, rule: Rule, shardings: Sequence[Sharding], mesh: Mesh) -> Division:
    """How an op is divided, given how its operands and then its results are.

    Each array votes for its factors. Where an axis of the mesh is wanted for several, the operands go before the
    results, what is apart before what is reduced, and more bytes before fewer. So weights that are divided along the
    axis that divides a batch are gathered, not the batch.
    """
    arrays = [*zip(rule.operands, op.operands, strict=True), *zip(rule.results, op.results, strict=True)]
    votes: list[tuple[tuple[bool, bool, int], int, Axes]] = []
    for number, ((dims, value), sharding) in enumerate(zip(arrays, shardings, strict=True)):
        size = prod(shape_of(value))
        for factors, axes in zip(dims, sharding, strict=True):
            for factor, part in _spread(factors, axes, rule, mesh):
                weight = (number < len(rule.operands), rule.factors[factor].monoid is None, size)
                votes.append((weight, factor, part))
    chosen: list[Axes] = [()] * len(rule.factors)
    for _, factor, part in sorted(votes, key=lambda vote: vote[0], reverse=True):
        known = chosen[factor]
        if part[: len(known)] != known:
            continue
        for axis in part[len(known) :]:
            if any(axis in axes for axes in chosen):
                break
            chosen[factor] = (*chosen[factor], axis)
    for dims, _ in arrays:
        for factors in dims:
            _drop_inner(factors, chosen, rule, mesh)
    return Division(rule, tuple(chosen))


def _spread(factors: Sequence[int], axes: Axes, rule: Rule, mesh: Mesh) -> list[tuple[int, Axes]]:
    """The factors of an array's axis with those of the mesh's axes that divide them, the outermost first."""
    found: list[tuple[int, Axes]] = []
    for factor in factors:
        extent, taken = rule.factors[factor].extent, 0
        while taken < len(axes) and extent % mesh.count(axes[: taken + 1]) == 0:
            taken += 1
        if taken:
            found.append((factor, axes[:taken]))
        if mesh.count(axes[:taken]) != extent:
            break
        axes = axes[taken:]
    return found


def _drop_inner(factors: Sequence[int], chosen: list[Axes], rule: Rule, mesh: Mesh) -> None:
    """An axis of an array is divided along an inner factor where the outer ones are divided to the last element."""
    for outer, inner in pairwise(factors):
        if chosen[inner] and mesh.count(chosen[outer]) != rule.factors[outer].extent:
            chosen[inner] = ()
