"""From an nd module to an artifact: every level's IR, the kernels' machine code, the host plan, the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from xdsl.dialects.builtin import ModuleOp

from irc.codegen import CompiledKernel, compile_kernel
from irc.dialects.cuda import KernelOp
from irc.driver.apart import Apart, lower_apart
from irc.driver.kernel_processes import KernelProcesses, kernel_processes
from irc.driver.lowering import levels
from irc.driver.manager import is_lowered
from irc.driver.manifest import KernelFacts, kernel_entry, kernel_facts, kernel_location
from irc.driver.program import signature
from irc.driver.reports import is_reporting, timed
from irc.driver.reproducers import reproducing
from irc.ir.blocks import ops_in
from irc.ir.discardable import STRICT
from irc.ir.functions import entry_of
from irc.ir.printer import print_ir
from irc.ir.targets import target_of
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.executable import Executable
from irc.runtime.plan import Launch, Plan
from irc.runtime.plan_reader import read_plan
from irc.runtime.sized import SizedExecutable
from irc.runtime.sizes import SizedPlan, at_sizes, manifest_at, peak_of
from irc.support.extents import Sizes
from irc.support.garbage import seldom_collecting
from irc.support.processors import processor_count

SEPARATE_ROUNDING = ("--fmad=false",)
"""The option by which NVRTC leaves a product and the sum that takes it two operations, each with its rounding."""


def build(module: ModuleOp, **options: Any) -> Artifact:
    """Compiles a module with one nd function; the module is lowered in place. `options` as for `levels`."""
    with seldom_collecting():
        return _build(module, options)


def _build(module: ModuleOp, options: Mapping[str, Any]) -> Artifact:
    arch = target_of(module).name
    arguments, results = signature(entry_of(module))
    texts: dict[str, str] = {}
    facts: dict[str, KernelFacts] = {}
    apart: Apart | None = None
    with Compilations() as compilations, _processes(module) as processes:
        begin = partial(_begin, compilations, module)
        for level, lowered in levels(module, ("nd", "kernel", "programs", "tile", "all"), lowered=begin, **options):
            if level == "programs":
                apart = None if processes is None else lower_apart(lowered, processes, _flags(module), options)
                if apart is not None:
                    break
                continue
            texts[level] = timed("print", lambda lowered=lowered: print_ir(lowered))
            if level == "kernel":
                facts = kernel_facts(lowered)
        if apart is None:
            apart = _together(module, compilations, {"tile": texts.pop("tile"), "cuda": texts.pop("all")})
    pairs = list(zip(apart.kernels, apart.compiled, strict=True))
    entries = [kernel_entry(op, facts.get(op.sym_name.data), _resources(binary)) for op, binary in pairs]
    return Artifact(
        arch=arch,
        arguments=arguments,
        results=results,
        plan=apart.plan.to_json(),
        manifest=_manifest(arch, apart.plan, entries, (*arguments, *results)),
        kernels=tuple(_binary(op, facts, binary) for op, binary in pairs),
        levels={**texts, **apart.texts},
    )


@contextmanager
def _processes(module: ModuleOp) -> Generator[KernelProcesses | None]:
    """Those that lower the kernels of a module, if anybody but this process does: reports see each pass run here, and
    diagnostics of IR that was given are those of its places."""
    if is_reporting() or is_lowered(module):
        yield None
        return
    with kernel_processes(len(ops_in(module))) as processes:
        yield processes


def _together(module: ModuleOp, compilations: Compilations, texts: Mapping[str, str]) -> Apart:
    """What the pipelines left of a module in this process."""
    plan = read_plan(module)
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    with reproducing(module, "asm"):
        return Apart(plan, kernels, timed("machine code", compilations.results), texts)


def simulate(module: ModuleOp, **options: Any) -> Executable:
    """Compiles a module with one nd function for the simulator; the module is lowered in place. `options` as for
    `levels`."""
    from irc.runtime.sim import SimProgram

    entry = entry_of(module)
    name, (arguments, results) = entry.sym_name.data, signature(entry)
    facts: dict[str, KernelFacts] = {}
    for level, lowered in levels(module, ("kernel", "all"), **options):
        if level == "kernel":
            facts = kernel_facts(lowered)
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    unknown = {"registers": None, "spills": None}
    entries = [kernel_entry(op, facts.get(op.sym_name.data), {}) | unknown for op in kernels]
    plan = read_plan(module)
    manifest = _manifest(target_of(module).name, plan, entries, (*arguments, *results))
    if plan.dims:
        at = partial(_simulated_at, module, arguments, results, manifest, SizedPlan(plan))
        return SizedExecutable(name, "sim", arguments, results, plan.dims, at, manifest=manifest)
    program = SimProgram(module, arguments, results)
    return Executable(name, "sim", arguments, results, program, manifest=manifest)


def _simulated_at(
    module: ModuleOp,
    arguments: Sequence[ArraySpec],
    results: Sequence[ArraySpec],
    manifest: dict[str, Any],
    plan: SizedPlan,
    sizes: Sizes,
) -> Executable:
    from irc.runtime.sim import SimProgram

    dims = plan.plan.dims
    taken, given = (at_sizes(each, dims, sizes) for each in (arguments, results))
    found = plan.at(sizes)
    program = SimProgram(module, taken, given, plan=found)
    there = manifest_at(manifest, found, (*taken, *given), dims, sizes)
    return Executable(found.name, "sim", taken, given, program, manifest=there)


class Compilations:
    """Kernels that are compiled side by side while the block goes on: NVRTC does not hold the interpreter's lock. What
    has not begun when the block ends by an exception is not compiled."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(processor_count())
        self._made: list[Future[CompiledKernel]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, kernels: Sequence[KernelOp], arch: str, options: Sequence[str] = ()) -> None:
        """Compiles these kernels, which do not change any more, the largest first, so that none is left alone in the
        end. `options` are added to the compiler's."""
        largest = sorted(kernels, key=lambda kernel: -len(ops_in(kernel)))
        made = {kernel: self._pool.submit(compile_kernel, kernel, arch, options) for kernel in largest}
        self._made += [made[kernel] for kernel in kernels]

    def results(self) -> list[CompiledKernel]:
        """The source, PTX, machine code and resources of the kernels, in order, when all are compiled."""
        return [each.result() for each in self._made]


def _begin(compilations: Compilations, module: ModuleOp) -> None:
    """Compiles the kernels of a module for its architecture, with its rounding."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    compilations.begin(kernels, target_of(module).name, _flags(module))


def _flags(module: ModuleOp) -> tuple[str, ...]:
    """The options of the compiler of CUDA C++ that the module asks for."""
    return SEPARATE_ROUNDING if STRICT in module.attributes else ()


def compiled_kernels(module: ModuleOp) -> list[CompiledKernel]:
    """The kernels of a module, compiled for its architecture, with its rounding."""
    with Compilations() as compilations:
        _begin(compilations, module)
        return compilations.results()


def _resources(binary: CompiledKernel) -> dict[str, int]:
    return {"registers": binary.registers, "spills": binary.spills, "shared": binary.static_shared}


def _binary(op: KernelOp, facts: dict[str, KernelFacts], binary: CompiledKernel) -> KernelBinary:
    name = op.sym_name.data
    entry = op.entry.data if op.image is not None and op.entry is not None else ""
    return KernelBinary(name, binary.source, binary.ptx, binary.cubin, kernel_location(op, facts.get(name)), entry)


def _manifest(arch: str, plan: Plan, entries: list[dict[str, Any]], arrays: Sequence[ArraySpec]) -> dict[str, Any]:
    """`arrays` are the arguments and the results."""
    launches, sets = Counter[str](), Counter[str]()
    for step in [step for step in plan.steps if isinstance(step, Launch)]:
        launches[step.kernel] += 1
        sets[step.kernel] += step.sets
    kernels = [{**entry, "launches": launches[entry["name"]], "sets": sets[entry["name"]]} for entry in entries]
    peak = peak_of(plan, arrays)
    return {"arch": arch, "arena": plan.arena, "peak": peak, "streams": plan.streams, "kernels": kernels}
