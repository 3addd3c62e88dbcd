"""Between which numbers an integer of a kernel lies, as far as the code of a thread says."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue

from irc.dialects.cuda import BlockIdOp, FirstLaneOp, KernelOp, ThreadIdOp, WarpUniformOp
from irc.ir.properties import constant_of, values_of

Interval = tuple[int, int]
"""The least and the greatest number."""


class Intervals:
    """Answers for the values of one kernel, each computed once."""

    def __init__(self, kernel: KernelOp):
        self._kernel = kernel
        self._known: dict[SSAValue, Interval | None] = {}

    def of(self, value: SSAValue) -> Interval | None:
        """The signed numbers that the value may be; None where that is not known, or where it may have wrapped."""
        if value not in self._known:
            self._known[value] = None  # of what it is computed from, in a loop
            found = self._computed(value)
            self._known[value] = found if found is not None and _fits(found, value) else None
        return self._known[value]

    def _computed(self, value: SSAValue) -> Interval | None:
        if (number := constant_of(value)) is not None:
            return number, number
        op = value.owner
        if not isinstance(op, Operation):
            loop = op.parent_op()
            return self._of_step(loop) if isinstance(loop, scf.ForOp) and value is op.args[0] else None
        match op:
            case ThreadIdOp():
                return 0, self._kernel.block.value.data - 1
            case BlockIdOp() if self._kernel.domains is None:
                return 0, values_of(self._kernel.grid)[op.axis.value.data] - 1
            case WarpUniformOp() | FirstLaneOp() | arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
                return self.of(op.operands[0])
            case arith.ExtUIOp():
                return _if_not_negative(self.of(op.input))
            case arith.SubiOp() if (rest := self._rest(op)) is not None:
                return rest
            case arith.SubiOp() if isinstance(op.lhs.owner, ThreadIdOp):
                return _difference(self._threads_at(op), self.of(op.rhs))
            case arith.SelectOp():
                return _joined(self.of(op.lhs), self.of(op.rhs))
            case _ if len(op.operands) == 2:
                return of_binary(op, self.of(op.operands[0]), self.of(op.operands[1]))
            case _:
                return None

    def _of_step(self, loop: scf.ForOp) -> Interval | None:
        first, end = self.of(loop.lb), self.of(loop.ub)
        return None if first is None or end is None else (first[0], max(first[0], end[1] - 1))

    def _rest(self, op: arith.SubiOp) -> Interval | None:
        """Of `a - a / n * n`, with shifts for a power of two."""
        product = op.rhs.owner
        if not isinstance(product, arith.ShLIOp | arith.MuliOp) or _if_not_negative(self.of(op.lhs)) is None:
            return None
        quotient, by = product.lhs.owner, constant_of(product.rhs)
        shifted = isinstance(quotient, arith.ShRUIOp) and isinstance(product, arith.ShLIOp)
        divided = isinstance(quotient, arith.DivUIOp) and isinstance(product, arith.MuliOp)
        if by is None or not (shifted or divided):
            return None
        assert isinstance(quotient, arith.ShRUIOp | arith.DivUIOp)
        if quotient.lhs is not op.lhs or constant_of(quotient.rhs) != by:
            return None
        return 0, ((1 << by) if shifted else by) - 1

    def _threads_at(self, op: Operation) -> Interval | None:
        """The threads that reach an op: branches on the number of their group, `thread / 2 ** n < c`, lead others
        elsewhere. None where no thread does."""
        least, most = 0, self._kernel.block.value.data - 1
        region, branch = op.parent_region(), op.parent_op()
        while branch is not None and branch is not self._kernel:
            bound = _bound_of_threads(branch)
            if isinstance(branch, scf.IfOp) and bound is not None:
                if region is branch.true_region:
                    most = min(most, bound - 1)
                else:
                    least = max(least, bound)
            region, branch = branch.parent_region(), branch.parent_op()
        return (least, most) if least <= most else None


def _bound_of_threads(branch: Operation) -> int | None:
    """The thread before which a branch on the number of a thread's group takes its first side."""
    test = branch.cond.owner if isinstance(branch, scf.IfOp) else None
    if not isinstance(test, arith.CmpiOp):
        return None
    if arith.CMPI_COMPARISON_OPERATIONS[test.predicate.value.data] not in ("slt", "ult"):
        return None
    is_lane_0, group = isinstance(test.lhs.owner, WarpUniformOp), test.lhs.owner
    if isinstance(group, WarpUniformOp):
        group = group.value.owner
    limit = constant_of(test.rhs)
    if limit is None or not isinstance(group, arith.ShRUIOp) or not isinstance(group.lhs.owner, ThreadIdOp):
        return None
    shift = constant_of(group.rhs)
    if shift is None or (is_lane_0 and shift < _WARP):
        return None
    return limit << shift


_WARP = 5
"""Threads of one warp have the same number, shifted by so many bits: that of one lane is that of all."""


def _fits(interval: Interval, value: SSAValue) -> bool:
    """Whether a type has all these numbers, as signed ones. An index may have 32 bits."""
    if isinstance(value.type, IndexType):
        bits = 32
    elif isinstance(value.type, IntegerType):
        bits = value.type.width.data
    else:
        return False
    return -(1 << (bits - 1)) <= interval[0] and interval[1] < 1 << (bits - 1)


def _if_not_negative(interval: Interval | None) -> Interval | None:
    return None if interval is None or interval[0] < 0 else interval


def _joined(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else joined(a, b)


def joined(a: Interval, b: Interval) -> Interval:
    """The numbers of either interval."""
    return min(a[0], b[0]), max(a[1], b[1])


def added(a: Interval, b: Interval) -> Interval:
    """The sums of two numbers."""
    return a[0] + b[0], a[1] + b[1]


def multiplied(a: Interval, b: Interval) -> Interval:
    """The products of two numbers."""
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _difference(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else (a[0] - b[1], a[1] - b[0])


def of_binary(op: Operation, a: Interval | None, b: Interval | None) -> Interval | None:
    """The numbers that an op on two integers may give; None where that is not known. It may wrap."""
    match op:
        case arith.AndIOp():
            return _masked(a, b)
        case arith.MinSIOp() if a is not None and b is not None:
            return min(a[0], b[0]), min(a[1], b[1])
        case arith.MaxSIOp() if a is not None and b is not None:
            return max(a[0], b[0]), max(a[1], b[1])
        case _ if a is None or b is None:
            return None
        case arith.AddiOp():
            return added(a, b)
        case arith.SubiOp():
            return _difference(a, b)
        case arith.MuliOp():
            return multiplied(a, b)
        case arith.ShLIOp() if b[0] >= 0 and b[1] < 64:
            ends = [x << y for x in a for y in b]
            return min(ends), max(ends)
        case arith.ShRUIOp() if a[0] >= 0 and b[0] >= 0 and b[1] < 64:
            return a[0] >> b[1], a[1] >> b[0]
        case arith.ShRSIOp() if b[0] >= 0 and b[1] < 64:
            ends = [x >> y for x in a for y in b]
            return min(ends), max(ends)
        case arith.DivUIOp() if a[0] >= 0 and b[0] > 0:
            return a[0] // b[1], a[1] // b[0]
        case arith.FloorDivSIOp() if b[0] == b[1] > 0:
            return a[0] // b[0], a[1] // b[0]
        case arith.RemUIOp() if a[0] >= 0 and b[0] > 0:
            return 0, min(a[1], b[1] - 1)
        case _:
            return None


def _masked(a: Interval | None, b: Interval | None) -> Interval | None:
    """Of the common bits of two numbers one of which is not negative: no more than it."""
    ends = [each[1] for each in (a, b) if each is not None and each[0] >= 0]
    return (0, min(ends)) if ends else None
