"""Rules of reductions, over axes and over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.stablehlo.rules import RULES, rule
from irc_frontend.stablehlo.syntax import Body, Op
from irc_frontend.tensor import Tensor

Reduce = Callable[..., Tensor]

_REDUCTIONS: dict[str, tuple[Reduce, Reduce]] = {
    "stablehlo.add": (ir.sum, ir.any),
    "stablehlo.maximum": (ir.max, ir.any),
    "stablehlo.minimum": (ir.min, ir.all),
    "stablehlo.multiply": (ir.prod, ir.all),
    "stablehlo.and": (ir.min, ir.all),
    "stablehlo.or": (ir.max, ir.any),
}
"""By what joins two elements: of numbers, and of bools."""

_ARGUMENT = "compare compare or compare compare and or select select return".split()
"""The ops of the reducer by which JAX writes argmax and argmin."""


def joined_by(body: Body) -> str:
    """The op that a reducer joins its two arguments by."""
    names = [name for name, _ in body.arguments]
    if len(body.ops) == 2 and sorted(body.ops[0].operands) == sorted(names):
        return body.ops[0].name
    raise IrcError("a reducer of several ops is not supported", body.ops[0].span if body.ops else None)


@rule("stablehlo.reduce")
def _reduce(op: Op, *operands: Tensor) -> Any:
    is_pretty = "across" in op.words
    axes = tuple(op.attrs["dimensions"])
    half = len(operands) // 2
    arrays, starts = (operands[::2], operands[1::2]) if is_pretty else (operands[:half], operands[half:])
    if len(arrays) == 2:
        return _argument(op, arrays, axes)
    if len(arrays) != 1:
        raise IrcError(f"a reduction of {len(arrays)} arrays is not supported")
    name = op.words[1] if "applies" in op.words else joined_by(op.regions[0])
    x, start = arrays[0], starts[0]
    if name not in _REDUCTIONS or (name in ("stablehlo.and", "stablehlo.or") and not x.node.is_bool):
        raise IrcError(f"a reduction by {name} is not supported")
    reduce = _REDUCTIONS[name][x.node.is_bool]
    if not x.size:
        return ir.broadcast_to(start, op.types[-1].shape)
    is_sum = name in ("stablehlo.add", "stablehlo.multiply") and not x.node.is_bool
    found = reduce(x, axes, x.element) if is_sum else reduce(x, axes)
    return found if is_neutral(start, name) else RULES[name](op, found, ir.broadcast_to(start, found.shape))


def is_neutral(start: Tensor, name: str) -> bool:
    """Whether a start changes nothing: it is known, and that of the operation."""
    if start.node.is_recorded:
        return False
    with ir.target("interpret"):
        value = start.numpy().item()
    neutral = {"stablehlo.add": 0, "stablehlo.multiply": 1, "stablehlo.or": False, "stablehlo.and": True}
    if name in neutral:
        return value == neutral[name]
    sign = -1 if name == "stablehlo.maximum" else 1
    if start.node.is_bool:
        return value == (sign > 0)
    if start.node.is_float:
        return value == sign * float("inf")
    limits = np.iinfo(start.dtype)
    return value == (limits.max if sign > 0 else limits.min)


def _argument(op: Op, arrays: tuple[Tensor, ...], axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The greatest or least, and where it is: the first of equals."""
    x, places = arrays
    body = op.regions[0]
    is_known = [each.name.removeprefix("stablehlo.") for each in body.ops] == _ARGUMENT
    direction = body.ops[0].words[0] if is_known and body.ops[0].words else ""
    is_iota = places.node.op == "iota" and dict(places.node.attributes)["axis"] == axes[0]
    if not is_iota or len(axes) != 1 or direction not in ("GT", "LT"):
        raise IrcError("a reduction of two arrays that is no argmax or argmin is not supported", body.ops[0].span)
    value, where = (ir.max, ir.argmax) if direction == "GT" else (ir.min, ir.argmin)
    return value(x, axes), where(x, axes[0]).astype(places.element)


_MONOIDS = {"stablehlo.add": "sum", "stablehlo.maximum": "max", "stablehlo.minimum": "min"}


@rule("stablehlo.reduce_window")
def _reduce_window(op: Op, x: Tensor, start: Tensor) -> Tensor:
    name, given = joined_by(op.regions[0]), op.attrs
    if name not in _MONOIDS or not is_neutral(start, name):
        raise IrcError(f"a reduction of windows by {name}, or from such a start, is not supported")
    pads = given.get("padding", [[0, 0]] * x.ndim)
    ones = [1] * x.ndim
    return ir.reduce_window(
        x,
        given["window_dimensions"],
        _MONOIDS[name],
        strides=given.get("window_strides", ones),
        low=[each[0] for each in pads],
        high=[each[1] for each in pads],
        dilation=given.get("window_dilations", ones),
        input_dilation=given.get("base_dilations", ones),
        dtype=x.element if name == "stablehlo.add" else None,
    )
