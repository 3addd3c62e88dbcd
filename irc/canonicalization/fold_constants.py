"""Constant folding: ops on constants are evaluated when compiled, by what `irc/interpreters` says they mean.

Elementwise ops on splats give splats of any shape. Other results are folded up to `LARGEST` elements, where they are
splats or no larger than a constant that they are made from: a concat or a pad of splats, as a list of elements, would
be memory or a chain of choices in a kernel in place of a comparison of indices.

Arithmetic on f16, bf16 and f8 waits for `widen-arithmetic`: folded before, its result would be rounded where the
program's is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from irc.canonicalization.simplify import of_operands, splat_like
from irc.dialects import nd
from irc.dialects.nd.base import element_of, shape_of
from irc.dialects.nd.declared import is_deferred
from irc.dialects.nd.elementwise import Elementwise
from irc.ir.rewriting import Inserter

LARGEST = 4096
"""Elements of a folded result that is not a splat."""

LARGEST_OPERAND = 65536
"""Elements of an operand that is evaluated."""

REPEATS = (nd.BroadcastOp, nd.TileOp, nd.OneHotOp, nd.RandomOp)
"""Ops that make more elements than they take."""

MOVES = (nd.IndexMapOp, nd.TriangleOp, nd.WhereOp, nd.TakeOp, nd.TakeAlongOp)
"""Ops whose results are elements of their operands (or zero), rounded where those are."""


@of_operands(nd.ConstantOp)
def fold(op: Operation, at: Inserter) -> SSAValue | None:
    """The constant that the op gives, where its operands are constants and folding is allowed."""
    constants: list[nd.ConstantOp] = []
    for operand in op.operands:
        if not isinstance(owner := operand.owner, nd.ConstantOp):
            return None
        constants.append(owner)
    if not constants or len(op.results) != 1 or not isinstance(op, nd.NdOp) or isinstance(op, REPEATS):
        return None
    if _would_round(op):
        return None
    if isinstance(op, Elementwise) and all(constant.splat_value is not None for constant in constants):
        result = _evaluate(op, [constant.array().reshape(-1)[:1] for constant in constants])
        return (
            None if result is None or not result.size else splat_like(at, result.reshape(-1)[0].item(), op.results[0])
        )
    if prod(shape_of(op.results[0])) > LARGEST or any(prod(shape_of(x)) > LARGEST_OPERAND for x in op.operands):
        return None
    result = _evaluate(op, [constant.array() for constant in constants])
    if result is None:
        return None
    folded = nd.ConstantOp.from_array(result)
    listed = max((prod(shape_of(c.result)) for c in constants if c.splat_value is None), default=0)
    return at.value(folded) if folded.splat_value is not None or result.size <= listed else None


def _would_round(op: Operation) -> bool:
    """Whether the op computes a value that is declared narrow and may not be rounded yet."""
    if not element_of(op.results[0]).is_narrow_float or isinstance(op, MOVES):
        return False
    return not isinstance(op, nd.CastOp) or is_deferred(op)


def _evaluate(op: Operation, args: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any] | None:
    """What the op gives for these arrays; None where the interpreter does not know it."""
    # Imported late: only programs with constants to fold need numpy code.
    from irc.interpreters.nd.interpreter import evaluate_op

    try:
        return evaluate_op(op, args)[0]
    except KeyError:
        return None
