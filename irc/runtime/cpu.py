"""The target `cpu`: a function whose kernels are machine code of this CPU, run by a pool of threads.

Ops that have no machine code run by the interpreters, which are imported for them alone.
"""

from __future__ import annotations

import ctypes
import time
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from irc.runtime.artifact import DTYPES, Artifact
from irc.runtime.cpu_plan import CpuKernel, CpuPlan, CpuStep
from irc.runtime.executable import Executable
from irc.runtime.host import HostProgram
from irc.runtime.kept_memory import empty, is_fresh
from irc.runtime.linking import Loaded
from irc.runtime.threads import pool, run_alone
from irc.support.diagnostics import IrcError, Span

ALONE = 1 << 16
"""Bytes of operands and results up to which one thread runs a kernel: waking others takes longer."""

KERNELS, POOL = "kernels", "pool"
"""The object files of an artifact: its kernels', and that of the code of pools of threads."""

Array = np.ndarray[Any, Any]

Function = Callable[[Sequence[Array]], Sequence[Array]]
"""What a step computes of arrays of its operands' types."""


class _Code:
    """The machine code of a program, linked when it is first called."""

    def __init__(self, artifact: Artifact, kernels: Sequence[CpuKernel]):
        self._artifact, self._kernels = artifact, kernels

    def link(self) -> None:
        """Links it, where there is some."""
        if self._kernels:
            _ = self._loaded

    @cached_property
    def _loaded(self) -> Loaded:
        names = [kernel.name for kernel in self._kernels]
        return Loaded(self._artifact.objects[KERNELS], names)

    def run(self, kernel: CpuKernel, arrays: Sequence[Array]) -> None:
        """Runs all tiles of a kernel. `arrays` are contiguous: the operands, then the results. IrcError where an index
        is out of range."""
        if kernel.tiles == 0:
            return
        failed = (ctypes.c_int64 * (1 + len(kernel.checks)))()
        addresses = [array.__array_interface__["data"][0] for array in arrays]
        pointers = (ctypes.c_void_p * (len(arrays) + 1))(*addresses, ctypes.addressof(failed))
        address = self._loaded.address(kernel.name)
        if sum(array.nbytes for array in arrays) <= ALONE:
            run_alone(address, pointers, kernel.own_bytes, kernel.tiles)
        else:
            pool(self._artifact.objects[POOL]).run(address, pointers, kernel.own_bytes, kernel.tiles)
        if number := failed[0]:
            check = kernel.checks[number - 1]
            place = _span(check.location)
            raise IrcError(f"index {failed[number]} is out of range: {check.expected}", place)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of the plan, and what it computes."""

    plan: CpuStep
    function: Function

    def run(self, values: list[Array | None]) -> None:
        """Appends the results: steps are run in the order of values' numbers."""
        values.extend(self.function([cast(Array, values[number]) for number in self.plan.operands]))
        for number in self.plan.dead:
            values[number] = None


class CpuProgram:
    """A function of an artifact, ready to be called with row-major numpy arrays of its arguments' types."""

    def __init__(self, artifact: Artifact):
        plan = CpuPlan.from_json(artifact.plan)
        self._code = _Code(artifact, plan.kernels)
        self._returned = plan.returned
        kernels = {kernel.name: kernel for kernel in plan.kernels}
        self._steps = [_Step(step, self._function(step, kernels)) for step in plan.steps]

    def link(self) -> None:
        """Links the machine code, which the first kernel does otherwise."""
        self._code.link()

    def __call__(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """New, contiguous arrays of the result types. IrcError where an op cannot run."""
        values: list[Array | None] = [*arrays]
        for step in self._steps:
            step.run(values)
        return self._results(values, arrays)

    def timed(self, arrays: Sequence[Array]) -> Generator[tuple[str, str, int, int, float]]:
        """Runs it, and gives for each op its name, its place, 0 operations, the bytes of its operands and results, and
        when it was done (`time.perf_counter`)."""
        values: list[Array | None] = [*arrays]
        for step in self._steps:
            moved = sum(cast(Array, values[number]).nbytes for number in step.plan.operands)
            count = len(values)
            step.run(values)
            done = time.perf_counter()
            moved += sum(made.nbytes for made in values[count:] if made is not None)
            yield step.plan.name, step.plan.location, 0, moved, done

    def _function(self, step: CpuStep, kernels: dict[str, CpuKernel]) -> Function:
        if step.does == "reshape":
            return partial(_reshaped, step.results[0].shape)
        if step.does == "interpret":
            return _Interpreted(step)
        made = [(result.shape, DTYPES[result.element]) for result in step.results]
        return partial(self._launched, kernels[step.of], made)

    def _launched(
        self, kernel: CpuKernel, made: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], arrays: Sequence[Array]
    ) -> Sequence[Array]:
        results = [empty(shape, dtype) for shape, dtype in made]
        self._code.run(kernel, [*map(_contiguous, arrays), *results])
        return results

    def _results(self, values: Sequence[Array | None], arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The results, none in memory of an argument or of another result."""
        made: list[Array] = []
        taken = _Taken(arrays)
        for number in self._returned:
            x = _contiguous(cast(Array, values[number]))
            made.append(x if is_fresh(x) and taken.take(x) else x.copy())
        return tuple(made)


class _Taken:
    """Memory that arrays lie in. A step of training has hundreds of results: they are not compared in pairs."""

    def __init__(self, arrays: Sequence[Array]):
        spans = sorted(byte_bounds(x) for x in arrays if x.size)
        self._begins, self._ends = [begin for begin, _ in spans], list(accumulate((end for _, end in spans), max))

    def take(self, x: Array) -> bool:
        """Takes what a new array lies in, unless some of it may be taken."""
        begin, end = byte_bounds(x)
        place = bisect_left(self._begins, end)
        if place and self._ends[place - 1] > begin:
            return x.size == 0
        self._begins.insert(place, begin)
        self._ends.insert(place, end)
        return True


class _Interpreted:
    """An op by its IR, which is parsed when it is first run."""

    def __init__(self, step: CpuStep):
        self._step = step

    @cached_property
    def _function(self) -> Function:
        from irc.runtime.interpreted_step import interpreted

        return interpreted(self._step.of, self._step.places)

    def __call__(self, arrays: Sequence[Array]) -> Sequence[Array]:
        return self._function(arrays)


def cpu_executable(artifact: Artifact, *, linked: bool = False) -> Executable:
    """The executable of an artifact for this CPU. linked: now, not at the first call."""
    function = CpuProgram(artifact)
    if linked:
        function.link()
    program = HostProgram(artifact.arguments, artifact.results, function)
    return Executable(artifact.plan["name"], "cpu", artifact.arguments, artifact.results, program, artifact)


def _reshaped(shape: tuple[int, ...], arrays: Sequence[Array]) -> Sequence[Array]:
    return (arrays[0].reshape(shape),)


def _contiguous(x: Array) -> Array:
    return x if x.flags.c_contiguous else x.copy()


def _span(place: str) -> Span | None:
    """The place that `irc.ir.locations.describe` gave."""
    file, *numbers = place.rsplit(":", 2)
    return Span(file, *map(int, numbers)) if len(numbers) == 2 else None
