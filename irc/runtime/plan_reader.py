"""From `host.plan` to `irc.runtime.plan.Plan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, i1
from xdsl.ir import Attribute, Operation, SSAValue

from irc.analysis.early_reads import early_reads
from irc.dialects.cuda.kernel import KernelOp
from irc.dialects.cuda.sync import DependencyWaitOp
from irc.dialects.cuda.types import PtrType, TensorMapType
from irc.dialects.host import (
    ArenaOp,
    BufferType,
    CollectiveOp,
    ConstantOp,
    CopyOp,
    LaunchOp,
    MemsetOp,
    PlanOp,
    RecordOp,
    SizeOp,
    StepOp,
    WaitOp,
)
from irc.dialects.host.checks import extent_of
from irc.ir.dtypes import element_of
from irc.ir.extents import dims_of
from irc.ir.properties import values_of
from irc.ir.rewriting import location_of
from irc.runtime.plan import (
    CALLERS_STREAM,
    Buffer,
    Collective,
    Copy,
    Launch,
    Memset,
    Parameter,
    Plan,
    Record,
    Scalar,
    Step,
    TensorMap,
    Wait,
)
from irc.support.diagnostics import IrcError


def read_plan(module: ModuleOp, reads: Callable[[KernelOp], set[int]] = early_reads) -> Plan:
    """The module's one `host.plan` as data. IrcError where there is none or there are several. reads: the arguments
    that a kernel reads before it waits."""
    plans = [op for op in module.ops if isinstance(op, PlanOp)]
    if len(plans) != 1:
        raise IrcError(f"expected one host.plan in the module, found {len(plans)}", module.location)
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
    return _Reader(plans[0], kernels, reads).plan()


class _Reader:
    def __init__(self, op: PlanOp, kernels: Mapping[str, KernelOp], reads: Callable[[KernelOp], set[int]]):
        self._op = op
        self._kernels = kernels
        self._reads = reads
        self._spaces: dict[SSAValue, Buffer] = {}
        self._constants: list[bytes] = []
        self._arena = 0
        for index, value in enumerate(op.inputs):
            self._spaces[value] = Buffer("argument", index, 0, _size(value))
        for index, value in enumerate(op.outputs):
            self._spaces[value] = Buffer("result", index, 0, _size(value))

    def plan(self) -> Plan:
        steps: list[Step] = []
        for op in self._op.body.block.ops:
            if isinstance(op, ArenaOp):
                self._arena = _size(op.result)
                self._spaces[op.result] = Buffer("arena", 0, 0, self._arena)
            elif isinstance(op, ConstantOp):
                self._spaces[op.result] = Buffer("constant", len(self._constants), 0, _size(op.result))
                self._constants.append(_bytes_of(op))
            elif isinstance(op, StepOp):
                steps.append(self._step(op))
        events = [step.event for step in steps if isinstance(step, Record)]
        waiting = {name: self._reads(kernel) for name, kernel in self._kernels.items() if _waits(kernel)}
        steps = _overlapped(steps, waiting)
        return Plan(
            self._op.sym_name.data,
            self._arena,
            self._op.streams.value.data,
            max(events, default=-1) + 1,
            tuple(self._constants),
            tuple(steps),
            tuple(self._op.donations.items()),
            dims_of(self._op),
        )

    def _step(self, op: StepOp) -> Step:
        stream = op.stream.value.data
        match op:
            case LaunchOp():
                return self._launch(op, stream)
            case CollectiveOp():
                sources, destinations = (tuple(map(self._buffer, of)) for of in (op.sources, op.destinations))
                over = tuple(op.over.data.split(","))
                element, monoid = op.element.data, op.monoid.data
                return Collective(op.does.data, over, element, monoid, sources, destinations, stream)
            case CopyOp():
                return Copy(self._buffer(op.source), self._buffer(op.destination), stream)
            case MemsetOp():
                return Memset(self._buffer(op.buffer), op.value.value.data, stream)
            case RecordOp():
                return Record(op.event.value.data, stream)
            case WaitOp():
                return Wait(op.event.value.data, stream)
            case _:
                raise IrcError(f"the runtime cannot execute {op.name}", location_of(op))

    def _launch(self, op: LaunchOp, stream: int) -> Launch:
        kernel = self._kernels.get(op.kernel_name)
        if kernel is None:
            raise IrcError(f"no cuda.kernel is named {op.kernel_name}", location_of(op))
        parameters = [
            self._parameter(argument.type, operands[operand])
            for operands in op.operand_sets
            for argument, operand in zip(kernel.arguments, kernel.operand_of_argument, strict=True)
        ]
        for place, value in sorted(kernel.value_at.items()):
            parameters.insert(place, Scalar(element_of(value.type).name, _content(value)))
        sets = op.sets.value.data
        grid, cluster = values_of(kernel.grid), values_of(kernel.cluster) or (1, 1, 1)
        return Launch(
            kernel=kernel.sym_name.data,
            grid=(grid[0], grid[1], grid[2] * sets),
            block=kernel.block.value.data,
            cluster=(cluster[0], cluster[1], cluster[2]),
            shared=0 if kernel.shared is None else kernel.shared.value.data,
            parameters=tuple(parameters),
            stream=stream,
            sets=sets,
            max_sets=kernel.max_sets,
            domains=tuple(values_of(cast(DenseArrayBase, domain)) for domain in kernel.domains or ()),
        )

    def _parameter(self, type: Attribute, value: SSAValue) -> Parameter:
        if isinstance(type, PtrType):
            return self._buffer(value)
        if isinstance(type, TensorMapType):
            return TensorMap(
                self._buffer(value),
                element_of(type.element).name,
                values_of(type.extents),
                values_of(type.strides),
                values_of(type.box),
                type.swizzle.data,
                values_of(type.lower),
                values_of(type.upper),
                values_of(type.steps),
            )
        if isinstance(value.owner, SizeOp):
            name = value.owner.dim.data
            prime = next((dim.prime for dim in dims_of(self._op) if dim.name == name), None)
            if prime is None:
                raise IrcError(f"the module has no dim {name}", location_of(value.owner))
            return Scalar(element_of(type).name, prime, name)
        return Scalar(element_of(type).name, _number(value))

    def _buffer(self, value: SSAValue) -> Buffer:
        extent = extent_of(value)
        root = self._spaces[extent.root]
        return Buffer(root.space, root.index, extent.start, extent.end - extent.start)


def _waits(kernel: KernelOp) -> bool:
    """Whether the kernel waits by itself for what comes before it."""
    return any(isinstance(op, DependencyWaitOp) for op in kernel.body.block.ops)


def _overlapped(steps: Sequence[Step], waiting: Mapping[str, Set[int]]) -> list[Step]:
    """The steps, with launches of kernels that wait by themselves overlapping a launch right before on their stream:
    one of this plan, or, for the first step on the caller's stream, whatever the caller launched there, unless the
    kernel reads something before it waits. waiting: the arguments of which each kernel that waits does so."""
    last: dict[int, Step] = {}
    made: list[Step] = []
    for step in steps:
        if isinstance(step, Launch) and step.kernel in waiting:
            step = replace(step, overlaps=_follows_launch(step, last, bool(waiting[step.kernel])))
        last[step.stream] = step
        made.append(step)
    return made


def _follows_launch(step: Launch, last: Mapping[int, Step], reads_early: bool) -> bool:
    if step.stream not in last:
        return step.stream == CALLERS_STREAM and not reads_early
    return isinstance(last[step.stream], Launch)


def _size(value: SSAValue) -> int:
    assert isinstance(value.type, BufferType)
    return value.type.size.data


def _bytes_of(op: ConstantOp) -> bytes:
    """The array's bytes; a bool is 1 on the device, where xDSL packs it as 0xFF."""
    content = op.value.data.data
    if op.value.type.element_type == i1:
        content = bytes(byte & 1 for byte in content)
    size = _size(op.result)
    return content if len(content) == size else content * (size // len(content))


def _content(value: IntegerAttr | FloatAttr) -> int | float:
    """The number; a bool is 1 on the device, where xDSL has -1."""
    return value.value.data & 1 if isinstance(value, IntegerAttr) and value.type == i1 else value.value.data


def _number(value: SSAValue) -> int | float:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        where = location_of(owner) if isinstance(owner, Operation) else None
        raise IrcError("a scalar of a launch has to be a constant", where)
    attribute = owner.value
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data
    assert isinstance(attribute, FloatAttr)
    return attribute.value.data
