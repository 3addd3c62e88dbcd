"""Loads and stores of tiles that cover arrays, as ops on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from irc.dialects import nd, tile
from irc.dialects.nd.base import element_of, put, rank_of, shape_of
from irc.dialects.nd.terms import Term, iota, splat
from irc.ir.dtypes import element_named
from irc.ir.rewriting import Inserter, location_of
from irc.support.diagnostics import IrcError
from irc.tiling.batched_ops import Batched, spread

I32 = element_named("i32")


@dataclass(frozen=True)
class Run:
    """Coordinates along an axis: start + step * i, for i below count, where i is a dimension; one that is the start
    alone where it is None."""

    dim: int | None
    start: int
    step: int = 1
    count: int = 1

    @property
    def stop(self) -> int:
        return self.start + self.step * (self.count - 1) + 1


def run_of(expr: AffineExpr, counts: Mapping[int, int]) -> Run | None:
    """The run that an expression of dimensions is, if it is one."""
    match expr:
        case AffineConstantExpr():
            return Run(None, expr.value)
        case AffineDimExpr():
            return Run(expr.position, 0, 1, counts[expr.position])
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add | AffineBinaryOpKind.Mul as kind):
            found = [run_of(each, counts) for each in (expr.lhs, expr.rhs)]
            if found[0] is None or found[1] is None or all(each is not None and each.dim is not None for each in found):
                return None
            run, number = (found[0], found[1]) if found[1].dim is None else (found[1], found[0])
            if kind is AffineBinaryOpKind.Add:
                return Run(run.dim, run.start + number.start, run.step, run.count)
            if run.dim is not None and number.start < 1:
                return None
            return Run(run.dim, run.start * number.start, run.step * number.start, run.count)
        case _:
            return None


def index_array(expr: AffineExpr, loops: Sequence[int], counts: Mapping[int, int], at: Inserter) -> SSAValue:
    """The numbers that an expression is, i32, with an axis for each of the loops."""
    shape = [counts[loop] for loop in loops]

    def term(expr: AffineExpr) -> Term:
        match expr:
            case AffineConstantExpr():
                return splat(at, expr.value, shape, I32)
            case AffineDimExpr():
                return iota(at, shape, loops.index(expr.position), I32)
            case AffineBinaryOpExpr():
                lhs, rhs = term(expr.lhs), term(expr.rhs)
                op = {
                    AffineBinaryOpKind.Add: nd.AddOp,
                    AffineBinaryOpKind.Mul: nd.MulOp,
                    AffineBinaryOpKind.FloorDiv: nd.FloorDivOp,
                    AffineBinaryOpKind.Mod: nd.ModOp,
                }[expr.kind]
                return Term(at.value(op(lhs.value, rhs.value)), at)
            case _:
                raise AssertionError(expr)

    return term(expr).value


def refuse(op: Operation, what: str) -> IrcError:
    return IrcError(f"{what} has no meaning as an op on whole arrays", location_of(op))


@dataclass(frozen=True)
class RaisedAccess:
    """An access by expressions of the numbers of loops and of places in the tile, whose dimensions follow them, and of
    symbols: arrays of integers. loops: how many there are. counts: of each dimension."""

    op: Operation
    shape: tuple[int, ...]
    exprs: Sequence[AffineExpr]
    loops: int
    counts: Mapping[int, int]
    gathers: Mapping[int, Batched]

    @classmethod
    def of_tile(
        cls,
        op: tile.LoadOp | tile.StoreOp,
        shape: tuple[int, ...],
        expr_of: Callable[[SSAValue], AffineExpr],
        arrays: Mapping[SSAValue, Batched],
        counts: Mapping[int, int],
    ) -> RaisedAccess:
        """`counts`: of the numbers of each loop. A symbol that is one of `arrays` is a tile of integers, or an integer
        for each number of loops."""
        loops = len(counts)
        gathers = {number: arrays[value] for number, value in enumerate(op.symbols) if value in arrays}
        dims = [
            expr_of(offset) + (AffineExpr.dimension(loops + axis) if extent > 1 else 0)
            for axis, (offset, extent) in enumerate(zip(op.offsets, shape, strict=True))
        ]
        symbols = [
            AffineExpr.symbol(number) if number in gathers else expr_of(value)
            for number, value in enumerate(op.symbols)
        ]
        exprs = [each.replace_dims_and_symbols(dims, symbols) for each in op.access_map.results]
        places = {loops + axis: extent for axis, extent in enumerate(shape)}
        return cls(op, shape, exprs, loops, {**counts, **places}, gathers)

    @classmethod
    def of_place(cls, op: Operation, exprs: Sequence[AffineExpr], counts: Mapping[int, int]) -> RaisedAccess:
        """The access of one element."""
        return cls(op, (), exprs, len(counts), dict(counts), {})

    def loops_of(self, expr: AffineExpr) -> tuple[int, ...]:
        """The loops that an expression depends on. IrcError where it depends on places in the tile too."""
        dims = sorted(expr.used_dims())
        if any(dim >= self.loops for dim in dims):
            raise refuse(self.op, f"a tile at {expr} of an array")
        return tuple(dims)


def loaded(access: RaisedAccess, array: SSAValue, at: Inserter) -> Batched:
    """The array of what a load reads."""
    value = array
    dims: list[int | None] = [None] * rank_of(array)
    """Which dimension each axis is; None where it is a single place."""
    taken: list[tuple[int, AffineExpr]] = []
    for axis, expr in enumerate(access.exprs):
        run = run_of(expr, access.counts)
        if run is None:
            taken.append((axis, expr))
            continue
        value = _window(value, axis, run, at)
        dims[axis] = run.dim
    for axis, expr in reversed(taken):
        indices, of_indices = _indices(access, expr, at)
        if of_indices and set(of_indices) <= set(dims):
            value = _selected(value, axis, indices, [dims.index(dim) for dim in of_indices], at)
            del dims[axis]
            continue
        value = _taken(value, axis, indices, shape_of(array)[axis], at)
        dims[axis : axis + 1] = of_indices
    known = sorted(dim for dim in dims if dim is not None)
    if len(set(known)) != len(known):
        raise refuse(access.op, "a tile along a diagonal")
    order = [*(dims.index(dim) for dim in known), *(axis for axis, dim in enumerate(dims) if dim is None)]
    value = _reshaped(_permuted(value, order, at), [access.counts[dim] for dim in known], at)
    loops = tuple(dim for dim in known if dim < access.loops)
    shape = *(access.counts[loop] for loop in loops), *access.shape
    if shape_of(value) != shape:
        placed = [loops.index(dim) if dim < access.loops else len(loops) + dim - access.loops for dim in known]
        value = at.value(nd.BroadcastOp(value, shape, placed))
    return Batched(value, loops)


def _window(value: SSAValue, axis: int, run: Run, at: Inserter) -> SSAValue:
    """The elements of a run along an axis, 0 beyond its ends."""
    extent = shape_of(value)[axis]
    if run.step > 1 and (run.start < 0 or run.stop > extent):
        raise IrcError(f"places from {run.start} to {run.stop} of {extent} have no meaning as an op on whole arrays")
    low, high = max(0, -run.start), max(0, run.stop - extent)
    start, stop = min(max(run.start, 0), extent), max(min(run.stop, extent), 0)
    if (start, stop, run.step) != (0, extent, 1):
        rank = rank_of(value)
        starts, stops = put([0] * rank, axis, start), put(list(shape_of(value)), axis, max(start, stop))
        value = at.value(nd.SliceOp(value, starts, stops, put([1] * rank, axis, run.step)))
    return _padded(value, axis, low, high, at)


def _padded(value: SSAValue, axis: int, low: int, high: int, at: Inserter) -> SSAValue:
    if not low and not high:
        return value
    zeros = [0] * rank_of(value)
    zero = splat(at, 0, (), element_of(value)).value
    return at.value(nd.PadOp(value, zero, put(zeros, axis, low), put(zeros, axis, high)))


def _indices(access: RaisedAccess, expr: AffineExpr, at: Inserter) -> tuple[SSAValue, list[int]]:
    """The numbers by which an axis is read, and what their axes are."""
    if not isinstance(expr, AffineSymExpr):
        loops = access.loops_of(expr)
        return index_array(expr, loops, access.counts, at), list(loops)
    array = access.gathers[expr.position]
    shape = shape_of(array.value)[len(array.loops) :]
    if not shape:
        return array.value, [*array.loops]
    read = {dim for each in access.exprs for dim in each.used_dims()}
    unread = [axis for axis in range(len(shape)) if access.loops + axis not in read]
    free = [axis for axis in unread if shape[axis] == access.shape[axis]]
    long = [axis for axis in free if shape[axis] > 1] or free[:1]
    if len(long) != 1:
        raise refuse(access.op, "a gather along several axes")
    counts = array.counts
    value = _reshaped(array.value, [*(counts[loop] for loop in array.loops), shape[long[0]]], at)
    return value, [*array.loops, access.loops + long[0]]


def _taken(value: SSAValue, axis: int, indices: SSAValue, extent: int, at: Inserter) -> SSAValue:
    """Elements by their numbers along an axis, 0 where a number is none."""
    shape, element = shape_of(indices), element_of(indices)
    zero, end = splat(at, 0, shape, element).value, splat(at, extent, shape, element).value
    inside = at.value(nd.BitwiseAndOp(at.value(nd.GreaterEqualOp(indices, zero)), at.value(nd.LessOp(indices, end))))
    found = at.value(nd.TakeOp(value, indices, axis))
    mask = at.value(nd.BroadcastOp(inside, shape_of(found), [axis + i for i in range(len(shape))]))
    return at.value(nd.WhereOp(mask, found, splat(at, 0, shape_of(found), element_of(found)).value))


def _selected(value: SSAValue, axis: int, indices: SSAValue, axes: Sequence[int], at: Inserter) -> SSAValue:
    """One element along an axis for each place of others, `axes`, by its number, 0 where the number is none."""
    shape = shape_of(value)
    places = at.value(nd.BroadcastOp(iota(at, (shape[axis],), 0, element_of(indices)).value, shape, [axis]))
    order = sorted(range(len(axes)), key=lambda each: axes[each])
    numbers = at.value(nd.BroadcastOp(_permuted(indices, order, at), shape, sorted(axes)))
    nothing = splat(at, 0, shape, element_of(value)).value
    chosen = at.value(nd.WhereOp(at.value(nd.EqualOp(places, numbers)), value, nothing))
    return at.value(nd.SumOp(chosen, [axis]))


def stored(access: RaisedAccess, value: Batched, into: SSAValue | None, shape: Sequence[int], at: Inserter) -> SSAValue:
    """The array after a store; `into` is what was there, None where nothing was."""
    runs: list[Run] = []
    for expr in access.exprs:
        run = run_of(expr, access.counts)
        if run is None:
            raise refuse(access.op, f"a tile stored at {expr}")
        runs.append(run)
    dims = [run.dim for run in runs if run.dim is not None]
    loops = sorted(dim for dim in dims if dim < access.loops)
    if len(set(dims)) != len(dims) or not set(value.loops) <= set(loops):
        raise refuse(access.op, "a store of several tiles to one place")
    whole = spread(value, {loop: access.counts[loop] for loop in loops}, at)
    placed = {**{loop: axis for axis, loop in enumerate(loops)}}
    placed.update({access.loops + axis: len(loops) + axis for axis in range(len(access.shape))})
    order = [placed[dim] for dim in dims]
    order += [axis for axis in range(rank_of(whole)) if axis not in order]
    if any(shape_of(whole)[axis] != 1 for axis in order[len(dims) :]):
        raise refuse(access.op, "a store of several elements to one place")
    made = _reshaped(_permuted(whole, order, at), [run.count for run in runs], at)
    if all((run.start, run.stop, run.step) == (0, n, 1) for run, n in zip(runs, shape, strict=True)):
        return made
    mask = splat(at, 1, shape_of(made), element_named("bool")).value
    for axis, (run, extent) in enumerate(zip(runs, shape, strict=True)):
        made, mask = (_placed(each, axis, run, extent, at) for each in (made, mask))
    return made if into is None else at.value(nd.WhereOp(mask, made, into))


def _placed(value: SSAValue, axis: int, run: Run, extent: int, at: Inserter) -> SSAValue:
    """The elements along an axis at the places of a run, and 0 at the others."""
    inside = Run(run.dim, max(0, -run.start), 1, min(run.stop, extent) - max(run.start, 0))
    if run.step == 1 and inside.count > 0:
        low, high = max(run.start, 0), max(0, extent - run.stop)
        return _padded(_window(value, axis, inside, at), axis, low, high, at)
    places = iota(at, (extent,), 0, I32) - run.start
    numbers = Term(at.value(nd.FloorDivOp(places.value, splat(at, run.step, (extent,), I32).value)), at)
    is_one = at.value(nd.EqualOp((numbers * run.step).value, places.value))
    beyond = splat(at, run.count, (extent,), I32).value
    return _taken(value, axis, at.value(nd.WhereOp(is_one, numbers.value, beyond)), run.count, at)


def _permuted(value: SSAValue, order: Sequence[int], at: Inserter) -> SSAValue:
    return value if list(order) == list(range(len(order))) else at.value(nd.PermuteOp(value, order))


def _reshaped(value: SSAValue, shape: Sequence[int], at: Inserter) -> SSAValue:
    return value if shape_of(value) == tuple(shape) else at.value(nd.ReshapeOp(value, shape))
