"""A scheduled loop as the loop that runs so: ops of several iterations side by side, with what comes before and after.

In iteration i of the new loop an op of stage s works on iteration i - s of the old one. A value that is used d
iterations after it was computed is carried through d arguments. The first iterations, in which later stages have
nothing to work on, and the last ones, in which earlier stages have nothing left, stand before and behind the loop.
Where later stages do nothing but release, there are no such: the loop begins with no slot to release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.multiples import constant_of
from irc.dialects import tile
from irc.ir.rewriting import give_location
from irc.scheduling.dependences import Source, body_of, operands_of, passed_on, source_of
from irc.scheduling.loops import trips
from irc.scheduling.schedules import Schedule
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
    for op in body_of(loop):
        for value in operands_of(op):
            source = source_of(value, loop)
            if source is None:
                continue
            own, other = schedule[op], schedule[source.op]
            delta = own.stage.data + source.distance - other.stage.data
            if delta < 0 or (delta == 0 and other.order.data >= own.order.data):
                raise IrcError(
                    f"the schedule runs {op.name} at stage {own.stage.data}, order {own.order.data}, before "
                    f"{source.op.name}, whose result it uses, at stage {other.stage.data}, order {other.order.data}",
                    op.location,
                    "a later stage or order",
                )


class _Expansion:
    def __init__(self, loop: scf.ForOp, schedule: Schedule):
        self._loop = loop
        self._ops = sorted(body_of(loop), key=lambda op: schedule[op].order.data)
        self._stage = {op: schedule[op].stage.data for op in self._ops}
        self._last = max(self._stage.values(), default=0)
        later = [op for op in self._ops if self._stage[op] > 0]
        self._peeled = 0 if all(isinstance(op, tile.ReleaseOp) for op in later) else self._last
        self._done: list[dict[SSAValue, SSAValue]] = []
        """What each of the iterations before the new loop computed."""
        self._carried: dict[Key, SSAValue] = {}
        """What the new loop carries, and what each begins with."""

    def run(self) -> None:
        loop = self._loop
        if self._peeled and trips(loop) < self._peeled:
            raise IrcError(f"a schedule of {self._last + 1} stages needs {self._last} iterations", loop.location)
        for number in range(self._peeled):
            self._done.append({})
            self._first(number)
        self._find_carried()
        new = self._steady()
        ended = dict(zip(self._carried, new.results, strict=True))
        behind = InsertPoint.after(new)
        after: list[dict[SSAValue, SSAValue]] = []
        for number in range(self._last):
            after.append({})
            for op in self._ops:
                if self._stage[op] > number:
                    values = {v: self._ended(op, v, number, ended, after) for v in operands_of(op)}
                    behind = self._put(op, values, after[-1], behind)
        results = [self._result(at, ended, after) if old.uses else None for at, old in enumerate(loop.results)]
        for old, result in zip(loop.results, results, strict=True):
            if result is not None and result.owner is new:
                result.name_hint = old.name_hint
        Rewriter.replace_op(loop, [], results)

    # The iterations before the loop

    def _first(self, number: int) -> None:
        """Iteration `number` before the new loop: the stages that have something to work on."""
        for op in self._ops:
            stage = self._stage[op]
            if stage <= number:
                values = {v: self._known(v, number - stage) for v in operands_of(op)}
                values[self._variable] = self._place(number - stage, op)
                self._put(op, values, self._done[number], InsertPoint.before(self._loop))

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

    def _place(self, iteration: int, op: Operation) -> SSAValue:
        """The old loop's variable in an iteration before the new one."""
        loop = self._loop
        if iteration == 0 or self._variable not in operands_of(op):
            return loop.lb
        return self._moved(loop.lb, iteration, InsertPoint.before(loop))

    def _moved(self, start: SSAValue, steps: int, where: InsertPoint) -> SSAValue:
        """So many iterations behind a value of the loop's variable; before it where the number is negative."""
        first, step = constant_of(start), constant_of(self._loop.step)
        if first is not None and step is not None:
            place = arith.ConstantOp(IntegerAttr(first + steps * step, IndexType()))
            return self._inserted([place], where)
        count = arith.ConstantOp(IntegerAttr(abs(steps), IndexType()))
        distance = arith.MuliOp(count.result, self._loop.step)
        moved = (arith.AddiOp if steps > 0 else arith.SubiOp)(start, distance.result)
        return self._inserted([count, distance, moved], where)

    def _inserted(self, ops: Sequence[Operation], where: InsertPoint) -> SSAValue:
        for op in ops:
            give_location(op, self._loop.location)
        Rewriter.insert_op(ops, where)
        return ops[-1].results[0]

    # The loop

    def _find_carried(self) -> None:
        """What the new loop carries: first what the old one did, as far as it is still needed, in the same order."""
        uses = [(op, source) for op in self._ops for source in self._sources(op)]
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
                self._want(own, own.distance - self._stage[own.op])
        for op, source in uses:
            self._want(source, self._delta(op, source))

    def _pass_on(self, argument: BlockArgument) -> None:
        """Carries an argument that only values from outside, or other such arguments, go into; the ops that use it are
        of stage 0."""
        for op in self._ops:
            if self._stage[op] > 0 and argument in operands_of(op):
                raise IrcError(f"{op.name} uses what the loop only passes on, and has no stage but 0", op.location)
        self._carried[argument, 0, ()] = self._outside(argument, self._peeled)

    def _sources(self, op: Operation) -> list[Source]:
        found = (source_of(value, self._loop) for value in operands_of(op))
        return [source for source in found if source is not None]

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
            return self._nothing()
        raise IrcError(f"{source.op.name} gives nothing to the first iteration that uses it", source.op.location)

    def _nothing(self) -> SSAValue:
        none = tile.NoSlotOp()
        give_location(none, self._loop.location)
        Rewriter.insert_op(none, InsertPoint.before(self._loop))
        return none.slot

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
        places: dict[int, SSAValue] = {0: block.args[0]}
        for op in self._ops:
            stage = self._stage[op]
            values: dict[SSAValue, SSAValue] = {}
            for value in operands_of(op):
                if value is self._variable:
                    if stage not in places:
                        places[stage] = self._moved(block.args[0], -stage, InsertPoint.at_end(block))
                    values[value] = places[stage]
                elif (source := source_of(value, loop)) is not None:
                    delta = self._delta(op, source)
                    values[value] = arguments[self._key(source, delta)] if delta else inside[source.value]
                else:
                    values[value] = arguments.get((value, 0, ()), self._outside(value, self._peeled))
            self._put(op, values, inside, InsertPoint.at_end(block))
        end = scf.YieldOp(*(self._end(key, inside, arguments) for key in keys))
        give_location(end, loop.location)
        block.add_op(end)
        low = self._moved(loop.lb, self._peeled, InsertPoint.before(loop)) if self._peeled else loop.lb
        new = scf.ForOp(low, loop.ub, loop.step, starts, Region(block))
        new.attributes |= loop.attributes
        new.location = loop.location
        Rewriter.insert_op(new, InsertPoint.before(loop))
        return new

    def _end(self, key: Key, inside: Mapping[SSAValue, SSAValue], arguments: Mapping[Key, SSAValue]) -> SSAValue:
        """What an argument has in the next iteration."""
        value, delta, chain = key
        if delta == 0:
            assert isinstance(value, BlockArgument)
            following = self._yielded()[value.index - 1]
            return arguments.get((following, 0, ()), self._outside(following, 0))
        if delta == 1:
            return inside[value]
        return (
            arguments[value, delta - 1, chain]
            if (value, delta - 1, chain) in arguments
            else arguments[value, delta - 1, ()]
        )

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
            iteration = trips(self._loop) + number - self._stage[op]
            return self._moved(self._loop.lb, iteration, InsertPoint.before(self._loop))
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
        return self._from_end(source, self._stage[source.op] - source.distance, ended, after)

    # Parts

    @property
    def _variable(self) -> SSAValue:
        return self._loop.body.block.args[0]

    def _yielded(self) -> Sequence[SSAValue]:
        last = self._loop.body.block.last_op
        assert last is not None
        return last.operands

    def _put(
        self, op: Operation, values: dict[SSAValue, SSAValue], into: dict[SSAValue, SSAValue], where: InsertPoint
    ) -> InsertPoint:
        """A copy of an op on other values; gives the place behind it."""
        clone = op.clone(dict(values))
        clone.attributes.pop(tile.SCHEDULED, None)
        Rewriter.insert_op(clone, where)
        for old, new in zip(op.results, clone.results, strict=True):
            new.name_hint = old.name_hint
            into[old] = new
        return InsertPoint.after(clone)
