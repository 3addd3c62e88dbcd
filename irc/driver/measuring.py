"""The benches of the tuner (`irc/tuning/bench.py`): they compile candidates and time them, on a GPU and this CPU."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.compiler import Options, compile_module, compile_module_artifact
from irc.driver.drawn_arguments import drawn_arguments
from irc.driver.program import new_context
from irc.ir.parser import parse_ir
from irc.runtime.artifact import Artifact
from irc.runtime.compare import TOLERANCES, Array, compare, multiplies_f8
from irc.runtime.driver import DriverError, device
from irc.runtime.executor import Executor
from irc.runtime.plan import Plan
from irc.runtime.workbench import OwnArrays, Variant, Workbench
from irc.tuning.bench import CRASHED, MEMORY, WRONG, Fault, Measured

if TYPE_CHECKING:
    from irc.runtime.executable import Executable

BLOCK_SECONDS = 2e-3
"""Of calls between two events."""

BLOCKS, FINAL_BLOCKS = 3, 9
"""That a candidate is timed, and that the best ones are, by turns."""

HOST_CALLS, HOST_BLOCK, HOST_SECONDS = 3, 0.02, 0.2
"""Calls on a CPU at least, seconds of them, and seconds after which there are no more."""

SAMPLE = 1 << 20
"""Elements of a result that are compared of each candidate, in `PIECES` pieces; of the best all are."""

PIECES = 64

CHUNK = 1 << 22
"""Elements that are compared at once."""

POISON = 0xFF
"""Bytes of results before a run: NaN, or -1. An element that is not written keeps them."""

FACTOR = 2
"""Of the tolerances of results: both the candidate's and the heuristic's are rounded."""


@dataclass(frozen=True)
class Job:
    """A module's text with the candidate's config, and how it is compiled."""

    text: str
    options: Options


@dataclass(frozen=True)
class CompiledJob:
    """artifact: of a GPU's kernels, by its bytes; empty for a CPU, whose code is in the cache. is_loose: as
    `has_loose_sums` says."""

    job: Job
    artifact: bytes
    is_loose: bool


def has_loose_sums(module: ModuleOp) -> bool:
    """Whether f32 results of two configs differ by more than the order of sums: tensor cores keep few bits of a sum of
    f8, and a cascade multiplies weights that are rounded to its operands' type by the maximum that its tiles have
    seen."""
    kernels = (op for op in module.walk() if isinstance(op, FusedOp))
    return multiplies_f8(module) or any(op.kind is Anchor.CASCADE for op in kernels)


def difference(result: Array, reference: Array, element: str, *, is_loose: bool) -> str:
    """What is wrong with a result; empty where nothing is."""
    if result.tobytes() == reference.tobytes() or _is_close(result, reference, element):
        return ""
    found = compare(result, reference, element, of_f8=is_loose)
    return "" if found.passed or found.error <= FACTOR * found.tolerance else found.reason


def _is_close(result: Array, reference: Array, element: str) -> bool:
    """Whether results of at most 32 bits are within their type's tolerance, in f32: quicker than to say how far. False
    where there is more to look at, as NaN and infinities."""
    if element not in TOLERANCES or element == "f64" or not result.size:
        return False
    with np.errstate(all="ignore"):
        found, wanted = result.astype(np.float32), reference.astype(np.float32)
        return bool(np.abs(found - wanted).max() <= TOLERANCES[element] * np.abs(wanted).max() < np.inf)


def _refuse_differences(
    results: Sequence[Array], references: Sequence[Array], elements: Sequence[str], is_loose: bool
) -> None:
    for number, each in enumerate(zip(results, references, elements, strict=True)):
        if reason := difference(*each, is_loose=is_loose):
            raise Fault(WRONG, f"result {number} is not the heuristic's: {reason}")


class CpuBench:
    """Candidates as machine code of this CPU, by wall time: the least of several calls, as others may be disturbed."""

    def __init__(self) -> None:
        self._arguments: list[Array] = []
        self._references: list[Array] = []

    def compile(self, job: Job) -> CompiledJob:
        """Puts the machine code into the cache."""
        module = parse_ir(new_context(), job.text)
        is_loose = has_loose_sums(module)
        compile_module(module, "cpu", job.options)
        return CompiledJob(job, b"", is_loose)

    def refer(self, compiled: CompiledJob) -> Measured:
        executable = self._executable(compiled)
        specs = executable.arguments
        drawn = drawn_arguments(parse_ir(new_context(), compiled.job.text), specs)
        self._arguments = [np.resize(values, spec.shape) for values, spec in zip(drawn, specs, strict=True)]
        self._references = self._run(executable)
        return Measured(self._timed(executable, float("inf")))

    def measure(self, compiled: CompiledJob, limit: float) -> Measured:
        executable = self._executable(compiled)
        self._check(executable, compiled)
        seconds = self._timed(executable, limit)
        return Measured(seconds, seconds > limit)

    def rank(self, compiled: Sequence[CompiledJob]) -> list[float | Fault]:
        executables = [self._executable(each) for each in compiled]
        best = [float("inf")] * len(executables)
        for _ in range(FINAL_BLOCKS):
            for number, executable in enumerate(executables):
                best[number] = min(best[number], self._timed(executable, float("inf")))
        return [*best]

    def _executable(self, compiled: CompiledJob) -> Executable:
        return compile_module(parse_ir(new_context(), compiled.job.text), "cpu", compiled.job.options)

    def _check(self, executable: Executable, compiled: CompiledJob) -> None:
        elements = [spec.element for spec in executable.results]
        _refuse_differences(self._run(executable), self._references, elements, compiled.is_loose)

    def _run(self, executable: Executable) -> list[Array]:
        with np.errstate(all="ignore"):
            found = executable(*self._arguments)
        return list(found) if isinstance(found, tuple) else [found]  # pyright: ignore[reportUnknownArgumentType]

    def _timed(self, executable: Executable, limit: float) -> float:
        """The least seconds of a call. Stops where calls take longer than the limit when they are warm."""
        self._run(executable)
        least, begin, calls, passed = float("inf"), time.perf_counter(), 0, 0.0
        while calls < HOST_CALLS or passed < HOST_BLOCK:
            start = time.perf_counter()
            self._run(executable)
            end = time.perf_counter()
            least, calls, passed = min(least, end - start), calls + 1, end - begin
            if passed > HOST_SECONDS or (least > limit and calls >= HOST_CALLS and passed > HOST_BLOCK / 8):
                break
        return least


class CudaCompiler:
    """Compiles candidates for a GPU; needs none."""

    def compile(self, job: Job) -> CompiledJob:
        module = parse_ir(new_context(), job.text)
        is_loose = has_loose_sums(module)
        return CompiledJob(job, compile_module_artifact(module, job.options).to_bytes(), is_loose)


class CudaBench:
    """Candidates on a GPU, between events, with the L2 cache cold (`irc/runtime/workbench.py`). An error of the driver
    ends the process, as little works after it."""

    @cached_property
    def _bench(self) -> Workbench:
        return Workbench(device(), block_seconds=BLOCK_SECONDS)

    def refer(self, compiled: CompiledJob) -> Measured:
        with _driver_faults():
            module = parse_ir(new_context(), compiled.job.text)
            self._place(Artifact.from_bytes(compiled.artifact), module)
            variant = self._variant(compiled)
            self._run(variant)
            self._references = [self._host(number) for number in range(len(self._results))]
            return Measured(self._seconds(variant))

    def _place(self, artifact: Artifact, module: ModuleOp) -> None:
        """Makes sets of arrays and draws arguments."""
        bench, device_ = self._bench, self._bench.device
        self._owners: list[Any] = []
        self._arguments, self._results = artifact.arguments, artifact.results
        specs, arrays = (*artifact.arguments, *artifact.results), OwnArrays(bench)
        made = [[arrays.make(spec) for spec in specs] for _ in range(bench.sets(sum(spec.nbytes for spec in specs)))]
        self._owners = [owner for each in made for _, owner in each]
        self._addresses = [[address for address, _ in each] for each in made]
        drawn = drawn_arguments(module, artifact.arguments)
        for number, (spec, values) in enumerate(zip(artifact.arguments, drawn, strict=True)):
            first = self._addresses[0][number]
            bench.fill(first, spec.nbytes, values)
            for other in self._addresses[1:]:
                device_.copy(other[number], first, spec.nbytes, bench.stream)
        device_.synchronize(bench.stream)

    def _variant(self, compiled: CompiledJob) -> Variant:
        artifact = Artifact.from_bytes(compiled.artifact)
        executor = Executor(artifact, Plan.from_json(artifact.plan), self._bench.device)
        split = len(self._arguments)

        def enqueue(number: int) -> None:
            addresses = self._addresses[number % len(self._addresses)]
            executor.enqueue(addresses[:split], addresses[split:], self._bench.stream)

        return Variant("", enqueue)

    def _run(self, variant: Variant) -> None:
        """Runs on the first set, its results poisoned before."""
        device_, stream = self._bench.device, self._bench.stream
        for spec, address in zip(self._results, self._addresses[0][len(self._arguments) :], strict=True):
            device_.fill(address, POISON, spec.nbytes, stream)
        variant.enqueue(0)
        device_.synchronize(stream)

    def _host(self, number: int, piece: slice | None = None) -> Array:
        """A result of the first set, flat, or a piece of it."""
        spec, address = self._results[number], self._addresses[0][len(self._arguments) + number]
        piece = piece or slice(0, spec.size)
        found = np.empty(piece.stop - piece.start, spec.dtype)
        if found.size:
            start = address + piece.start * spec.dtype.itemsize
            self._bench.device.copy(int(found.ctypes.data), start, found.nbytes, self._bench.stream)
            self._bench.device.synchronize(self._bench.stream)
        return found

    def _check(self, variant: Variant, compiled: CompiledJob, *, whole: bool) -> None:
        """Runs it; Fault where results differ."""
        self._run(variant)
        for number, spec in enumerate(self._results):
            for piece in _pieces(spec.size, whole=whole):
                found, reference = self._host(number, piece), self._references[number][piece]
                _refuse_differences([found], [reference], [spec.element], compiled.is_loose)

    def _seconds(self, variant: Variant, limit: float = float("inf")) -> float:
        """The median of blocks; of the first, short one where that takes longer than the limit."""
        seconds = self._bench.prepare(variant)
        if seconds > limit:
            return seconds
        return median(self._bench.block(variant) for _ in range(BLOCKS))

    def measure(self, compiled: CompiledJob, limit: float) -> Measured:
        with _driver_faults():
            variant = self._variant(compiled)
            self._check(variant, compiled, whole=False)
            seconds = self._seconds(variant, limit)
            return Measured(seconds, seconds > limit)

    def rank(self, compiled: Sequence[CompiledJob]) -> list[float | Fault]:
        with _driver_faults():
            variants = [self._variant(each) for each in compiled]
            times: list[list[float]] = [[] for _ in variants]
            for variant in variants:
                self._bench.prepare(variant)
            for turn in range(FINAL_BLOCKS):
                for number in range(len(variants)):
                    at = (turn + number) % len(variants)
                    times[at].append(self._bench.block(variants[at]))
            found: list[float | Fault] = [median(each) for each in times]
            for at in sorted(range(len(variants)), key=lambda at: median(times[at])):
                try:
                    self._check(variants[at], compiled[at], whole=True)
                    break  # those behind it are not the best
                except Fault as fault:
                    found[at] = fault
            return found


def _pieces(size: int, *, whole: bool) -> list[slice]:
    """What is compared of a flat result: all, in chunks, or pieces at equal distances."""
    if whole or size <= SAMPLE:
        return [slice(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK)]
    length, distance = SAMPLE // PIECES, (size - SAMPLE // PIECES) / (PIECES - 1)
    return [slice(start, start + length) for start in (round(n * distance) for n in range(PIECES))]


@contextmanager
def _driver_faults() -> Generator[None]:
    try:
        yield
    except DriverError as error:
        raise Fault(MEMORY if error.out_of_memory else CRASHED, str(error), is_fatal=not error.out_of_memory) from error
