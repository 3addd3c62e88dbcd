"""`irc.compile`: a program in, an `Executable` out.

Compilations are cached twice. In memory, the same program, target and options give the same `Executable`. On the disk,
for the targets `cuda` and `cpu`, the artifact of a module is kept under a key of its text without locations; that key
is kept beside it for each source text and each recorded program, with where its locations are there, so that what is
known needs neither parsing nor any import of the compiler.
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from weakref import WeakValueDictionary

from irc.driver.begun import Begun
from irc.driver.reports import is_reporting, note_program
from irc.driver.subjects import Options, Recorded, Subject, module_text, places_of, subject_of
from irc.runtime.artifact import Artifact, moves
from irc.runtime.executable import Executable
from irc.support import cache
from irc.support.diagnostics import IrcError
from irc.support.garbage import seldom_collecting
from irc.support.llvm import host
from irc.support.progress import progress
from irc.support.stack import with_room

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

DEFAULT_ARCH = "sm_90a"
"""What is compiled for where there is no GPU to ask."""

CPU = "cpu"
"""The architecture of the target `cpu`."""

LINKS, ARTIFACTS = "texts", "artifacts"
"""The kinds of entries in the cache: which artifact a text or a recorded program has, and artifacts."""

_ARCHES = {"cpu": CPU, "interpret": ""}
"""What the targets that are no GPU's are compiled for."""

TARGETS = ("cpu", "cuda", "interpret", "sim")

MAX_IN_MEMORY = 256
"""Executables that are kept; the one used least recently goes first."""


def compile(
    program: str | Path | ModuleOp | Recorded,
    target: str | None = None,
    *,
    arch: str | None = None,
    dims: Mapping[str, int] | None = None,
    func: str | None = None,
    strict_rounding: bool = False,
    any_order: bool = False,
    donate: Sequence[int] = (),
    align: Mapping[int, int] | None = None,
    autotune: bool | float = False,
    shared_gpu: bool = False,
) -> Executable:
    """Compiles a program for a target.

    program: `.irc` text (a `str`), a file (a `Path`, `.irc` or `.mlir`), a module with an nd function, or one that is
    built when it is not known.
    target: `cpu` (machine code of this CPU), `cuda`, `sim` (the kernels of `cuda`, simulated thread by thread), or
    `interpret` (numpy, op by op: the reference); see `default_target` for what it is without one.
    arch: the architecture of the kernels; by default the present GPU's.
    dims, func, any_order, donate: see `Options`. A donated argument on the device is overwritten by a call, and
    returned as the result; arguments on the host stay as they are.
    align: for arguments by number, of how many bytes they begin at a multiple on a GPU: 16 where nothing is said, and
    what begins elsewhere is copied. Kernels read an argument with less by narrower loads, and not by TMA.
    autotune: tunes each kernel that was not tuned before, for so many seconds (10 where it is True), on the targets
    `cuda` and `cpu` (docs/tuning.md); later compilations have what was found.
    shared_gpu: whether others hold SMs beside the program's kernels, as those of NCCL: large products then take their
    tiles while they run (docs/decisions/dynamic-tiles.md).

    Raises IrcError for a bad program, an unknown target or architecture, and where a GPU is asked for and there is
    none.
    """
    target = default_target() if target is None else _checked(target)
    options = Options(
        arch=_arch_of(target, arch),
        dims=tuple(sorted((dims or {}).items())),
        func=func,
        strict_rounding=strict_rounding,
        any_order=any_order,
        donate=tuple(donate),
        align=tuple(sorted((align or {}).items())),
        shared_gpu=shared_gpu,
    )
    return _begun(subject_of(program), target, options, autotune)()


def begin(
    program: ModuleOp | Recorded,
    target: str | None = None,
    *,
    any_order: bool = False,
    donate: Sequence[int] = (),
    autotune: bool | float = False,
    shared_gpu: bool = False,
) -> Begun[Executable]:
    """As `compile`, but for a GPU the machine code of kernels is not waited for: threads make it while the caller goes
    on, with the next program for one. What it gives waits for it, and raises what is wrong with it."""
    target = default_target() if target is None else _checked(target)
    options = Options(_arch_of(target, None), any_order=any_order, donate=tuple(donate), shared_gpu=shared_gpu)
    return _begun(subject_of(program), target, options, autotune)


@with_room
def _begun(subject: Subject, target: str, options: Options, autotune: bool | float) -> Begun[Executable]:
    if autotune:
        from irc.driver.tuning import tune_missing

        tune_missing(subject.module(options), target, options, autotune)
    options = options.with_tuned()
    key = (subject.key, target, options)
    if not is_reporting() and (known := _executables.get(key)) is not None:
        return Begun.done(known)
    with seldom_collecting():
        begun = _ON[target](subject, options)

    def finished() -> Executable:
        executable = begun()
        executable.reporter = origin = Origin(subject.kept(), target, options)
        note_program(origin)
        return _executables.keep(key, executable)

    return begun.then(finished)


@dataclass(frozen=True)
class Origin:
    """What an executable was compiled of, and for; called, the page of how: see `Executable.report`. title: what a page
    calls the program, where that is not the name of its function."""

    subject: Subject
    target: str
    options: Options
    title: str = ""

    def __call__(self, path: Path | None, target: str | None) -> str:
        from irc.driver.reporting import write_report

        return write_report([self.on(target)], path)

    def on(self, target: str | None) -> Origin:
        """The same program for another target, for its default architecture."""
        if target in (None, self.target):
            return self
        arch = _ARCHES[target] if _checked(target) in _ARCHES else resolve_arch(None)
        return replace(self, target=target, options=replace(self.options, arch=arch, tuned="").with_tuned())


@with_room
def compile_module(module: ModuleOp, target: str, options: Options) -> Executable:
    """Compiles a module with just these options; nothing is kept in memory."""
    return _ON[target](subject_of(module), options)()


class Choices(TypedDict, total=False):
    """What may be chosen for a program that is not run: see `Options`. `arch` is that of the present GPU by default,
    and `sm_90a` where there is none."""

    arch: str | None
    dims: Mapping[str, int] | None
    func: str | None
    strict_rounding: bool
    any_order: bool


@with_room
def compile_artifact(program: str | Path | ModuleOp, *, target: str = "cuda", **choices: Unpack[Choices]) -> Artifact:
    """Compiles a program to kernels and a host plan without loading them, for the target `cuda` or `cpu`: this needs no
    GPU."""
    options = artifact_options(**choices)
    with seldom_collecting():
        subject = subject_of(program)
        if target != "cpu":
            return _artifact(subject, options)()
    found = _executable_on_cpu(subject, replace(options, arch=CPU, tuned="").with_tuned())
    if found.artifact is None:
        names = ", ".join(dim.name for dim in found.dims)
        raise IrcError(f"code of a CPU is for one size, and {found.name} has the dims {names}", hint="give each by -D")
    return found.artifact


def artifact_options(*, arch: str | None = None, dims: Mapping[str, int] | None = None, **choices: Any) -> Options:
    """What `compile_artifact` compiles with, of `Choices`."""
    return Options(resolve_arch(arch), tuple(sorted((dims or {}).items())), **choices).with_tuned()


@with_room
def compile_module_artifact(module: ModuleOp, options: Options) -> Artifact:
    """As `compile_artifact`, with just these options, and nothing is kept: a candidate of a tuner."""
    from irc.driver.build import build

    return build(subject_of(module).module(options), **options.of_passes)


def lower_program(program: str | Path | ModuleOp, upto: str | None, **choices: Unpack[Choices]) -> ModuleOp:
    """The entry function of a program, alone in its module, at a level: nothing below it runs. Without a level it is as
    it was read."""
    from irc.driver.lowering import levels

    options = artifact_options(**choices)
    module = subject_of(program).module(options)
    for _ in levels(module, [] if upto is None else [upto], **options.of_passes):
        pass
    return module


def default_target() -> str:
    """Where programs run that nobody gave a target: `IRC_TARGET`, else `cuda` where a GPU is present, else `cpu`."""
    from irc.runtime.driver import is_present

    return preferred_target() or ("cuda" if is_present() else "cpu")


def preferred_target() -> str | None:
    """The target in `IRC_TARGET`, checked; None where it is not set."""
    return _checked(given) if (given := os.environ.get("IRC_TARGET")) else None


def _checked(target: str) -> str:
    if target not in TARGETS:
        raise IrcError(f"unknown target {target}", hint=f"targets are {', '.join(TARGETS)}")
    return target


def _arch_of(target: str, arch: str | None) -> str:
    """The architecture that a target's code is for; one that is given is checked, whatever the target."""
    if target in _ARCHES and arch is None:
        return _ARCHES[target]
    return _ARCHES.get(target, resolve_arch(arch))


def resolve_arch(arch: str | None) -> str:
    """The architecture to compile for, checked."""
    if arch is None:
        from irc.runtime.driver import is_present, present_arch

        return present_arch() if is_present() else DEFAULT_ARCH
    from irc.ir.targets import target

    if (found := target(arch)).exact_tiles:
        raise IrcError(f"the architecture {arch} is no GPU's", hint="compile for the target cpu")
    return found.name


def _interpreted(subject: Subject, options: Options) -> Begun[Executable]:
    from irc.driver.lowering import levels
    from irc.ir.extents import dims_of

    module = subject.module(options)
    for _ in levels(module, ["nd"] if options.strict_rounding else [], strict_rounding=options.strict_rounding):
        pass
    if dims_of(module):
        return Begun.done(_for_sizes(module, "interpret", _interpreter_of))
    return Begun.done(_interpreter_of(module))


def _interpreter_of(module: ModuleOp) -> Executable:
    from irc.driver.program import signature
    from irc.ir.functions import entry_of
    from irc.runtime.host import HostProgram
    from irc.runtime.interpreted import InterpretedProgram

    entry = entry_of(module)
    arguments, results = signature(entry)
    program = HostProgram(arguments, results, InterpretedProgram(module))
    return Executable(entry.sym_name.data, "interpret", arguments, results, program)


def _for_sizes(module: ModuleOp, target: str, make: Callable[[ModuleOp], Executable]) -> Executable:
    """On a target whose programs are of one size: what `make` gives of the module for each."""
    from irc.driver.program import signature
    from irc.ir.extents import at_sizes, dims_of
    from irc.ir.functions import entry_of
    from irc.runtime.sized import SizedExecutable

    entry = entry_of(module)
    sizes = dims_of(module)
    return SizedExecutable(
        entry.sym_name.data, target, *signature(entry), sizes, lambda found: make(at_sizes(module, found))
    )


def _on_cpu(subject: Subject, options: Options) -> Begun[Executable]:
    return Begun.done(_executable_on_cpu(subject, options))


def _executable_on_cpu(subject: Subject, options: Options) -> Executable:
    from irc.runtime.cpu import cpu_executable

    if (found := _known(subject, options)) is not None:
        return cpu_executable(found)
    from irc.ir.extents import dims_of

    module = subject.module(options)
    if dims_of(module):
        return _for_sizes(module, "cpu", partial(_on_cpu_for_size, options=options))
    return cpu_executable(_linked(subject, module, options)())


def _on_cpu_for_size(module: ModuleOp, options: Options) -> Executable:
    from irc.runtime.cpu import cpu_executable

    return cpu_executable(_linked(subject_of(module), module, options)())


def _on_cuda(subject: Subject, options: Options) -> Begun[Executable]:
    from irc.runtime.cuda import CudaProgram, executable_of
    from irc.runtime.driver import require_device

    require_device()
    begun = _artifact(subject, options)

    def loaded() -> Executable:
        artifact = begun()
        return executable_of(artifact, CudaProgram(artifact))

    return begun.then(loaded)


def _on_sim(subject: Subject, options: Options) -> Begun[Executable]:
    from irc.driver.build import simulate

    return Begun.done(simulate(subject.module(options), **options.of_passes))


_ON = {"cpu": _on_cpu, "cuda": _on_cuda, "interpret": _interpreted, "sim": _on_sim}
"""By target."""


def _artifact(subject: Subject, options: Options) -> Begun[Artifact]:
    """From the disk if it is there, else compiled and put there."""
    found = _known(subject, options)
    return _linked(subject, subject.module(options), options) if found is None else Begun.done(found)


def _known(subject: Subject, options: Options) -> Artifact | None:
    """What the disk has for a text or a recorded program, with its own locations; None where there is nothing."""
    if subject.given is not None or is_reporting():
        return None
    if (content := cache.read(LINKS, _link_key(subject, options))) is None:
        return None
    link = json.loads(content)
    if (found := _stored(link["artifact"])) is None:
        return None
    return found.moved(link["moved"]).moved(moves(link["places"], subject.own_places()))


def _linked(subject: Subject, module: ModuleOp, options: Options) -> Begun[Artifact]:
    """The artifact of a subject's module, which is lowered in place; `_known` finds it from now on."""
    places, key = places_of(module), _module_key(module, options)
    begun = _of_module(module, options, key, places)

    def linked() -> Artifact:
        artifact = begun()
        if subject.given is None:
            moved = moves(artifact.places, places)
            link = {"artifact": key, "moved": moved, "places": subject.own_places()}
            cache.write(LINKS, _link_key(subject, options), json.dumps(link).encode())
        return artifact.at_places(places)

    return begun.then(linked)


def _of_module(module: ModuleOp, options: Options, key: str, places: tuple[str, ...]) -> Begun[Artifact]:
    """The artifact of a module or of an equal one, at the places of that one."""
    if not is_reporting():
        if (begun := _in_work.get(key)) is not None:
            return begun
        if (found := _stored(key)) is not None:
            return Begun.done(found)
    name = _name(module)
    with progress(name):
        built = _build(module, options)

    def kept() -> Artifact:
        try:
            with progress(name):
                artifact = replace(built(), places=places)
            cache.write(ARTIFACTS, key, artifact.to_bytes())
            return artifact
        finally:
            _in_work.pop(key, None)

    begun = built.then(kept)
    if not is_reporting() and not begun.is_done:
        _in_work[key] = begun
    return begun


_in_work: WeakValueDictionary[str, Begun[Artifact]] = WeakValueDictionary()
"""By the keys of their modules, what is not on the disk yet."""


def _name(module: ModuleOp) -> str:
    """What the user is told is compiled."""
    from irc.ir.functions import entry_of

    return entry_of(module).sym_name.data


def _build(module: ModuleOp, options: Options) -> Begun[Artifact]:
    if options.arch == CPU:
        from irc.driver.cpu import build_for_cpu

        return Begun.done(build_for_cpu(module, **options.of_passes))
    from irc.driver.build import begin

    return Begun(begin(module, **options.of_passes))


def _link_key(subject: Subject, options: Options) -> str:
    return cache.key_of("text", subject.key, options, _machine(options))


def _module_key(module: ModuleOp, options: Options) -> str:
    return cache.key_of("module", module_text(module), options.of_passes, options.tuned, _machine(options))


def _machine(options: Options) -> tuple[str, ...]:
    """What machine code is for, beside the architecture."""
    return host() if options.arch == CPU else ()


def _stored(key: str) -> Artifact | None:
    content = cache.read(ARTIFACTS, key)
    return None if content is None else Artifact.from_bytes(content)


class _Executables:
    """The executables of this process, by key; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[Any, Executable] = OrderedDict()

    def get(self, key: Any) -> Executable | None:
        with self._lock:
            if (found := self._entries.get(key)) is not None:
                self._entries.move_to_end(key)
            return found

    def keep(self, key: Any, executable: Executable) -> Executable:
        """Stores it, unless another thread was faster; returns the one that is stored."""
        with self._lock:
            kept = self._entries.setdefault(key, executable)
            while len(self._entries) > MAX_IN_MEMORY:
                self._entries.popitem(last=False)
            return kept


_executables = _Executables()
