"""Functions that read or write at places given by an array of integers."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IndexType, IntegerAttr

from irc.language.arguments import Arguments
from irc.language.builder import broadcast_shapes
from irc.language.functions.registry import builtin
from irc.language.numbers import Number
from irc.language.values import Array, Value


def _check_extent(args: Arguments, x: Array, indices: Array, axis: int) -> None:
    if x.shape[axis] == 0 and prod(indices.shape):
        raise args.error(f"nothing to index on axis {axis} of {x}", "x")


@builtin("check_indices(x, low, high, extent=0)")
def check_indices(args: Arguments) -> Value:
    x, low, high, extent = args.integer_array("x"), args.integer("low"), args.integer("high"), args.extent("extent", 0)
    if extent < 0:
        raise args.error(f"a negative extent, {extent}", "extent")
    if low > high + extent:
        raise args.error(f"no index is from {low} to below {high + extent}", "high")
    if extent and x.element.name not in ("i32", "i64"):
        raise args.wrong("x", "i32 or i64", "with an extent")
    beyond = {"extent": IntegerAttr(extent, IndexType())} if extent else {}
    return args.emit("check_indices", [x], x.shape, x.element, low=low, high=high, **beyond)


@builtin("ascending(x)")
def ascending(args: Arguments) -> Value:
    x = args.integer_array("x")
    return args.emit("ascending", [x], x.shape, x.element)


@builtin("take(x, indices, axis=0)")
def take(args: Arguments) -> Value:
    x, indices = args.array("x"), args.integer_array("indices")
    axis = args.axis("axis", x.rank, 0)
    _check_extent(args, x, indices, axis)
    return args.emit("take", [x, indices], _taken(x, indices, axis), x.element, axis=axis)


def _taken(x: Array, indices: Array, axis: int) -> tuple[int, ...]:
    return (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


@builtin("reorder(x, order, inverse, axis=0)")
def reorder(args: Arguments) -> Value:
    x, order, inverse = args.array("x"), args.integer_array("order"), args.integer_array("inverse")
    axis = args.axis("axis", x.rank, 0)
    for name, indices in (("order", order), ("inverse", inverse)):
        if indices.shape != (x.shape[axis],):
            raise args.wrong(name, f"{x.shape[axis]} indices", f"x has so many elements along axis {axis}")
    return args.emit("reorder", [x, order, inverse], x.shape, x.element, axis=axis)


@builtin("take_along(x, indices, axis)")
def take_along(args: Arguments) -> Value:
    x, indices = args.array("x"), args.integer_array("indices")
    axis = args.axis("axis", x.rank)
    _check_extent(args, x, indices, axis)
    shape = None if x.rank != indices.rank else _others(x, indices, axis)
    if shape is None:
        hint = "both have the same axes, and extents that broadcast except on the axis"
        raise args.error(f"cannot take {indices} along axis {axis} of {x}", "indices", hint)
    whole = (*shape[:axis], x.shape[axis], *shape[axis + 1 :])
    x = args.builder.broadcast(x, whole, args.operand("x")[1])
    indices = args.builder.broadcast(indices, shape, args.operand("indices")[1])
    return args.emit("take_along", [x, indices], shape, x.element, axis=axis)


def _others(x: Array, indices: Array, axis: int) -> tuple[int, ...] | None:
    """The shape of the result: all axes broadcast, but the axis as in the indices."""
    one = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    index_one = (*indices.shape[:axis], 1, *indices.shape[axis + 1 :])
    shape = broadcast_shapes([one, index_one])
    return None if shape is None else (*shape[:axis], indices.shape[axis], *shape[axis + 1 :])


@builtin("one_hot(indices, n, type)")
def one_hot(args: Arguments) -> Value:
    indices, n = args.integer_array("indices"), args.integer("n")
    if n < 0:
        raise args.error(f"a negative size, {n}", "n", "sizes are 0 or more")
    return args.emit("one_hot", [indices], (*indices.shape, n), args.element("type"))


@builtin("scatter_add(x, indices, updates, axis=0)")
def scatter_add(args: Arguments) -> Value:
    x, indices = args.number_array("x"), args.integer_array("indices")
    axis = args.axis("axis", x.rank, 0)
    _check_extent(args, x, indices, axis)
    shape = _taken(x, indices, axis)
    value, place = args.operand("updates")
    if isinstance(value, Number):
        updates = args.builder.literal(value, shape, x.element, place)
    else:
        updates = args.array("updates")
        if updates.element is not x.element or broadcast_shapes([updates.shape, shape]) != shape:
            raise args.wrong("updates", f"{x.element.name}{list(shape)}")
        updates = args.builder.broadcast(updates, shape, place)
    return args.emit("scatter_add", [x, indices, updates], x.shape, x.element, axis=axis)
