"""Drawn host functions, what they mean, and what a plan of one does in any order that its streams and events allow.

Kernels have no code here: each byte of what one makes is a number that follows from its name and all that it reads, so
that whatever reads other bytes than the function says shows in a result. Every byte is such a number of 64 bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from irc.dialects.cuda import KernelOp
from irc.dialects.host import CollectiveOp as HostCollectiveOp
from irc.dialects.host import CopyOp, MemsetOp, PlanOp, StepOp, bytes_of
from irc.dialects.host import LaunchOp as HostLaunchOp
from irc.dialects.host.checks import extent_of
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import CollectiveOp, ConcatOp, ReshapeOp
from irc.dialects.nd.joined import parts_of
from irc.ir.donation import donations
from irc.runtime.plan import Buffer, Collective, Copy, Launch, Memset, Plan, Record, Step, Wait

Bytes = np.ndarray[Any, np.dtype[np.uint64]]

KERNELS = """
cuda.kernel @neg(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] in_place [0, 1] {
  cuda.return
}
cuda.kernel @exp(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [2, 1, 1] block 32 writes [0, 1] {
  cuda.return
}
cuda.kernel @large(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [132, 1, 1] block 32 writes [0, 1] in_place [0, 1] {
  cuda.return
}
cuda.kernel @add(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] in_place [0, 2] {
  cuda.return
}
cuda.kernel @two(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1, 1] in_place [0, 2] {
  cuda.return
}
cuda.kernel @sum(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 1] sums [1] {
  cuda.return
}
cuda.kernel @queue(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %n: !cuda.ptr<i32>) grid [4, 1, 1] block 32 writes [0, 1, 1] sums [2] {
  cuda.return
}
cuda.kernel @put(%a: !cuda.ptr<f32>, %b: !cuda.ptr<f32>, %c: !cuda.ptr<f32>) grid [1, 1, 1] block 32 writes [0, 0, 1] updates [1, 2] {
  cuda.return
}
"""
"""`queue` has a counter, which nobody reads; `put` stores to some bytes of what it updates."""

_OUTPUTS = {"two": 2, "queue": 2}
_INPUTS = {"add": 2, "put": 2}


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


def launched(name: str, inputs: Sequence[Bytes], before: Sequence[Bytes], summed: Sequence[bool]) -> list[Bytes]:
    """What a launch leaves in its outputs. before: what is in them, which matters where it adds, or stores to some."""
    seen = tuple(map(_said, inputs))
    made: list[Bytes] = []
    for number, (old, adds) in enumerate(zip(before, summed, strict=True)):
        new = _fresh(len(old), name, number, seen)
        if adds:
            new += old
        elif name == "put":
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
        summed = [number in kernel.summed for number in range(len(inputs), len(inputs) + len(before))]
        self._set(op, launched(kernel.symbol, _read_by(kernel, inputs), before, summed))

    def _joined(self, op: ConcatOp) -> Bytes:
        made = np.zeros(bytes_of(op.result.type), np.uint64)
        for value, part in zip(self._of(op.inputs), parts_of(op), strict=True):
            rows = made.reshape(-1, part.pitch)
            rows[:, part.offset : part.offset + part.width] = value.reshape(-1, part.width)
        return made


def _read_by(kernel: KernelOp, inputs: Sequence[Bytes]) -> list[Bytes]:
    """What a launch looks at: not at what it updates, which may have been written over."""
    updated = {read for read, _ in kernel.updated_pairs}
    return [x for number, x in enumerate(inputs) if number not in updated]


@dataclass(frozen=True)
class Range:
    """Bytes of an array: `root` is its name, `at` has the number of each byte there."""

    root: tuple[str, int]
    at: np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Act:
    """A step of a plan. does: a kernel's name, `copy`, `zero`, `record`, `wait` or a collective. sets: of operands, each
    what is read and what is written."""

    does: str
    stream: int
    sets: list[tuple[list[Range], list[Range]]] = field(default_factory=list[tuple[list[Range], list[Range]]])
    event: int = -1
    kernel: KernelOp | None = None


def acts_of(plan: PlanOp, kernels: Mapping[str, KernelOp]) -> list[Act]:
    """The steps of a plan in IR, whose buffers may be rows of others."""
    roots: dict[SSAValue, tuple[str, int]] = {value: ("argument", i) for i, value in enumerate(plan.inputs)}
    roots |= {value: ("result", i) for i, value in enumerate(plan.outputs)}

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

    def range_of(buffer: Any) -> Range:
        assert isinstance(buffer, Buffer)
        return Range((buffer.space, buffer.index), np.arange(buffer.offset, buffer.offset + buffer.size))

    def act(step: Step) -> Act:
        match step:
            case Launch():
                kernel = kernels[step.kernel]
                sets = [_split(kernel, [*map(range_of, each)]) for each in step.parameters_of_sets]
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
    """What a launch reads, and what it writes."""
    first = kernel.written.index(True)
    assert all(kernel.written[first:])
    return list(operands[:first]), list(operands[first:])


def ran(acts: Sequence[Act], meaning: Meaning, pick: Callable[[int], int]) -> list[Bytes]:
    """What a run of these steps leaves in the results: each step starts once those before it on its stream are done, and
    a wait once its event is; `pick` says which of so many that may start does. At the end stream 0 has waited for all.

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
        summed = [number in kernel.summed for number in range(len(inputs), len(inputs) + len(before))]
        return launched(act.does, _read_by(kernel, inputs), before, summed)

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
            if other != written and a.root == b.root and len(np.intersect1d(a.at, b.at)):
                assert {written, other} <= kernel.overlapping, f"operands {other} and {written} of {kernel.symbol}"


@dataclass
class _Value:
    name: str
    shape: tuple[int, ...]
    is_plain: bool = True
    """Whether anything may be done with it: it is no part of a larger array."""

    @property
    def type(self) -> str:
        return _type(self.shape)


def _type(shape: Sequence[int]) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}f32>"


class DrawnFunction:
    """The text of a function of launches, collectives, views and concats in place, with donated arguments."""

    def __init__(self, random: Random, extents: Sequence[int] = (4, 16, 64, 100, 2000), *, joins: bool = True):
        self._random, self._extents = random, extents
        self._lines: list[str] = []
        self._values: list[_Value] = []
        arguments = [_Value(f"%x{number}", (random.choice(extents), 4)) for number in range(random.randint(1, 4))]
        self._values += arguments
        kinds = [self._launch] * 6 + [self._exchange, self._view] + [self._join] * joins
        for _ in range(random.randint(1, 14)):
            random.choice(kinds)()
        plain = [value for value in self._values if value.is_plain]
        results = [random.choice(plain[-8:]) for _ in range(random.randint(1, 5))]
        given = [f"{value.name}: {value.type}" for value in arguments]
        for number, argument in enumerate(self._donated(arguments, results)):
            if argument is not None:
                given[argument] += f" {{irc.donated = {number} : i64}}"
        names, types = (", ".join(each) for each in zip(*((x.name, x.type) for x in results), strict=True))
        body = "\n".join(f"  {line}" for line in self._lines)
        self.text = f"func.func @f({', '.join(given)}) -> ({types}) {{\n{body}\n  func.return {names} : {types}\n}}\n"

    def _donated(self, arguments: Sequence[_Value], results: Sequence[_Value]) -> list[int | None]:
        """For each result the argument that is donated for it, if one is."""
        free = [number for number in range(len(arguments)) if self._random.random() < 0.6]
        found: list[int | None] = []
        for result in results:
            fitting = [number for number in free if arguments[number].type == result.type]
            found.append(self._random.choice(fitting) if fitting else None)
            free = [number for number in free if number != found[-1]]
        return found

    def _any(self) -> _Value:
        return self._random.choice(self._values[-8:])

    def _plain(self) -> _Value:
        return self._random.choice([value for value in self._values if value.is_plain][-8:])

    def _new(self, shape: Sequence[int], *, is_plain: bool = True) -> _Value:
        value = _Value(f"%v{len(self._lines)}_{len(self._values)}", tuple(shape), is_plain)
        self._values.append(value)
        return value

    def _launch(self) -> None:
        kernel = self._random.choice(["neg", "exp", "large", "add", "two", "sum", "queue", "put"])
        inputs = [self._any() for _ in range(_INPUTS.get(kernel, 1))]
        if kernel == "put":
            inputs[1] = self._plain()
        self._write(kernel, inputs, inputs[-1].shape if kernel == "put" else self._shape(inputs[0].shape))

    def _shape(self, like: tuple[int, ...]) -> tuple[int, ...]:
        return like if self._random.random() < 0.6 else (self._random.choice(self._extents), 4)

    def _write(self, kernel: str, inputs: Sequence[_Value], shape: Sequence[int], *, is_plain: bool = True) -> _Value:
        made = [self._new(shape, is_plain=is_plain)]
        names, types = [made[0].name], [made[0].type]
        if kernel == "two":
            made.append(self._new(self._shape(tuple(shape))))
            names.append(made[1].name)
            types.append(made[1].type)
        elif kernel == "queue":
            names.append(f"{made[0].name}_n")
            types.append("tensor<1xi32>")
        given = ", ".join(value.name for value in inputs)
        line = f"{', '.join(names)} = kernel.launch @{kernel}({given}) : "
        self._lines.append(f"{line}({', '.join(value.type for value in inputs)}) -> ({', '.join(types)})")
        return made[0]

    def _exchange(self) -> None:
        x = self._plain()
        kind = self._random.choice(["all_reduce", "all_gather", "reduce_scatter"])
        monoid = "" if kind == "all_gather" else 'monoid = "sum", '
        if kind == "all_reduce":
            inputs = [x, *(self._plain() for _ in range(self._random.randint(0, 2)))]
            made = [self._new(value.shape) for value in inputs]
        else:
            first, *rest = x.shape
            made = [self._new([first * 2 if kind == "all_gather" else max(1, first // 4), *rest])]
            inputs = [x] if kind == "all_gather" or first % 4 == 0 else []
        if not inputs:
            self._values.pop()
            return
        names = [", ".join(value.name for value in values) for values in (made, inputs)]
        attributes = f'{{{monoid}over = "data"}}'
        types = [", ".join(value.type for value in values) for values in (inputs, made)]
        self._lines.append(f'{names[0]} = "nd.{kind}"({names[1]}) <{attributes}> : ({types[0]}) -> ({types[1]})')

    def _view(self) -> None:
        x = self._plain()
        made = self._new(
            [*x.shape[:-1], 2, x.shape[-1] // 2] if len(x.shape) == 2 and x.shape[-1] % 2 == 0 else x.shape
        )
        self._lines.append(f"{made.name} = nd.reshape {x.name} : {x.type} -> {made.type}")

    def _join(self) -> None:
        """A concat in place of what launches make for it, with readers of the parts perhaps."""
        rows, widths = self._random.choice(self._extents), [self._random.choice([1, 2, 5]) for _ in range(2)]
        axis = self._random.randrange(2)
        shapes = [(rows, width) for width in widths] if axis else [(width, rows) for width in widths]
        parts = [
            self._write(self._random.choice(["neg", "exp"]), [self._any()], shape, is_plain=False) for shape in shapes
        ]
        whole = self._new((rows, sum(widths)) if axis else (sum(widths), rows))
        given, types = (", ".join(each) for each in zip(*((x.name, x.type) for x in parts), strict=True))
        self._lines.append(
            f"{whole.name} = nd.concat {given} {{axis = {axis}, nd.in_place}} : ({types}) -> {whole.type}"
        )
