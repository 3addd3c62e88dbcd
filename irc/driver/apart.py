"""Kernels of a module that are lowered in processes of their own, and compiled. What comes of it is what comes of the
pipelines: the same plan, texts and sources, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from irc.analysis.early_reads import kept_operands
from irc.analysis.op_classes import behind_views
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import LaunchOp
from irc.dialects.tile import ProgramOp
from irc.driver.compilations import Compilations, Compiling
from irc.driver.kernel_processes import Failed, KernelProcesses, Lost
from irc.driver.kernel_worker import Finished, Job, Lowered, Tiling
from irc.driver.lowering import passes_of
from irc.driver.manager import note_pass
from irc.driver.pipelines import ALL, TILE
from irc.driver.program import new_context
from irc.ir.alignment import DEFAULT_ALIGN, alignment_of
from irc.ir.blocks import ops_in
from irc.ir.donation import donations
from irc.ir.plain_ops import packed, unpacked
from irc.ir.printer import Piece, print_ir
from irc.ir.targets import target_of
from irc.ir.verification import verify
from irc.runtime.plan import Plan
from irc.runtime.plan_reader import read_plan
from irc.support.diagnostics import IrcError
from irc.support.garbage import seldom_collecting
from irc.support.progress import note_step
from irc.support.stack import with_room
from irc.tiling.elsewhere import Untiled
from irc.tiling.launches import add_counters

FEW = 4
"""Kernels that this process tiles as quickly by itself."""


@dataclass(frozen=True)
class Apart:
    """What the pipelines leave of a module: `kernels`, which may be heads (`Lowered`), what threads compile of each,
    and the texts of the levels `tile` and `cuda`."""

    plan: Plan
    kernels: Sequence[KernelOp]
    compiling: Sequence[Compiling]
    texts: Mapping[str, str]


def text_apart(processes: KernelProcesses, module: bytes, behind: Callable[[], object]) -> Callable[[], str]:
    """Has a packed module printed when something has been waited for, and gives what waits for its text."""
    waiting = processes.text(module, behind)

    def text() -> str:
        try:
            return waiting()
        except Lost:
            return print_ir(unpacked(module))

    return text


def tile_apart(processes: KernelProcesses, untiled: Sequence[Untiled]) -> Sequence[ProgramOp | None]:
    """The programs of kernels; none where something goes wrong: who asks finds what. A kernel of whose arrays one
    begins at a smaller multiple of bytes stays here, as that is not said in it."""
    found: list[ProgramOp | None] = [None] * len(untiled)
    sent = [
        number
        for number, each in enumerate(untiled)
        if all(alignment_of(value) == DEFAULT_ALIGN for value in each.kernel.inputs)
    ]
    if len(sent) <= FEW:
        return found
    tilings = [_tiling(untiled[number]) for number in sent]
    try:
        made = processes.tile(tilings)
    except Lost:
        return found
    for number, each in zip(sent, made, strict=True):
        program = unpacked(each)
        assert isinstance(program, ProgramOp)
        found[number] = program
    return found


def _tiling(untiled: Untiled) -> Tiling:
    kernel = untiled.kernel
    attributes = getattr(kernel.get_toplevel_object(), "attributes", {})
    return Tiling(packed(kernel), attributes, untiled.name, untiled.location, untiled.strides)


def can_lower_apart(module: ModuleOp) -> bool:
    """Whether the module has nothing but programs that processes lower, and what launches them."""
    return all(isinstance(op, ProgramOp | FuncOp) for op in module.ops)


@with_room
def lower_apart(
    module: ModuleOp,
    processes: KernelProcesses,
    compilations: Compilations,
    flags: Sequence[str],
    options: Mapping[str, Any],
) -> Apart | Failed | IrcError | None:
    """Lowers the programs of a module, which stays as it is, and begins to compile the kernels. flags: of the compiler
    of CUDA C++. An error where there is one, which the pipelines say at its place; None where processes end."""
    programs = [op for op in module.ops if isinstance(op, ProgramOp)]
    note_step("kernels")
    try:
        with seldom_collecting():
            return _lower(module, programs, processes, compilations, flags, options)
    except (Lost, IrcError) as error:
        compilations.cancel()
        return error if isinstance(error, Failed | IrcError) else None


def _lower(
    module: ModuleOp,
    programs: Sequence[ProgramOp],
    processes: KernelProcesses,
    compilations: Compilations,
    flags: Sequence[str],
    options: Mapping[str, Any],
) -> Apart:
    arch, kept, overwriting = target_of(module).name, kept_operands(module), _overwriting(module)
    jobs = [_job(module, each, options, kept, overwriting) for each in programs]
    compile = partial(compilations.begin_printed, arch=arch, options=flags)
    early: dict[int, Compiling] = {}

    def begin(number: int, found: Lowered) -> None:
        if found.source:
            early[number] = compile(programs[number].sym_name.data, found.source, programs[number].location)

    lowered = processes.lower(jobs, begin)
    planned, kernels = _with_heads(module, programs, lowered)
    tile = _text(planned, TILE[-1], dict(zip(kernels, (each.tile for each in lowered), strict=True)))
    _plan(planned, options)
    reads = {kernel.symbol: set(each.reads) for kernel, each in zip(kernels, lowered, strict=True)}
    pieces, compiling = _finished(processes, kernels, lowered, compile, early)
    texts = {"tile": tile, "cuda": print_ir(planned, pieces=dict(zip(kernels, pieces, strict=True)))}
    plan = read_plan(planned, lambda kernel: reads[kernel.symbol])
    return Apart(plan, kernels, compiling, texts)


def _job(
    module: ModuleOp,
    program: ProgramOp,
    options: Mapping[str, Any],
    kept: Mapping[str, Mapping[int, int]],
    overwriting: Collection[str],
) -> Job:
    name, attributes = program.sym_name.data, dict(module.attributes)
    return Job(packed(program), attributes, dict(options), kept.get(name, {}), name in overwriting)


def _overwriting(module: ModuleOp) -> set[str]:
    """The names of the programs of which a launch reads an argument that is donated."""
    found = set[str]()
    for function in [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]:
        donated = {function.body.block.args[argument] for argument in donations(function).values()}
        launches = [op for op in ops_in(function) if donated and isinstance(op, LaunchOp)]
        found |= {
            launch.program_name for launch in launches if any(behind_views(value) in donated for value in launch.inputs)
        }
    return found


def _with_heads(
    module: ModuleOp, programs: Sequence[ProgramOp], lowered: Sequence[Lowered]
) -> tuple[ModuleOp, list[KernelOp]]:
    """A copy of the module with the heads of kernels in the place of their programs, and these. Its launches are those
    of the last pass on tile programs."""
    kernels: dict[Operation, KernelOp] = {}
    for program, each in zip(programs, lowered, strict=True):
        head = unpacked(each.head)
        assert isinstance(head, KernelOp)
        kernels[program] = head
    copy = ModuleOp([kernels[op] if op in kernels else op.clone() for op in module.ops], dict(module.attributes))
    copy.location = module.location
    queued = {program.sym_name.data for program, each in zip(programs, lowered, strict=True) if each.is_queued}
    if queued:
        add_counters(copy, queued)
    return copy, list(kernels.values())


def _plan(module: ModuleOp, options: Mapping[str, Any]) -> None:
    """Makes the host plan of a module whose kernels are heads."""
    (plans,) = passes_of(ALL[-1:], **options)
    plans.apply(new_context(), module)
    note_pass(module, plans.name)
    verify(module, after=plans.name)


def _finished(
    processes: KernelProcesses,
    kernels: Sequence[KernelOp],
    lowered: Sequence[Lowered],
    compile: Callable[[str, str, Attribute], Compiling],
    early: Mapping[int, Compiling],
) -> tuple[list[Piece], list[Compiling]]:
    """The kernels, of which each that is not among the early ones is compiled as soon as it is finished, those with the
    most ops first: the texts of the level `cuda`, and what is compiled."""
    order = sorted(range(len(kernels)), key=lambda number: -lowered[number].ops)
    requests = [
        (number, kernel.symbol, kernel.max_sets, kernel.overlapping)
        for number, kernel in ((number, kernels[number]) for number in order)
    ]
    pieces: dict[int, Piece] = {}
    compiling = dict(early)

    def finished(number: int, found: Finished) -> None:
        pieces[number] = found.cuda
        if number not in early:
            compiling[number] = compile(kernels[number].symbol, found.source, kernels[number].location)

    processes.finish(requests, finished)
    numbers = range(len(kernels))
    return [pieces[number] for number in numbers], [compiling[number] for number in numbers]


def _text(module: ModuleOp, name: str, pieces: Mapping[Operation, Piece]) -> str:
    """The text of a module that had the passes up to the one of this name."""
    note_pass(module, name)
    return print_ir(module, pieces=pieces)
