"""Schedules of loops: which iteration each op works on, and in which order the ops of an iteration are issued.

Within the threads that multiply, only dots and copies are asynchronous. So a schedule is an order of issue, and waits:
nothing is placed in cycles (docs/levels/tile.md#schedules).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType
from xdsl.ir import Operation

from irc.analysis.matrix_instructions import is_asynchronous, sums_in_tensor_memory
from irc.dialects import tile
from irc.scheduling.channels import fills_of, stages_of
from irc.scheduling.dependences import Source, body_of, needed_by, operands_of, passed_on, sources_of, turns_of

Schedule = dict[Operation, tile.AtAttr]
"""The place of every op of a loop's body."""

MOVABLE = (
    tile.WaitOp,
    tile.ReleaseOp,
    tile.TakeOp,
    tile.PassOp,
    tile.DotOp,
    tile.SubviewOp,
    tile.TransposeOp,
    tile.MapOp,
    tile.ReduceOp,
    tile.FoldOp,
    tile.UnfoldOp,
    tile.SplatOp,
    tile.IotaOp,
    tile.SliceOp,
    tile.ConcatOp,
    tile.LoadOp,
    tile.ReadOp,
    tile.AnyOp,
    scf.YieldOp,
)
"""Ops that may change places as far as the values allow that they pass to each other: what a loop loads is not written
by it. Others write to shared memory, or threads meet in them."""


def in_order(loop: scf.ForOp) -> Schedule:
    """The ops in the order in which they stand. A dot whose result nothing but the next dot needs stays in flight: the
    stage that it reads is released an iteration later, when that one has been issued. Where a step stores something,
    stages are released behind that: dots that it does not need stay in flight."""
    late, ops = _later(loop), body_of(loop)
    if any(isinstance(op, tile.StoreOp) for op in ops):
        ops.sort(key=lambda op: isinstance(op, tile.ReleaseOp))
    return {op: tile.AtAttr.of(int(op in late), order) for order, op in enumerate(ops)}


def sparing(loop: scf.ForOp) -> Schedule | None:
    """The same order, but products that nothing of the step waits for, with what they alone need, come right before the
    last product of which the step writes something: what they multiply is in registers only once what that is computed
    from is used up. None where a step stores nothing, or all products are needed."""
    schedule = in_order(loop)
    ops = sorted(schedule, key=lambda op: schedule[op].order.data)
    writing = needed_by([op for op in ops if isinstance(op, tile.WriteOp | tile.StoreOp)], loop.body.block)
    awaited = [op for op in writing if is_asynchronous(op)]
    if not awaited or not any(isinstance(op, tile.StoreOp) for op in ops):
        return None
    before, behind = ops[: ops.index(awaited[-1])], ops[ops.index(awaited[-1]) :]
    late: set[Operation] = {
        dot for dot in dots_of(loop) if dot in before and dot not in awaited and _is_carried(loop, dot)
    }
    if not late:
        return None
    for op in reversed(before):
        users = [use.operation for value in op.results for use in value.uses]
        if users and all(user in late for user in users) and _is_movable(op):
            late.add(op)
    before.sort(key=lambda op: op in late)
    return {op: tile.AtAttr.of(schedule[op].stage.data, order) for order, op in enumerate([*before, *behind])}


def _later(loop: scf.ForOp) -> set[Operation]:
    """The releases of stages that dots which stay in flight read. One dot on buffers stays in flight, and so do dots on
    parts of K whose left operands are in registers: these are computed again an iteration later. Dots whose sums are in
    Tensor Memory release a stage themselves when they are complete."""
    dots = [dot for dot in dots_of(loop) if not sums_in_tensor_memory(dot)]
    if not dots:
        return set()
    follow = all(after.acc is before.result for before, after in pairwise(dots))
    in_registers = [isinstance(dot.lhs.type, TensorType) for dot in dots]
    if not follow or in_registers != [len(dots) > 1] * len(dots) or not all(_is_carried(loop, dot) for dot in dots):
        return set()
    releases = [op for op in body_of(loop) if isinstance(op, tile.ReleaseOp)]
    return {op for op in releases if stages_of(tile.channel_of(op.slot)) > 1}


def _is_carried(loop: scf.ForOp, dot: tile.DotOp) -> bool:
    """Whether nothing but the next dot, in this iteration or the next one, waits for the dot."""
    used = [use.operation for use in dot.result.uses]
    return all(isinstance(op, tile.DotOp | tile.ReleaseOp) or op is loop.body.block.last_op for op in used)


def dots_of(loop: scf.ForOp) -> list[tile.DotOp]:
    return [op for op in body_of(loop) if is_asynchronous(op)]


def in_step(loop: scf.ForOp) -> Schedule:
    """Of n stages, n - 1 are being filled while one is read: what reads them is of stage n - 1 of the schedule.

    An iteration waits for the oldest stage, begins to fill the one that the iteration before has read, and multiplies
    meanwhile: asynchronous copies land by themselves, what passes through registers is loaded before the products and
    written after them. Of several dots (slice-dots) the first comes before the copies, whose addresses are then
    computed while it multiplies.
    """
    block, ops = loop.body.block, body_of(loop)
    acquire = next(op for op in ops if isinstance(op, tile.AcquireOp))
    waits = [op for op in ops if isinstance(op, tile.WaitOp)]
    releases = [op for op in ops if isinstance(op, tile.ReleaseOp)]
    commits = [op for op in ops if isinstance(op, tile.CommitOp)]
    fills = [fill for buffer in acquire.buffers for fill in fills_of(buffer)]
    copying = needed_by([op for op in fills if isinstance(op, tile.CopyOp)], block)
    writing = needed_by([op for op in fills if isinstance(op, tile.WriteOp)], block)
    loading = needed_by([op for op in writing if isinstance(op, tile.LoadOp)], block)
    filling = {acquire, *copying, *writing, *commits}
    reading = [op for op in ops if op not in filling]
    dots = [op for op in reading if isinstance(op, tile.DotOp)]
    first = reading.index(dots[0]) + 1 if len(dots) > 1 else 0
    order = [*waits, *releases, acquire, *loading, *reading[:first], *copying, *reading[first:], *writing, *commits]
    last = stages_of(acquire.channel) - 1
    stages = {op: 0 if op in filling else last for op in ops} | dict.fromkeys(releases, last + 1)
    return {op: tile.AtAttr.of(stages[op], at) for at, op in enumerate(dict.fromkeys(order))}


def overlapped(loop: scf.ForOp) -> Schedule | None:
    """A dot that another dot feeds works an iteration behind it, so that what is computed between the two runs beside
    products of both. None where nothing feeds another, where several do, whose results wait for each other in what is
    computed of them, or where the order in which a loop goes on forbids it."""
    stages = _Behind(loop)
    feeding = [dot for dot in dots_of(loop) if stages.of[dot] < stages.last]
    return _ordered(loop, stages) if len(feeding) == 1 and _may_move(loop, stages) else None


def eager(loop: scf.ForOp) -> Schedule | None:
    """Dots as soon as their operands are there, then what waits for the fewest of them. None where no dot feeds
    another, or where the order in which a loop goes on forbids it."""
    stages = _Stages(loop)
    return _ordered(loop, stages) if _Behind(loop).last and _may_move(loop, stages) else None


def together(loop: scf.ForOp) -> Schedule | None:
    """Several dots that begin anew, and feed no others: they are issued before what is computed of the first one, as
    far as operands are there. None of other loops, or where the order in which a loop goes on forbids it."""
    stages = _Stages(loop)
    if len(dots_of(loop)) < 2 or not begins_anew(loop) or _Behind(loop).last or not _may_move(loop, stages):
        return None
    return _ordered(loop, stages)


def rotated(loop: scf.ForOp) -> Schedule | None:
    """Of two dots that begin anew, and feed no others, the first works an iteration ahead, with what is loaded for it.
    Each is issued when the other one is complete, before what is computed of that, so that one is always in flight.
    None of other loops, or where the order in which a loop goes on forbids it."""
    dots, stages = dots_of(loop), _Stages(loop)
    if len(dots) != 2 or not begins_anew(loop) or _Behind(loop).last or not _may_move(loop, stages):
        return None
    block, (first, second) = loop.body.block, dots
    users = [op for op in body_of(loop) if any(value is first.result for value in operands_of(op))]
    ahead = [op for op in needed_by(users, block) if op not in users]
    late = [op for op in body_of(loop) if op not in ahead]
    issued = [op for op in needed_by([second], block) if op in late]
    of_first, of_second = ({op: None for op in late if dot in needed_by([op], block) and op is not dot} for dot in dots)
    if second in ahead or any(isinstance(op, tile.ReleaseOp) for op in ahead):
        return None
    between = [op for op in late if op not in {*issued, *of_first, *of_second}]
    before = [op for op in of_first if op not in of_second]
    order = [*_released(issued, before, second), *between, *before, *_released(ahead, of_second, first), *of_second]
    found = {op: tile.AtAttr.of(int(op not in ahead), at) for at, op in enumerate(dict.fromkeys(order))}
    return None if too_early(loop, found) else found


def too_early(loop: scf.ForOp, schedule: Schedule) -> list[tuple[Operation, Operation]]:
    """The ops that a schedule runs before what they use, each with the op that gives it."""
    found: list[tuple[Operation, Operation]] = []
    for op in body_of(loop):
        for source in sources_of(op, loop):
            own, other = schedule[op], schedule[source.op]
            delta = own.stage.data + source.distance - other.stage.data
            if delta < 0 or (delta == 0 and other.order.data >= own.order.data):
                found.append((op, source.op))
    return found


def _released(issued: Sequence[Operation], after: Iterable[Operation], dot: Operation) -> list[Operation]:
    """What is issued with a dot, which comes behind the releases among what follows the dot before it: so that one is
    waited for, and then the other runs beside what is computed."""
    at = issued.index(dot)
    return [*issued[:at], *(op for op in after if isinstance(op, tile.ReleaseOp)), *issued[at:]]


def begins_anew(loop: scf.ForOp) -> bool:
    """Whether all dots of a loop begin with what is there before it, and something is computed of each in its step."""
    return all(map(is_begun_anew, dots_of(loop)))


def is_begun_anew(dot: tile.DotOp) -> bool:
    """Whether a dot of a loop begins with what is there before it, and something is computed of it in its step."""
    begin = dot.acc.owner
    is_outside = isinstance(begin, Operation) and begin.parent is not dot.parent
    return is_outside and any(isinstance(use.operation, tile.MapOp) for use in dot.result.uses)


def _may_move(loop: scf.ForOp, stages: _Stages) -> bool:
    """Whether ops may change places, and values that the loop passes on are used in their iteration."""
    ops, passed = body_of(loop), passed_on(loop)
    if not all(map(_is_movable, ops)):
        return False
    return not any(stages.of[op] and value in passed for op in ops for value in operands_of(op))


def _is_movable(op: Operation) -> bool:
    """Branches are, that hold nothing else."""
    if isinstance(op, scf.IfOp):
        return all(_is_movable(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    return isinstance(op, MOVABLE) or _is_scalar(op)


def _is_scalar(op: Operation) -> bool:
    """A constant, or arithmetic of positions."""
    if isinstance(op, arith.ConstantOp):
        return True
    return op.name.startswith("arith.") and all(isinstance(v.type, IndexType | IntegerType) for v in op.results)


class _Stages:
    """How many iterations behind each op works: none."""

    def __init__(self, loop: scf.ForOp):
        self.ops = body_of(loop)
        self.sources = {op: sources_of(op, loop) for op in self.ops}
        self.of: dict[Operation, int] = dict.fromkeys(self.ops, 0)

    @property
    def last(self) -> int:
        return max(self.of.values(), default=0)

    def delta(self, user: Operation, source: Source) -> int:
        """How many iterations of the schedule lie between a value and its use."""
        return self.of[user] + source.distance - self.of[source.op]


class _Behind(_Stages):
    """Dots that others feed work an iteration behind them."""

    def __init__(self, loop: scf.ForOp):
        super().__init__(loop)
        self._of_dots: set[Operation] = set()
        for op in self.ops:
            self._place(op)
        for op in reversed(self.ops):
            self._sink(op)

    def _place(self, op: Operation) -> None:
        """Behind what it uses of its own iteration: a dot an iteration behind the dot that its operand comes from."""
        own = [source for source in self.sources[op] if source.distance == 0]
        self.of[op] = max((self.of[source.op] + self._is_fed(op, source) for source in own), default=0)
        if is_asynchronous(op) or any(source.op in self._of_dots for source in own):
            self._of_dots.add(op)

    def _is_fed(self, op: Operation, source: Source) -> bool:
        return is_asynchronous(op) and source.op in self._of_dots and source.value in (op.lhs, op.rhs)

    def _sink(self, op: Operation) -> None:
        """What no dot has a part in, and nothing needs before, waits for what needs it."""
        users = [other for other in self.ops if any(s.op is op and s.distance == 0 for s in self.sources[other])]
        if op not in self._of_dots and users and not isinstance(op, tile.ReleaseOp):
            self.of[op] = min(self.of[user] for user in users)


@dataclass
class _Needs:
    """Which dots an op waits for: 0 for none; then those of the iteration before, then those of this one, in the order
    in which they are issued."""

    stages: _Stages
    number: dict[Operation, int]

    def __post_init__(self) -> None:
        self._known: dict[Operation, int] = {}

    def of(self, op: Operation) -> int:
        if op not in self._known:
            self._known[op] = -1
            self._known[op] = max((self._through(op, source) for source in self.stages.sources[op]), default=0)
            self._known[op] = max(self._known[op], self._overwritten(op))
        return self._known[op]

    def _through(self, op: Operation, source: Source) -> int:
        delta, issued = self.stages.delta(op, source), source.op in self.number
        if delta == 0:
            waits = len(self.number) + self.number[source.op] if issued and not _goes_on(op, source) else 0
            return max(waits, self.of(source.op))
        return self.number[source.op] if issued and delta == 1 and not _goes_on(op, source) else 0

    def _overwritten(self, op: Operation) -> int:
        """The dot whose operand in registers the op computes again for the next iteration."""
        dots = [dot for dot in self.number if is_asynchronous(dot) and isinstance(dot.lhs.type, TensorType)]
        sources = ((dot, source) for dot in dots for source in self.stages.sources[dot] if source.value is dot.lhs)
        read = [self.number[dot] for dot, source in sources if source.op is op and self.stages.delta(dot, source) > 0]
        return max((len(self.number) + number for number in read), default=0)


def _goes_on(op: Operation, source: Source) -> bool:
    """Whether a dot goes on with what another gave, in place."""
    if not is_asynchronous(op):
        return False
    return op.acc is source.value or op.acc in source.arguments[:1]


def _ordered(loop: scf.ForOp, stages: _Stages) -> Schedule | None:
    """Dots as soon as they can be issued, those of the earlier iteration last; then what waits for the fewest of
    them."""
    deltas = {op: [(stages.delta(op, s), s.op) for s in stages.sources[op]] for op in stages.ops}
    if any(delta < 0 for found in deltas.values() for delta, _ in found):
        return None
    dots = sorted(dots_of(loop), key=lambda dot: (stages.of[dot], stages.ops.index(dot)))
    needs = _Needs(stages, {dot: number for number, dot in enumerate(dots, 1)})
    position = {op: at for at, op in enumerate(stages.ops)}

    missing = {op: {source for delta, source in deltas[op] if delta == 0} for op in stages.ops}
    first: dict[Operation, Operation] = {}
    for before, op in turns_of(loop):
        if isinstance(before, tile.TakeOp) and first.setdefault(before, op) is op:
            missing[before] |= missing[op]  # A group waits for what its first dot needs before it takes its turn.
        missing[op].add(before)

    def rank(op: Operation) -> tuple[int, int, int, int]:
        issued = first.get(op, op)
        return needs.of(issued), _kind(issued), stages.of[issued], position[op]

    ready = [(rank(op), position[op]) for op in stages.ops if not missing[op]]
    heapify(ready)
    order: list[Operation] = []
    while ready:
        op = stages.ops[heappop(ready)[1]]
        order.append(op)
        for user in stages.ops:
            if op in missing[user]:
                missing[user].remove(op)
                if not missing[user]:
                    heappush(ready, (rank(user), position[user]))
    if len(order) < len(stages.ops):
        return None
    return {op: tile.AtAttr.of(stages.of[op], at) for at, op in enumerate(order)}


def _kind(op: Operation) -> int:
    """What is issued first of what could be: dots and the turns that they need, what they read and the end of a turn,
    then what else lets others go on."""
    match op:
        case tile.DotOp():
            return 0
        case tile.WaitOp() | tile.BufferAliasOp() | tile.PassOp():
            return 1
        case tile.ReleaseOp():
            return 2
        case _:
            return 3


def carried_tiles(loop: scf.ForOp, schedule: Schedule) -> Iterator[Source]:
    """The tiles of a scheduled loop that an iteration leaves to the next."""
    seen: set[object] = set()
    for op in body_of(loop):
        for source in sources_of(op, loop):
            delta = schedule[op].stage.data + source.distance - schedule[source.op].stage.data
            if delta > 0 and source.value not in seen and isinstance(source.value.type, TensorType):
                seen.add(source.value)
                yield source
