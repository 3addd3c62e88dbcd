"""Which results of a region are computed together: one loop over tiles for each group.

The first result of a group brings its own dimensions. Another result joins when it needs the same reduction or
product, at coordinates that its dimensions can be expressed in, when it has the same shape, or when it is what a
reduction runs over, or is computed from the same elements as that.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from irc.analysis.op_classes import is_view
from irc.dialects.nd import PadOp
from irc.dialects.nd.base import ints
from irc.dialects.nd.shape import reshaped
from irc.dialects.tile import shape_of
from irc.ir.discardable import UNREAD
from irc.ir.iteration import iteration_of, permutation_of
from irc.support.shapes import inverse, reshaped_strides, row_major
from irc.tiling.index_maps import (
    ZERO,
    Coords,
    Div,
    DomainDim,
    Lin,
    Sym,
    applied,
    atoms,
    lin_of,
    new_dim,
    point,
    substitute,
    value_of,
)
from irc.tiling.nodes import Dot, Load, Node, Reduced, walk_nodes
from irc.tiling.trace import RegionTrace


@dataclass
class Result:
    """A result: result number `index` is `value`, traced to `node`, stored at `at` of a
    view of `shape` and `strides`."""

    index: int
    value: SSAValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    node: Node
    at: Coords


@dataclass
class Group:
    results: list[Result] = field(default_factory=list[Result])

    def traced_again(self, trace: RegionTrace) -> list[Node]:
        """The nodes of results that are traced anew: where the trace has forgotten its own, those that bindings have
        made the same are one."""
        for result in self.results:
            result.node = trace.at(result.value, result.at)
        return self.nodes(trace)

    def nodes(self, trace: RegionTrace) -> list[Node]:
        """Everything that the results depend on, gathers too; operands before users."""
        return reachable(trace, [r.node for r in self.results])


def reachable(trace: RegionTrace, roots: Sequence[Node]) -> list[Node]:
    """The nodes that the roots use, through coordinates that are gathered as well."""
    nodes = list(walk_nodes(roots))
    seen, pending = set(nodes), list(nodes)
    while pending:
        node = pending.pop()
        symbols = {a for lin in node.coords() for a in atoms(lin) if isinstance(a, Sym)}
        for found in walk_nodes([trace.gathers[s] for s in symbols]):
            if found not in seen:
                seen.add(found)
                nodes.append(found)
                pending.append(found)
    return nodes


def group_results(trace: RegionTrace, values: Sequence[tuple[SSAValue, tuple[int, ...]]]) -> list[Group]:
    """Of values and the strides of the results that they are. Results without elements are in no group."""
    groups: list[Group] = []
    for index, (value, strides) in enumerate(values):
        if 0 in shape_of(value.type):
            continue
        value, shape, strides = _peel(value, strides)
        coords = tuple(lin_of(new_dim(n)) for n in shape)
        group, at, known = _place(trace, groups, value, shape, coords)
        if known is not None:
            _bind_inner(trace, value, at, known)
        group.results.append(Result(index, value, shape, strides, trace.at(value, at), at))
    return [group for group in groups if not _walks_with(trace, group, groups)]


def _walks_with(trace: RegionTrace, group: Group, groups: Sequence[Group]) -> bool:
    """Moves the results of a map to the group of a reduction that runs over the same elements, in any grouping of
    axes, if there is one: both are computed in one walk over them."""
    if list(_all_cores(group)):
        return False
    for other in groups:
        for core in _all_cores(other):
            if not isinstance(core, Reduced) or core.is_scan:
                continue
            extents = shape_of(core.op.operands[0].type)
            if any(prod(result.shape) != prod(extents) for result in group.results):
                continue
            moved = [_regrouped(trace, result, operand_coords(core), extents) for result in group.results]
            if all(_share_loads(each.node, core.input) for each in moved):
                other.results += moved
                return True
    return False


def _regrouped(trace: RegionTrace, result: Result, at: Coords, shape: tuple[int, ...]) -> Result:
    """The result with the element that is at these coordinates of another shape."""
    places = [AffineExpr.dimension(axis) for axis in range(len(at))]
    at = tuple(value_of(each, at) for each in reshaped(places, shape, result.shape))
    return replace(result, at=at, node=trace.at(result.value, at))


def _share_loads(one: Node, other: Node) -> bool:
    loads = [{node for node in walk_nodes([root]) if isinstance(node, Load)} for root in (one, other)]
    return not loads[0].isdisjoint(loads[1])


def _peel(value: SSAValue, strides: tuple[int, ...]) -> tuple[SSAValue, tuple[int, ...], tuple[int, ...]]:
    """The value behind trailing reshapes and permutations, and behind padding at the end that need not be written; and
    the shape and strides of its view of the result, which has the strides that are given."""
    shape = shape_of(value.type)
    lies_apart = strides == row_major(shape)
    while isinstance(op := value.owner, Operation):
        permutation = permutation_of(op)
        if is_view(op) and strides == row_major(shape):
            value = op.operands[0]
            shape = shape_of(value.type)
            strides = row_major(shape)
        elif is_view(op) and not lies_apart:
            before = reshaped_strides(shape, strides, shape_of(op.operands[0].type))
            if before is None:
                break
            value, strides = op.operands[0], before
            shape = shape_of(value.type)
        elif permutation is not None:
            value = op.operands[0]
            order = inverse(permutation)
            shape, strides = tuple(shape[i] for i in order), tuple(strides[i] for i in order)
        elif UNREAD in op.attributes and isinstance(op, PadOp) and not any(ints(op.low)):
            value = op.x
            shape = shape_of(value.type)
        else:
            break
    return value, shape, strides


def cores(node: Node) -> list[Reduced | Dot]:
    """The outermost reductions and products below a node."""
    found = walk_nodes([node], inside=lambda n: not isinstance(n, Reduced | Dot))
    return [n for n in found if isinstance(n, Reduced | Dot)]


def _place(
    trace: RegionTrace, groups: list[Group], value: SSAValue, shape: tuple[int, ...], coords: Coords
) -> tuple[Group, Coords, Dot | None]:
    """The group that the value joins, its coordinates there, and the product that it shares with it."""
    with trace.trial():
        fresh = trace.at(value, coords)
    dots = [n for n in walk_nodes([fresh]) if isinstance(n, Dot)]
    mine = _by_inner(trace, dots or cores(fresh), walk_nodes([fresh]))
    for group in groups:
        there = list(_all_cores(group))
        for known in _by_inner(trace, there, there):
            for core in mine:
                values = solve(*_joined(core, known)) if _alike(core, known) else None
                if values is not None:
                    return group, _bound(coords, values), known if isinstance(known, Dot) else None
        if not mine and (at := _same_domain(group, shape)) is not None:
            return group, at, None
    groups.append(Group())
    return groups[-1], coords, None


Core = TypeVar("Core", bound=Reduced | Dot)


def _by_inner(trace: RegionTrace, found: Sequence[Core], nodes: Iterable[Node]) -> list[Core]:
    """Those first that stand for elements of results rather than for what reductions among the nodes run over."""
    values, resolve = trace.bindings.values, trace.bindings.resolve
    inner = {d for n in nodes if isinstance(n, Reduced) for d in n.dims if d not in values}
    return sorted(found, key=lambda core: sum(a in inner for lin in core.at for a in atoms(resolve(lin))))


def _bind_inner(trace: RegionTrace, value: SSAValue, at: Coords, known: Dot) -> None:
    """Where the value reduces parts of a product's rows or columns: binds the place in the part to what is left of
    them.

    The parts are `x floordiv n` of a row or column x; with the place p in the part, n (x floordiv n) + p has to be x.
    """
    with trace.trial():
        nodes = list(walk_nodes([trace.at(value, at)]))
    inner = {d for n in nodes if isinstance(n, Reduced) for d in n.dims}
    for dot in nodes:
        if not isinstance(dot, Dot) or dot.op is not known.op:
            continue
        for lin, target in zip(*_joined(dot, known), strict=True):
            free = [(a, f) for a, f in lin.terms if a in inner and a not in trace.bindings.values]
            if len(free) == 1 and free[0][1] == 1:
                dim = free[0][0]
                trace.bindings.bind(dim, target - (lin - lin_of(dim)))


def bind_rows(trace: RegionTrace, nodes: Sequence[Node]) -> None:
    """Where reductions, and what is computed from them, read the same product: makes what the reductions run over the
    product's own columns."""
    resolve = trace.bindings.resolve
    inner = {d for n in nodes if isinstance(n, Reduced) for d in n.dims if d not in trace.bindings.values}
    dots = [n for n in nodes if isinstance(n, Dot)]
    known: dict[Operation, Dot] = {}
    for dot in _by_inner(trace, dots, nodes):
        first = known.setdefault(dot.op, dot)
        for lin, target in zip(map(resolve, dot.at), map(resolve, first.at), strict=True):
            if lin == target or len(lin.terms) != 1:
                continue
            dim = lin.terms[0][0]
            if isinstance(dim, DomainDim) and dim in inner and lin == lin_of(dim):
                trace.bindings.bind(dim, target)


def _alike(a: Reduced | Dot, b: Reduced | Dot) -> bool:
    """Whether two ops can share their domain: they are the same, multiply the same left operand in the same way, or
    reduce the same axes of arrays of one shape."""
    if a.op is b.op:
        return True
    if isinstance(a, Dot) and isinstance(b, Dot):
        return a.op.operands[0] is b.op.operands[0] and _is_same_product(a.op, b.op)
    if not isinstance(a, Reduced) or not isinstance(b, Reduced) or a.is_scan or b.is_scan:
        return False
    shapes = (shape_of(n.op.operands[0].type) for n in (a, b))
    return len(set(shapes)) == 1 and a.axes == b.axes


def _is_same_product(a: Operation, b: Operation) -> bool:
    """Whether two products differ in their right operand's values alone."""
    types = a.operands[1].type == b.operands[1].type and a.results[0].type == b.results[0].type
    return types and iteration_of(a) == iteration_of(b)


def _all_cores(group: Group) -> Iterable[Reduced | Dot]:
    for result in group.results:
        for node in walk_nodes([result.node]):
            if isinstance(node, Reduced | Dot):
                yield node


def _same_domain(group: Group, shape: tuple[int, ...]) -> Coords | None:
    for result in group.results:
        if result.shape == shape:
            return result.at
    for core in _all_cores(group):
        if isinstance(core, Reduced) and not core.is_scan and shape_of(core.op.operands[0].type) == shape:
            return operand_coords(core)
    return None


def operand_coords(node: Reduced) -> Coords:
    """Where a reduction reads its operand."""
    return applied(node.iteration.inputs[0].map, point(node.iteration, node.at, node.dims))


def _joined(unknown: Reduced | Dot, known: Reduced | Dot) -> tuple[Coords, Coords]:
    """The coordinates of two ops of one shape; neighboring axes are one number where the first op's coordinates divide
    it among them: x floordiv 8 and x mod 8 are x."""
    given = {atom for lin in known.at for atom in atoms(lin)}
    joined: list[tuple[Lin, Lin]] = []
    extents = shape_of(unknown.op.results[0].type)
    below = 1
    for lin, target, extent in zip(*map(reversed, (unknown.at, known.at, extents)), strict=True):
        if joined and _divides(joined[-1][0], given):
            low, low_target = joined.pop()
            lin, target, extent = lin * below + low, target * below + low_target, extent * below
        joined.append((lin, target))
        below = extent
    return tuple(lin for lin, _ in reversed(joined)), tuple(target for _, target in reversed(joined))


def _divides(lin: Lin, given: Container[object]) -> bool:
    """Whether the expression divides something that is not given."""
    divisions = [atom.value for atom, _ in lin.terms if isinstance(atom, Div)]
    return any(atom not in given for value in divisions for atom in atoms(value))


def solve(unknown: Coords, known: Coords) -> dict[DomainDim, Lin] | None:
    """Values of the dimensions in `unknown` that make it equal to `known`; None where none are found.

    An entry of `unknown` may be a row-major combination of dimensions: a b + c gives a = x floordiv b, c = x mod b.
    """
    values: dict[DomainDim, Lin] = {}
    for lin, target in zip(unknown, known, strict=True):
        terms = [(a, f) for a, f in lin.terms if isinstance(a, DomainDim)]
        if len(terms) != len(lin.terms) or lin.const:
            return None
        if not terms and target != ZERO:
            return None
        rest, extent = target, 1
        for i, (dim, factor) in enumerate(sorted(terms, key=lambda term: term[1])):
            if factor != extent or dim in values:
                return None
            values[dim] = rest if i == len(terms) - 1 else rest % dim.extent
            rest, extent = rest // dim.extent, factor * dim.extent
    return values


def _bound(coords: Coords, values: dict[DomainDim, Lin]) -> Coords:
    return tuple(substitute(c, values) for c in coords)
