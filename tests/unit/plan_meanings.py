"""What a host function of launches means, and what a plan of it does in any order that its streams and events allow.

Code of kernels is not looked at: each byte of what one makes is a number of 64 bits that follows from its name and all
that it reads. So whatever reads other bytes than the function says shows in a result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from irc.dialects.cuda import KernelOp
from irc.dialects.host import CollectiveOp as HostCollectiveOp
from irc.dialects.host import ConstantOp as HostConstantOp
from irc.dialects.host import CopyOp, MemsetOp, PlanOp, StepOp, bytes_of
from irc.dialects.host import LaunchOp as HostLaunchOp
from irc.dialects.host.checks import extent_of
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import CollectiveOp, ConcatOp, ConstantOp, ReshapeOp
from irc.dialects.nd.joined import parts_of
from irc.ir.donation import donations
from irc.runtime.plan import (
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

Bytes = np.ndarray[Any, np.dtype[np.uint64]]


def _number(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


def _said(x: Bytes) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=8).digest()


def _fresh(size: int, *parts: object) -> Bytes:
    """Numbers of their own for so many bytes, of which none is 0."""
    return np.uint64(_number(*parts) | 1) * (2 * np.arange(size).astype(np.uint64) + np.uint64(1))


def content_of(name: str, size: int) -> Bytes:
    """What an argument holds before."""
    return _fresh(size, "given", name)


def launched(kernel: KernelOp, inputs: Sequence[Bytes], before: Sequence[Bytes]) -> list[Bytes]:
    """What a launch leaves in its outputs. before: what is in them, which matters where it adds, or stores to some.
    What it updates it does not read, as that may have been written over."""
    updated, updating = ({pair[side] for pair in kernel.updated_pairs} for side in (0, 1))
    seen = tuple(_said(x) for number, x in enumerate(inputs) if number not in updated)
    made: list[Bytes] = []
    for number, old in enumerate(before, len(inputs)):
        new = _fresh(len(old), kernel.symbol, number, seen)
        if number in kernel.summed:
            new += old
        elif number in updating:
            new = np.where(np.arange(len(old)) % 3 == 0, new, old)
        made.append(new)
    return made


def exchanged(does: str, inputs: Sequence[Bytes], sizes: Sequence[int]) -> list[Bytes]:
    """What a collective leaves in its outputs."""
    return [_fresh(size, does, _said(x)) for x, size in zip(inputs, sizes, strict=True)]


class Meaning:
    """What a function of launches means: the bytes of each value, and of its results."""

    def __init__(self, module: ModuleOp):
        kernels = {op.symbol: op for op in module.ops if isinstance(op, KernelOp)}
        (self.function,) = [op for op in module.ops if isinstance(op, FuncOp)]
        self._values: dict[SSAValue, Bytes] = {}
        self.constants: list[Bytes] = []
        for number, value in enumerate(self.function.body.block.args):
            self._values[value] = content_of(f"argument {number}", bytes_of(value.type))
        for op in self.function.body.block.ops:
            if isinstance(op, LaunchOp):
                self._launch(op, kernels[op.callee.root_reference.data])
            elif isinstance(op, CollectiveOp):
                sizes = [bytes_of(result.type) for result in op.results]
                self._set(op, exchanged(op.name.removeprefix("nd."), self._of(op.operands), sizes))
            elif isinstance(op, ReshapeOp):
                self._set(op, self._of([op.x]))
            elif isinstance(op, ConcatOp):
                self._set(op, [self._joined(op)])
            elif isinstance(op, ConstantOp) and op.result.uses:
                self.constants.append(content_of(f"constant {len(self.constants)}", bytes_of(op.result.type)))
                self._set(op, self.constants[-1:])
        end = self.function.body.block.last_op
        assert isinstance(end, ReturnOp)
        self.results = self._of(end.operands)
        self.donated = donations(self.function)

    def _of(self, values: Sequence[SSAValue]) -> list[Bytes]:
        return [self._values[value] for value in values]

    def _set(self, op: Operation, contents: Sequence[Bytes]) -> None:
        self._values |= dict(zip(op.results, contents, strict=True))

    def _launch(self, op: LaunchOp, kernel: KernelOp) -> None:
        inputs = self._of(op.inputs)
        before = [np.zeros(bytes_of(value.type), np.uint64) for value in op.outputs]
        for read, written in kernel.updated_pairs:
            before[written - len(inputs)] = inputs[read]
        self._set(op, launched(kernel, inputs, before))

    def _joined(self, op: ConcatOp) -> Bytes:
        made = np.zeros(bytes_of(op.result.type), np.uint64)
        for value, part in zip(self._of(op.inputs), parts_of(op), strict=True):
            rows = made.reshape(-1, part.pitch)
            rows[:, part.offset : part.offset + part.width] = value.reshape(-1, part.width)
        return made


@dataclass(frozen=True)
class Range:
    """Bytes of an array: `root` is its name, `at` has the number of each byte there."""

    root: tuple[str, int]
    at: np.ndarray[Any, np.dtype[np.int64]]

    def meets(self, other: Range) -> bool:
        """Whether two have a byte in common."""
        if self.root != other.root or not len(self.at) or not len(other.at):
            return False
        if self.at[0] > other.at[-1] or other.at[0] > self.at[-1]:
            return False
        return bool(np.isin(self.at, other.at).any())


@dataclass
class Act:
    """A step of a plan. does: a kernel's name, `copy`, `zero`, `record`, `wait` or a collective. sets: of operands,
    each what is read and what is written."""

    does: str
    stream: int
    sets: list[tuple[list[Range], list[Range]]] = field(default_factory=list[tuple[list[Range], list[Range]]])
    event: int = -1
    kernel: KernelOp | None = None


def acts_of(plan: PlanOp, kernels: Mapping[str, KernelOp]) -> list[Act]:
    """The steps of a plan in IR, whose buffers may be rows of others."""
    roots: dict[SSAValue, tuple[str, int]] = {value: ("argument", i) for i, value in enumerate(plan.inputs)}
    roots |= {value: ("result", i) for i, value in enumerate(plan.outputs)}
    constants = [op for op in plan.body.block.ops if isinstance(op, HostConstantOp)]
    roots |= {op.result: ("constant", i) for i, op in enumerate(constants)}

    def range_of(buffer: SSAValue) -> Range:
        extent = extent_of(buffer)
        at = np.arange(extent.start, extent.end)
        if extent.rows is not None:
            pitch, width = extent.rows
            at = at[(at - extent.start) % pitch < width]
        return Range(roots.get(extent.root, ("arena", 0)), at)

    def act(step: StepOp) -> Act:
        stream = step.stream.value.data
        match step:
            case HostLaunchOp():
                kernel = kernels[step.kernel_name]
                sets = [_split(kernel, [*map(range_of, each)]) for each in step.operand_sets]
                return Act(step.kernel_name, stream, sets, kernel=kernel)
            case CopyOp():
                return Act("copy", stream, [([range_of(step.source)], [range_of(step.destination)])])
            case MemsetOp():
                return Act("zero", stream, [([], [range_of(step.buffer)])])
            case HostCollectiveOp():
                return Act(
                    step.does.data, stream, [([*map(range_of, step.sources)], [*map(range_of, step.destinations)])]
                )
            case _:
                return Act(step.name.removeprefix("host."), stream, event=cast(Any, step).event.value.data)

    return [act(op) for op in plan.body.block.ops if isinstance(op, StepOp)]


def acts_of_call(plan: Plan, kernels: Mapping[str, KernelOp]) -> list[Act]:
    """The steps of a plan as the runtime has them."""

    def range_of(buffer: Buffer) -> Range:
        return Range((buffer.space, buffer.index), np.arange(buffer.offset, buffer.offset + buffer.size))

    def operands(kernel: KernelOp, parameters: Sequence[Parameter]) -> list[Range]:
        pairs = zip(kernel.operand_of_argument, parameters, strict=True)
        buffers = {o: p.buffer if isinstance(p, TensorMap) else p for o, p in pairs if not isinstance(p, Scalar)}
        return [range_of(buffers[operand]) for operand in sorted(buffers)]

    def act(step: Step) -> Act:
        match step:
            case Launch():
                kernel = kernels[step.kernel]
                sets = [_split(kernel, operands(kernel, each)) for each in step.parameters_of_sets]
                return Act(step.kernel, step.stream, sets, kernel=kernel)
            case Copy():
                return Act("copy", step.stream, [([range_of(step.source)], [range_of(step.destination)])])
            case Memset():
                return Act("zero", step.stream, [([], [range_of(step.buffer)])])
            case Collective():
                sets = [([*map(range_of, step.sources)], [*map(range_of, step.destinations)])]
                return Act(step.does, step.stream, sets)
            case Record() | Wait():
                return Act(type(step).__name__.lower(), step.stream, event=step.event)

    return [act(step) for step in plan.steps]


def _split(kernel: KernelOp, operands: Sequence[Range]) -> tuple[list[Range], list[Range]]:
    """What a launch reads, and what it writes: the operands behind those."""
    first = min(o for o, writes in zip(kernel.operand_of_argument, kernel.written, strict=True) if writes)
    return list(operands[:first]), list(operands[first:])


def ran(acts: Sequence[Act], meaning: Meaning, pick: Callable[[int], int]) -> list[Bytes]:
    """What a run of these steps leaves in the results: each step starts once those before it on its stream are done,
    and a wait once its event is; `pick` says which of so many that may start does. At the end stream 0 has waited for
    all.

    AssertionError where a launch has memory twice that its kernel does not expect so."""
    run = _Run(meaning)
    done = [False] * len(acts)
    needs = _needs(acts)
    assert len(_before_end(acts, needs)) == len(acts), "stream 0 ends before all is done"
    while not all(done):
        ready = [i for i in range(len(acts)) if not done[i] and all(done[need] for need in needs[i])]
        chosen = ready[pick(len(ready))]
        run.do(acts[chosen], pick)
        done[chosen] = True
    return run.results()


def _needs(acts: Sequence[Act]) -> list[list[int]]:
    """For each step those that it comes right behind: on its stream, and the record that it waits for."""
    last: dict[int, int] = {}
    recorded: dict[int, int] = {}
    needs: list[list[int]] = []
    for number, act in enumerate(acts):
        needs.append([last[act.stream]] if act.stream in last else [])
        if act.does == "wait":
            needs[-1].append(recorded[act.event])
        elif act.does == "record":
            recorded[act.event] = number
        last[act.stream] = number
    return needs


def _before_end(acts: Sequence[Act], needs: Sequence[Sequence[int]]) -> set[int]:
    """The steps that are done when stream 0 is, and events that nothing is behind."""
    found = {number for number, act in enumerate(acts) if act.does in ("record", "wait")}
    stack = [number for number, act in enumerate(acts) if act.stream == 0][-1:]
    seen: set[int] = set()
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            stack.extend(needs[number])
    return found | seen


class _Run:
    """The memory of one run."""

    def __init__(self, meaning: Meaning):
        self._meaning = meaning
        self._memory: dict[tuple[str, int], Bytes] = {}
        for number, value in enumerate(meaning.function.body.block.args):
            self._memory["argument", number] = content_of(f"argument {number}", bytes_of(value.type))
        self._memory |= {("constant", number): content.copy() for number, content in enumerate(meaning.constants)}
        for number, type in enumerate(meaning.function.function_type.outputs):
            self._memory["result", number] = _fresh(bytes_of(cast(TensorType[Any], type)), "left", number)

    def results(self) -> list[Bytes]:
        """Those of a donated argument are in its memory."""
        donated = self._meaning.donated
        names = [("argument", donated[i]) if i in donated else ("result", i) for i in range(len(self._meaning.results))]
        return [self._memory[name] for name in names]

    def do(self, act: Act, pick: Callable[[int], int]) -> None:
        """Sets of operands run in any order."""
        sets = list(act.sets)
        while sets:
            reads, writes = sets.pop(pick(len(sets)))
            if act.kernel is not None:
                _check_apart(act.kernel, [*reads, *writes], len(reads))
            for range, content in zip(writes, self._made(act, reads, writes), strict=True):
                self._array(range)[range.at] = content

    def _made(self, act: Act, reads: Sequence[Range], writes: Sequence[Range]) -> list[Bytes]:
        inputs, before = ([self._array(each)[each.at] for each in ranges] for ranges in (reads, writes))
        if act.does == "copy":
            return inputs
        if act.does == "zero":
            return [np.zeros_like(before[0])]
        if (kernel := act.kernel) is None:
            return exchanged(act.does, inputs, list(map(len, before)))
        return launched(kernel, inputs, before)

    def _array(self, range: Range) -> Bytes:
        """The arena begins with what others left there."""
        known = self._memory.get(range.root, np.zeros(0, np.uint64))
        if len(range.at) and range.at[-1] >= len(known):
            assert range.root == ("arena", 0)
            more = _fresh(int(range.at[-1]) + 1, "left")
            more[: len(known)] = known
            self._memory[range.root] = known = more
        return known


def _check_apart(kernel: KernelOp, operands: Sequence[Range], reads: int) -> None:
    """Pointers of a kernel overlap only where it expects that (`aliased`), as its code says that they do not."""
    for written in range(reads, len(operands)):
        for other in range(len(operands)):
            a, b = operands[written], operands[other]
            if other != written and a.meets(b):
                assert {written, other} <= kernel.overlapping, f"operands {other} and {written} of {kernel.symbol}"
