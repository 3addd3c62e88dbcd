"""`build-host-plan`: the host function becomes one static `host.plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    LocationAttr,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.invariants import PLANNED, THREADS
from irc.dialects.cuda import KernelOp
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.dialects.host import (
    ArenaOp,
    BufferOp,
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
from irc.dialects.host import ReturnOp as EndOp
from irc.dialects.kernel import LaunchOp as KernelLaunchOp
from irc.dialects.nd import ConstantOp as NdConstantOp
from irc.ir.blocks import block_of
from irc.ir.donation import donations
from irc.ir.passes import Pass
from irc.ir.properties import number, values_of
from irc.ir.rewriting import location_of
from irc.ir.targets import target_of
from irc.planning.arena import Lifetime, place
from irc.planning.group_launches import MAX_SETS, Member, group
from irc.planning.schedule import MAX_STREAMS, Schedule, schedule
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class BuildHostPlanPass(Pass):
    """Turn each host function of launches into a static plan: arena offsets, streams, events.

    Intermediate arrays get ranges of one arena, and share bytes when their lifetimes do not meet. Launches that do not
    depend on each other and are too small for the device run side by side: those of one kernel as one launch of up to
    `sets` sets of operands, others on different streams, at most `streams` of them; a wait stands only where nothing
    else orders two steps. A result that belongs to a donated argument (`irc.donated`) is
    written to its memory behind everything that reads it, by the kernel itself where that may work in place, by a copy
    otherwise. Arrays that a kernel adds to are set to zero before it. A function with an op that has no kernel is an
    error at that op.

    Sizes that follow from run-time extents are those of the numbers that stand for these: the arena of a call follows
    from which buffers lie before which.
    """

    name = "build-host-plan"
    requires = (THREADS,)
    establishes = (PLANNED,)

    streams: int = MAX_STREAMS
    """The most streams that a plan uses."""

    sets: int = MAX_SETS
    """The most sets of operands of a launch; 1 leaves each launch alone."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name in ("streams", "sets"):
            if (count := getattr(self, name)) < 1:
                raise IrcError(f"build-host-plan: expected one of {name} or more, found {name}={count}")
        for function in [f for f in op.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            plan = _Builder(op, function, self.streams, self.sets, target_of(op).sms).build()
            block = block_of(function)
            block.insert_op_before(plan, function)
            function.detach()
            function.erase()


@dataclass
class _Step:
    """A launch, or, without a kernel, a copy to a result or zeros in an array: the arrays it reads and writes, by their
    roots. What a kernel adds to it reads. `sets` are the launches that it stands for, itself where that is one."""

    reads: list[SSAValue]
    writes: list[SSAValue]
    location: LocationAttr
    kernel: str | None = None
    sets: list[_Step] = field(default_factory=list["_Step"])
    result: int | None = None
    """The number of the result that a copy writes."""
    needs: list[int] = field(default_factory=list[int])


class _Builder:
    """One function's plan. A value's root is what holds its bytes: an argument, a constant or the result of a
    launch."""

    def __init__(self, module: ModuleOp, function: FuncOp, streams: int, sets: int, processors: int):
        """`processors`: a kernel of as many blocks fills the device."""
        self._function = function
        self._max_streams, self._max_sets = streams, sets
        self._kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
        self._filling = {name for name, op in self._kernels.items() if prod(values_of(op.grid)) >= processors}
        self._roots: dict[SSAValue, SSAValue] = {}
        self._constants: list[tuple[SSAValue, DenseIntOrFPElementsAttr, LocationAttr]] = []
        self._steps: list[_Step] = []
        self._maker: dict[SSAValue, int] = {}
        self._direct: dict[SSAValue, int] = {}
        """The root of each result that a launch writes in place, and the number of the result."""
        self._copies: list[tuple[int, SSAValue]] = []
        arguments = function.body.block.args
        self._donated = {result: arguments[argument] for result, argument in donations(function).items()}
        """The argument to whose memory each of these results is written."""

    def build(self) -> PlanOp:
        terminator = self._function.body.block.last_op
        if len(self._function.body.blocks) != 1 or not isinstance(terminator, ReturnOp):
            raise IrcError("a host function has one block that ends in func.return", location_of(self._function))
        self._place_results(terminator)
        for op in self._function.body.block.ops:
            self._visit(op)
        self._add_copies(terminator)
        self._order_overwrites(terminator)
        self._group()
        filling = {index for index, step in enumerate(self._steps) if step.kernel in self._filling}
        made = schedule([step.needs for step in self._steps], self._max_streams, filling)
        return _Emitter(self._function, self._kernels, self._steps, made, self._constants, self._direct).emit()

    def _root(self, value: SSAValue) -> SSAValue:
        """What holds the bytes of a value: reshapes of whole arrays are views."""
        while isinstance(value.owner, Operation) and value.owner.name == "nd.reshape":
            value = value.owner.operands[0]
        return value

    def _place_results(self, terminator: ReturnOp) -> None:
        """A launch writes a result in place the first time that its array is returned; everything else is copied."""
        for index, value in enumerate(terminator.operands):
            root = self._root(value)
            if root is self._donated.get(index):
                continue
            is_sum = isinstance(root.owner, KernelLaunchOp) and self._is_sum(root.owner, root)
            if (
                isinstance(root.owner, KernelLaunchOp)
                and root not in self._direct
                and not (is_sum and index in self._donated)
            ):
                self._direct[root] = index
            else:
                self._copies.append((index, root))

    def _is_sum(self, op: KernelLaunchOp, root: SSAValue) -> bool:
        """Whether a launch adds to its result, which is zero before: it may be no memory that is read by then."""
        kernel = self._kernels.get(_callee(op))
        return kernel is not None and any([*op.inputs, *op.outputs][number] is root for number in kernel.summed)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, ReturnOp) or op.name == "nd.reshape":
            return
        if op.name == "nd.constant":
            if op.results[0].uses:
                self._constants.append((op.results[0], _content(op), location_of(op)))
            return
        if not isinstance(op, KernelLaunchOp):
            raise _no_kernel(op)
        self._visit_launch(op)

    def _visit_launch(self, op: KernelLaunchOp) -> None:
        name = _callee(op)
        if name not in self._kernels:
            raise IrcError(f"kernel.launch: no cuda.kernel is named {name}", location_of(op))
        if not any(result.uses for result in op.outputs) or all(bytes_of(v.type) == 0 for v in op.outputs):
            return
        first = len(op.inputs)
        summed = [v for i, v in enumerate(op.outputs, first) if i in self._kernels[name].summed]
        for value in summed:
            self._add(_Step([], [value], location_of(op)))
        step = _Step([self._root(v) for v in op.inputs], list(op.outputs), location_of(op), name)
        self._add(step, summed)

    def _add(self, step: _Step, summed: Sequence[SSAValue] = ()) -> None:
        step.needs = sorted({self._maker[root] for root in (*step.reads, *summed) if root in self._maker})
        for value in step.writes:
            self._maker[value] = len(self._steps)
        self._steps.append(step)

    def _add_copies(self, terminator: ReturnOp) -> None:
        for index, root in self._copies:
            self._add(_Step([root], [], location_of(terminator), result=index))

    def _order_overwrites(self, terminator: ReturnOp) -> None:
        """Orders what writes to a donated argument behind what reads it."""
        for index, argument in self._donated.items():
            root = self._root(terminator.operands[index])
            if root is not argument:
                self._order_overwrite(index, root, argument, location_of(terminator))

    def _order_overwrite(self, index: int, root: SSAValue, argument: SSAValue, location: LocationAttr) -> None:
        if self._direct.get(root) == index:
            writer = self._maker[root]
            if not self._is_in_place(writer, argument, root) or self._is_read_after(argument, writer):
                del self._direct[root]
                self._add(_Step([root], [], location, result=index))
        writers = [number for number, step in enumerate(self._steps) if step.result == index]
        writer = writers[0] if writers else self._maker[root]
        if self._is_read_after(argument, writer):
            raise IrcError("donated arguments cannot be exchanged for each other", location)
        step = self._steps[writer]
        step.needs = sorted({*step.needs, *self._readers(argument, writer)})
        if argument in step.reads and step.kernel is not None:
            _allow_overwriting(self._kernels[step.kernel])

    def _group(self) -> None:
        """Puts small launches of one kernel together, and all steps behind what they need."""
        members = [self._member(step) for step in self._steps]
        groups = group([step.needs for step in self._steps], members)
        places = {step: place for place, steps in enumerate(groups) for step in steps}
        made: list[_Step] = []
        for numbers in groups:
            step = _joined([self._steps[number] for number in numbers])
            step.needs = sorted({places[need] for need in step.needs})
            made.append(step)
        self._steps = made
        for step in made:
            if len(step.sets) > 1:
                _take_sets(self._kernels[step.kernel or ""], len(step.sets))

    def _member(self, step: _Step) -> Member | None:
        """What a step could share a launch with, if anything."""
        if step.kernel is None or step.kernel in self._filling:
            return None
        kernel = self._kernels[step.kernel]
        most = min(self._max_sets, kernel.room_for_sets)
        own = [value for value in (*step.reads, *step.writes) if value in self._maker and value not in self._direct]
        held = sum(bytes_of(value.type) for value in own)
        kind = step.kernel, len(step.reads), len(step.writes)
        return Member(kind, most, held) if most > 1 else None

    def _readers(self, argument: SSAValue, writer: int) -> list[int]:
        return [number for number, step in enumerate(self._steps) if argument in step.reads and number != writer]

    def _is_read_after(self, argument: SSAValue, writer: int) -> bool:
        """Whether a step that reads the argument needs what the writer makes."""
        reached: set[int] = set()
        stack = self._readers(argument, writer)
        while stack:
            step = stack.pop()
            if step not in reached:
                reached.add(step)
                stack.extend(self._steps[step].needs)
        return writer in reached

    def _is_in_place(self, writer: int, argument: SSAValue, root: SSAValue) -> bool:
        """Whether the launch may write the root to the memory of the argument, if it reads that at all."""
        step = self._steps[writer]
        assert step.kernel is not None
        pairs = self._kernels[step.kernel].in_place_pairs
        written = len(step.reads) + step.writes.index(root)
        return all((read, written) in pairs for read, value in enumerate(step.reads) if value is argument)


def _joined(steps: Sequence[_Step]) -> _Step:
    """One step for all of them."""
    if len(steps) == 1:
        return replace(steps[0], sets=list(steps))
    return replace(
        steps[0],
        reads=[value for step in steps for value in step.reads],
        writes=[value for step in steps for value in step.writes],
        needs=[need for step in steps for need in step.needs],
        sets=list(steps),
    )


def _take_sets(kernel: KernelOp, sets: int) -> None:
    """The kernel may be launched with as many sets of operands."""
    kernel.sets = number(max(sets, kernel.max_sets))


def _allow_overwriting(kernel: KernelOp) -> None:
    """The kernel may be launched with memory that it reads and writes."""
    kernel.aliased = UnitAttr()
    for op in kernel.walk():
        if isinstance(op, GlobalLoadOp) and op.is_read_only:
            op.cache = None


class _Emitter:
    """Writes the ops of the plan: buffers first, then the steps with their records and waits."""

    def __init__(
        self,
        function: FuncOp,
        kernels: Mapping[str, KernelOp],
        steps: Sequence[_Step],
        made: Schedule,
        constants: Sequence[tuple[SSAValue, DenseIntOrFPElementsAttr, LocationAttr]],
        direct: dict[SSAValue, int],
    ):
        self._kernels = kernels
        self._steps = steps
        self._made = made
        self._constants = constants
        self._direct = direct
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
        for root, index in self._direct.items():
            self._buffers[root] = self._target(index)
        for value, content, location in self._constants:
            self._buffers[value] = self._append(ConstantOp(content), location).results[0]
        self._place_intermediates()
        events = {step: event for event, step in enumerate(self._made.recorded)}
        for index in self._made.order:
            step = self._steps[index]
            stream = self._made.stream[index]
            for need in self._made.waits[index]:
                self._append(WaitOp(events[need], stream=stream), step.location)
            self._append(self._step(step, stream), step.location)
            if index in events:
                self._append(RecordOp(events[index], stream=stream), step.location)
        for need in self._made.final_waits:
            self._append(WaitOp(events[need], stream=0), self._location)
        self._append(EndOp(), self._location)
        return self._plan

    def _target(self, result: int) -> SSAValue:
        """Where a result is written."""
        argument = self._donated.get(result)
        return self._plan.outputs[result] if argument is None else self._plan.inputs[argument]

    def _step(self, step: _Step, stream: int) -> Operation:
        if step.result is None and step.kernel is None:
            return MemsetOp(self._buffers[step.writes[0]], stream=stream)
        if step.result is None:
            assert step.kernel is not None
            buffers = [self._buffers[value] for each in step.sets for value in (*each.reads, *each.writes)]
            buffers += [self._append(SizeOp(dim), step.location).results[0] for dim in self._sizes_of(step.kernel)]
            return LaunchOp(step.kernel, buffers, stream=stream, sets=len(step.sets))
        return CopyOp(self._buffers[step.reads[0]], self._target(step.result), stream=stream)

    def _sizes_of(self, kernel: str) -> tuple[str, ...]:
        """The dims whose sizes a launch has; kernels that have any are launched one set at a time."""
        return self._kernels[kernel].dim_names

    def _place_intermediates(self) -> None:
        """The arena, and the buffer in it of every array that is not a result."""
        users: dict[SSAValue, list[int]] = {}
        for index, step in enumerate(self._steps):
            for root in step.reads:
                users.setdefault(root, []).append(index)
        made: dict[SSAValue, int] = {}
        for i, step in enumerate(self._steps):
            for value in step.writes:
                if made.setdefault(value, i) != i:
                    users.setdefault(value, []).append(i)
        values = [(v, i) for v, i in made.items() if v not in self._buffers]
        lifetimes = [Lifetime(bytes_of(v.type), made, tuple(users.get(v, ()))) for v, made in values]
        placement = place(lifetimes, self._made.before)
        empty = [v for step in self._steps for v in step.reads if v not in self._buffers and v not in made]
        if not values and not empty:
            return
        arena = self._append(ArenaOp(placement.size), self._location).results[0]
        arena.name_hint = "arena"
        for (value, _), offset, lifetime in zip(values, placement.offsets, lifetimes, strict=True):
            self._buffers[value] = self._range(arena, offset, lifetime.size, value)
        # What a launch of no elements would have made: nobody reads a byte of it.
        for value in empty:
            self._buffers[value] = self._range(arena, 0, 0, value)

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


def _content(op: Operation) -> DenseIntOrFPElementsAttr:
    """The elements of an nd.constant as xDSL packs them: a bool is a byte of ones."""
    assert isinstance(op, NdConstantOp)
    array = op.array()
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * np.uint8(255)
    type: TensorType[Any] = op.value.type
    return DenseIntOrFPElementsAttr(type, BytesAttr(np.ascontiguousarray(array).tobytes()))


def _callee(op: KernelLaunchOp) -> str:
    callee = op.callee
    assert isinstance(callee, SymbolRefAttr)
    return callee.root_reference.data


def _no_kernel(op: Operation) -> IrcError:
    """The diagnostic of an op that is still outside of every kernel."""
    if op.name.startswith("nd."):
        return IrcError(f"{op.name} runs on the cpu target only so far", location_of(op), "compile for target cpu")
    return IrcError(
        f"build-host-plan: expected launches, reshapes and a return in a host function, found {op.name}",
        location_of(op),
        "it runs after lower-to-cuda",
    )
