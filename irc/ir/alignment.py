"""Arguments that begin at smaller multiples of bytes than kernels otherwise take for granted. They are attributes of a
function's arguments, `{irc.align = 2}`: views of larger arrays, that a caller would else have to copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import SSAValue

ALIGN = "irc.align"

DEFAULT_ALIGN = 16
"""Bytes of which arrays begin at a multiple where nothing else is said: what TMA and vectors of 16 bytes need."""

ALIGNMENTS = (1, 2, 4, 8, 16)


def align(function: FuncOp, arguments: Mapping[int, int]) -> None:
    """Says for arguments, by their numbers, at multiples of how many bytes they begin. IrcError for what is none, for
    less than an element, and for a donated argument, whose memory gets a result."""
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64

    from irc.ir.donation import DONATED
    from irc.ir.dtypes import element_of

    inputs = function.function_type.inputs.data
    known = function.arg_attrs.data if function.arg_attrs is not None else [DictionaryAttr({}) for _ in inputs]
    attributes = list(known)
    for argument, size in arguments.items():
        if not 0 <= argument < len(inputs):
            raise IrcError(f"cannot align argument {argument} of {len(inputs)}", function.location)
        least = element_of(inputs[argument]).size
        if size not in ALIGNMENTS or size < min(least, DEFAULT_ALIGN):
            among = ", ".join(str(each) for each in ALIGNMENTS if each >= least)
            found = f"argument {argument} begins at a multiple of {size} bytes"
            raise IrcError(f"{found}: expected one of {among}", function.location)
        if DONATED in known[argument].data and size < DEFAULT_ALIGN:
            message = f"argument {argument} is donated, and begins at a multiple of {size} bytes"
            raise IrcError(message, function.location, f"what results are written to begins at {DEFAULT_ALIGN}")
        attributes[argument] = DictionaryAttr({**known[argument].data, ALIGN: IntegerAttr(size, i64)})
    function.arg_attrs = ArrayAttr(attributes)


def alignments(function: FuncOp) -> dict[int, int]:
    """The bytes of arguments for which they are said, by their numbers."""
    count = 0 if function.arg_attrs is None else len(function.arg_attrs)
    said = ((argument, _said_alignment(function, argument)) for argument in range(count))
    return {argument: size for argument, size in said if size is not None}


def _said_alignment(function: FuncOp, argument: int) -> int | None:
    from xdsl.dialects.builtin import IntegerAttr

    if function.arg_attrs is None:
        return None
    attribute = function.arg_attrs.data[argument].data.get(ALIGN)
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def alignment_of(value: SSAValue) -> int:
    """Of what holds an array, in a function or in a kernel, the bytes of which it begins at a multiple."""
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import BlockArgument, Operation

    if not isinstance(value, BlockArgument):
        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "nd.reshape":
            return alignment_of(owner.operands[0])
        return DEFAULT_ALIGN
    parent = value.block.parent_op()
    if isinstance(parent, FuncOp):
        said = _said_alignment(parent, value.index)
        return DEFAULT_ALIGN if said is None else said
    if parent is not None and parent.name == "kernel.fused":
        return alignment_of(parent.operands[value.index])
    return DEFAULT_ALIGN
