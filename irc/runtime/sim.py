"""The target `sim`: a host plan whose kernels run on the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from irc.dialects.cuda import KernelOp
from irc.interpreters.sim.errors import SimulationError
from irc.interpreters.sim.launch import Kernel, Operand, Tensor
from irc.interpreters.sim.memory import Array, Memory, Span
from irc.interpreters.sim.statistics import Counters, KernelStatistics
from irc.runtime.arrays import check_count, host_array, written
from irc.runtime.artifact import DTYPES, ArraySpec
from irc.runtime.plan import Buffer, Collective, Copy, Launch, Memset, Parameter, Plan, Scalar, TensorMap
from irc.runtime.plan_reader import read_plan
from irc.support.communicator import communicator
from irc.support.cuda_wheels import NEEDS_REFERENCE
from irc.support.diagnostics import IrcError


class SimProgram:
    """Runs a module of kernels and one host plan, in order: streams are a matter of speed alone, as the plan's own
    check orders what races."""

    def __init__(
        self,
        module: ModuleOp,
        arguments: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        *,
        plan: Plan | None = None,
        lazy: bool = False,
    ):
        """`plan` is the module's, or it for sizes of its dims. `lazy`: asynchronous copies and products happen as late
        as they can, else when they are issued."""
        self._arguments = tuple(arguments)
        self._results = tuple(results)
        self._plan = read_plan(module) if plan is None else plan
        self._ops = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
        self._kernels: dict[str, Kernel] = {}
        self._lazy = lazy

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call. IrcError where the arrays do not fit, SimulationError where a kernel does what it must not."""
        if stream is not None:
            raise IrcError("the sim target has no streams", hint="leave stream out")
        return written(self._results, self._execute(arrays, None), out)

    def counted(self, arrays: Sequence[Any]) -> tuple[list[Any], list[KernelStatistics]]:
        """The results of one call, and its counts, a kernel each, in the order of their first launches."""
        counters: dict[str, Counters] = {}
        results = self._execute(arrays, counters)
        launches = [step.kernel for step in self._plan.steps if isinstance(step, Launch)]
        return results, [
            KernelStatistics(name, launches.count(name), list(counter.ops(self._ops[name])))
            for name, counter in counters.items()
        ]

    def sampled(self, most: int) -> dict[str, Counters]:
        """The counts of the first blocks of each kernel's first launch, on arrays of zeros, by kernel: they stop when
        they have entered `most` blocks of ops. What a kernel reads of others' results is zeros, too."""
        arguments = [Memory.empty(spec.name, spec.nbytes) for spec in self._arguments]
        device = _Device(arguments, self._results, self._plan.arena, self._plan.constants)
        for memory in (*arguments, *device.arena, *device.results):
            memory.written = None
        found: dict[str, Counters] = {}
        for step in [step for step in self._plan.steps if isinstance(step, Launch)]:
            if step.kernel not in found:
                operands = [device.operand(parameter) for parameter in step.parameters_of_sets[0]]
                found[step.kernel] = self._kernel(step.kernel).sample(operands, most, blocks=step.grid[0])
        return found

    def _kernel(self, name: str) -> Kernel:
        if (known := self._kernels.get(name)) is None:
            op = self._ops[name]
            if op.code is not None:
                message = f"the simulator runs cuda ops, and {name} is {op.written_in}"
                raise IrcError(message, op.location, NEEDS_REFERENCE)
            known = self._kernels[name] = Kernel(op)
        return known

    def _execute(self, arrays: Sequence[Any], counters: dict[str, Counters] | None) -> list[Any]:
        check_count(self._arguments, arrays)
        inputs = [host_array(spec, array) for spec, array in zip(self._arguments, arrays, strict=True)]
        arguments = [Memory.of(spec.name, array) for spec, array in zip(self._arguments, inputs, strict=True)]
        device = _Device(arguments, self._results, self._plan.arena, self._plan.constants)
        for step in self._plan.steps:
            match step:
                case Launch():
                    counter = None if counters is None else counters.setdefault(step.kernel, Counters())
                    for parameters in step.parameters_of_sets:
                        operands = [device.operand(parameter) for parameter in parameters]
                        self._kernel(step.kernel).launch(operands, counter, blocks=step.grid[0], lazy=self._lazy)
                case Collective():
                    device.exchange(step)
                case Copy(source, destination):
                    device.copy(source, destination)
                case Memset(buffer, value):
                    device.fill(buffer, value)
                case _:
                    pass
        for result, argument in self._plan.donated:
            device.results[result] = device.arguments[argument]
        return [self._result(device, index, spec) for index, spec in enumerate(self._results)]

    def _result(self, device: _Device, index: int, spec: ArraySpec) -> Array:
        memory = device.results[index]
        written = memory.written
        missing = np.empty(0) if written is None else np.flatnonzero(written[: spec.nbytes] == 0)
        if len(missing):
            count, first = len(missing) // spec.dtype.itemsize, int(missing[0]) // spec.dtype.itemsize
            names = ", ".join(self._ops)
            message = f"{max(count, 1)} elements of result {spec.name}, from element {first} on, were not written"
            raise SimulationError("unwritten", message, next(iter(self._ops.values())).location, names)
        return memory.data[: spec.nbytes].view(spec.dtype).reshape(spec.shape).copy()


class _Device:
    """The memory of one call."""

    def __init__(
        self,
        arguments: list[Memory],
        results: Sequence[ArraySpec],
        arena: int,
        constants: Sequence[bytes],
    ):
        self.arguments = arguments
        self.results = [Memory.empty(f"result {spec.name}", spec.nbytes) for spec in results]
        self.arena = [Memory.empty("workspace", arena)]
        self.constants = [Memory.of("constant", content) for content in constants]

    def span(self, buffer: Buffer) -> Span:
        spaces = {
            "argument": self.arguments,
            "result": self.results,
            "arena": self.arena,
            "constant": self.constants,
        }
        return Span(spaces[buffer.space][buffer.index], buffer.offset, buffer.size)

    def operand(self, parameter: Parameter) -> Operand:
        match parameter:
            case Scalar():
                return parameter.value
            case TensorMap():
                return Tensor(self.span(parameter.buffer), parameter.extents, parameter.strides)
            case Buffer():
                return self.span(parameter)

    def exchange(self, step: Collective) -> None:
        """By the communicator of ranks on the host."""
        dtype, ranks = DTYPES[step.element], communicator()
        arrays = [self.span(buffer).bytes().view(dtype) for buffer in step.sources]
        if step.does == "all_reduce":
            found = ranks.all_reduce(arrays, step.monoid, step.over)
        elif step.does == "all_gather":
            found = [ranks.all_gather(array, step.over) for array in arrays]
        else:
            found = [ranks.reduce_scatter(array, step.monoid, step.over) for array in arrays]
        for array, buffer in zip(found, step.destinations, strict=True):
            span = self.span(buffer)
            span.bytes()[...] = np.ascontiguousarray(array).view(np.uint8)
            self._note_written(span)

    def _note_written(self, span: Span) -> None:
        if span.memory.written is not None:
            span.memory.written[span.start : span.start + span.size] = 1

    def copy(self, source: Buffer, destination: Buffer) -> None:
        a, b = self.span(source), self.span(destination)
        b.bytes()[...] = a.bytes()
        if b.memory.written is not None:
            known = 1 if a.memory.written is None else a.memory.written[a.start : a.start + a.size]
            b.memory.written[b.start : b.start + b.size] = known

    def fill(self, buffer: Buffer, value: int) -> None:
        span = self.span(buffer)
        span.bytes()[...] = value
        self._note_written(span)
