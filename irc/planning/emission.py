"""Writes a host plan: buffers first, then the steps with their records and waits."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, LocationAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.op_classes import behind_views
from irc.dialects.host import (
    ArenaOp,
    BufferOp,
    BufferType,
    ConstantOp,
    CopyOp,
    LaunchOp,
    MemsetOp,
    PlanOp,
    RecordOp,
    SizeOp,
    WaitOp,
    bytes_of,
)
from irc.dialects.host import CollectiveOp as HostCollectiveOp
from irc.dialects.host import ReturnOp as EndOp
from irc.dialects.nd import CollectiveOp, ConcatOp
from irc.dialects.nd.joined import holder_of, is_in_place, parts_of
from irc.ir.donation import donations
from irc.ir.dtypes import element_of
from irc.ir.rewriting import location_of
from irc.planning.arena import Lifetime, aligned, place
from irc.planning.schedule import Schedule
from irc.planning.steps import Step, Steps


class PlanEmitter:
    """Writes the ops of the plan: buffers first, then the steps with their records and waits."""

    def __init__(self, function: FuncOp, found: Steps, made: Schedule):
        self._found, self._steps, self._made = found, found.steps, made
        self._location = location_of(function)
        type = FunctionType.from_lists(function.function_type.inputs.data, function.function_type.outputs.data)
        self._plan = PlanOp(function.sym_name.data, type, streams=made.streams)
        self._plan.location = self._location
        self._donated = donations(function)
        if self._donated:
            pairs = [number for pair in self._donated.items() for number in pair]
            self._plan.donated = DenseArrayBase.from_list(i64, pairs)
        self._buffers: dict[SSAValue, SSAValue] = {}
        for value, buffer in zip(function.body.block.args, self._plan.inputs, strict=True):
            buffer.name_hint = value.name_hint
            self._buffers[value] = buffer

    def emit(self) -> PlanOp:
        for index, output in enumerate(self._plan.outputs):
            output.name_hint = f"result{index}"
        for root, index in self._found.direct.items():
            self._buffers[root] = self._target(index)
            self._place_parts(root)
        for value, content, location in self._found.constants:
            self._buffers[value] = self._append(ConstantOp(content), location).results[0]
        self._place_intermediates()
        events = {step: event for event, step in enumerate(self._made.recorded)}
        for index in self._made.order:
            step = self._steps[index]
            stream = self._made.stream[index]
            for need in self._made.waits[index]:
                self._append(WaitOp(event=events[need], stream=stream), step.location)
            self._append(self._step(step, stream), step.location)
            if index in events:
                self._append(RecordOp(event=events[index], stream=stream), step.location)
        for need in self._made.final_waits:
            self._append(WaitOp(event=events[need], stream=0), self._location)
        self._append(EndOp(), self._location)
        return self._plan

    def _target(self, result: int) -> SSAValue:
        """Where a result is written."""
        argument = self._donated.get(result)
        return self._plan.outputs[result] if argument is None else self._plan.inputs[argument]

    def _step(self, step: Step, stream: int) -> Operation:
        if step.collective is not None:
            return self._collective(step.collective, step, stream)
        if step.is_zeros:
            return MemsetOp(stream, self._base_of(step.writes))
        if step.result is None and step.kernel is None:
            return CopyOp(stream, self._buffers[step.reads[0]], self._buffers[step.writes[0]])
        if step.result is None:
            assert step.kernel is not None
            buffers = [self._buffers[value] for each in step.sets for value in (*each.reads, *each.writes)]
            buffers += [self._append(SizeOp(dim), step.location).results[0] for dim in self._sizes_of(step.kernel)]
            return LaunchOp(step.kernel, buffers, stream=stream, sets=len(step.sets))
        return CopyOp(stream, self._buffers[step.reads[0]], self._target(step.result))

    def _collective(self, op: CollectiveOp, step: Step, stream: int) -> HostCollectiveOp:
        monoid = op.properties.get("monoid")
        return HostCollectiveOp(
            op.name.removeprefix("nd."),
            [self._buffers[value] for value in step.reads],
            [self._buffers[value] for value in step.writes],
            over=op.over.data,
            element=element_of(op.results[0].type).name,
            monoid=monoid.data if isinstance(monoid, StringAttr) else "",
            stream=stream,
        )

    def _sizes_of(self, kernel: str) -> tuple[str, ...]:
        """The dims whose sizes a launch has; kernels that have any are launched one set at a time."""
        return self._found.kernels[kernel].dim_names

    def _place_intermediates(self) -> None:
        """The arena, and the buffer in it of every array that is not a result."""
        users: dict[SSAValue, list[int]] = {}
        for index, step in enumerate(self._steps):
            for root in map(holder_of, step.reads):
                users.setdefault(root, []).append(index)
        made: dict[SSAValue, int] = {}
        others: dict[SSAValue, list[int]] = {}
        for i, step in enumerate(self._steps):
            for value in step.writes:
                root = holder_of(value)
                if made.setdefault(root, i) != i:
                    (users if root is value else others).setdefault(root, []).append(i)
        groups = [self._placed_together(value, step) for value, step in made.items() if value not in self._buffers]
        values = [(group, made[group[0]]) for group in dict.fromkeys(groups)]
        lifetimes = [
            Lifetime(
                _bytes_of_all(group),
                step,
                tuple(user for value in group for user in users.get(value, ())),
                tuple(others.get(group[0], ())),
            )
            for group, step in values
        ]
        placement = place(lifetimes, self._made.before)
        empty = [v for step in self._steps for v in step.reads if v not in self._buffers and holder_of(v) not in made]
        if not values and not empty:
            return
        arena = self._append(ArenaOp(placement.size), self._location).results[0]
        arena.name_hint = "arena"
        for (group, _), offset, lifetime in zip(values, placement.offsets, lifetimes, strict=True):
            base = self._range(arena, offset, lifetime.size, group[0])
            at = 0
            for value in group:
                size = bytes_of(value.type)
                self._buffers[value] = base if len(group) == 1 else self._range(base, at, size, value)
                self._place_parts(value)
                at += aligned(size)
        # What a launch of no elements would have made: nobody reads a byte of it.
        for value in empty:
            self._buffers[value] = self._range(arena, 0, 0, value)

    def _place_parts(self, root: SSAValue, pitch: int = 0) -> None:
        """The buffers of the arrays that lie in another, each `pitch` bytes of it a row; its own where that is 0."""
        op, base = root.owner, self._buffers[root]
        if not isinstance(op, ConcatOp) or not is_in_place(op):
            return
        assert isinstance(base.type, BufferType)
        for operand, part in zip(op.inputs, parts_of(op), strict=True):
            inner, rows = behind_views(operand), (pitch or part.pitch, part.width)
            size = base.type.size.data - part.pitch + part.width
            made = self._append(BufferOp(base, part.offset, size, rows), location_of(op)).results[0]
            made.name_hint = inner.name_hint
            self._buffers[inner] = made
            self._place_parts(inner, rows[0])

    def _placed_together(self, value: SSAValue, step: int) -> tuple[SSAValue, ...]:
        """The arrays that lie side by side as one step zeros them, in units of the arena; most lie by themselves."""
        return tuple(self._steps[step].writes) if self._steps[step].is_zeros else (value,)

    def _base_of(self, values: Sequence[SSAValue]) -> SSAValue:
        """The buffer of one array, or that of which those of several are ranges."""
        buffer = self._buffers[values[0]]
        if len(values) == 1:
            return buffer
        assert isinstance(buffer.owner, BufferOp)
        return buffer.owner.base

    def _range(self, arena: SSAValue, offset: int, size: int, value: SSAValue) -> SSAValue:
        owner = value.owner
        location = location_of(owner) if isinstance(owner, Operation) else self._location
        buffer = self._append(BufferOp(arena, offset, size), location).results[0]
        buffer.name_hint = value.name_hint
        return buffer

    def _append(self, op: Operation, location: LocationAttr) -> Operation:
        op.location = location
        self._block.add_op(op)
        return op

    @property
    def _block(self) -> Block:
        return self._plan.body.block


def _bytes_of_all(values: Sequence[SSAValue]) -> int:
    """Of arrays that lie side by side, or of one."""
    *others, last = (bytes_of(value.type) for value in values)
    return sum(map(aligned, others)) + last
