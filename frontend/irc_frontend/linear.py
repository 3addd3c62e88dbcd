"""Matrix products, on nodes."""

from __future__ import annotations

from collections.abc import Sequence

from irc_frontend.elementwise import Operand, apply, astype, broadcast_to
from irc_frontend.graph import Node, fail
from irc_frontend.promotion import common_element
from irc_frontend.shapes import axis_of, broadcast_shapes
from irc_frontend.structure import reshape

PRECISIONS = ("default", "f32", "tf32", "bf16")

_RESULTS = {"f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32"}
"""The element type of a product, where it is not that of the operands."""


def matmul(a: Node, b: Node, element: str | None = None, precision: str = "default") -> Node:
    """numpy.matmul: the last axis of `a` with the last but one of `b` (or its only one); leading axes broadcast as
    batches."""
    if precision not in (*PRECISIONS, "f16"):
        raise fail(f"unknown precision {precision}", f"it is one of {', '.join(PRECISIONS)}, f16")
    a, b = _one_element(a, b)
    _check(a, b)
    if precision == "f16" and {a.element, element or a.element} != {"f16"}:
        found = f"{a.type} and {b.type} to {element or a.element}"
        raise fail(f"sums of f16 are of f16 operands and for a result of f16, found {found}")
    if a.rank > 2 or b.rank > 2:
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a = a if a.rank < 2 else broadcast_to(a, (*batch, *a.shape[-2:]))
        b = b if b.rank < 2 else broadcast_to(b, (*batch, *b.shape[-2:]))
    return _product(a, b, element, precision)


def dot(a: Node, b: Operand) -> Node:
    """numpy.dot: as `matmul` up to two axes; beyond, no axes are batches. A number or an array without axes scales."""
    if not isinstance(b, Node) or not a.rank or not b.rank:
        return apply("mul", a, b)
    a, b = _one_element(a, b)
    _check(a, b)
    return contract(a, b, (), (), (a.rank - 1,), (max(b.rank - 2, 0),))


def tensordot(a: Node, b: Node, axes_a: Sequence[int], axes_b: Sequence[int]) -> Node:
    """numpy's: pairs of axes contracted, the others of `a` first."""
    own, other = [axis_of(axis, a.rank) for axis in axes_a], [axis_of(axis, b.rank) for axis in axes_b]
    extents = [a.shape[axis] for axis in own], [b.shape[axis] for axis in other]
    if extents[0] != extents[1] or len(set(own)) < len(own) or len(set(other)) < len(other):
        raise fail(f"cannot contract axes {list(axes_a)} of {a.type} with axes {list(axes_b)} of {b.type}")
    a, b = _one_element(a, b)
    _check_elements(a, b)
    if not own:
        apart = reshape(a, (*a.shape, *([1] * b.rank)))
        return apply("mul", apart, b)
    return contract(a, b, (), (), tuple(own), tuple(other))


def _one_element(a: Node, b: Node) -> tuple[Node, Node]:
    element = common_element("multiply", (a, b))
    return astype(a, element), astype(b, element)


def _check_elements(a: Node, b: Node) -> None:
    if a.element != b.element:
        raise fail(f"cannot multiply {a.type} by {b.type}", f"cast one of them: x.astype({a.element!r})")
    if a.is_bool:
        raise fail(f"cannot multiply {a.type} by {b.type}", "cast them first: x.astype('i32')")


def _check(a: Node, b: Node) -> None:
    _check_elements(a, b)
    if not a.rank or not b.rank:
        raise fail(f"cannot multiply {a.type} by {b.type}: a product needs axes", "* multiplies by numbers")
    if a.shape[-1] != b.shape[-2 if b.rank > 1 else 0]:
        is_turned = b.rank > 1 and a.shape[-1] == b.shape[-1]
        raise fail(
            f"cannot multiply {a.type} by {b.type}: the contracted extents differ",
            "the right one's rows are summed over: permute its last two axes, as x.T does"
            if is_turned
            else "the last axis of the left one meets the last but one of the right one",
        )


def _product(a: Node, b: Node, element: str | None, precision: str) -> Node:
    """A 1-d operand has no batch axes; then the other one's are free axes, which come out at the same place."""
    batch = tuple(range(a.rank - 2)) if a.rank > 1 and b.rank > 1 else ()
    return contract(a, b, batch, batch, (a.rank - 1,), (max(b.rank - 2, 0),), element, precision)


def contract(
    a: Node,
    b: Node,
    batch_a: tuple[int, ...],
    batch_b: tuple[int, ...],
    contract_a: tuple[int, ...],
    contract_b: tuple[int, ...],
    element: str | None = None,
    precision: str = "default",
) -> Node:
    """The op: the result has the batch axes in their order, then a's free axes, then b's."""
    free_a = [extent for axis, extent in enumerate(a.shape) if axis not in batch_a + contract_a]
    free_b = [extent for axis, extent in enumerate(b.shape) if axis not in batch_b + contract_b]
    attributes = (
        ("lhs_batch", batch_a),
        ("rhs_batch", batch_b),
        ("lhs_contract", contract_a),
        ("rhs_contract", contract_b),
        ("precision", precision),
    )
    shape = [*(a.shape[axis] for axis in batch_a), *free_a, *free_b]
    return Node("matmul", (a, b), shape, element or product_element(a.element), attributes)


def grouped_matmul(a: Node, b: Node, ends: Node, element: str | None = None, precision: str = "default") -> Node:
    """`a` [T, K] by the matrix of each row's group, `b` [G, K, N]; or, of `a` [M, T] and `b` [T, N], the product over
    the rows of each group. Group g ends before row `ends[g]`."""
    if precision not in PRECISIONS:
        raise fail(f"unknown precision {precision}", f"it is one of {', '.join(PRECISIONS)}")
    _check_elements(a, b)
    if ends.rank != 1 or not ends.shape[0] or ends.is_float or ends.is_bool:
        raise fail(f"grouped_matmul takes the groups' ends as integers [G], found {ends.type}")
    are_paired = b.rank == 2 or b.shape[:1] == ends.shape
    if a.rank != 2 or b.rank not in (2, 3) or a.shape[1] != b.shape[-2] or not are_paired:
        hint = "it takes [T, K] by [G, K, N], or [M, T] by [T, N]"
        raise fail(f"grouped_matmul cannot combine {a.type} and {b.type} in groups {ends.type}", hint)
    attributes = (("lhs_contract", 1), ("rhs_contract", b.rank - 2), ("rhs_group", 0), ("precision", precision))
    shape = [*(ends.shape if b.rank == 2 else ()), a.shape[0], b.shape[-1]]
    return Node("grouped_matmul", (a, b, ends), shape, element or product_element(a.element), attributes)


def product_element(element: str) -> str:
    """The element type of a product of arrays of that type, where nothing else is said."""
    return _RESULTS.get(element, element)
