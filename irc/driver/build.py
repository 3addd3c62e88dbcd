"""From an nd module to an artifact: every level's IR, the kernels' machine code, the host plan, the manifest."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from irc.codegen import CompiledKernel
from irc.dialects.cuda import KernelOp
from irc.driver.apart import Apart, can_lower_apart, lower_apart, text_apart, tile_apart
from irc.driver.compilations import Compilations, Compiling
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
from irc.ir.plain_ops import packed
from irc.ir.printer import print_ir
from irc.ir.targets import target_of
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.executable import Executable
from irc.runtime.plan import Launch, Plan
from irc.runtime.plan_reader import read_plan
from irc.runtime.sized import SizedExecutable
from irc.runtime.sizes import SizedPlan, at_sizes, manifest_at, peak_of
from irc.support.diagnostics import IrcError
from irc.support.extents import Sizes
from irc.support.garbage import seldom_collecting
from irc.support.progress import note_step
from irc.support.stack import with_room
from irc.tiling.elsewhere import tiled_by

SEPARATE_ROUNDING = ("--fmad=false",)
"""The option by which NVRTC leaves a product and the sum that takes it two operations, each with its rounding."""


def build(module: ModuleOp, **options: Any) -> Artifact:
    """Compiles a module with one nd function; the module is lowered in place. `options` as for `levels`."""
    return begin(module, **options)()


def begin(module: ModuleOp, **options: Any) -> Callable[[], Artifact]:
    """Lowers a module as `build` does, and gives what waits for the machine code of its kernels, which threads make
    meanwhile; it is called once."""
    with seldom_collecting():
        building = _Building(module, options)
    return building.artifact


class LoweredAlone(UserWarning):
    """Processes met an error in a program that has none: it took longer to compile. It is a fault of irc's."""


class _Building:
    """A module that is lowered, and whose kernels are being compiled."""

    def __init__(self, module: ModuleOp, options: Mapping[str, Any]):
        self._module = module
        self._arch = target_of(module).name
        self._arrays = signature(entry_of(module))
        self._texts: dict[str, str] = {}
        self._facts: dict[str, KernelFacts] = {}
        self._compiling: list[Compiling] = []
        """Of the kernels of the module, where this process has lowered them."""
        self._apart: Callable[[], Apart | Exception | None] = lambda: None
        self._waiting: dict[str, Callable[[], str]] = {}
        """The texts of levels that processes print."""
        self._compilations = Compilations()
        self._levels = levels(
            module, ("nd", "kernel", "programs", "tile", "all"), lowered=self._begin_kernels, **options
        )
        with (
            self._compilations,
            _processes(module) as processes,
            tiled_by(None if processes is None else partial(tile_apart, processes)),
        ):
            modules: dict[str, bytes] = {}
            for level, lowered in self._levels:
                if level in ("nd", "kernel") and processes is not None:
                    modules[level] = timed("print", partial(packed, lowered))
                    self._note_facts(level, lowered)
                elif level != "programs":
                    self._note(level, lowered)
                elif processes is not None and can_lower_apart(lowered):
                    run = partial(lower_apart, lowered, processes, self._compilations, _flags(module), options)
                    self._apart = processes.beside(run)
                    break
            self._waiting = {
                each: text_apart(processes, content, self._apart)
                for each, content in modules.items()
                if processes is not None
            }

    def _note(self, level: str, module: ModuleOp) -> None:
        self._texts[level] = timed("print", lambda: print_ir(module))
        self._note_facts(level, module)

    def _note_facts(self, level: str, module: ModuleOp) -> None:
        if level == "kernel":
            self._facts = kernel_facts(module)

    def _begin_kernels(self) -> None:
        self._compiling = begin_kernels(self._compilations, self._module)

    @with_room
    def artifact(self) -> Artifact:
        with self._compilations:
            apart = self._compiled_apart() or self._together()
        if isinstance(error := self._apart(), Exception):
            text = f"processes did not lower the kernels, which one did alone ({error})"
            warnings.warn(text, LoweredAlone, stacklevel=2)
        self._texts |= {level: text() for level, text in self._waiting.items()}
        arguments, results = self._arrays
        pairs = list(zip(apart.kernels, (each() for each in apart.compiling), strict=True))
        entries = [kernel_entry(op, self._facts.get(op.sym_name.data), _resources(binary)) for op, binary in pairs]
        return Artifact(
            arch=self._arch,
            arguments=arguments,
            results=results,
            plan=apart.plan.to_json(),
            manifest=_manifest(self._arch, apart.plan, entries, (*arguments, *results)),
            kernels=tuple(_binary(op, self._facts, binary) for op, binary in pairs),
            levels={**{level: self._texts[level] for level in ("nd", "kernel")}, **apart.texts},
        )

    def _compiled_apart(self) -> Apart | None:
        """What processes have lowered, compiled; None where they have not, or the compiler refuses a kernel: the
        pipelines say why, at its place."""
        apart = self._apart()
        if not isinstance(apart, Apart):
            return None
        note_step("machine code")
        try:
            for each in apart.compiling:
                each()
        except IrcError:
            self._compilations.cancel()
            return None
        return apart

    def _together(self) -> Apart:
        """What the pipelines leave of the module in this process."""
        with seldom_collecting():
            for level, lowered in self._levels:
                self._note(level, lowered)
        texts = {"tile": self._texts["tile"], "cuda": self._texts["all"]}
        with reproducing(self._module, "asm"):
            timed("machine code", lambda: [each() for each in self._compiling])
            return Apart(read_plan(self._module), kernels_of(self._module), self._compiling, texts)


@contextmanager
def _processes(module: ModuleOp) -> Generator[KernelProcesses | None]:
    """Those that lower the kernels of a module, if anybody but this process does: reports see each pass run here, and
    diagnostics of IR that was given are those of its places."""
    if is_reporting() or is_lowered(module):
        yield None
        return
    with kernel_processes(len(ops_in(module))) as processes:
        yield processes


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
    kernels = kernels_of(module)
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


def kernels_of(module: ModuleOp) -> list[KernelOp]:
    return [op for op in module.ops if isinstance(op, KernelOp)]


def begin_kernels(compilations: Compilations, module: ModuleOp) -> list[Compiling]:
    """Compiles the kernels of a module for its architecture, with its rounding."""
    return compilations.begin(kernels_of(module), target_of(module).name, _flags(module))


def _flags(module: ModuleOp) -> tuple[str, ...]:
    """The options of the compiler of CUDA C++ that the module asks for."""
    return SEPARATE_ROUNDING if STRICT in module.attributes else ()


def compiled_kernels(module: ModuleOp) -> list[CompiledKernel]:
    """The kernels of a module, compiled for its architecture, with its rounding."""
    with Compilations() as compilations:
        return [each() for each in begin_kernels(compilations, module)]


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
