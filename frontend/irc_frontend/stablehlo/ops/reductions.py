"""Rules of reductions over axes."""

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
    if "applies" in op.words:
        return _reduced(arrays[0], starts[0], axes, op.words[1], op)
    names = _joined(op.regions[0])
    if names is None and len(arrays) == 2:
        return _argument(op, arrays, axes)
    if names is None:
        joined_by(op.regions[0])
        raise IrcError(f"a reduction of {len(arrays)} arrays that depend on each other is not supported")
    return [_reduced(x, start, axes, name, op) for x, start, name in zip(arrays, starts, names, strict=True)]


def _joined(body: Body) -> list[str] | None:
    """The op that joins the two elements of each array, where it reads no others."""
    names = [name for name, _ in body.arguments]
    results = body.ops[-1].operands if body.ops else []
    by_result = {name: op for op in body.ops for name in op.results}
    if len(results) * 2 != len(names):
        return None
    found: list[str] = []
    for result, left, right in zip(results, names[: len(results)], names[len(results) :], strict=True):
        op = by_result.get(result)
        if op is None or sorted(op.operands) != sorted((left, right)):
            return None
        found.append(op.name)
    return found


def _reduced(x: Tensor, start: Tensor, axes: tuple[int, ...], name: str, op: Op) -> Tensor:
    if name not in _REDUCTIONS or (name in ("stablehlo.and", "stablehlo.or") and not x.node.is_bool):
        raise IrcError(f"a reduction by {name} is not supported")
    reduce = _REDUCTIONS[name][x.node.is_bool]
    if not x.size:
        return ir.broadcast_to(start, op.types[-1].shape)
    is_sum = name in ("stablehlo.add", "stablehlo.multiply") and not x.node.is_bool
    found = reduce(x, axes, x.element) if is_sum else reduce(x, axes)
    if is_neutral(start, name):
        return found
    joined = RULES[name](op, found, ir.broadcast_to(start, found.shape))
    assert isinstance(joined, Tensor)
    return joined


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
