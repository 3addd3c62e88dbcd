"""Arrays that lie side by side in a larger one: the operands of a concat that no kernel makes (`nd.in_place`). What
makes an operand writes it where it lies in the result, and what reads it reads it there.

They are values of a function, between kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from irc.dialects.nd.base import integer, shape_of
from irc.dialects.nd.shape import ConcatOp, ReshapeOp
from irc.ir.discardable import IN_PLACE
from irc.ir.dtypes import element_of
from irc.support.shapes import reshaped_strides, row_major


@dataclass(frozen=True)
class Part:
    """Bytes of a larger array: from `offset` on, the first `width` of each `pitch`."""

    offset: int
    pitch: int
    width: int


def is_in_place(op: Operation) -> bool:
    """Whether the op is a concat of arrays that lie side by side already."""
    return isinstance(op, ConcatOp) and IN_PLACE in op.attributes


def parts_of(op: ConcatOp) -> list[Part]:
    """Where the operands of a concat lie in its result."""
    return parts_along(list(map(shape_of, op.inputs)), integer(op.axis), element_of(op.result.type).size)


def parts_along(shapes: Sequence[tuple[int, ...]], axis: int, size: int) -> list[Part]:
    """Where arrays of elements of so many bytes lie side by side along an axis."""
    widths = [prod(shape[axis:]) * size for shape in shapes]
    return [Part(sum(widths[:number]), sum(widths), width) for number, width in enumerate(widths)]


def strides_of(value: SSAValue) -> tuple[int, ...]:
    """How far apart the elements of an array of a function lie along each axis, in elements."""
    root = _behind_views(value)
    strides = _strides_of_root(root)
    if strides is None:
        return row_major(shape_of(value))
    found = reshaped_strides(shape_of(root), strides, shape_of(value))
    assert found is not None, "a reshape of an array that lies in a larger one is a view of it"
    return found


def _strides_of_root(root: SSAValue) -> tuple[int, ...] | None:
    """None where the array lies by itself."""
    for operand, concat in _users_in_place(root):
        whole = strides_of(concat.result)
        found = reshaped_strides(shape_of(operand), whole, shape_of(root))
        assert found is not None, "what is reshaped to lie in a larger array is a view of its part"
        return found
    return None


def _users_in_place(value: SSAValue) -> Iterator[tuple[SSAValue, ConcatOp]]:
    """The concats in place of an array, by reshapes too, with the operand that it is of each."""
    for use in value.uses:
        if isinstance(use.operation, ConcatOp) and is_in_place(use.operation):
            yield value, use.operation
        elif isinstance(use.operation, ReshapeOp):
            yield from _users_in_place(use.operation.result)


def lies_in_another(root: SSAValue) -> bool:
    """Whether a concat in place has the array."""
    return any(True for _ in _users_in_place(root))


def made_arrays(value: SSAValue) -> Iterator[SSAValue]:
    """The arrays that are made apart from each other and are together this one: itself, mostly."""
    root = _behind_views(value)
    if isinstance(root.owner, Operation) and is_in_place(root.owner):
        for operand in root.owner.operands:
            yield from made_arrays(operand)
    else:
        yield root


def holder_of(root: SSAValue) -> SSAValue:
    """The largest array that an array lies in; itself where it lies by itself."""
    for _, concat in _users_in_place(root):
        return holder_of(concat.result)
    return root


def _behind_views(value: SSAValue) -> SSAValue:
    """What holds the bytes of a value: reshapes of whole arrays are views."""
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.x
    return value
