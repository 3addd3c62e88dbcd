"""Classes of `nd` ops, as fusion sees them: what an op does to the iteration space, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from irc.ir.dtypes import element_of


def _nd(names: str) -> frozenset[str]:
    return frozenset(f"nd.{name}" for name in names.split())


CHEAP = _nd(
    "abs neg relu sign floor ceil round isnan isinf logical_not bitwise_not bitwise_and bitwise_or bitwise_xor "
    "shift_left shift_right add sub mul minimum maximum equal not_equal less less_equal greater greater_equal where "
    "clamp cast bitcast leaky_relu check_indices"
)
"""Elementwise ops of an instruction or two."""

COSTLY = _nd(
    "exp exp2 expm1 log log2 log1p sqrt rsqrt reciprocal sin cos tan tanh erf sigmoid silu gelu div floordiv mod pow "
    "atan2"
)
"""Elementwise ops of many instructions, or of the special function unit."""

ELEMENTWISE = CHEAP | COSTLY
MADE = _nd("constant iota")
MOVEMENT = _nd("broadcast permute reshape concat pad slice flip take take_along")
SPLITTABLE = _nd("sum prod max min any all")
"""Reductions whose parts reduce to the whole by the same op."""

ARG_REDUCTIONS = _nd("argmax argmin")
"""Reductions to a position, whose parts reduce to the whole where their extremes are known too."""

REDUCTIONS = SPLITTABLE | ARG_REDUCTIONS

SCANS = _nd("cumsum cumprod")
MATMUL = "nd.matmul"
FUSIBLE = ELEMENTWISE | MADE | MOVEMENT | REDUCTIONS | SCANS | {MATMUL}
"""What a kernel can hold. Other ops (`conv attention sort topk`) stay outside."""

COST_OF_COSTLY = 4
"""A costly op in units of a cheap one."""


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The extents of a tensor."""
    type = value if isinstance(value, Attribute) else value.type
    assert isinstance(type, TensorType)
    return type.get_shape()


def size_of(value: SSAValue) -> int:
    """The number of elements of a tensor."""
    return prod(shape_of(value))


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """A property of an `nd` op that is a list of integers, or one integer."""
    attribute = op.properties[name]
    if isinstance(attribute, DenseArrayBase):
        return tuple(cast(DenseArrayBase[Any], attribute).get_values())
    assert isinstance(attribute, IntegerAttr)
    return (cast(IntegerAttr[Any], attribute).value.data,)


def reduced_axes(op: Operation) -> tuple[int, ...]:
    """The axes that a reduction or a scan runs over."""
    return integers(op, "axes" if "axes" in op.properties else "axis")


def cost_of(op: Operation) -> int:
    """Of an elementwise op for one element, in cheap ops; nothing for ops that move or make."""
    if op.name in COSTLY:
        return COST_OF_COSTLY
    return 1 if op.name in CHEAP else 0


INSTRUCTIONS = {"nd.erf": 16, "nd.tanh": 12, "nd.sigmoid": 5, "nd.silu": 6, "nd.exp": 2, "nd.exp2": 1, "nd.cast": 0}
"""Machine instructions for an element, of a relaxed op in f32; a cast is part of the op before it."""


def instructions_of(op: Operation) -> int:
    """Machine instructions of an elementwise op for an element, about."""
    return INSTRUCTIONS.get(op.name, 10 if op.name in COSTLY else int(op.name in CHEAP))


def is_view(op: Operation) -> bool:
    """Whether the op is a reshape: of a stored array it costs nothing."""
    return op.name == "nd.reshape"


def is_unit_reshape(op: Operation) -> bool:
    """Whether the op is a reshape that adds and removes dimensions of extent 1 alone."""
    return is_view(op) and _extents(op.operands[0]) == _extents(op.results[0])


def _extents(value: SSAValue) -> tuple[int, ...]:
    return tuple(extent for extent in shape_of(value) if extent != 1)


def is_widening(op: Operation) -> bool:
    """Whether the op is a cast that loads less than it gives: it is cheaper to repeat than to store."""
    return op.name == "nd.cast" and element_of(op.operands[0].type).size <= element_of(op.results[0].type).size


def is_transparent(op: Operation) -> bool:
    """Whether users repeat the op instead of reading a stored result: it reads no more than it gives, and is free."""
    return op.name in MADE or op.name == "nd.broadcast" or is_widening(op) or is_unit_reshape(op)


def moves_memory(op: Operation) -> bool:
    """Whether the op is a permutation that changes the order of elements in memory."""
    if op.name != "nd.permute":
        return False
    shape = shape_of(op.operands[0])
    order = [axis for axis in integers(op, "permutation") if shape[axis] != 1]
    return order != sorted(order)


def is_transpose(op: Operation) -> bool:
    """Whether the op is a permutation that swaps two groups of neighboring axes, behind those that stay."""
    if not moves_memory(op):
        return False
    order = list(integers(op, "permutation"))
    stay = next(axis for axis, source in enumerate(order) if axis != source)
    moved = order[stay:]
    start = moved.index(stay)
    return moved[start:] + moved[:start] == list(range(stay, len(order)))


def total_cost(ops: Iterable[Operation]) -> int:
    return sum(cost_of(op) for op in ops)
