"""Functions that move elements."""

from __future__ import annotations

from math import prod

from irc.language.arguments import Arguments
from irc.language.builder import broadcast_shapes
from irc.language.functions.registry import builtin
from irc.language.numbers import Number
from irc.language.values import Array, Items, Several, Value


@builtin("permute(x, axes)")
def permute(args: Arguments) -> Value:
    x = args.array("x")
    order = [args.normalized("axes", axis, x.rank) for axis in args.integers("axes")]
    if sorted(order) != list(range(x.rank)):
        hint = f"each of 0 to {x.rank - 1} once" if x.rank else "a scalar has none"
        raise args.error(f"{order} is not a permutation of the {x.rank} axes of {x}", "axes", hint)
    return args.emit("permute", [x], tuple(x.shape[i] for i in order), x.element, permutation=order)


@builtin("transpose(x)")
def transpose(args: Arguments) -> Value:
    x = args.array("x")
    if x.rank < 2:
        raise args.error(f"transpose swaps the last two axes, found {x}", "x")
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return args.emit("permute", [x], tuple(x.shape[i] for i in order), x.element, permutation=order)


@builtin("reshape(x, shape)")
def reshape(args: Arguments) -> Value:
    x, shape = args.array("x"), args.extents("shape")
    unknown = [i for i, size in enumerate(shape) if size == -1]
    known = prod(size for size in shape if size != -1)
    if len(unknown) > 1 or any(size < -1 for size in shape):
        raise args.error("a shape has sizes of 0 or more, and -1 at most once", "shape")
    if unknown:
        if not known or prod(x.shape) % known:
            raise args.error(f"cannot reshape {x} to {shape}", "shape", f"{prod(x.shape)} is not a multiple of {known}")
        shape[unknown[0]] = prod(x.shape) // known
    if prod(shape) != prod(x.shape):
        hint = f"it has {prod(x.shape)} elements, the shape {prod(shape)}"
        raise args.error(f"cannot reshape {x} to {shape}", "shape", hint)
    return args.emit("reshape", [x], tuple(shape), x.element)


@builtin("broadcast(x, shape, dims=None)")
def broadcast(args: Arguments) -> Value:
    x, shape = args.array("x"), args.shape("shape")
    if "dims" in args:
        return _broadcast_along(args, x, shape)
    if broadcast_shapes([x.shape, shape]) != shape:
        raise args.error(f"cannot broadcast {x} to {list(shape)}", "shape", "dims=[..] names where each axis goes")
    return args.emit("broadcast", [x], shape, x.element, dims=range(len(shape) - x.rank, len(shape)))


def _broadcast_along(args: Arguments, x: Array, shape: tuple[int, ...]) -> Array:
    dims = [args.normalized("dims", dim, len(shape)) for dim in args.integers("dims")]
    if len(dims) != x.rank or len(set(dims)) != len(dims):
        raise args.error(f"dims has one distinct axis for each of the {x.rank} axes of {x}, found {dims}", "dims")
    for axis, dim in enumerate(dims):
        if x.shape[axis] not in (1, shape[dim]):
            raise args.error(
                f"cannot broadcast {x} to {list(shape)}",
                "dims",
                f"axis {axis} would go from {x.shape[axis]} to {shape[dim]}",
            )
    return args.emit("broadcast", [x], shape, x.element, dims=dims)


@builtin("concat(arrays, axis=0)")
def concat(args: Arguments) -> Value:
    arrays = args.arrays("arrays")
    first = arrays[0]
    axis = args.axis("axis", first.rank, 0)
    rest = [(a.element.name, a.rank, a.shape[:axis], a.shape[axis + 1 :]) for a in arrays]
    if any(other != rest[0] for other in rest):
        found = " and ".join(map(str, arrays))
        raise args.error(
            f"cannot concatenate {found} on axis {axis}", "arrays", "all but the extents of the axis must agree"
        )
    shape = (*first.shape[:axis], sum(a.shape[axis] for a in arrays), *first.shape[axis + 1 :])
    return args.emit("concat", arrays, shape, first.element, axis=axis)


@builtin("stack(arrays, axis=0)")
def stack(args: Arguments) -> Value:
    arrays = args.arrays("arrays")
    first = arrays[0]
    if any((a.shape, a.element) != (first.shape, first.element) for a in arrays):
        found = " and ".join(map(str, arrays))
        raise args.error(f"cannot stack {found}", "arrays", "they must have one type")
    axis = args.axis("axis", first.rank + 1, 0)
    one = (*first.shape[:axis], 1, *first.shape[axis:])
    parts = [args.builder.reshape(a, one, args.place) for a in arrays]
    shape = (*first.shape[:axis], len(arrays), *first.shape[axis:])
    return args.emit("concat", parts, shape, first.element, axis=axis)


@builtin("split(x, parts, axis=0)")
def split(args: Arguments) -> Value:
    """As numpy: `parts` is a number of equal parts, or a list of where to cut."""
    x = args.array("x")
    axis = args.axis("axis", x.rank, 0)
    extent = x.shape[axis]
    cuts = _cuts(args, extent)
    pieces: list[Value] = []
    for start, stop in zip([0, *cuts], [*cuts, extent], strict=True):
        starts, stops = [0] * x.rank, list(x.shape)
        starts[axis], stops[axis] = start, stop
        shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
        pieces.append(args.emit("slice", [x], shape, x.element, starts=starts, stops=stops, steps=[1] * x.rank))
    return Several(tuple(pieces))


def _cuts(args: Arguments, extent: int) -> list[int]:
    if not isinstance(args.value("parts"), Number):
        cuts = args.integers("parts")
        if cuts != sorted(cuts) or any(not 0 <= cut <= extent for cut in cuts):
            raise args.error(f"the places to cut must increase within 0 to {extent}, found {cuts}", "parts")
        return cuts
    parts = args.integer("parts")
    if not 0 < parts <= 65536 or extent % parts:
        raise args.error(
            f"cannot split an extent of {extent} into {parts} equal parts", "parts", "a list says where to cut"
        )
    return [extent // parts * i for i in range(1, parts)]


@builtin("pad(x, widths, value=0)")
def pad(args: Arguments) -> Value:
    x = args.array("x")
    pairs = args.value("widths")
    if not isinstance(pairs, Items) or len(pairs.values) != x.rank:
        raise args.error(
            f"pad expects [lo, hi] for each of the {x.rank} axes of {x}", "widths", "pad(x, [[1, 1], [0, 0]])"
        )
    widths = [_pair(args, pair) for pair in pairs.values]
    value = _pad_value(args, x)
    low, high = [lo for lo, _ in widths], [hi for _, hi in widths]
    shape = tuple(a + b + c for a, b, c in zip(low, x.shape, high, strict=True))
    return args.emit("pad", [x, value], shape, x.element, low=low, high=high)


def _pair(args: Arguments, pair: Value) -> tuple[int, int]:
    widths = [] if not isinstance(pair, Items) else [v for v in pair.values if isinstance(v, Number) and v.is_integer]
    if not isinstance(pair, Items) or len(widths) != 2 or len(pair.values) != 2:
        raise args.error("pad expects pairs of integers, [lo, hi]", "widths")
    low, high = (int(width.value) for width in widths)
    if low < 0 or high < 0:
        raise args.error(f"a negative width in [{low}, {high}]", "widths", "a slice makes an array smaller: x[1:-1]")
    return low, high


def _pad_value(args: Arguments, x: Array) -> Array:
    if "value" not in args:
        return args.builder.splat(False if x.element.kind == "bool" else 0, (), x.element, args.place)
    value, place = args.operand("value")
    if isinstance(value, Number):
        return args.builder.literal(value, (), x.element, place)
    if not isinstance(value, Array) or value.shape or value.element is not x.element:
        raise args.wrong("value", f"a number or {x.element.name}[]")
    return value


def _axis_or_axes(args: Arguments, rank: int) -> list[int]:
    return args.distinct("axis", args.integer_or_integers("axis"), rank)


@builtin("expand_dims(x, axis)")
def expand_dims(args: Arguments) -> Value:
    x = args.array("x")
    count = len(args.integer_or_integers("axis"))
    axes = _axis_or_axes(args, x.rank + count)
    extents = iter(x.shape)
    shape = tuple(1 if axis in axes else next(extents) for axis in range(x.rank + count))
    return args.builder.reshape(x, shape, args.place)


@builtin("squeeze(x, axis)")
def squeeze(args: Arguments) -> Value:
    x = args.array("x")
    axes = _axis_or_axes(args, x.rank)
    for axis in axes:
        if x.shape[axis] != 1:
            raise args.error(f"squeeze drops axes of extent 1, and axis {axis} of {x} has {x.shape[axis]}", "axis")
    return args.builder.reshape(x, tuple(e for i, e in enumerate(x.shape) if i not in axes), args.place)


@builtin("flip(x, axis)")
def flip(args: Arguments) -> Value:
    x = args.array("x")
    return args.emit_like("flip", x, axes=_axis_or_axes(args, x.rank))


@builtin("tile(x, reps)")
def tile(args: Arguments) -> Value:
    x, reps = args.array("x"), list(args.shape("reps"))
    reps = [1] * (x.rank - len(reps)) + reps
    x = args.builder.reshape(x, (1,) * (len(reps) - x.rank) + x.shape, args.place)
    shape = tuple(extent * count for extent, count in zip(x.shape, reps, strict=True))
    return args.emit("tile", [x], shape, x.element, reps=reps)


@builtin("tril(x, k=0)", "triu(x, k=0)")
def triangle(args: Arguments) -> Value:
    x = args.array("x")
    if x.rank < 2:
        raise args.error(f"{args.function} takes matrices, found {x}", "x")
    return args.emit_like(args.function, x, k=args.integer("k", 0))


@builtin("slice(x, starts, stops, steps)")
def slice(args: Arguments) -> Value:
    """`x[start:stop:step, ...]` with all bounds given; unlike an index, an operation even where it takes everything."""
    x = args.array("x")
    starts, stops, steps = (args.integers(name) for name in ("starts", "stops", "steps"))
    if not len(starts) == len(stops) == len(steps) == x.rank:
        raise args.error(f"slice expects a start, a stop and a step for each axis of {x}")
    for start, stop, step, extent in zip(starts, stops, steps, x.shape, strict=True):
        if not 0 <= start <= stop <= extent or step < 1:
            raise args.error(
                f"slice cannot take {start}:{stop}:{step} of {extent}", None, "0 <= start <= stop <= extent"
            )
    shape = tuple(-((start - stop) // step) for start, stop, step in zip(starts, stops, steps, strict=True))
    return args.emit("slice", [x], shape, x.element, starts=starts, stops=stops, steps=steps)
