"""The pipeline of a block as a timeline: what each partition of its warps does, and what copies and tensor cores do
meanwhile. It is a model: who waits for whom is the program's, how long a thing takes is estimated.

Copies go through one queue, at the rate at which an SM loads operands, and arrive after a latency; products through
another, at the rate of its tensor cores. Loads keep their partition busy for their bytes, and what uses them waits for
the latency. Everything else keeps its partition busy: elements that are computed at one operation a lane and cycle, and
bytes that are moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.properties import constant_of, values_of
from irc.ir.targets import Target, target_of
from irc.support.integers import ceil_div

MOST_STEPS = 10
"""Of a loop that are shown."""

MOST_TILES = 2
"""Of a block that are shown."""

LATENCY = 600
"""Cycles that a copy or a load takes beyond those of its bytes."""

ISSUE = 16
"""Cycles of the thread that starts a copy."""

LANES = 128
"""Operations that an SM issues in a cycle."""

BUSY, WAITING = "busy", "waiting"

WAITS = {"fill": "waits for room in stage", "drain": "waits for stage", "begin": "waits for turn"}


@dataclass(frozen=True)
class Segment:
    """What a row does from one cycle to another."""

    begin: float
    end: float
    kind: str
    text: str


@dataclass(frozen=True)
class Timeline:
    """rows: name and segments. is_cut: whether loops or tiles are left out. is_stuck: whether a partition waits at the
    end for what was left out."""

    rows: Sequence[tuple[str, Sequence[Segment]]]
    cycles: float
    is_cut: bool
    is_stuck: bool


@dataclass(frozen=True)
class _Wait:
    """What a partition waits for: `fill` or `drain` stage `number` of a channel, or `begin` turn `number`."""

    channel: SSAValue
    kind: str
    number: int


_Steps: TypeAlias = Iterator[_Wait]


@dataclass
class _Queue:
    """A unit that does one thing after the other."""

    free: float = 0.0
    segments: list[Segment] = field(default_factory=list[Segment])

    def take(self, begin: float, cycles: float, text: str) -> float:
        """When it is done."""
        begin = max(begin, self.free)
        self.free = begin + cycles
        self.segments.append(Segment(begin, self.free, BUSY, text))
        return self.free


@dataclass
class _Channel:
    """releases: that a stage needs to be filled again. filled: when stage number i has arrived. released: when it was
    released. ended: when turn number i has ended."""

    stages: int
    releases: int
    filled: dict[int, float] = field(default_factory=dict[int, float])
    released: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    ended: dict[int, float] = field(default_factory=dict[int, float])

    def ready(self, kind: str, number: int) -> float | None:
        """When stage `number` can be filled or drained, or turn `number` begin; None where that is not known yet."""
        if kind == "fill":
            times = self.released.get(number - self.stages, [])
            if number >= self.stages and len(times) < self.releases:
                return None
            return max(times, default=0.0)
        known, at = (self.filled, number) if kind == "drain" else (self.ended, number - 1)
        return 0.0 if at < 0 else known.get(at)


class _Partition:
    """The code of one partition as it runs."""

    def __init__(self, name: str, block: Block, model: _Model):
        self.name, self.now, self.is_done = name, 0.0, False
        self.segments: list[Segment] = []
        self.waits_for: _Wait | None = None
        self._model, self._arrived = model, 0.0
        self._times: dict[SSAValue, float] = {}
        self._slots: dict[SSAValue, tuple[SSAValue, int] | None] = {}
        self._next: dict[tuple[SSAValue, str], int] = {}
        self._steps = self._run(block)

    def advance(self) -> bool:
        """Goes on as far as it can; False where it waits for what is not known yet, or is at its end."""
        wait = self.waits_for
        if wait is not None:
            ready = self._model.channels[wait.channel].ready(wait.kind, wait.number)
            if ready is None:
                return False
            if ready > self.now:
                self._until(ready, f"{WAITS[wait.kind]} {wait.number}")
        try:
            self.waits_for = next(self._steps)
        except StopIteration:
            self.waits_for = None
            self.is_done = True
        return True

    def _run(self, block: Block) -> _Steps:
        for op in block.ops:
            yield from self._op(op)

    def _op(self, op: Operation) -> _Steps:
        match op:
            case tile.ForTilesOp():
                for _ in range(self._model.tiles(op)):
                    yield from self._run(op.body.block)
            case scf.ForOp():
                yield from self._loop(op)
            case scf.IfOp():
                yield from self._run(op.true_region.block)
            case tile.AcquireOp() | tile.WaitOp():
                yield from self._stage(op)
            case tile.BeginTurnOp():
                own, count = values_of(op.turn)
                number = self._count(op.channel, "turn") * count + own
                yield _Wait(op.channel, "begin", number)
            case _:
                self._now(op)

    def _loop(self, op: scf.ForOp) -> _Steps:
        block = op.body.block
        carried: Sequence[SSAValue] = op.iter_args
        for _ in range(self._model.trips(op)):
            for argument, value in zip(block.args[1:], carried, strict=True):
                self._rename(argument, value)
            yield from self._run(block)
            last = block.last_op
            assert last is not None
            carried = last.operands
        for result, value in zip(op.results, carried, strict=True):
            self._rename(result, value)

    def _rename(self, name: SSAValue, value: SSAValue) -> None:
        if value in self._slots:
            self._slots[name] = self._slots[value]
        self._times[name] = self._times.get(value, 0.0)

    def _count(self, channel: SSAValue, kind: str, by: int = 1) -> int:
        number = self._next.get((channel, kind), 0)
        self._next[channel, kind] = number + by
        return number

    def _stage(self, op: tile.AcquireOp | tile.WaitOp) -> _Steps:
        kind = "fill" if isinstance(op, tile.AcquireOp) else "drain"
        number = self._count(op.channel, kind)
        yield _Wait(op.channel, kind, number)
        self._slots[op.results[0]] = op.channel, number

    def _now(self, op: Operation) -> None:
        """An op that waits for no other partition."""
        match op:
            case tile.CommitOp():
                self._commit(op)
            case tile.ReleaseOp():
                if (slot := self._slots.get(op.operands[0])) is not None:
                    self._model.channels[slot[0]].released.setdefault(slot[1], []).append(self.now)
            case tile.SkipOp():
                known = constant_of(op.count)
                count = MOST_STEPS if known is None else min(known, MOST_STEPS)
                self._count(op.channel, "drain", count)
            case tile.EndTurnOp():
                own, count = values_of(op.turn)
                self._model.channels[op.channel].ended[(self._next[op.channel, "turn"] - 1) * count + own] = self.now
            case tile.CopyOp() if not op.is_via("registers"):
                self._copy(op)
            case tile.DotOp() if op.instruction is not None and op.instruction.data == "wgmma":
                self._dot(op)
            case tile.DotWaitOp() | tile.AwaitOp():
                self._until(self._times.get(op.operands[0], 0.0), "waits for a product")
                if op.results:
                    self._times[op.results[0]] = self.now
            case _:
                self._busy(op)

    def _copy(self, op: tile.CopyOp) -> None:
        self.segments.append(Segment(self.now, self.now + ISSUE, BUSY, f"copy: starts {_text(op)}"))
        self.now += ISSUE
        self._arrived = self._model.copies.take(self.now, self._model.copy_cycles(op), _text(op)) + LATENCY

    def _commit(self, op: tile.CommitOp) -> None:
        slot = self._slots[op.operands[0]]
        assert slot is not None
        channel, number = slot
        self._model.channels[channel].filled[number] = max(self.now, self._arrived)

    def _dot(self, op: tile.DotOp) -> None:
        begin = max(self.now, self._times.get(op.acc, 0.0))
        end = self._model.products.take(begin, self._model.dot_cycles(op), _text(op))
        self._times[op.result] = end
        if not isinstance(op.result.type, tile.PendingType):
            self._until(end, "waits for a product")

    def _until(self, time: float, text: str) -> None:
        if time > self.now:
            self.segments.append(Segment(self.now, time, WAITING, text))
            self.now = time

    def _busy(self, op: Operation) -> None:
        cycles, later = self._model.cycles(op), LATENCY if isinstance(op, tile.LoadOp) else 0
        if cycles > 0:
            self._until(max((self._times.get(value, 0.0) for value in op.operands), default=0.0), "waits for a load")
            self.segments.append(Segment(self.now, self.now + cycles, BUSY, _text(op)))
            self.now += cycles
        arrives = max((self._times.get(value, 0.0) for value in op.operands), default=0.0)
        for result in op.results:
            self._times[result] = max(self.now + later, arrives)


class _Model:
    """How long things take, and what partitions share."""

    def __init__(self, machine: Target, channels: dict[SSAValue, _Channel]):
        self._machine, self.channels = machine, channels
        self.copies, self.products = _Queue(), _Queue()
        self.is_cut = False

    def tiles(self, loop: tile.ForTilesOp) -> int:
        """Of a block, that are shown, those of the loop's turn."""
        total, (own, turns) = prod(loop.tile_counts), loop.turns
        blocks = self._machine.sms if loop.stays else total
        return max(0, ceil_div(self._shown(ceil_div(total, max(1, blocks)), MOST_TILES) - own, turns))

    def trips(self, loop: scf.ForOp) -> int:
        """Steps of a loop that are shown; the most where they are not constant."""
        low, high, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
        if low is None or high is None or not step:
            self.is_cut = True
            return MOST_STEPS
        return self._shown(max(0, ceil_div(high - low, step)), MOST_STEPS)

    def _shown(self, count: int, most: int) -> int:
        self.is_cut |= count > most
        return min(count, most)

    def copy_cycles(self, op: tile.CopyOp) -> float:
        return _bytes(op.buffer.type) / self._machine.costs.operand_bytes

    def dot_cycles(self, op: tile.DotOp) -> float:
        m, n, k = op.mnk
        size = element_of(tile.element_type_of(op.lhs.type)).size
        return m * n * k / (self._machine.costs.multiply_adds * 2 / size)

    def cycles(self, op: Operation) -> float:
        """Of its partition, for an op that is done when it is issued."""
        if isinstance(op, tile.DotOp):
            return self.dot_cycles(op)
        if isinstance(op, tile.LoadOp | tile.StoreOp | tile.WriteOp | tile.ReadOp):
            moved = op.results[0].type if op.results else op.operands[0].type
            return _bytes(moved) / self._machine.costs.operand_bytes
        if isinstance(op, tile.MapOp | tile.CombinerOp):
            operations = sum(len(block.ops) - 1 for region in op.regions for block in region.blocks)
            return max(_elements(value.type) for value in (*op.operands, *op.results)) * operations / LANES
        return 0.0


def _elements(type: Attribute) -> int:
    return prod(type.get_shape()) if isinstance(type, ShapedType | tile.BufferType) else 0


def _bytes(type: Attribute) -> int:
    return _elements(type) * element_of(tile.element_type_of(type)).size


def _text(op: Operation) -> str:
    name = op.name.removeprefix("tile.")
    if isinstance(op, tile.DotOp):
        return f"{name} {' x '.join(map(str, op.mnk))}"
    types = [value.type for value in (*op.results, *op.operands) if _elements(value.type)]
    if not types:
        return name
    largest = max(types, key=_elements)
    assert isinstance(largest, ShapedType | tile.BufferType)
    return f"{name} of {' x '.join(map(str, largest.get_shape()))}"


def timeline(program: tile.ProgramOp) -> Timeline:
    """Of the first steps of the first tiles of a block."""
    parts = next((op for op in program.walk() if isinstance(op, tile.PartitionsOp)), None)
    blocks = {"all warps": program.body.block} if parts is None else _partitions(parts)
    model = _Model(target_of(program), _channels(program, blocks))
    running = [_Partition(name, block, model) for name, block in blocks.items()]
    while waiting := [each for each in running if not each.is_done]:
        if not any(each.advance() for each in sorted(waiting, key=lambda each: each.now)):
            break
    rows = [(each.name, each.segments) for each in running]
    rows += [(name, unit.segments) for name, unit in (("copies", model.copies), ("tensor cores", model.products))]
    shown = [(name, segments) for name, segments in rows if segments]
    cycles = max((segment.end for _, segments in shown for segment in segments), default=0.0)
    return Timeline(shown, cycles, model.is_cut, not all(each.is_done for each in running))


def _partitions(op: tile.PartitionsOp) -> dict[str, Block]:
    names = [name.data for name in op.names]
    labels = [f"{name}, {warps} warps" for name, warps in zip(names, op.warp_counts, strict=True)]
    return dict(zip(labels, (region.block for region in op.partitions), strict=True))


def _channels(program: tile.ProgramOp, blocks: dict[str, Block]) -> dict[SSAValue, _Channel]:
    """Of partitions that take turns in the stages, one releases each."""
    found: dict[SSAValue, _Channel] = {}
    for op in [op for op in program.walk() if isinstance(op, tile.ChannelOp)]:
        users = {use.operation for use in op.channel.uses}
        turns = max((user.turns[1] for user in users if isinstance(user, tile.BeginTurnOp)), default=1)
        waits = {user for user in users if isinstance(user, tile.WaitOp)}
        draining = sum(any(inner in waits for inner in block.walk()) for block in blocks.values())
        found[op.channel] = _Channel(op.stage_count, max(1, draining // turns))
    return found
