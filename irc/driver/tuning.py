"""Tuning the kernels of a program: which there are, and what compiles and times their candidates."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from irc.configs.alone import alone
from irc.configs.space import KernelSpace
from irc.dialects.kernel import ConfigAttr, FusedOp
from irc.driver.compiler import Options
from irc.driver.lowering import passes_of, run_passes
from irc.driver.manager import passes_had
from irc.driver.measuring import Job
from irc.driver.pipelines import KERNEL
from irc.ir.printer import print_ir
from irc.ir.targets import Target, target_of
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey
from irc.tuning.bench import NotTimed
from irc.tuning.session import BUDGET, Log, Outcome, Settings, Subject, Tuner
from irc.tuning.workers import Setup

BEFORE_CONFIGS = KERNEL[: KERNEL.index("choose-config")]

COMPILE_MEMORY = 32 << 30
"""Bytes of address space of a process that compiles."""

TARGETS = ("cuda", "cpu")
"""Those whose kernels can be timed."""


@dataclass(frozen=True)
class Tunable:
    """A kernel of a program by itself, and what it is known by."""

    name: str
    kernel: FusedOp
    key: KernelKey


def tunable_kernels(module: ModuleOp, options: Options) -> list[Tunable]:
    """The different kernels of a program, which is lowered in place."""
    if passes_had(module) <= len(BEFORE_CONFIGS):
        passes = passes_of(BEFORE_CONFIGS, strict_rounding=options.strict_rounding, any_order=options.any_order)
        run_passes(module, passes)
    found: dict[KernelKey, Tunable] = {}
    for op in [op for op in module.walk() if isinstance(op, FusedOp)]:
        by_itself = alone(op, target_of(module))
        kernel = next(inner for inner in by_itself.walk() if isinstance(inner, FusedOp))
        key = KernelKey.of(print_ir(by_itself))
        found.setdefault(key, Tunable("kernel" if op.sym_name is None else op.sym_name.data, kernel, key))
    return list(found.values())


def subject_of(tunable: Tunable, machine: Target, options: Options) -> Subject:
    """What the tuner is given for a kernel."""
    own = replace(options, arch=machine.name, dims=(), func=None, donate=(), tuned="")

    def job(config: ConfigAttr) -> Job:
        tunable.kernel.config, given = config, tunable.kernel.config
        try:
            module = tunable.kernel.get_toplevel_object()
            assert isinstance(module, ModuleOp)
            return Job(print_ir(module), own)
        finally:
            tunable.kernel.config = given

    return Subject(tunable.name, tunable.key, machine.name, KernelSpace(tunable.kernel, machine), job)


def tuner(target: str, settings: Settings, log: Log) -> Tuner:
    """A tuner for one of `TARGETS`. IrcError for another."""
    if target not in TARGETS:
        raise IrcError(f"the {target} target has no times to tune by", hint=f"targets to tune on: {', '.join(TARGETS)}")
    if target == "cpu":
        bench = Setup("irc.driver.measuring:CpuBench", memory=COMPILE_MEMORY)
        return Tuner(bench, bench, settings, log, overlaps=False)
    compiling = Setup("irc.driver.measuring:CudaCompiler", memory=COMPILE_MEMORY)
    return Tuner(compiling, Setup("irc.driver.measuring:CudaBench"), settings, log, overlaps=True)


def tune_kernels(
    tunables: Sequence[Tunable], machine: Target, target: str, options: Options, settings: Settings, log: Log
) -> list[Outcome]:
    """Tunes kernels one after another, to the end or to a Ctrl-C. One whose own config cannot be timed is left out."""
    found: list[Outcome] = []
    at_work = tuner(target, settings, log)
    try:
        for tunable in tunables:
            try:
                found.append(at_work.tune(subject_of(tunable, machine, options)))
            except IrcError as error:
                log(error.message)
                continue
            if found[-1].is_interrupted:
                break
    finally:
        at_work.close()
    return found


def tune_missing(module: ModuleOp, target: str, options: Options, autotune: bool | float) -> None:
    """Tunes the kernels of a program that were not tuned before. A warning where the target has no times."""
    if target not in TARGETS:
        warn_not_timed(f"the {target} target has no times to tune by")
        return
    machine = target_of(module)
    tunables = [each for each in tunable_kernels(module, options) if not tuned.has(each.key, machine.name)]
    if tunables:
        tune_kernels(tunables, machine, target, options, settings_of(autotune), say)


def settings_of(autotune: bool | float) -> Settings:
    """Of an argument `autotune`: the seconds for each kernel, or True. IrcError for a number that is none."""
    if autotune is True:
        return Settings()
    if autotune <= 0:
        raise IrcError(
            f"autotune has the seconds for each kernel, found {autotune}", hint=f"True stands for {BUDGET:g}"
        )
    return Settings(budget=float(autotune))


def warn_not_timed(message: str) -> None:
    warnings.warn(f"{message}: nothing is tuned, configs are the heuristic's", NotTimed, stacklevel=4)


def say(line: str) -> None:
    """The log, on standard error."""
    print(line, file=sys.stderr, flush=True)
