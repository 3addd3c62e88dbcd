"""A row on the device: its program compiled, sets of inputs and results, the variants that do its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from irc.driver.compiler import compile as compile_program
from irc.runtime.artifact import ArraySpec
from irc.runtime.compare import Array, Comparison, compare, multiplies_f8
from irc.runtime.executable import Executable
from irc.runtime.executor import Executor
from irc.runtime.plan import Plan
from irc.runtime.workbench import Arrays, Enqueue, Workbench
from irc.support.diagnostics import IrcError
from irc_tools.bench.draws import draw_block
from irc_tools.bench.rows import Row

POISON = 0xFF
"""Bytes of results before the check: NaN, or -1. An element that is not written keeps them."""


class Case:
    """`inputs[s][i]` and `results[s][i]` are what keeps array i of set s alive: torch's tensors, or memory."""

    def __init__(self, bench: Workbench, row: Row, arrays: Arrays, seed: int, *, program: str | None = None):
        """`program` replaces the row's own."""
        self.row = row
        self._bench = bench
        self.executable: Executable = compiled(row, "cuda", program=program)
        self.arguments = named_arguments(row, self.executable)
        """With the names that the row's inputs and bodies have for them."""
        if program is None:
            _refuse_unknown(row, self.arguments)
        specs = (*self.arguments, *self.executable.results)
        self.bytes = sum(spec.nbytes for spec in specs)
        self.bytes_read = sum(spec.nbytes for spec in self.arguments)
        self.flops = sum(kernel["flops"] * kernel["sets"] for kernel in self.executable.kernels)
        self.count = bench.sets(self.bytes)
        made = [[arrays.make(spec) for spec in specs] for _ in range(self.count)]
        split = len(self.arguments)
        self.inputs = [[owner for _, owner in each[:split]] for each in made]
        self.results = [[owner for _, owner in each[split:]] for each in made]
        self._addresses = [[address for address, _ in each] for each in made]
        self._split = split
        self._draw(seed)

    def _draw(self, seed: int) -> None:
        """Draws the inputs of the first set and copies them into the others."""
        device, stream = self._bench.device, self._bench.stream
        for index, spec in enumerate(self.arguments):
            block = draw_block(spec, self.row.inputs.get(spec.name, ""), self.row.dims, seed, index)
            first = self._addresses[0][index]
            self._bench.fill(first, spec.nbytes, block)
            for other in self._addresses[1:]:
                device.copy(other[index], first, spec.nbytes, stream)
        device.synchronize(stream)

    def irc(self) -> Enqueue:
        """Runs the compiled plan, without the checks of a call."""
        executor = self._executor

        def enqueue(number: int) -> None:
            addresses = self._addresses[number % self.count]
            executor.enqueue(addresses[: self._split], addresses[self._split :], self._bench.stream)

        return enqueue

    @cached_property
    def _executor(self) -> Executor:
        artifact = self.executable.artifact
        assert artifact is not None
        return Executor(artifact, Plan.from_json(artifact.plan), self._bench.device)

    def launches(self) -> Enqueue:
        """Makes the launches of the plan and nothing else, on the first set: what the driver takes for them."""
        addresses, stream = self._addresses[0], self._bench.stream
        frame = self._executor.frame()
        frame.arena = self._executor.lasting(self._executor.arena_bytes)
        frame.place(addresses[: self._split], addresses[self._split :], frame.arena.address)

        def enqueue(number: int) -> None:
            for launch in frame.launches:
                launch.call.enqueue(stream)

        return enqueue

    def bound(self) -> Enqueue:
        """Calls the executable with the first set's arrays bound."""
        self._refuse_own_arrays()
        call, stream = self.executable.bind(*self.inputs[0]), self._bench.stream

        def enqueue(number: int) -> None:
            call(stream=stream)

        return enqueue

    def _refuse_own_arrays(self) -> None:
        if not all(hasattr(array, "__dlpack__") for array in self.inputs[0]):
            raise IrcError(f"row {self.row.name!r} times calls, which take torch's arrays", hint="--peers eager")

    def calls(self, *, as_graph: bool = False) -> Enqueue:
        """Calls the executable, or its graph, as a user does, with the sets' arrays. IrcError where they are not a
        library's."""
        self._refuse_own_arrays()
        inputs, stream = self.inputs, self._bench.stream
        call = self.executable.graph(*inputs[0]) if as_graph else self.executable

        def enqueue(number: int) -> None:
            call(*inputs[number % self.count], stream=stream)

        return enqueue

    def run_once(self) -> None:
        """Runs the plan on the first set, its results poisoned before."""
        device, stream = self._bench.device, self._bench.stream
        for spec, address in zip(self.executable.results, self._addresses[0][self._split :], strict=True):
            device.fill(address, POISON, spec.nbytes, stream)
        self.irc()(0)
        device.synchronize(stream)

    def check_on_host(self) -> list[Comparison]:
        """Compares the first set's results with the interpreter in float64, as irc-run does."""
        if self.row.kernel is not None:
            raise IrcError("tiles have no meaning in float64: torch checks a kernel", hint="--peers eager")
        from irc.driver.program import isolate, parse
        from irc.interpreters.nd.interpreter import evaluate

        specs = (*self.executable.arguments, *self.executable.results)
        arrays = [self._host(spec, address) for spec, address in zip(specs, self._addresses[0], strict=True)]
        module = isolate(parse(self.row.program, self.row.name, dims=dict(self.row.dims)), None)
        with np.errstate(all="ignore"):
            references = list(evaluate(module, arrays[: self._split], precision="float64"))
        results = arrays[self._split :]
        of_f8 = multiplies_f8(module)
        return [
            compare(result, reference, spec.element, of_f8=of_f8)
            for result, reference, spec in zip(results, references, self.executable.results, strict=True)
        ]

    def _host(self, spec: ArraySpec, address: int) -> Array:
        array = np.empty(spec.shape, spec.dtype)
        self._bench.device.copy(int(array.ctypes.data), address, spec.nbytes, self._bench.stream)
        self._bench.device.synchronize(self._bench.stream)
        return array

    def free(self) -> None:
        """Gives the arrays back."""
        self._bench.device.synchronize(self._bench.stream)
        for each in (*self.inputs, *self.results):
            each.clear()


def tolerated(comparison: Comparison, tolerance: float | None) -> Comparison:
    """The comparison by the row's own tolerance, where it has one; NaN and infinities stay errors."""
    if tolerance is None or not comparison.reason.startswith("error "):
        return comparison
    passed = comparison.error <= tolerance
    return replace(comparison, tolerance=tolerance, reason="" if passed else comparison.reason)


def compiled(row: Row, target: str, *, dims: Mapping[str, int] | None = None, program: str | None = None) -> Executable:
    """The row's work, or another program's, for a target; `dims` replace the row's."""
    dims = row.dims if dims is None else dims
    if row.kernel is not None and program is None:
        return compile_program(row.kernel.module(dims, target), target, any_order=row.any_order)
    return compile_program(program or row.program, target, dims=dims, any_order=row.any_order)


def named_arguments(row: Row, executable: Executable) -> list[ArraySpec]:
    """The arguments of the row's work, with the names of the parameters where it is a kernel."""
    if row.kernel is None:
        return [*executable.arguments]
    arrays = row.kernel.arrays(row.dims)
    return [replace(spec, name=array.name) for spec, array in zip(executable.arguments, arrays, strict=True)]


def _refuse_unknown(row: Row, arguments: Sequence[ArraySpec]) -> None:
    names = [spec.name for spec in arguments]
    for name in row.inputs:
        if name not in names:
            raise IrcError(f"row {row.name!r}: no argument is named {name}", hint=f"it has {', '.join(names)}")
