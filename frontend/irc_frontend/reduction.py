"""Reductions, scans and the composed normalizations, on nodes."""

from __future__ import annotations

from math import prod

from irc_frontend.graph import Attributes, Node, fail
from irc_frontend.shapes import Axes, axes_of, axis_of
from irc_frontend.structure import reshape

ACCUMULATING = frozenset(["sum", "prod", "mean", "var"])
EXTREMES = frozenset(["max", "min"])
LOGICAL = frozenset(["any", "all"])

_WIDENED = frozenset(["i8", "u8", "i16", "bool"])
"""Element types whose sums are i32."""


def reduce(
    op: str, x: Node, axes: Axes, keepdims: bool = False, element: str | None = None, correction: int | None = None
) -> Node:
    """A reduction over axes. `element` is the type that `sum prod mean var` give and accumulate into."""
    named = axes_of(axes, x.rank)
    if op in LOGICAL and not x.is_bool:
        raise fail(f"cannot take {op} of {x.type}", "compare it first: x != 0")
    if op in EXTREMES:
        _check_extreme(op, x, named)
    shape = [extent for axis, extent in enumerate(x.shape) if axis not in named]
    attributes: Attributes = (("axes", named),)
    if correction is not None:
        attributes = (*attributes, ("correction", correction))
    result = Node(op, (x,), shape, result_element(op, x, element), attributes)
    return reshape(result, _kept(x, named)) if keepdims else result


def _check_extreme(op: str, x: Node, axes: tuple[int, ...]) -> None:
    if x.is_bool:
        raise fail(f"cannot take {op} of {x.type}", "any and all reduce bools")
    result = prod(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    if result and not prod(x.shape):
        raise fail(f"{op} over no elements has no value: {x.type}")


def result_element(op: str, x: Node, wanted: str | None) -> str:
    """The element type of a reduction, where `wanted` does not say it."""
    if op not in ACCUMULATING:
        return x.element
    if wanted is not None:
        return wanted
    if op in ("mean", "var"):
        return x.element if x.is_float else "f32"
    return "i32" if x.element in _WIDENED else x.element


def _kept(x: Node, axes: tuple[int, ...]) -> list[int]:
    return [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]


def arg_reduce(op: str, x: Node, axis: int | None, keepdims: bool = False) -> Node:
    """`argmax` or `argmin`, i64: along one axis, or of the flattened array."""
    if x.is_bool:
        raise fail(f"cannot take {op} of {x.type}", "cast it first: x.astype('i32')")
    flat = reshape(x, [prod(x.shape)]) if axis is None else x
    at = 0 if axis is None else axis_of(axis, x.rank)
    shape = [*flat.shape[:at], *flat.shape[at + 1 :]]
    if prod(shape) and not flat.shape[at]:
        raise fail(f"{op} over no elements has no value: {x.type}")
    result = Node(op, (flat,), shape, "i64", (("axis", at),))
    if not keepdims:
        return result
    return reshape(result, _kept(x, axes_of(axis, x.rank)))


def along(op: str, x: Node, axis: int | None) -> Node:
    """`cumsum cumprod sort`, along one axis, or of the flattened array."""
    if x.is_bool:
        raise fail(f"cannot take {op} of {x.type}", "cast it first: x.astype('i32')")
    flat = reshape(x, [prod(x.shape)]) if axis is None else x
    return Node(op, (flat,), flat.shape, x.element, (("axis", axis_of(axis or 0, flat.rank)),))


def normalize(op: str, x: Node, axis: int, eps: float | None = None) -> Node:
    """`softmax log_softmax layer_norm rms_norm`."""
    if not x.is_float:
        raise fail(f"cannot take {op} of {x.type}", "cast it first: x.astype('f32')")
    attributes: Attributes = (("axis", axis_of(axis, x.rank)),)
    if eps is not None:
        attributes = (*attributes, ("eps", float(eps)))
    return Node(op, (x,), x.shape, x.element, attributes)
