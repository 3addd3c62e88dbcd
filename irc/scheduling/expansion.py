"""A scheduled loop as the loop that runs so: ops of several iterations side by side, with what comes before and after.

In iteration i of the new loop an op of stage s works on iteration i - s of the old one. A value that is used d
iterations after it was computed is carried through d arguments. The first iterations, in which later stages have
nothing to work on, and the last ones, in which earlier stages have nothing left, stand before and behind the loop.
Where later stages do nothing but release, there are no such: the loop begins with no slot to release. A loop whose
bounds are values stands in a branch that runs where it has the iterations before.

A loop that is `clamped` keeps its trips: they are those of the last stage that does more than release. The stages
before that one work ahead of it. Where nothing is ahead they work on an iteration inside of the bounds once more, as a
branch would keep asynchronous copies from going on; what they fill then is skipped behind the loop. Where bounds are
values it stands in a branch too, that runs where there is such an iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from irc.dialects import tile
from irc.ir.blocks import end_of
from irc.ir.rewriting import give_location
from irc.scheduling.channels import root_of
from irc.scheduling.dependences import Source, body_of, operands_of, passed_on, source_of, sources_of
from irc.scheduling.induction import InductionValues, guard
from irc.scheduling.loops import trips
from irc.scheduling.schedules import Schedule, too_early
from irc.support.diagnostics import IrcError

Key = tuple[SSAValue, int, tuple[BlockArgument, ...]]
"""A value, how many iterations ago it was computed, and the old arguments that say what it begins with, where the first
iterations have not computed it yet. An argument that the old loop only passes values from outside through is its own
key."""


def expand(loop: scf.ForOp, schedule: Schedule) -> None:
    """Replaces a loop by the one that its schedule describes. IrcError where an op would run before what it uses."""
    _check(loop, schedule)
    _Expansion(loop, schedule).run()


def _check(loop: scf.ForOp, schedule: Schedule) -> None:
    for op, source in too_early(loop, schedule):
        own, other = schedule[op], schedule[source]
        raise IrcError(
            f"the schedule runs {op.name} at stage {own.stage.data}, order {own.order.data}, before "
            f"{source.name}, whose result it uses, at stage {other.stage.data}, order {other.order.data}",
            op.location,
            "a later stage or order",
        )


def _may_repeat(op: Operation) -> bool:
    """Whether nothing comes of an op whose results are not used, and of a stage of a channel that is skipped."""
    if isinstance(op, tile.CopyOp | tile.WriteOp):
        return isinstance(root_of(op.buffer).owner, tile.AcquireOp)
    is_scalar = op.name.startswith("arith.")  # A division is no pure op, but it has run in that iteration before.
    return is_scalar or isinstance(op, tile.AcquireOp | tile.CommitOp | tile.LoadOp) or is_side_effect_free(op)


class _Expansion:
    def __init__(self, loop: scf.ForOp, schedule: Schedule):
        self._loop = loop
        self._ops = sorted(body_of(loop), key=lambda op: schedule[op].order.data)
        self._stage = {op: schedule[op].stage.data for op in self._ops}
        self._last = max(self._stage.values(), default=0)
        working = max((self._stage[op] for op in self._ops if not isinstance(op, tile.ReleaseOp)), default=0)
        self._induction = InductionValues(loop, is_clamped=tile.CLAMPED in loop.attributes)
        self._home, self._peeled = (0, self._last) if working and not self._induction.is_clamped else (working, working)
        """The stage of which the new loop's variable is that of the iteration, and the iterations before the loop."""
        self._done: list[dict[SSAValue, SSAValue]] = []
        """What each of the iterations before the new loop computed."""
        self._carried: dict[Key, SSAValue] = {}
        """What the new loop carries, and what each begins with."""

    def run(self) -> None:
        loop = self._loop
        self._find_iterations()
        for op in self._ops:
            if self._stage[op] < self._home and not _may_repeat(op):
                message = f"expected what may run once more before the last stage of a clamped loop, found {op.name}"
                raise IrcError(message, op.location)
        for number in range(self._peeled):
            self._done.append({})
            self._first(number)
        self._find_carried()
        new = self._steady()
        ended = dict(zip(self._carried, new.results, strict=True))
        behind = InsertPoint.after(new)
        after: list[dict[SSAValue, SSAValue]] = []
        for number in range(self._last - self._home):
            after.append({})
            for op in self._ops:
                if self._stage[op] > number + self._home:
                    values = {v: self._ended(op, v, number, ended, after) for v in operands_of(op)}
                    behind = self._put(op, values, after[-1], behind)
        if self._induction.is_clamped:
            self._skip(behind)
        results = [self._result(at, ended, after) if old.uses else None for at, old in enumerate(loop.results)]
        for old, result in zip(loop.results, results, strict=True):
            if result is not None and result.owner is new:
                result.name_hint = old.name_hint
        Rewriter.replace_op(loop, [], results)

    def _find_iterations(self) -> None:
        """Where the first iterations stand before the loop, it has them, or is in a branch that runs where it does. One
        that works ahead has an iteration inside of its bounds."""
        known, is_clamped = trips(self._loop), self._induction.is_clamped
        if self._peeled and known is None:
            guard(self._loop, 1 if is_clamped else self._peeled)
        elif known is not None and known < self._peeled and not is_clamped:
            message = f"a schedule of {self._last + 1} stages needs {self._last} iterations, the loop has {known}"
            raise IrcError(message, self._loop.location)

    # The iterations before the loop

    def _first(self, number: int) -> None:
        """Iteration `number` before the new loop: the stages that have something to work on."""
        indices: dict[int, SSAValue] = {}
        clamped: dict[int, SSAValue] = {}
        for op in self._ops:
            iteration, where = number - self._stage[op], InsertPoint.before(self._loop)
            if iteration < 0:
                continue
            values = {v: self._known(v, iteration) for v in operands_of(op)}
            is_optional = self._induction.is_clamped and isinstance(op, tile.CopyOp)
            if iteration not in indices and (is_optional or self._variable in values):
                indices[iteration] = self._induction.moved(self._loop.lb, iteration, where)
            if is_optional:
                values[self._variable], where = indices[iteration], self._induction.branch(indices[iteration])
            elif self._variable in values:
                if iteration not in clamped:
                    clamped[iteration] = self._induction.inside(indices[iteration], self._loop.lb, where)
                values[self._variable] = clamped[iteration]
            self._put(op, values, self._done[number], where)

    def _known(self, value: SSAValue, iteration: int) -> SSAValue:
        """A value of an iteration of the old loop, before the new one."""
        source = source_of(value, self._loop)
        if source is None:
            return self._outside(value, iteration)
        if iteration < source.distance:
            return self._begin(source.arguments[iteration])
        return self._done[iteration - source.distance + self._stage[source.op]][source.value]

    def _outside(self, value: SSAValue, iteration: int) -> SSAValue:
        """A value that the body does not compute. Of an argument that such a value goes into, the first is what it
        begins with."""
        while isinstance(value, BlockArgument) and value.owner is self._loop.body.block and value.index > 0:
            following = self._yielded()[value.index - 1]
            if iteration == 0 or following is value:
                return self._begin(value)
            value, iteration = following, iteration - 1
        return value

    def _begin(self, argument: BlockArgument) -> SSAValue:
        return self._loop.iter_args[argument.index - 1]

    # The loop

    def _find_carried(self) -> None:
        """What the new loop carries: first what the old one did, as far as it is still needed, in the same order."""
        uses = [(op, source) for op in self._ops for source in sources_of(op, self._loop)]
        passed = passed_on(self._loop)
        for argument, result in zip(self._loop.body.block.args[1:], self._loop.results, strict=True):
            if argument in passed:
                self._pass_on(argument)
            if (own := source_of(argument, self._loop)) is None:
                continue
            for op, source in uses:
                if source.value is own.value:
                    self._want(source, self._delta(op, source))
            if result.uses:
                self._want(own, self._home + own.distance - self._stage[own.op])
        for op, source in uses:
            self._want(source, self._delta(op, source))

    def _pass_on(self, argument: BlockArgument) -> None:
        """Carries an argument that only values from outside, or other such arguments, go into; the ops that use it are
        of the stage whose indices the new loop has."""
        for op in self._ops:
            if self._stage[op] != self._home and argument in operands_of(op):
                message = f"{op.name} uses what the loop only passes on, and has no stage but {self._home}"
                raise IrcError(message, op.location)
        self._carried[argument, 0, ()] = self._outside(argument, self._peeled - self._home)

    def _delta(self, op: Operation, source: Source) -> int:
        return self._stage[op] + source.distance - self._stage[source.op]

    def _want(self, source: Source, delta: int) -> None:
        """Carries a value that is used so many iterations later, through as many arguments."""
        for distance in range(1, delta + 1):
            key = self._key(source, distance)
            if key not in self._carried:
                self._carried[key] = self._initial(key, source)

    def _key(self, source: Source, delta: int) -> Key:
        iteration = self._peeled - delta - self._stage[source.op]
        if iteration >= 0 or not source.arguments:
            same = (key for key in self._carried if key[:2] == (source.value, delta))
            return (source.value, delta, ()) if iteration >= 0 else next(same, (source.value, delta, ()))
        return source.value, delta, source.arguments

    def _initial(self, key: Key, source: Source) -> SSAValue:
        """What an argument has in the first iteration of the new loop."""
        value, delta, arguments = key
        if arguments:
            iteration = self._peeled - delta - self._stage[source.op] + source.distance
            return self._begin(arguments[max(0, iteration)])
        if self._peeled >= delta and value in self._done[self._peeled - delta]:
            return self._done[self._peeled - delta][value]
        if isinstance(value.type, tile.SlotType):
            return self._induction.at(InsertPoint.before(self._loop)).value(tile.NoSlotOp())
        raise IrcError(f"{source.op.name} gives nothing to the first iteration that uses it", source.op.location)

    def _steady(self) -> scf.ForOp:
        loop, keys = self._loop, list(self._carried)
        starts = list(self._carried.values())
        block = Block(arg_types=[loop.lb.type, *(start.type for start in starts)])
        block.args[0].name_hint = self._variable.name_hint
        arguments: dict[Key, SSAValue] = {}
        for key, argument in zip(keys, block.args[1:], strict=True):
            argument.name_hint = "previous" if isinstance(argument.type, tile.SlotType) else self._hint(key)
            arguments[key] = argument
        inside: dict[SSAValue, SSAValue] = {}
        indices: dict[int, SSAValue] = {self._home: block.args[0]}
        for stage in sorted({self._stage[op] for op in self._ops if self._variable in operands_of(op)}):
            if stage < self._home:
                self._later(stage, indices, block)  # Before the ops that take long: addresses come from it.
        for op in self._ops:
            stage = self._stage[op]
            values: dict[SSAValue, SSAValue] = {}
            for value in operands_of(op):
                if value is self._variable:
                    values[value] = self._later(stage, indices, block)
                elif (source := source_of(value, loop)) is not None:
                    delta = self._delta(op, source)
                    values[value] = arguments[self._key(source, delta)] if delta else inside[source.value]
                else:
                    values[value] = arguments.get((value, 0, ()), self._outside(value, self._peeled - self._home))
            self._put(op, values, inside, InsertPoint.at_end(block))
        end = scf.YieldOp(*(self._end(key, inside, arguments) for key in keys))
        give_location(end, loop.location)
        block.add_op(end)
        low = self._induction.moved(loop.lb, self._peeled - self._home, InsertPoint.before(loop))
        new = scf.ForOp(low, loop.ub, loop.step, starts, Region(block))
        new.attributes |= {name: value for name, value in loop.attributes.items() if name != tile.CLAMPED}
        new.location = loop.location
        Rewriter.insert_op(new, InsertPoint.before(loop))
        return new

    def _later(self, stage: int, indices: dict[int, SSAValue], block: Block) -> SSAValue:
        """The old loop's variable in a stage."""
        if stage not in indices:
            index = self._induction.moved(block.args[0], self._home - stage, InsertPoint.at_end(block))
            indices[stage] = self._induction.inside(index, block.args[0], InsertPoint.at_end(block))
        return indices[stage]

    def _end(self, key: Key, inside: Mapping[SSAValue, SSAValue], arguments: Mapping[Key, SSAValue]) -> SSAValue:
        """What an argument has in the next iteration."""
        value, delta, chain = key
        if delta == 0:
            assert isinstance(value, BlockArgument)
            following = self._yielded()[value.index - 1]
            return arguments.get((following, 0, ()), self._outside(following, 0))
        if delta == 1:
            return inside[value]
        before = value, delta - 1, chain
        return arguments[before if before in arguments else (value, delta - 1, ())]

    def _hint(self, key: Key) -> str | None:
        """The name of the old argument that carried the value, or else the value's."""
        for argument in self._loop.body.block.args[1:]:
            source = source_of(argument, self._loop)
            if source is not None and (source.value, source.distance) == key[:2]:
                return argument.name_hint
        return key[0].name_hint

    # Behind the loop

    def _ended(
        self,
        op: Operation,
        value: SSAValue,
        number: int,
        ended: Mapping[Key, SSAValue],
        after: Sequence[dict[SSAValue, SSAValue]],
    ) -> SSAValue:
        """What an op uses in iteration `number` behind the new loop."""
        if value is self._variable:
            return self._induction.behind(number + self._home - self._stage[op])
        source = source_of(value, self._loop)
        if source is None:
            return self._outside(value, 0)
        return self._from_end(source, number - self._delta(op, source), ended, after)

    def _from_end(
        self,
        source: Source,
        number: int,
        ended: Mapping[Key, SSAValue],
        after: Sequence[dict[SSAValue, SSAValue]],
    ) -> SSAValue:
        """A value that was computed in iteration `number` behind the new loop, or, where that is negative, in it."""
        return after[number][source.value] if number >= 0 else ended[self._key(source, -number)]

    def _result(self, at: int, ended: Mapping[Key, SSAValue], after: Sequence[dict[SSAValue, SSAValue]]) -> SSAValue:
        argument = self._loop.body.block.args[1 + at]
        source = source_of(argument, self._loop)
        if source is None:
            return ended.get((argument, 0, ()), self._outside(argument, 0))
        return self._from_end(source, self._stage[source.op] - self._home - source.distance, ended, after)

    def _skip(self, where: InsertPoint) -> None:
        """Passes over the stages that a clamped loop filled ahead, and nobody waits for."""
        filled = {op.channel: self._stage[op] for op in self._ops if isinstance(op, tile.AcquireOp)}
        waits = [op for op in self._ops if isinstance(op, tile.WaitOp)]
        ahead = {op.channel: self._stage[op] - filled.get(op.channel, self._stage[op]) for op in waits}
        for channel, count in ahead.items():
            if count > 0:
                at = self._induction.at(where)
                at(tile.SkipOp(channel, at.index(count)))

    # Parts

    @property
    def _variable(self) -> SSAValue:
        return self._loop.body.block.args[0]

    def _yielded(self) -> Sequence[SSAValue]:
        last = end_of(self._loop.body.block)
        return last.operands

    def _put(
        self, op: Operation, values: dict[SSAValue, SSAValue], into: dict[SSAValue, SSAValue], where: InsertPoint
    ) -> InsertPoint:
        """A copy of an op on other values; gives the insertion point behind it."""
        clone = op.clone(dict(values))
        clone.attributes.pop(tile.SCHEDULED, None)
        Rewriter.insert_op(clone, where)
        for old, new in zip(op.results, clone.results, strict=True):
            new.name_hint = old.name_hint
            into[old] = new
        return InsertPoint.after(clone)
