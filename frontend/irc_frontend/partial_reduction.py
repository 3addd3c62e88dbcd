"""Reductions of the elements that a mask chooses, and from an initial value, as numpy's `where` and `initial` are."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irc_frontend.elementwise import Number, apply, astype, broadcast_to, constant, where
from irc_frontend.graph import Node, fail
from irc_frontend.reduction import EXTREMES, LOGICAL, reduce, result_element
from irc_frontend.shapes import Axes, axes_of
from irc_frontend.structure import reshape

_NEUTRAL: dict[str, Number] = {"sum": 0, "prod": 1, "any": False, "all": True}
_JOINED = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


@dataclass(frozen=True)
class Part:
    """What is reduced: the elements where the mask holds, all where it is None, and the initial value where there is
    one."""

    mask: Node | None = None
    initial: Number | None = None

    @property
    def is_all(self) -> bool:
        return self.mask is None and self.initial is None


def reduce_part(
    op: str,
    x: Node,
    axes: Axes,
    keepdims: bool,
    element: str | None = None,
    part: Part = Part(),
    correction: int | None = None,
) -> Node:
    """The reduction `op`; numbers are truth values of `any` and `all` where they are not 0."""
    if op in LOGICAL and not x.is_bool:
        x = apply("not_equal", x, 0)
    if part.is_all:
        return reduce(op, x, axes, keepdims, element, correction)
    if part.mask is not None and not part.mask.is_bool:
        raise fail(f"{op}: where is a mask of bools, found {part.mask.type}", "compare it first: x != 0")
    if op in ("mean", "var"):
        return _moment(op, x, axes, keepdims, element, part, correction or 0)
    return _reduced(op, x, axes, keepdims, element, part)


def _reduced(op: str, x: Node, axes: Axes, keepdims: bool, element: str | None, part: Part) -> Node:
    neutral = _NEUTRAL.get(op, part.initial)
    if neutral is None:
        raise fail(f"{op} of the elements where a mask holds takes an initial value: initial=")
    chosen = x if part.mask is None else where(broadcast_to(part.mask, x.shape), x, _fitting(neutral, x))
    if op in EXTREMES and not prod(x.shape):
        shape = reduce("sum", chosen, axes, keepdims).shape
        return constant(_fitting(neutral, x), shape, x.element)
    result = reduce(op, chosen, axes, keepdims, element)
    if part.initial is None:
        return result
    if op not in _JOINED:
        raise fail(f"{op} takes no initial value")
    return apply(_JOINED[op], result, _fitting(part.initial, result))


def _fitting(number: Number, x: Node) -> Number:
    return bool(number) if x.is_bool else number


def _moment(op: str, x: Node, axes: Axes, keepdims: bool, element: str | None, part: Part, correction: int) -> Node:
    """A mean or a variance of the chosen elements, by sums and counts."""
    if part.mask is None or part.initial is not None:
        raise fail(f"{op} takes no initial value")
    made = result_element(op, x, element)
    wide = "f64" if made == "f64" else "f32"
    mask, values = broadcast_to(part.mask, x.shape), astype(x, wide)
    count = reduce("sum", astype(mask, wide), axes, True)
    mean = apply("div", reduce("sum", where(mask, values, 0.0), axes, True), count)
    if op == "var":
        apart = apply("sub", values, broadcast_to(mean, x.shape))
        squares = reduce("sum", where(mask, apply("mul", apart, apart), 0.0), axes, True)
        mean = apply("div", squares, apply("maximum", apply("sub", count, float(correction)), 0.0))
    if keepdims:
        return astype(mean, made)
    named = axes_of(axes, x.rank)
    return reshape(astype(mean, made), [extent for axis, extent in enumerate(x.shape) if axis not in named])
