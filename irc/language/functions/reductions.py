"""Reductions over axes; scans and sorts along one."""

from __future__ import annotations

from math import prod

from irc.ir.dtypes import Element, element_named
from irc.language.arguments import Arguments
from irc.language.functions.registry import builtin
from irc.language.operators import BOOL
from irc.language.values import Array, Several, Value

I64 = element_named("i64")


def accumulated(element: Element) -> Element:
    """The element type that `sum` and `prod` give."""
    return element_named("i32") if element.name in ("i8", "u8", "i16", "bool") else element


def averaged(element: Element) -> Element:
    """The element type that `mean` and `var` give."""
    return element if element.is_float else element_named("f32")


@builtin("sum(x, axis=None, keepdims=false, dtype=None)")
def sum(args: Arguments) -> Value:
    return _accumulate(args, "sum", accumulated(args.array("x").element))


@builtin("prod(x, axis=None, keepdims=false, dtype=None)")
def product(args: Arguments) -> Value:
    return _accumulate(args, "prod", accumulated(args.array("x").element))


@builtin("mean(x, axis=None, keepdims=false, dtype=None)")
def mean(args: Arguments) -> Value:
    return _average(args, "mean")


@builtin("var(x, axis=None, keepdims=false, correction=0, dtype=None)")
def var(args: Arguments) -> Value:
    return _average(args, "var", correction=args.integer("correction", 0))


def _average(args: Arguments, op: str, **properties: object) -> Array:
    default = averaged(args.array("x").element)
    if not args.number_element(default).is_float:
        raise args.wrong("dtype", "a float type")
    return _accumulate(args, op, default, **properties)


def _accumulate(args: Arguments, op: str, default: Element, **properties: object) -> Array:
    return _reduce(args, op, args.array("x"), args.number_element(default), **properties)


@builtin("max(x, axis=None, keepdims=false)")
def max(args: Arguments) -> Value:
    return _extreme(args, "max", "maximum")


@builtin("min(x, axis=None, keepdims=false)")
def min(args: Arguments) -> Value:
    return _extreme(args, "min", "minimum")


def _extreme(args: Arguments, op: str, elementwise: str) -> Array:
    if "axis" in args and isinstance(args.value("axis"), Array):
        raise args.error(f"{op} reduces one array over axes", "axis", f"{elementwise}(x, y) compares two")
    x = args.number_array("x")
    if not prod(x.shape[axis] for axis in args.axes("axis", x.rank)):
        raise args.error(f"the {op} of nothing: {x} has no elements there")
    return _reduce(args, op, x, x.element)


@builtin("any(x, axis=None, keepdims=false)")
def any(args: Arguments) -> Value:
    return _reduce(args, "any", args.bool_array("x"), BOOL)


@builtin("all(x, axis=None, keepdims=false)")
def all(args: Arguments) -> Value:
    return _reduce(args, "all", args.bool_array("x"), BOOL)


def _reduce(args: Arguments, op: str, x: Array, element: Element, **properties: object) -> Array:
    axes = args.axes("axis", x.rank)
    shape = tuple(extent for i, extent in enumerate(x.shape) if i not in axes)
    result = args.emit(op, [x], shape, element, axes=axes, **properties)
    return _kept(args, result, x, axes)


def _kept(args: Arguments, result: Array, x: Array, axes: list[int]) -> Array:
    """With `keepdims`, the reduced axes stay with extent 1."""
    if not args.flag("keepdims"):
        return result
    return args.builder.reshape(result, tuple(1 if i in axes else e for i, e in enumerate(x.shape)), args.place)


@builtin("argmax(x, axis=None, keepdims=false)")
def argmax(args: Arguments) -> Value:
    return _position(args, "argmax")


@builtin("argmin(x, axis=None, keepdims=false)")
def argmin(args: Arguments) -> Value:
    return _position(args, "argmin")


def _position(args: Arguments, op: str) -> Array:
    x = args.array("x")
    if "axis" in args:
        axis = args.axis("axis", x.rank)
        flat, axes = x, [axis]
    else:
        flat, axis, axes = args.builder.reshape(x, (prod(x.shape),), args.place), 0, list(range(x.rank))
    if not flat.shape[axis]:
        raise args.error(f"the {op} of nothing: {x} has no elements there")
    shape = (*flat.shape[:axis], *flat.shape[axis + 1 :])
    return _kept(args, args.emit(op, [flat], shape, I64, axis=axis), x, axes)


@builtin("cumsum(x, axis)")
def cumsum(args: Arguments) -> Value:
    return _along(args, "cumsum")


@builtin("cumprod(x, axis)")
def cumprod(args: Arguments) -> Value:
    return _along(args, "cumprod")


@builtin("sort(x, axis)")
def sort(args: Arguments) -> Value:
    return _along(args, "sort")


def _along(args: Arguments, op: str) -> Array:
    x = args.number_array("x")
    return args.emit_like(op, x, axis=args.axis("axis", x.rank))


@builtin("topk(x, k, axis)")
def topk(args: Arguments) -> Value:
    x, k = args.number_array("x"), args.integer("k")
    axis = args.axis("axis", x.rank)
    if not 0 <= k <= x.shape[axis]:
        raise args.error(f"topk of {k} from an extent of {x.shape[axis]}", "k", f"k goes from 0 to {x.shape[axis]}")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    results = args.builder.emit_several(
        "topk", [x], [(shape, x.element), (shape, I64)], args.place, {"k": k, "axis": axis}
    )
    return Several(results)
