"""Classes of `nd` ops, as fusion sees them: what an op does to the iteration space, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineSymExpr

from irc.dialects.nd.table import ROWS, Cost
from irc.ir.dtypes import element_of
from irc.ir.extents import dims_of
from irc.ir.iteration import CONTRACTIONS, Kind, Pattern, is_broadcast, iteration_of, pattern_of, permutation_of
from irc.support.extents import varying

LARGE = 4
"""An array counts when it has at least this fraction (1 / LARGE) of the elements of the largest."""

POSITIONS = frozenset({"argmax", "argmin"})
"""Monoids of positions: parts reduce to the whole where their extremes are known too."""


# What an op does to the iteration space


def is_elementwise(op: Operation) -> bool:
    """Whether the op is a scalar function of the elements at each place."""
    return pattern_of(op) is Pattern.ELEMENTWISE


def is_move(op: Operation) -> bool:
    """Whether the op chooses and places elements alone."""
    return pattern_of(op) is Pattern.MOVE


def is_window(op: Operation) -> bool:
    """Whether a monoid joins the elements of a window, which other windows have, too."""
    return pattern_of(op) is Pattern.WINDOW


def reads_elsewhere(op: Operation) -> bool:
    """Whether elements of the result are of elements at other places of an operand, a few for each."""
    return is_move(op) or is_window(op)


def taps_of(op: Operation) -> int:
    """At how many places the op reads its operand for an element of its result: those of a window."""
    return prod(dim.extent for dim in iteration_of(op).dims if dim.kind is Kind.WINDOW) if is_window(op) else 1


def is_made(op: Operation) -> bool:
    """Whether elements come from their places alone."""
    return pattern_of(op) is Pattern.MADE


def is_reduction(op: Operation) -> bool:
    """Whether a monoid joins elements along axes that the result does not have."""
    return pattern_of(op) is Pattern.REDUCE


def is_scan(op: Operation) -> bool:
    """Whether a monoid joins elements with those before them."""
    return pattern_of(op) is Pattern.SCAN


def is_product(op: Operation) -> bool:
    """Whether the op is a product of matrices: each element of an operand meets all of the other's row or column."""
    return pattern_of(op) is Pattern.PRODUCT


def is_contraction(op: Operation) -> bool:
    """Whether the op sums products of two operands' elements, over windows too: work for matrix instructions."""
    return pattern_of(op) in CONTRACTIONS


def precision_of(op: Operation) -> str | None:
    """How a contraction multiplies f32 operands, `f32 tf32 bf16`; None where nothing is asked for."""
    value = op.properties.get("precision")
    return value.data if isinstance(value, StringAttr) and value.data != "default" else None


def is_grouped(op: Operation) -> bool:
    """Whether the op is a product in groups whose ends are data."""
    return pattern_of(op) is Pattern.GROUPED


def monoid_of(op: Operation) -> str:
    """What joins the elements of a reduction or scan that has axes."""
    return next(dim.monoid for dim in iteration_of(op).dims if dim.monoid is not None)


def is_position(op: Operation) -> bool:
    """Whether the op reduces to a position."""
    return is_reduction(op) and any(dim.monoid in POSITIONS for dim in iteration_of(op).dims)


def is_splittable(op: Operation) -> bool:
    """Whether the op is a reduction whose parts reduce to the whole by the same op."""
    return is_reduction(op) and not is_position(op)


def has_parts(op: Operation) -> bool:
    """Whether the op is a reduction that can be cut into tiles of which it is known how many there are: what it reduces
    is no extent that a call brings."""
    if not is_reduction(op):
        return False
    dims = dims_of(op)
    return not dims or not any(d.kind is Kind.REDUCE and varying(d.extent, dims) for d in iteration_of(op).dims)


def is_fusible(op: Operation) -> bool:
    """Whether a kernel can hold the op. Others (`sort topk`) stay outside."""
    return pattern_of(op) is not None


def is_costly(op: Operation) -> bool:
    """Whether the op is elementwise and of many instructions."""
    row = ROWS.get(type(op))
    return row is not None and row.cost is not Cost.CHEAP


def is_cheap(op: Operation) -> bool:
    """Whether the op is elementwise and of an instruction or two."""
    return is_elementwise(op) and not is_costly(op)


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


def reduced_axes(op: Operation) -> tuple[int, ...]:
    """The operand's axes that a reduction or a scan runs over."""
    iteration = iteration_of(op)
    return iteration.axes(iteration.inputs[0].map, "s" if is_scan(op) else "r")


def cost_of(op: Operation) -> int:
    """Of an elementwise op for one element, in cheap ops; nothing for ops that move or make."""
    if is_costly(op):
        return COST_OF_COSTLY
    return int(is_elementwise(op))


def instructions_of(op: Operation) -> int:
    """About how many machine instructions an elementwise op is for an element, relaxed where it can be, in f32; a cast
    is part of the op before it."""
    row = ROWS.get(type(op))
    return row.instructions if row is not None else int(is_elementwise(op) and not is_cast(op))


def is_cast(op: Operation) -> bool:
    """Whether the op converts elements: only that rounds."""
    return op.name == "nd.cast"


def is_view(op: Operation) -> bool:
    """Whether the op is a reshape: of a stored array it costs nothing."""
    return op.name == "nd.reshape"


def behind_views(value: SSAValue) -> SSAValue:
    """What holds the bytes of a value: reshapes of whole arrays are views."""
    while isinstance(value.owner, Operation) and is_view(value.owner):
        value = value.owner.operands[0]
    return value


def is_unit_reshape(op: Operation) -> bool:
    """Whether the op is a reshape that adds and removes dimensions of extent 1 alone."""
    return is_view(op) and _extents(op.operands[0]) == _extents(op.results[0])


def _extents(value: SSAValue) -> tuple[int, ...]:
    return tuple(extent for extent in shape_of(value) if extent != 1)


def is_widening(op: Operation) -> bool:
    """Whether the op is a cast that loads less than it gives: it is cheaper to repeat than to store."""
    return is_cast(op) and element_of(op.operands[0].type).size <= element_of(op.results[0].type).size


def is_transparent(op: Operation) -> bool:
    """Whether users repeat the op instead of reading a stored result: it reads no more than it gives, and is free."""
    return is_made(op) or is_broadcast(op) or is_widening(op) or is_unit_reshape(op) or is_ascending(op)


def is_ascending(op: Operation) -> bool:
    """Whether the op says of an array that it does not fall: what users make of that, they make of the array itself."""
    return op.name == "nd.ascending"


def gathered_axes(op: Operation) -> tuple[int, ...]:
    """The axes of a move's first operand along which it reads at indices of another operand."""
    if not is_move(op):
        return ()
    read = iteration_of(op).inputs[0].map
    return tuple(axis for axis, e in enumerate(read.results) if isinstance(e, AffineSymExpr))


def is_gather(op: Operation) -> bool:
    """Whether the op reads its first operand at indices, at several for each place along the other axes."""
    if not gathered_axes(op):
        return False
    iteration = iteration_of(op)
    along = iteration.inputs[0].map.used_dims()
    return prod(dim.extent for i, dim in enumerate(iteration.dims) if i not in along) > 1


def is_permutation(op: Operation) -> bool:
    """Whether the op moves all elements of its operand to other axes; a view does not move them."""
    return not is_view(op) and permutation_of(op) is not None


def moves_memory(op: Operation) -> bool:
    """Whether the op is a permutation that changes the order of elements in memory."""
    if not is_permutation(op):
        return False
    shape = shape_of(op.operands[0])
    order = [axis for axis in permutation_of(op) or () if shape[axis] != 1]
    return order != sorted(order)


def is_transpose(op: Operation) -> bool:
    """Whether the op is a permutation that swaps two groups of neighboring axes, behind those that stay."""
    if not moves_memory(op):
        return False
    order = list(permutation_of(op) or ())
    stay = next(axis for axis, source in enumerate(order) if axis != source)
    moved = order[stay:]
    start = moved.index(stay)
    return moved[start:] + moved[:start] == list(range(stay, len(order)))


def total_cost(ops: Iterable[Operation]) -> int:
    return sum(cost_of(op) for op in ops)
