"""Values of arguments with which the tuner times a kernel: what the kernel does must not depend on a lucky draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import is_ascending, is_cast, is_view, shape_of
from irc.dialects import nd
from irc.dialects.kernel import FusedOp
from irc.dialects.nd.base import integer
from irc.ir.iteration import is_broadcast
from irc.runtime.artifact import ArraySpec
from irc.runtime.compare import TOLERANCES, Array

DRAWN = 1 << 20
"""Elements of an argument that are drawn; a larger one repeats them."""

SEED = 20


def drawn_arguments(module: ModuleOp, specs: Sequence[ArraySpec]) -> list[Array]:
    """Values of the arguments of a module's function, flat, up to `DRAWN` of each: normal floats, small integers of 8
    bits. Wider integers are what they say of the others: ends of groups make equal groups, and numbers below which
    positions lie let in all positions. Others may be indices, and are 0: there is always one."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration)
    return [_drawn(*each) for each in zip(range(len(specs)), specs, function.args, strict=True)]


def _drawn(number: int, spec: ArraySpec, argument: SSAValue) -> Array:
    random, count = np.random.default_rng((SEED, number)), min(spec.size, DRAWN)
    if spec.element in TOLERANCES:
        return random.standard_normal(count, np.float32).astype(spec.dtype)
    if spec.dtype.itemsize > 1:
        return _bounds(argument, count).astype(spec.dtype)
    return random.integers(0, 2, count).astype(spec.dtype)


def _bounds(argument: SSAValue, count: int) -> Array:
    """What integers say of other arrays, by the first use that does."""
    for op, value in _uses(argument):
        if isinstance(op, nd.GroupedMatmulOp) and value is op.ends:
            rows = shape_of(op.lhs)[integer(op.lhs_contract) if op.contracts_rows else op.lhs_free]
            return (np.arange(count) + 1) * rows // count
        if isinstance(op, (nd.LessOp, nd.LessEqualOp)) and value is op.rhs:
            return np.full(count, _positions(op.lhs))
        if isinstance(op, (nd.GreaterOp, nd.GreaterEqualOp)) and value is op.lhs:
            return np.full(count, _positions(op.rhs))
    return np.zeros(count, np.int64)


def _uses(value: SSAValue) -> Iterable[tuple[Operation, SSAValue]]:
    """The ops that read a value, into kernels and behind views, casts and broadcasts, with what they read."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, FusedOp):
            yield from _uses(op.block.args[use.index])
        elif _keeps_numbers(op):
            yield from _uses(op.results[0])
        else:
            yield op, value


def _positions(value: SSAValue) -> int:
    """How many there are, where the value is positions along an axis; else 0."""
    while isinstance(value.owner, Operation) and _keeps_numbers(value.owner):
        value = value.owner.operands[0]
    return shape_of(value)[integer(value.owner.axis)] if isinstance(value.owner, nd.IotaOp) else 0


def _keeps_numbers(op: Operation) -> bool:
    return is_view(op) or is_cast(op) or is_ascending(op) or is_broadcast(op)
