"""Elementwise ops on nodes: literals, broadcasting, dtype rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import ml_dtypes
import numpy as np

from irc.runtime.artifact import DTYPES
from irc_frontend.elementwise_rows import rows
from irc_frontend.graph import Node, fail
from irc_frontend.promotion import Number, common_element
from irc_frontend.shapes import broadcast_shapes

Operand: TypeAlias = Node | Number


def constant(value: Number, shape: Sequence[int], element: str) -> Node:
    """The same number at every place."""
    return Node("constant", (), shape, element, (("value", _checked(value, element)),))


def _checked(value: Number, element: str) -> Number:
    """The literal as the element type has it; an error where it does not fit."""
    if element == "bool":
        if isinstance(value, bool):
            return value
        raise fail(f"the number {value} is no bool", "cast the array: x.astype('f32')")
    if DTYPES[element].kind in "iu":
        if isinstance(value, float):
            raise fail(f"the float {value} is no {element}", "cast the array: x.astype('f32')")
        limits = np.iinfo(DTYPES[element])
        if not limits.min <= value <= limits.max:
            raise fail(f"{value} is out of the range of {element}")
        return int(value)
    number = float(value)
    if math.isfinite(number) and abs(number) > float(ml_dtypes.finfo(DTYPES[element]).max):
        raise fail(f"{value} is out of the range of {element}")
    return number


def broadcast_to(x: Node, shape: tuple[int, ...]) -> Node:
    """The array repeated to the shape, by numpy's rule."""
    if x.shape == shape:
        return x
    if len(shape) < x.rank or broadcast_shapes(x.shape, shape) != shape:
        raise fail(f"cannot broadcast {x.type} to {list(shape)}")
    if x.op == "constant":
        return Node("constant", (), shape, x.element, x.attributes)
    dims = tuple(range(len(shape) - x.rank, len(shape)))
    return Node("broadcast", (x,), shape, x.element, (("dims", dims),))


def _typed(what: str, operands: Sequence[Operand]) -> list[Node]:
    """The operands with one shape and one element type (`irc_frontend.promotion`)."""
    arrays = [x for x in operands if isinstance(x, Node)]
    if not arrays:
        raise fail(f"{what} of numbers alone has no element type", "make one of them a Tensor")
    numbers = [x for x in operands if not isinstance(x, Node)]
    element = common_element(what, arrays, numbers)
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [
        broadcast_to(astype(x, element), shape) if isinstance(x, Node) else constant(x, shape, element)
        for x in operands
    ]


_HINTS = {
    "any": "",
    "float": "x.astype('f32') computes it in f32, x.astype('f64') in numpy's f64",
    "float or integer": "bool takes & | ^ ~ and comparisons; cast it for arithmetic: x.astype('i32')",
    "integer": "shifts are of integers",
    "integer or bool": "bits are those of integers and bools",
    "bool": "compare it first: x == 0",
}


def apply(op: str, *operands: Operand, **attributes: Number | str) -> Node:
    """An op of the table of elementwise ops (`irc.dialects.nd.table`)."""
    nodes = _typed(op, operands)
    x, row = nodes[0], rows()[op]
    if x.element not in row.takes:
        hint = f"{_HINTS['float']}; integers divide by //" if op == "div" else _HINTS[row.kind]
        raise fail(f"cannot {op} {x.type}: {hint}" if hint else f"cannot {op} {x.type}")
    if op == "pow" and x.is_integer and not (isinstance(operands[1], int) and operands[1] >= 0):
        raise fail(f"cannot raise {x.type} to that power", "integers take non-negative numbers as exponents")
    return Node(op, nodes, x.shape, "bool" if row.is_test else x.element, tuple(attributes.items()))


def where(condition: Node, a: Operand, b: Operand) -> Node:
    """`a` where the condition holds, else `b`."""
    if not condition.is_bool:
        raise fail(f"where: the condition is {condition.type}, not bool", "compare it first: x != 0")
    x, y = _typed("where", (a, b))
    shape = broadcast_shapes(condition.shape, x.shape)
    operands = [broadcast_to(node, shape) for node in (condition, x, y)]
    return Node("where", operands, shape, x.element)


def astype(x: Node, element: str) -> Node:
    """The array in another element type, rounded to nearest even or truncated."""
    return x if x.element == element else Node("cast", (x,), x.shape, element)


def bitcast(x: Node, element: str) -> Node:
    """The same bits as another element type of the same size."""
    if DTYPES[element].itemsize != DTYPES[x.element].itemsize:
        raise fail(f"cannot bitcast {x.type} to {element}: their sizes differ")
    return Node("bitcast", (x,), x.shape, element)
