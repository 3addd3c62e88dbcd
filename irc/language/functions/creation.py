"""Functions that make arrays from nothing."""

from __future__ import annotations

import numpy as np

from irc.dialects.nd import ElementsAttr
from irc.ir.dtypes import Element, element_named
from irc.language.arguments import Arguments
from irc.language.functions.registry import builtin
from irc.language.numbers import Number, NumberError, fit
from irc.language.operators import BOOL
from irc.language.values import Array, Items, Value, describe, tensor_type


@builtin("zeros(shape, type)")
def zeros(args: Arguments) -> Value:
    return args.builder.splat(0, args.shape("shape"), args.element("type"), args.place)


@builtin("ones(shape, type)")
def ones(args: Arguments) -> Value:
    return args.builder.splat(1, args.shape("shape"), args.element("type"), args.place)


@builtin("full(shape, value, type)")
def full(args: Arguments) -> Value:
    element, value = args.element("type"), args.value("value")
    if isinstance(value, Number) and value.kind == "extent":
        return args.builder.literal(value, args.shape("shape"), element, args.place)
    return args.builder.splat(args.literal("value", element), args.shape("shape"), element, args.place)


@builtin("array(values, type)")
def array(args: Arguments) -> Value:
    """Nested lists of numbers."""
    element = args.element("type")
    flat: list[int | float] = []
    shape = _flatten(args, args.value("values"), element, flat)
    array = np.array(flat, np.float64 if element.is_float else element.dtype).astype(element.dtype).reshape(shape)
    return args.builder.constant(
        ElementsAttr.from_array(array, tensor_type(shape, element)), shape, element, args.place
    )


def _flatten(args: Arguments, value: Value, element: Element, flat: list[int | float]) -> tuple[int, ...]:
    """Appends the numbers of nested lists; their shape."""
    if isinstance(value, Number):
        try:
            flat.append(fit(value, element))
        except NumberError as error:
            raise args.error(error.message, "values", error.hint) from None
        return ()
    if not isinstance(value, Items):
        raise args.error(f"array expects nested lists of numbers, found {describe(value)}", "values")
    shapes = {_flatten(args, item, element, flat) for item in value.values}
    if len(shapes) > 1:
        raise args.error("array expects lists of one length", "values")
    return (len(value.values), *(shapes.pop() if shapes else ()))


@builtin("iota(shape, type, axis=0)")
def iota(args: Arguments) -> Value:
    shape, element = args.shape("shape"), args.element("type")
    if element is BOOL:
        raise args.wrong("type", "a number type")
    return args.emit("iota", [], shape, element, axis=args.axis("axis", len(shape), 0))


@builtin("random_normal(shape, type, seed)", "random_uniform(shape, type, seed)")
def random(args: Arguments) -> Value:
    shape, element = args.shape("shape"), args.element("type")
    if not element.is_float:
        raise args.wrong("type", "a float type")
    return args.emit(args.function, [_seed(args)], shape, element)


def _seed(args: Arguments) -> Array:
    """An i64 without axes, or a number."""
    seed, element = args.value("seed"), element_named("i64")
    if not isinstance(seed, Array):
        return args.builder.splat(args.literal("seed", element), (), element, args.place)
    if seed.shape or seed.element is not element:
        raise args.wrong("seed", "an integer, or an i64[]")
    return seed
