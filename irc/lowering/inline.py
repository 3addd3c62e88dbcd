"""Scalar bodies of tile ops in the code of a thread."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue

from irc.dialects import tile
from irc.lowering.values import Code
from irc.support.diagnostics import IrcError


def inline(code: Code, body: Region, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """The scalar body on some arguments; gives what it yields."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.block.args, arguments, strict=True))
    for op in body.block.ops:
        known(code, op, mapping)
        if isinstance(op, tile.YieldOp):
            return [mapping.get(v, v) for v in op.operands]
        with code.e.at(op.location):
            code.e.insert(op.clone(mapping))
    raise IrcError("a scalar body without tile.yield", body.parent.location if body.parent else None)


def known(code: Code, op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
    """Adds what an op of a body takes from around it."""
    for operand in op.operands:
        if operand not in mapping and operand in code.values:
            mapping[operand] = code.ssa(operand)
