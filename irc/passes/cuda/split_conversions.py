"""`split-conversions`: integers of the elements of a tile become floats by an addition each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType, UnitAttr, f32, f64, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.intervals import Interval, Intervals
from irc.analysis.invariants import THREADS
from irc.dialects.cuda import KernelOp
from irc.ir.blocks import ops_in
from irc.ir.discardable import UNROLL
from irc.ir.properties import constant_of, scalar
from irc.ir.rewriting import Inserter
from irc.lowering.kernels import KernelPass

_EXACT: dict[Attribute, int] = {f32: 24, f64: 53}
"""Up to 2 to the power of this a float is every integer."""


@dataclass(frozen=True)
class SplitConversionsPass(KernelPass):
    """In an unrolled loop a sum that is converted to f32 or f64, `float(a + b)`, becomes `float(a) + float(b)` where
    `b` is the part that the number of the element gives, and `a` what all elements have in common: a thread's place.

    `a` is converted once, and `b` is a number when the loop has been unrolled: an element costs an addition of floats
    in the place of one of integers and a conversion. The bits are the same where both parts are floats exactly, as
    integers up to 2 ** 24 are in f32: then the addition rounds what the conversion rounds. Where the code does not say
    that both are so small, the conversion is left alone, and so it is where a term has to do with both.
    """

    name = "split-conversions"
    requires = (THREADS,)

    def run(self, kernel: KernelOp) -> None:
        found = [op for op in ops_in(kernel) if isinstance(op, arith.SIToFPOp) and op.result.type in _EXACT]
        intervals = Intervals(kernel)
        for op in found:
            _split(op, intervals)


@dataclass(frozen=True)
class _Term:
    """A part of a sum: a number of times a value; the number alone where there is none."""

    factor: int
    value: SSAValue | None = None


def _split(op: arith.SIToFPOp, intervals: Intervals) -> None:
    steps = [loop.body.block.args[0] for loop in _unrolled(op)]
    if not steps or intervals.of(op.input) is None:  # some of its sums may wrap
        return
    parts: dict[SSAValue, tuple[bool, bool]] = dict.fromkeys(steps, (False, True))
    common: list[_Term] = []
    own: list[_Term] = []
    for term in _terms(op.input, 1):
        is_common, is_own = (False, False) if term.value is None else _parts(term.value, parts)
        if is_common and is_own:
            return
        (own if is_own else common).append(term)
    whole, moved = _interval(common, intervals), _interval(own, intervals)
    limit = 1 << _EXACT[op.result.type]
    if not _is_within(whole, limit) or not _is_within(moved, limit) or _is_number(whole) or _is_number(moved):
        return
    insert = Inserter.before(op)
    lhs, rhs = (insert(arith.SIToFPOp(_sum(terms, insert), op.result.type)).result for terms in (common, own))
    Rewriter.replace_op(op, arith.AddfOp(lhs, rhs))


def _unrolled(op: Operation) -> Iterator[scf.ForOp]:
    """The loops around an op, up to the first that stays a loop."""
    parent = op.parent_op()
    while isinstance(parent, scf.ForOp | scf.IfOp):
        if isinstance(parent, scf.ForOp):
            if not isinstance(parent.attributes.get(UNROLL), UnitAttr):
                return
            yield parent
        parent = parent.parent_op()


def _terms(value: SSAValue, factor: int) -> Iterator[_Term]:
    """What a value, so many times, is the sum of."""
    number, op = constant_of(value), value.owner
    match op:
        case _ if number is not None:
            yield _Term(factor * number)
        case arith.AddiOp():
            yield from _terms(op.lhs, factor)
            yield from _terms(op.rhs, factor)
        case arith.SubiOp():
            yield from _terms(op.lhs, factor)
            yield from _terms(op.rhs, -factor)
        case arith.MuliOp() if (by := constant_of(op.rhs)) is not None:
            yield from _terms(op.lhs, factor * by)
        case arith.ShLIOp() if (by := constant_of(op.rhs)) is not None and by >= 0:
            yield from _terms(op.lhs, factor << by)
        case arith.IndexCastOp() | arith.TruncIOp() | arith.ExtSIOp():
            yield from _terms(op.operands[0], factor)
        case _:
            yield _Term(factor, value)


def _parts(value: SSAValue, known: dict[SSAValue, tuple[bool, bool]]) -> tuple[bool, bool]:
    """Whether a value is made of what is the same in all steps of the loops, and whether of their numbers."""
    if value not in known:
        op = value.owner
        if constant_of(value) is not None:
            known[value] = (False, False)
        elif isinstance(op, Operation) and op.operands:
            found = [_parts(each, known) for each in op.operands]
            known[value] = any(each[0] for each in found), any(each[1] for each in found)
        else:
            known[value] = (True, False)
    return known[value]


def _interval(terms: Sequence[_Term], intervals: Intervals) -> Interval | None:
    least, most = 0, 0
    for term in terms:
        known = (1, 1) if term.value is None else intervals.of(term.value)
        if known is None:
            return None
        ends = [term.factor * end for end in known]
        least, most = least + min(ends), most + max(ends)
    return least, most


def _is_within(interval: Interval | None, limit: int) -> bool:
    return interval is not None and -limit <= interval[0] and interval[1] <= limit


def _is_number(interval: Interval | None) -> bool:
    return interval is not None and interval[0] == interval[1]


def _sum(terms: Sequence[_Term], insert: Inserter) -> SSAValue:
    """In i32, which has the sum whatever wraps on the way."""
    total: SSAValue | None = None
    for term in terms:
        value = _multiple(term, insert)
        total = value if total is None else insert(arith.AddiOp(total, value)).result
    assert total is not None
    return total


def _multiple(term: _Term, insert: Inserter) -> SSAValue:
    factor = (term.factor + (1 << 31)) % (1 << 32) - (1 << 31)
    value = None if term.value is None else _as_i32(term.value, insert)
    if value is not None and factor == 1:
        return value
    number = insert(arith.ConstantOp(scalar(factor, i32))).result
    return number if value is None else insert(arith.MuliOp(value, number)).result


def _as_i32(value: SSAValue, insert: Inserter) -> SSAValue:
    if value.type == i32:
        return value
    if isinstance(value.type, IndexType):
        return insert(arith.IndexCastOp(value, i32)).result
    assert isinstance(value.type, IntegerType)
    cast = arith.TruncIOp if value.type.width.data > 32 else arith.ExtSIOp
    return insert(cast(value, i32)).result
