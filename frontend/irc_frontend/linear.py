"""Matrix products, on nodes."""

from __future__ import annotations

from irc_frontend.elementwise import broadcast_to
from irc_frontend.graph import Node, fail
from irc_frontend.shapes import broadcast_shapes

PRECISIONS = ("default", "f32", "tf32", "bf16")

_RESULTS = {"f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32"}
"""The element type of a product, where it is not that of the operands."""


def matmul(a: Node, b: Node, element: str | None = None, precision: str = "default") -> Node:
    """numpy.matmul: the last axis of `a` with the last but one of `b` (or its only one); leading axes broadcast as
    batches."""
    if precision not in PRECISIONS:
        raise fail(f"unknown precision {precision}", f"it is one of {', '.join(PRECISIONS)}")
    _check(a, b)
    if a.rank > 2 or b.rank > 2:
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = a if a.rank < 2 else broadcast_to(a, (*batch, *a.shape[-2:]))
        b = b if b.rank < 2 else broadcast_to(b, (*batch, *b.shape[-2:]))
    return _product(a, b, element or _RESULTS.get(a.element, a.element), precision)


def _check(a: Node, b: Node) -> None:
    if a.element != b.element:
        raise fail(f"cannot multiply {a.type} by {b.type}", f"cast one of them: x.astype({a.element!r})")
    if a.is_bool:
        raise fail(f"cannot multiply {a.type} by {b.type}", "cast them first: x.astype('i32')")
    if not a.rank or not b.rank:
        raise fail(f"cannot multiply {a.type} by {b.type}: a product needs axes", "* multiplies by numbers")
    if a.shape[-1] != b.shape[-2 if b.rank > 1 else 0]:
        raise fail(f"cannot multiply {a.type} by {b.type}: the contracted extents differ")


def _product(a: Node, b: Node, element: str, precision: str) -> Node:
    """The op. A 1-d operand has no batch axes; then the other one's are free axes, which come out at the same place."""
    batches = a.rank - 2 if a.rank > 1 and b.rank > 1 else 0
    at_a, at_b = a.rank - 1, b.rank - 2 if b.rank > 1 else 0
    batch = tuple(range(batches))
    free_a = [extent for axis, extent in enumerate(a.shape) if axis != at_a and axis >= batches]
    free_b = [extent for axis, extent in enumerate(b.shape) if axis != at_b and axis >= batches]
    attributes = (
        ("lhs_batch", batch),
        ("rhs_batch", batch),
        ("lhs_contract", (at_a,)),
        ("rhs_contract", (at_b,)),
        ("precision", precision),
    )
    return Node("matmul", (a, b), [*a.shape[:batches], *free_a, *free_b], element, attributes)
