"""The steps of a host plan: launches, copies and zeros, what each needs, and which share a launch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    LocationAttr,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from irc.analysis.alignments import check_launch
from irc.analysis.op_classes import behind_views, is_view
from irc.dialects.cuda import KernelOp
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.dialects.host import bytes_of
from irc.dialects.kernel import LaunchOp as KernelLaunchOp
from irc.dialects.nd import CollectiveOp
from irc.dialects.nd import ConstantOp as NdConstantOp
from irc.dialects.nd.joined import is_in_place, lies_in_another, made_arrays
from irc.ir.donation import donations
from irc.ir.properties import number, numbers, values_of
from irc.ir.rewriting import location_of
from irc.planning.group_launches import Member, group
from irc.support.diagnostics import IrcError


@dataclass
class Step:
    """A launch, a collective, or, without either, a copy to a result or another array, or zeros in some: the arrays it
    reads and writes, by their roots. What a kernel adds to it reads. `sets` are the launches that it stands for, itself
    where that is one."""

    reads: list[SSAValue]
    writes: list[SSAValue]
    location: LocationAttr
    kernel: str | None = None
    collective: CollectiveOp | None = None
    sets: list[Step] = field(default_factory=list["Step"])
    result: int | None = None
    """The number of the result that a copy writes."""
    needs: list[int] = field(default_factory=list[int])

    @property
    def is_zeros(self) -> bool:
        return self.kernel is None and self.collective is None and self.result is None and not self.reads


class Steps:
    """The steps of one function, the constants that they read, and the results that launches write in place. A value's
    root is what holds its bytes: an argument, a constant or the result of a launch."""

    def __init__(self, module: ModuleOp, function: FuncOp, sets: int, processors: int):
        """`processors`: a kernel of as many blocks fills the device."""
        self._function = function
        self._max_sets = sets
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
        self._filling = {name for name, op in self.kernels.items() if fills(op, processors)}
        self._room: dict[str, int] = {}
        """How many sets of operands a launch of a kernel can have."""
        self.constants: list[tuple[SSAValue, DenseIntOrFPElementsAttr, LocationAttr]] = []
        self.steps: list[Step] = []
        self._maker: dict[SSAValue, int] = {}
        self.direct: dict[SSAValue, int] = {}
        """The root of each result that a launch writes in place, and the number of the result."""
        self._copies: list[tuple[int, SSAValue]] = []
        arguments = function.body.block.args
        self._donated = {result: arguments[argument] for result, argument in donations(function).items()}
        """The argument to whose memory each of these results is written."""
        self._collect()

    @property
    def filling(self) -> set[int]:
        """The numbers of the steps that fill the device."""
        return {index for index, step in enumerate(self.steps) if step.kernel in self._filling}

    @property
    def collectives(self) -> set[int]:
        """The numbers of the steps that ranks do together."""
        return {index for index, step in enumerate(self.steps) if step.collective is not None}

    def _collect(self) -> None:
        terminator = self._function.body.block.last_op
        if len(self._function.body.blocks) != 1 or not isinstance(terminator, ReturnOp):
            raise IrcError("a host function has one block that ends in func.return", location_of(self._function))
        self._place_results(terminator)
        self._zero_counters()
        for op in self._function.body.block.ops:
            self._visit(op)
        self._add_copies(terminator)
        self._order_overwrites(terminator)
        self._fill_updated()
        self._begin_with_counters()
        self._group()

    def _place_results(self, terminator: ReturnOp) -> None:
        """A launch writes a result in place the first time that its array is returned; everything else is copied."""
        for index, value in enumerate(terminator.operands):
            root = behind_views(value)
            if root is self._donated.get(index):
                continue
            if lies_in_another(root):
                raise IrcError("an array that lies in a larger one is no result", location_of(terminator))
            if self._is_written_first(index, root):
                self.direct[root] = index
            else:
                self._copies.append((index, root))

    def _is_written_first(self, index: int, root: SSAValue) -> bool:
        """Whether what makes an array may write it to the memory of this result, the first that it is."""
        owner = root.owner
        if root in self.direct or not isinstance(owner, Operation):
            return False
        if is_in_place(owner):
            return index not in self._donated
        if not isinstance(owner, KernelLaunchOp | CollectiveOp):
            return False
        return index not in self._donated or not self._is_written_late(owner, root, self._donated[index])

    def _is_written_late(self, op: KernelLaunchOp | CollectiveOp, root: SSAValue, donated: SSAValue) -> bool:
        """Whether a step writes nothing but its elements to the memory of a donated argument: what a launch adds to is
        zero before, what it updates has what another array holds, and others write to what a collective does."""
        if isinstance(op, CollectiveOp):
            return True
        kernel = self.kernels.get(op.program_name)
        if kernel is None:
            return False
        operands = [*op.inputs, *op.outputs]
        updated = [behind_views(operands[a]) for a, b in kernel.updated_pairs if operands[b] is root]
        return any(operands[number] is root for number in kernel.summed) or any(x is not donated for x in updated)

    def _zero_counters(self) -> None:
        """One step for all counters: one for each would take as long as that."""
        launches = [op for op in self._function.body.block.ops if isinstance(op, KernelLaunchOp) and _is_launched(op)]
        if counters := [value for op in launches for value in self._summed(op) if _is_counter(value)]:
            self._add(Step([], counters, location_of(self._function)))

    def _begin_with_counters(self) -> None:
        """Puts what needs nothing behind the step that zeros counters, so that the plan begins with it."""
        if self.steps and self.steps[0].is_zeros and all(map(_is_counter, self.steps[0].writes)):
            for step in self.steps[1:]:
                step.needs = step.needs or [0]

    def _summed(self, op: KernelLaunchOp) -> list[SSAValue]:
        """The results of a launch that its kernel adds to."""
        kernel = self.kernels.get(op.program_name)
        summed = kernel.summed if kernel is not None else ()
        return [value for number, value in enumerate(op.outputs, len(op.inputs)) if number in summed]

    def _visit(self, op: Operation) -> None:
        if isinstance(op, ReturnOp) or is_view(op) or is_in_place(op):
            return
        if op.name == "nd.constant":
            if op.results[0].uses:
                self.constants.append((op.results[0], _content(op), location_of(op)))
            return
        if isinstance(op, CollectiveOp):
            reads = [behind_views(value) for value in op.operands]
            self._add(Step(reads, list(op.results), location_of(op), collective=op))
            return
        if not isinstance(op, KernelLaunchOp):
            raise _no_kernel(op)
        self._visit_launch(op)

    def _visit_launch(self, op: KernelLaunchOp) -> None:
        name = op.program_name
        if name not in self.kernels:
            raise IrcError(f"kernel.launch: no cuda.kernel is named {name}", location_of(op))
        if not _is_launched(op):
            return
        if self.kernels[name].image is not None:
            check_launch(op, name)
        summed = self._summed(op)
        for value in summed:
            if not _is_counter(value):
                self._add(Step([], [value], location_of(op)))
        step = Step([behind_views(v) for v in op.inputs], list(op.outputs), location_of(op), name)
        self._add(step, summed)

    def _add(self, step: Step, summed: Sequence[SSAValue] = ()) -> None:
        step.needs = sorted({maker for root in (*step.reads, *summed) for maker in self._makers(root)})
        for value in step.writes:
            self._maker[value] = len(self.steps)
        self.steps.append(step)

    def _makers(self, root: SSAValue) -> list[int]:
        """The steps that make an array; none of what is there before."""
        return [self._maker[each] for each in made_arrays(root) if each in self._maker]

    def _add_copies(self, terminator: ReturnOp) -> None:
        for index, root in self._copies:
            self._add(Step([root], [], location_of(terminator), result=index))

    def _order_overwrites(self, terminator: ReturnOp) -> None:
        """Orders what writes to a donated argument behind what reads it."""
        for index, argument in self._donated.items():
            root = behind_views(terminator.operands[index])
            if root is not argument:
                self._order_overwrite(index, root, argument, location_of(terminator))

    def _order_overwrite(self, index: int, root: SSAValue, argument: SSAValue, location: LocationAttr) -> None:
        if self.direct.get(root) == index:
            writer = self._maker[root]
            if not self._is_in_place(writer, argument, root) or self._is_read_after(argument, writer):
                del self.direct[root]
                self._add(Step([root], [], location, result=index))
        writers = [number for number, step in enumerate(self.steps) if step.result == index]
        writer = writers[0] if writers else self._maker[root]
        if self._is_read_after(argument, writer):
            raise IrcError("donated arguments cannot be exchanged for each other", location)
        step = self.steps[writer]
        step.needs = sorted({*step.needs, *self._readers(argument, writer)})
        read = [number for number, value in enumerate(step.reads) if value is argument]
        if read and step.kernel is not None:
            allow_overwriting(self.kernels[step.kernel], [*read, len(step.reads) + step.writes.index(root)])

    def _fill_updated(self) -> None:
        """Copies what the results of launches hold where nothing is stored, unless they are written over it."""
        for step in list(self.steps):
            for read, written in sorted(() if step.kernel is None else self.kernels[step.kernel].updated_pairs):
                source, root = step.reads[read], step.writes[written - len(step.reads)]
                if (result := self.direct.get(root)) is not None and self._donated.get(result) is source:
                    continue
                needs = self._makers(source)
                step.needs = sorted({*step.needs, len(self.steps)})
                self.steps.append(Step([source], [root], step.location, needs=needs))

    def _group(self) -> None:
        """Puts small launches of one kernel together, and all steps behind what they need."""
        members = [self._member(step) for step in self.steps]
        groups = group([step.needs for step in self.steps], members, self.collectives)
        places = {step: place for place, steps in enumerate(groups) for step in steps}
        made: list[Step] = []
        for joined in groups:
            step = _joined([self.steps[number] for number in joined])
            step.needs = sorted({places[need] for need in step.needs})
            made.append(step)
        self.steps = made
        for step in made:
            if len(step.sets) > 1:
                _take_sets(self.kernels[step.kernel or ""], len(step.sets))

    def _member(self, step: Step) -> Member | None:
        """What a step could share a launch with, if anything."""
        if step.kernel is None or step.kernel in self._filling:
            return None
        kernel = self.kernels[step.kernel]
        if step.kernel not in self._room:
            self._room[step.kernel] = min(self._max_sets, kernel.room_for_sets)
        most = self._room[step.kernel]
        own = [value for value in (*step.reads, *step.writes) if value in self._maker and value not in self.direct]
        held = sum(bytes_of(value.type) for value in own)
        kind = step.kernel, len(step.reads), len(step.writes)
        return Member(kind, most, held) if most > 1 else None

    def _readers(self, argument: SSAValue, writer: int) -> list[int]:
        return [number for number, step in enumerate(self.steps) if argument in step.reads and number != writer]

    def _is_read_after(self, argument: SSAValue, writer: int) -> bool:
        """Whether a step that reads the argument needs what the writer makes."""
        reached: set[int] = set()
        stack = self._readers(argument, writer)
        while stack:
            step = stack.pop()
            if step not in reached:
                reached.add(step)
                stack.extend(self.steps[step].needs)
        return writer in reached

    def _is_in_place(self, writer: int, argument: SSAValue, root: SSAValue) -> bool:
        """Whether the launch may write the root to the memory of the argument, if it reads that at all."""
        step = self.steps[writer]
        assert step.kernel is not None
        pairs = self.kernels[step.kernel].in_place_pairs
        written = len(step.reads) + step.writes.index(root)
        return all((read, written) in pairs for read, value in enumerate(step.reads) if value is argument)


def _is_launched(op: KernelLaunchOp) -> bool:
    """Whether somebody reads what a launch makes."""
    return any(result.uses for result in op.outputs) and any(bytes_of(value.type) for value in op.outputs)


def _is_counter(summed: SSAValue) -> bool:
    """Whether an array that a launch adds to is for its blocks alone: nobody reads it."""
    return not summed.uses


def _joined(steps: Sequence[Step]) -> Step:
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


def fills(kernel: KernelOp, processors: int) -> bool:
    """Whether a launch of the kernel fills a device of so many processors: no other shares it."""
    return prod(values_of(kernel.grid)) >= processors


def allow_overwriting(kernel: KernelOp, operands: Iterable[int]) -> None:
    """The kernel may be launched with memory that it reads and writes, as operands of the launch."""
    kernel.aliased = numbers(sorted({*kernel.overlapping, *operands}))
    for op in kernel.walk():
        if isinstance(op, GlobalLoadOp) and op.is_read_only and kernel.may_overlap(op.pointer):
            op.cache = None


def _content(op: Operation) -> DenseIntOrFPElementsAttr:
    """The elements of an nd.constant as xDSL packs them: a bool is a byte of ones."""
    assert isinstance(op, NdConstantOp)
    array = op.array()
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * np.uint8(255)
    type: TensorType[Any] = op.value.type
    return DenseIntOrFPElementsAttr(type, BytesAttr(np.ascontiguousarray(array).tobytes()))


def _no_kernel(op: Operation) -> IrcError:
    """The diagnostic of an op that is still outside of every kernel."""
    if op.name.startswith("nd."):
        return IrcError(f"{op.name} runs on the cpu target only so far", location_of(op), "compile for target cpu")
    return IrcError(
        f"build-host-plan: expected launches, reshapes and a return in a host function, found {op.name}",
        location_of(op),
        "it runs after lower-to-cuda",
    )
