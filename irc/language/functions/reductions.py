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


@builtin("sum(x, axis=None, keepdims=false, dtype=None)", "prod(x, axis=None, keepdims=false, dtype=None)")
def sum(args: Arguments) -> Value:
    x = args.array("x")
    return _reduce(args, x, args.number_element(accumulated(x.element)))


@builtin("mean(x, axis=None, keepdims=false, dtype=None)")
def mean(args: Arguments) -> Value:
    return _average(args)


@builtin("var(x, axis=None, keepdims=false, correction=0, dtype=None)")
def var(args: Arguments) -> Value:
    return _average(args, correction=args.integer("correction", 0))


def _average(args: Arguments, **properties: object) -> Array:
    x = args.array("x")
    element = args.number_element(averaged(x.element))
    if not element.is_float:
        raise args.wrong("dtype", "a float type")
    return _reduce(args, x, element, **properties)


@builtin("max(x, axis=None, keepdims=false)", "min(x, axis=None, keepdims=false)")
def extreme(args: Arguments) -> Value:
    op = args.function
    if "axis" in args and isinstance(args.value("axis"), Array):
        elementwise = {"max": "maximum", "min": "minimum"}[op]
        raise args.error(f"{op} reduces one array over axes", "axis", f"{elementwise}(x, y) compares two")
    x = args.number_array("x")
    if not prod(x.shape[axis] for axis in args.axes("axis", x.rank)):
        raise args.error(f"the {op} of nothing: {x} has no elements there")
    return _reduce(args, x, x.element)


@builtin("any(x, axis=None, keepdims=false)", "all(x, axis=None, keepdims=false)")
def truth(args: Arguments) -> Value:
    return _reduce(args, args.bool_array("x"), BOOL)


def _reduce(args: Arguments, x: Array, element: Element, **properties: object) -> Array:
    axes = args.axes("axis", x.rank)
    shape = tuple(extent for i, extent in enumerate(x.shape) if i not in axes)
    result = args.emit(args.function, [x], shape, element, axes=axes, **properties)
    return _kept(args, result, x, axes)


def _kept(args: Arguments, result: Array, x: Array, axes: list[int]) -> Array:
    """With `keepdims`, the reduced axes stay with extent 1."""
    if not args.flag("keepdims"):
        return result
    return args.builder.reshape(result, tuple(1 if i in axes else e for i, e in enumerate(x.shape)), args.place)


@builtin("argmax(x, axis=None, keepdims=false)", "argmin(x, axis=None, keepdims=false)")
def position(args: Arguments) -> Value:
    x = args.array("x")
    if "axis" in args:
        axis = args.axis("axis", x.rank)
        flat, axes = x, [axis]
    else:
        flat, axis, axes = args.builder.reshape(x, (prod(x.shape),), args.place), 0, list(range(x.rank))
    if not flat.shape[axis]:
        raise args.error(f"the {args.function} of nothing: {x} has no elements there")
    shape = (*flat.shape[:axis], *flat.shape[axis + 1 :])
    return _kept(args, args.emit(args.function, [flat], shape, I64, axis=axis), x, axes)


@builtin("cumsum(x, axis)", "cumprod(x, axis)", "sort(x, axis)")
def along(args: Arguments) -> Value:
    x = args.number_array("x")
    return args.emit_like(args.function, x, axis=args.axis("axis", x.rank))


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
