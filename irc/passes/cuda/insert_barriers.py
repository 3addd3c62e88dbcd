"""`insert-barriers`: threads meet where shared memory changes hands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import ORDERED, SCRATCH_ALLOCATED, THREADS
from irc.dialects.cuda import ClusterSyncOp, KernelOp, NamedSyncOp, SharedAccessOp, SharedOp, SyncOp, WarpSyncOp
from irc.ir.blocks import ops_in
from irc.ir.properties import constant_of
from irc.lowering.kernels import KernelPass
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class InsertBarriersPass(KernelPass):
    """A `cuda.shared_access` becomes a barrier of its threads where earlier accesses have to be over first: writes
    before a read of the same bytes, reads before a write. `reason` of the barrier says which. Where each warp accesses
    a part of its own, its lanes meet alone.

    Each access of a loop may have been made before each of its iterations, and after it. Barriers of these threads
    that are there already count, but those of a loop not behind it, as it may have had no iteration. Writes after
    writes are not looked for: `lower-to-cuda` makes none without a read between them.
    """

    name = "insert-barriers"
    requires = (THREADS, SCRATCH_ALLOCATED)
    establishes = (ORDERED,)

    def run(self, kernel: KernelOp) -> None:
        _order(kernel.body.block, State())


@dataclass(frozen=True)
class Touch:
    """Some threads have accessed the bytes [start, end). each_warp: as of `cuda.shared_access`. is_settled: the threads
    of each warp have met since. in_loop: it stands for all that a loop accesses."""

    start: int
    end: int
    barrier: int | None = None
    each_warp: int | None = None
    is_settled: bool = False
    in_loop: bool = False

    def meets(self, other: Touch) -> bool:
        return self.start < other.end and other.start < self.end

    def is_apart(self, other: Touch) -> bool:
        """Whether other warps have accessed other bytes."""
        mine, theirs = (self.start, self.end, self.each_warp), (other.start, other.end, other.each_warp)
        return self.each_warp is not None and mine == theirs


MAX_BYTES = 1 << 32
"""More than there are in shared memory."""


def _touches(*touches: Touch) -> dict[Touch, None]:
    return dict.fromkeys(touches)


@dataclass
class State:
    """What was written and what was read since the threads last met."""

    written: dict[Touch, None] = field(default_factory=_touches)
    read: dict[Touch, None] = field(default_factory=_touches)

    def copy(self) -> State:
        return State(dict(self.written), dict(self.read))

    def met(self, barrier: int | None = None) -> None:
        """The threads of a named barrier have met; without one, all threads."""
        for touches in (self.written, self.read):
            for touch in [each for each in touches if barrier is None or each.barrier == barrier]:
                del touches[touch]

    def warps_met(self) -> None:
        self.written = _touches(*(replace(each, is_settled=True) for each in self.written))
        self.read = _touches(*(replace(each, is_settled=True) for each in self.read))

    def join(self, other: State) -> None:
        """What has happened in the other may have happened too."""
        self.written |= other.written
        self.read |= other.read

    def note(self, touch: Touch, kind: str) -> None:
        """An access: what other hardware reads counts where its read ends."""
        if kind == "write":
            self.written |= _touches(touch)
        elif kind != "begin_read":
            self.read |= _touches(touch)


def _order(block: Block, state: State) -> None:
    for op in list(block.ops):
        match op:
            case SharedAccessOp():
                _access(op, state)
            case SyncOp() | ClusterSyncOp():
                state.met()
            case NamedSyncOp() if (barrier := constant_of(op.id)) is not None:
                state.met(barrier)
            case scf.ForOp() | scf.WhileOp():
                _loop(op, state)
            case scf.IfOp():
                _branch(op, state)
            case _ if op.regions:
                raise IrcError(f"insert-barriers knows no order of the ops in {op.name}", op.location)
            case _:
                pass


def _loop(op: scf.ForOp | scf.WhileOp, state: State) -> None:
    """Behind the loop, barriers of its iterations order nothing: there may have been none."""
    accesses, before = State(), state.copy()
    for each in ops_in(op):
        for touch, kind in _accesses_of(each):
            accesses.note(replace(touch, in_loop=True), kind)
    state.join(accesses)
    for region in op.regions:
        _side(region, state)
    state.join(accesses)
    state.join(before)


def _accesses_of(op: Operation) -> list[tuple[Touch, str]]:
    """What an op of a loop says that threads access. A barrier that is there already orders what no op says: any."""
    if isinstance(op, SharedAccessOp):
        return [(_touch_of(op), op.kind.data)]
    barrier = constant_of(op.id) if isinstance(op, NamedSyncOp) else None
    if barrier is None and not isinstance(op, SyncOp | ClusterSyncOp):
        return []
    return [(Touch(0, MAX_BYTES, barrier), kind) for kind in ("write", "read")]


def _branch(op: scf.IfOp, state: State) -> None:
    """Each side from the state before the branch; afterwards either may be the one that ran."""
    before = state.copy()
    _side(op.true_region, state)
    _side(op.false_region, before)
    state.join(before)


def _side(region: Region, state: State) -> None:
    for block in region.blocks:
        _order(block, state)


def _access(op: SharedAccessOp, state: State) -> None:
    """Puts the barrier that an access needs in its place, and notes the access."""
    touch, kind = _touch_of(op), op.kind.data
    if kind == "write":
        _settle(op, touch, state, state.read, "write after read")
    elif kind != "end_read":
        _settle(op, touch, state, state.written, "read after write")
    state.note(touch, kind)
    address = op.address
    Rewriter.erase_op(op)
    if address is not None and not address.uses.get_length() and isinstance(address.owner, Operation):
        Rewriter.erase_op(address.owner)


def _group(op: SharedAccessOp) -> int | None:
    return None if op.barrier is None else op.barrier.value.data


def _touch_of(op: SharedAccessOp) -> Touch:
    barrier = _group(op)
    if op.address is None or op.bytes is None:
        return Touch(0, MAX_BYTES, barrier)
    if not isinstance(op.address.owner, SharedOp):
        raise IrcError("insert-barriers expects the address of a cuda.shared, whose bytes are known", op.location)
    start = op.address.owner.offset.value.data
    each_warp = None if op.each_warp is None else op.each_warp.value.data
    return Touch(start, start + op.bytes.value.data, barrier, each_warp)


def _settle(op: SharedAccessOp, touch: Touch, state: State, before: Iterable[Touch], reason: str) -> None:
    """Makes the threads meet whose accesses before are of the same bytes."""
    found = [other for other in before if touch.meets(other)]
    apart = [other for other in found if touch.is_apart(other)]
    if len(apart) < len(found):
        others = [other for other in found if other not in apart]
        _insert(op, _barrier(op, f"{reason}{' of a loop' if all(other.in_loop for other in others) else ''}"))
        state.met(touch.barrier)
    elif not all(other.is_settled for other in apart):
        _insert(op, [WarpSyncOp(f"{reason} in a warp")])
        state.warps_met()


def _barrier(op: SharedAccessOp, reason: str) -> list[Operation]:
    """All threads that run the code of the access meet."""
    if op.barrier is None or op.threads is None:
        return [SyncOp(reason)]
    number = arith.ConstantOp(IntegerAttr(op.barrier.value.data, i32))
    return [number, NamedSyncOp(number.result, op.threads.value.data, reason)]


def _insert(before: Operation, ops: list[Operation]) -> None:
    for op in ops:
        op.location = before.location
    Rewriter.insert_op(ops, InsertPoint.before(before))
