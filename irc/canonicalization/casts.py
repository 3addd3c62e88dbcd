"""Casts that do nothing, and pairs of casts that one does.

Before `widen-arithmetic` a value of narrow type may stand for an unrounded one, and a cast to its own type is where
the user asks for the rounding: such a cast goes only where its operand is known to be rounded (`is_rounded`).

Canonical form: a permute is on the narrower side of a cast, where it moves fewer bytes.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from irc.canonicalization.simplify import Table, defined_by, of_operands, rebuilt
from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.dialects.nd.declared import is_deferred
from irc.ir.dtypes import Element
from irc.ir.rewriting import Inserter

DEEPEST = 16
"""Ops that `is_rounded` looks through."""


def is_rounded(value: SSAValue, depth: int = DEEPEST) -> bool:
    """Whether a value certainly has no more digits than its type: it is wide, or an argument, a constant, an explicit
    cast, or one of
    these moved."""
    owner = value.owner
    if not nd.element_of(value).is_narrow_float or not isinstance(owner, Operation):
        return True
    if isinstance(owner, nd.ConstantOp):
        return True
    if isinstance(owner, nd.CastOp):
        return not is_deferred(owner)
    return isinstance(owner, nd.MoveOp) and depth > 0 and is_rounded(owner.x, depth - 1)


def holds(wide: Element, narrow: Element) -> bool:
    """Whether every value of `narrow` is one of `wide`."""
    if wide is narrow or narrow.kind == "bool":
        return True
    if narrow.is_float:
        return wide.is_float and wide.size > narrow.size
    if wide.is_float:
        return narrow.bits - (narrow.kind == "int") <= _SIGNIFICANDS[wide.name]
    if wide.kind == "bool":
        return False
    low, high = narrow.limits()
    return wide.limits()[0] <= low and high <= wide.limits()[1]


_SIGNIFICANDS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8e4m3": 4, "f8e5m2": 3}
"""Bits of the significand, the hidden one included."""


def cast_to_own_type(op: nd.CastOp, at: Inserter) -> SSAValue | None:
    return op.x if op.x.type == op.result.type and is_rounded(op.x) else None


@of_operands(nd.CastOp)
def cast_of_exact_cast(op: nd.CastOp, at: Inserter) -> SSAValue | None:
    """cast(cast(x, B), C) is cast(x, C) where B holds every value of x: the outer cast sees the same value.

    Except integer to float to integer: the second saturates, a direct cast wraps, unless C holds every value too.
    """
    inner = defined_by(op.x, nd.CastOp)
    if inner is None:
        return None
    source, middle, target = (nd.element_of(value) for value in (inner.x, inner.result, op.result))
    if not holds(middle, source) or not is_rounded(inner.x):
        return None
    if not source.is_float and middle.is_float and not target.is_float and not holds(target, source):
        return None
    return rebuilt(at, op, [inner.x], nd.shape_of(op.result))


@of_operands(nd.PermuteOp)
def narrowing_cast_of_permute(op: nd.CastOp, at: Inserter) -> SSAValue | None:
    permute = defined_by(op.x, nd.PermuteOp)
    if permute is None or nd.element_of(op.result).size >= nd.element_of(op.x).size or not permute.result.has_one_use():
        return None
    cast = rebuilt(at, op, [permute.x], nd.shape_of(permute.x))
    return rebuilt_permute(at, permute, cast)


@of_operands(nd.CastOp)
def permute_of_widening_cast(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    cast = defined_by(op.x, nd.CastOp)
    if cast is None or nd.element_of(cast.x).size >= nd.element_of(op.x).size or not cast.result.has_one_use():
        return None
    moved = rebuilt_permute(at, op, cast.x)
    return rebuilt(at, cast, [moved], nd.shape_of(op.result))


def rebuilt_permute(at: Inserter, op: nd.PermuteOp, x: SSAValue) -> SSAValue:
    """The same permutation of another value."""
    return at.value(nd.PermuteOp(x, ints(op.permutation)))


CASTS: Table = {
    nd.CastOp: [cast_to_own_type, cast_of_exact_cast, narrowing_cast_of_permute],
    nd.PermuteOp: [permute_of_widening_cast],
}
