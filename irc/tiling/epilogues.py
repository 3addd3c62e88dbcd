"""Elementwise work on what a launch gives becomes a part of its program: done before the program stores.

A program stores each element of a result at its place, and reads none of them. So an op on the result, element by
element, is done on the tile before it is stored. What else the op reads is loaded at the same places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue, Use

from irc.analysis.op_classes import is_cast, is_contraction, is_elementwise, is_fusible, is_made, is_unit_reshape
from irc.dialects import nd
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd.base import element_of, shape_of
from irc.ir.blocks import behind
from irc.ir.walks import depending_on

MAX_OPS = 64
"""Ops that a result's epilogue has at most."""


@dataclass(frozen=True)
class Epilogue:
    """The work on one result of a launch. ops: in order; needed: the values that are stored, at least one."""

    result: SSAValue
    ops: Sequence[Operation]
    needed: Sequence[SSAValue]

    def read(self) -> Iterator[SSAValue]:
        """The arrays that it reads beside the result."""
        inner = {self.result, *(op.results[0] for op in self.ops)}
        found: dict[SSAValue, None] = {}
        for op in self.ops:
            for operand in op.operands:
                if operand not in inner:
                    found.update(dict.fromkeys(sources(operand)))
        yield from found


def sources(value: SSAValue) -> Iterator[SSAValue]:
    """The arrays in memory that a value is computed from where it is read."""
    if (op := computed_by(value)) is None:
        yield value
        return
    for operand in op.operands:
        yield from sources(operand)


def computed_by(value: SSAValue) -> Operation | None:
    """The op of a value that is computed where it is read: a constant, a broadcast, a slice, a cast, and elementwise
    work that nobody else needs. None where it is read from memory."""
    op = value.owner
    if isinstance(op, Block):
        return None
    if isinstance(op, nd.ConstantOp):
        return op if op.splat_value is not None else None
    is_read_through = isinstance(op, nd.BroadcastOp | nd.SliceOp) or is_unit_reshape(op) or is_cast(op)
    return op if is_read_through or (is_elementwise(op) and value.has_one_use()) else None


def epilogue_of(launch: LaunchOp, result: SSAValue) -> Epilogue | None:
    """The epilogue of a result that saves a launch: one without which its values would be stored by another kernel."""
    dependent = dict.fromkeys(depending_on([launch], behind(launch)))
    inner: dict[SSAValue, None] = {result: None}
    for op in dependent:
        if _may_absorb(op, inner, dependent) and len(inner) <= MAX_OPS:
            inner[op.results[0]] = None
    needed = [value for value in inner if value is not result and any(map(_is_stored_for, value.uses))]
    kept = _before(needed, inner)
    ops = [op for op in dependent if len(op.results) == 1 and op.results[0] in kept]
    return Epilogue(result, ops, needed) if needed else None


def _may_absorb(op: Operation, inner: dict[SSAValue, None], dependent: dict[Operation, None]) -> bool:
    """Whether an op is done element by element on values of the epilogue, and on arrays that are there before it."""
    if not is_elementwise(op) or len(op.results) != 1:
        return False
    result = next(iter(inner))
    others = [operand for operand in op.operands if operand not in inner]
    read = [source for other in others for source in sources(other)]
    if shape_of(op.results[0]) != shape_of(result) or len(others) == len(op.operands):
        return False
    values = [op.results[0], *read]
    return (
        all(isinstance(each.owner, Block) or each.owner not in dependent for each in (*others, *read))
        and all(element_of(each).name != "u8" for each in values)
        and not any(isinstance(each.owner, Operation) and is_made(each.owner) for each in read)
    )


def _is_stored_for(use: Use) -> bool:
    """Whether the user of a value reads it from memory in any case."""
    op = use.operation
    return is_contraction(op) or not is_fusible(op)


def _before(needed: Sequence[SSAValue], inner: dict[SSAValue, None]) -> set[SSAValue]:
    """The values of the epilogue that others are computed from."""
    found, stack = set(needed), list(needed)
    while stack:
        op = stack.pop().owner
        assert isinstance(op, Operation)
        for operand in op.operands:
            if operand in inner and operand not in found and isinstance(operand.owner, Operation):
                found.add(operand)
                if not isinstance(operand.owner, LaunchOp):
                    stack.append(operand)
    return found
