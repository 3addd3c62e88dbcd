"""Loops of mma.sync in stages that all threads of the block fill and read in step.

With n stages, n - 1 are filled before the loop. In each iteration the threads wait for the oldest, begin to fill the
one that they read in the iteration before, and multiply meanwhile: asynchronous copies land by themselves, what passes
through registers is loaded before the products and written after them. Of a step in two dots (slice-dots) the first
comes before the copies, whose addresses are then computed while it multiplies. No branch keeps copies from going on
behind the end of K: they read the step at hand once more, into stages that nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.ir.rewriting import give_location
from irc.scheduling.channels import fills_of, readers_of
from irc.scheduling.loops import with_carried

INDEX = IndexType()


def pipeline_in_step(channel: tile.ChannelOp, loop: scf.ForOp, buffers: Sequence[SSAValue]) -> scf.ForOp:
    """Puts the buffers that the loop fills, and its dots read, into the channel's stages; gives the loop that replaces
    it."""
    rewritten = _Loop(channel, loop, buffers)
    rewritten.rewrite()
    return rewritten.loop


def is_filled_ahead(buffer: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a loop fills a buffer with what no earlier iteration, and no dot, has a part in."""
    block = loop.body.block
    fills = fills_of(buffer)
    if any(fill.parent is not block for fill in fills):
        return False
    made = slice_of(block, fills)
    inputs = [v for op in made for inner in op.walk() for v in inner.operands]
    carried = any(v.owner is block and v is not block.args[0] for v in inputs)
    return not carried and not any(isinstance(op, tile.DotOp) for op in made)


def slice_of(block: Block, ops: Iterable[Operation]) -> list[Operation]:
    """The ops of a block that these depend on, and they themselves, in their order."""
    found: set[Operation] = set()
    pending = list(ops)
    while pending:
        op = pending.pop()
        if op not in found and op.parent is block:
            found.add(op)
            pending += [v.owner for inner in op.walk() for v in inner.operands if isinstance(v.owner, Operation)]
    return [op for op in block.ops if op in found]


@dataclass
class _Loop:
    channel: tile.ChannelOp
    loop: scf.ForOp
    buffers: Sequence[SSAValue]

    def __post_init__(self) -> None:
        self.block = self.loop.body.block
        self.k = self.block.args[0]
        fills = [fill for buffer in self.buffers for fill in fills_of(buffer)]
        copies = [fill for fill in fills if isinstance(fill, tile.CopyOp)]
        writes = [fill for fill in fills if isinstance(fill, tile.WriteOp)]
        self.fills = fills
        self.copying = slice_of(self.block, copies)
        made = slice_of(self.block, writes)
        self.loading = slice_of(self.block, [op for op in made if isinstance(op, tile.LoadOp)])
        self.writing = [op for op in made if op not in self.loading]

    def rewrite(self) -> None:
        self._fill_ahead()
        first = self.block.first_op
        assert first is not None
        wait, acquire = tile.WaitOp(self.channel.channel), self._acquire()
        previous = self.block.insert_arg(wait.slot.type, len(self.block.args))
        previous.name_hint = "previous"
        start: list[Operation] = [wait, tile.ReleaseOp(previous), acquire]
        place = self._offset(self.k, self.channel.stage_count - 1, start)
        inside = self._inside(place, start)
        at = arith.SelectOp(inside, place, self.k)
        start.append(at)
        mapping = self._mapping(at.result, acquire)
        start += [op.clone(mapping) for op in self.loading]
        copies = [op.clone(mapping) for op in self.copying]
        end: list[Operation] = [op.clone(mapping) for op in self.writing]
        end.append(tile.CommitOp(acquire.slot))
        for old, new in zip(self.buffers, wait.buffers, strict=True):
            new.name_hint = old.name_hint
            for use in list(old.uses):
                if isinstance(use.operation, tile.DotOp) or _is_read(use.operation):
                    use.operation.operands[use.index] = new
        for op in reversed(self.block.ops):
            if op in self.fills or (isinstance(op, tile.SubviewOp) and not op.result.uses.get_length()):
                Rewriter.erase_op(op)
        dots = [op for op in self.block.ops if isinstance(op, tile.DotOp)]
        Rewriter.insert_op(self._all_located(start), InsertPoint.at_start(self.block))
        behind = InsertPoint.after(dots[0] if len(dots) > 1 else start[-1])
        Rewriter.insert_op(self._all_located(copies), behind)
        last = self.block.last_op
        assert last is not None
        Rewriter.insert_op(self._all_located(end), InsertPoint.before(last))
        Rewriter.replace_op(last, self._located(scf.YieldOp(*last.operands, wait.slot)))
        self._carry_slot()

    def _carry_slot(self) -> None:
        """The stage of the step before is free when all threads have come to the next; the stages that were filled
        behind the end are skipped."""
        no_slot = tile.NoSlotOp()
        Rewriter.insert_op(self._located(no_slot), InsertPoint.before(self.loop))
        new = with_carried(self.loop, [*self.loop.iter_args, no_slot.slot])
        new.attributes |= self.loop.attributes
        ended = [tile.ReleaseOp(new.results[-1]), tile.SkipOp(self.channel.channel, self.channel.stage_count - 1)]
        Rewriter.insert_op(self._all_located(ended), InsertPoint.after(new))
        Rewriter.replace_op(self.loop, [], new.results[:-1])
        self.loop = new

    def _fill_ahead(self) -> None:
        """The stages that are filled before the loop."""
        ops: list[Operation] = []
        for stage in range(self.channel.stage_count - 1):
            acquire = self._acquire()
            ops.append(acquire)
            place = self._offset(self.loop.lb, stage, ops)
            inside = self._inside(place, ops)
            at = arith.SelectOp(inside, place, self.loop.lb)
            ops.append(at)
            ops += self._branch(inside, self._copies(self.copying, place, acquire))
            ops += self._copies([*self.loading, *self.writing], at.result, acquire)
            ops.append(tile.CommitOp(acquire.slot))
        Rewriter.insert_op(self._all_located(ops), InsertPoint.before(self.loop))

    # Parts

    def _acquire(self) -> tile.AcquireOp:
        acquire = tile.AcquireOp(self.channel.channel)
        for old, new in zip(self.buffers, acquire.buffers, strict=True):
            new.name_hint = old.name_hint
        return acquire

    def _offset(self, start: SSAValue, steps: int, ops: list[Operation]) -> SSAValue:
        """Where the step is that is so many after `start`."""
        if steps == 0:
            return start
        count = arith.ConstantOp(IntegerAttr(steps, INDEX))
        distance = arith.MuliOp(count.result, self.loop.step)
        place = arith.AddiOp(start, distance.result)
        ops += [count, distance, place]
        return place.result

    def _inside(self, place: SSAValue, ops: list[Operation]) -> SSAValue:
        inside = arith.CmpiOp(place, self.loop.ub, "ult")
        ops.append(inside)
        return inside.result

    def _branch(self, condition: SSAValue, ops: list[Operation]) -> list[Operation]:
        return [scf.IfOp(condition, [], Region(Block([*ops, scf.YieldOp()])))] if ops else []

    def _copies(self, ops: Sequence[Operation], place: SSAValue, acquire: tile.AcquireOp) -> list[Operation]:
        mapping = self._mapping(place, acquire)
        return [op.clone(mapping) for op in ops]

    def _mapping(self, place: SSAValue, acquire: tile.AcquireOp) -> dict[SSAValue, SSAValue]:
        """What the ops of a step at `place` become that fills an acquired stage."""
        return {self.k: place, **dict(zip(self.buffers, acquire.buffers, strict=True))}

    def _located(self, op: Operation) -> Operation:
        give_location(op, self.loop.location)
        return op

    def _all_located(self, ops: Sequence[Operation]) -> list[Operation]:
        return [self._located(op) for op in ops]


def _is_read(op: Operation) -> bool:
    """Whether an op is a part of a buffer that is read."""
    return isinstance(op, tile.SubviewOp) and bool(readers_of(op.result))
