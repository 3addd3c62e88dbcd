"""Elementwise ops on nodes: literals, broadcasting, dtype rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import ml_dtypes
import numpy as np

from irc.runtime.artifact import DTYPES
from irc_frontend.graph import Node, fail
from irc_frontend.shapes import broadcast_shapes

Number: TypeAlias = bool | int | float
Operand: TypeAlias = Node | Number

COMPARISONS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
BITS = frozenset(["bitwise_and", "bitwise_or", "bitwise_xor"])
SHIFTS = frozenset(["shift_left", "shift_right"])
ANY_NUMBER = frozenset(["neg", "abs", "sign", "relu", "floor", "ceil", "round"])
TESTS = frozenset(["isnan", "isinf"])


def constant(value: Number, shape: Sequence[int], element: str) -> Node:
    """The same number at every place."""
    return Node("constant", (), shape, element, (("value", _checked(value, element)),))


def _checked(value: Number, element: str) -> Number:
    """The literal as the element type has it; an error where it does not fit."""
    if element == "bool":
        if isinstance(value, bool):
            return value
        raise fail(f"the number {value} meets a bool array", "cast the array: x.astype('f32')")
    if DTYPES[element].kind in "iu":
        if isinstance(value, float):
            raise fail(f"the float {value} meets an {element} array", "cast the array: x.astype('f32')")
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
    """The operands with one shape and one element type; numbers take the arrays'."""
    arrays = [x for x in operands if isinstance(x, Node)]
    if not arrays:
        raise fail(f"{what} of numbers alone has no element type", "make one of them a Tensor")
    first = arrays[0]
    for other in arrays[1:]:
        if other.element != first.element:
            raise fail(f"cannot {what} {first.type} and {other.type}", f"cast one of them: x.astype({first.element!r})")
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) if isinstance(x, Node) else constant(x, shape, first.element) for x in operands]


def unary(op: str, x: Node, **attributes: Number | str) -> Node:
    """An op of one operand."""
    if op in TESTS:
        _expect_float(op, x)
        return Node(op, (x,), x.shape, "bool")
    if op == "bitwise_not":
        if x.is_float:
            raise fail(f"cannot {op} {x.type}", "bits are those of integers and bools")
        return Node(op, (x,), x.shape, x.element)
    if op == "logical_not":
        if not x.is_bool:
            raise fail(f"cannot {op} {x.type}", "compare it first: x == 0")
        return Node(op, (x,), x.shape, "bool")
    if op in ANY_NUMBER:
        if x.is_bool:
            raise fail(f"cannot {op} {x.type}", "cast it first: x.astype('i32')")
    else:
        _expect_float(op, x)
    return Node(op, (x,), x.shape, x.element, tuple(attributes.items()))


def _expect_float(op: str, x: Node) -> None:
    if not x.is_float:
        raise fail(f"cannot {op} {x.type}", "cast it first: x.astype('f32')")


def binary(op: str, lhs: Operand, rhs: Operand) -> Node:
    """An op of two operands, one of which may be a number."""
    a, b = _typed(op, (lhs, rhs))
    if op in COMPARISONS:
        return Node(op, (a, b), a.shape, "bool")
    _check_binary(op, a, rhs)
    return Node(op, (a, b), a.shape, a.element)


def _check_binary(op: str, x: Node, rhs: Operand) -> None:
    if op in BITS:
        if x.is_float:
            raise fail(f"cannot {op} {x.type}", "bits are those of integers and bools")
        return
    if op in SHIFTS and not x.is_integer:
        raise fail(f"cannot {op} {x.type}", "shifts are of integers")
    if x.is_bool:
        raise fail(f"cannot {op} {x.type}", "bool takes & | ^ ~ and comparisons; cast it for arithmetic")
    if op in ("div", "atan2") and x.is_integer:
        raise fail(f"cannot {op} {x.type}", "integers divide by //" if op == "div" else "cast it first")
    if op == "pow" and x.is_integer and not (isinstance(rhs, int) and rhs >= 0):
        raise fail(f"cannot raise {x.type} to that power", "integers take non-negative numbers as exponents")


def where(condition: Node, a: Operand, b: Operand) -> Node:
    """`a` where the condition holds, else `b`."""
    if not condition.is_bool:
        raise fail(f"where: the condition is {condition.type}, not bool", "compare it first: x != 0")
    x, y = _typed("where", (a, b))
    shape = broadcast_shapes(condition.shape, x.shape)
    operands = [broadcast_to(node, shape) for node in (condition, x, y)]
    return Node("where", operands, shape, x.element)


def clip(x: Node, lo: Operand, hi: Operand) -> Node:
    """Each element moved into lo..hi."""
    if x.is_bool:
        raise fail(f"cannot clip {x.type}", "cast it first: x.astype('i32')")
    operands = _typed("clip", (x, lo, hi))
    return Node("clamp", operands, operands[0].shape, x.element)


def astype(x: Node, element: str) -> Node:
    """The array in another element type, rounded to nearest even or truncated."""
    return x if x.element == element else Node("cast", (x,), x.shape, element)


def bitcast(x: Node, element: str) -> Node:
    """The same bits as another element type of the same size."""
    if DTYPES[element].itemsize != DTYPES[x.element].itemsize:
        raise fail(f"cannot bitcast {x.type} to {element}: their sizes differ")
    return Node("bitcast", (x,), x.shape, element)
