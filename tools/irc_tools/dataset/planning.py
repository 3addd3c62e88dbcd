"""Which configs of a program's kernels are tried; in the processes that compile them, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random

import numpy as np

import irc_frontend
from irc.configs.alone import config_text
from irc.configs.space import ConfigSpace
from irc.dialects.kernel import ConfigAttr
from irc.driver.compiler import Options
from irc.driver.measuring import CompiledJob, CudaCompiler, Job
from irc.driver.program import isolate, parse
from irc.driver.tuning import subject_of, tunable_kernels
from irc.ir.targets import set_target, target
from irc.runtime.artifact import DTYPES, Artifact
from irc.support.tuned import KernelKey
from irc.tuning.search import RankedSearch
from irc.tuning.session import Subject
from irc_tools.dataset.sources import Source

FIRST, NEARBY = 0.25, 0.4
"""Of the configs: those that the formula puts first, and others of the heuristic's candidates and their neighbors. The
rest is drawn."""

LANGUAGE = "language"
"""The kind of kernels in Python."""

_ARRAY = re.compile(r"(\w+)\[([\d, ]+)\]")

ATTEMPTS = 4
"""Draws for each config that is wanted."""


@dataclass(frozen=True)
class PlanJob:
    """count: of configs of each kernel, without the heuristic's own."""

    source: Source
    arch: str
    count: int
    seed: int


@dataclass(frozen=True)
class Candidate:
    """A config of a kernel, what the formula says of it, and what compiles it."""

    config: str
    estimate: float
    parts: Mapping[str, float]
    job: Job


@dataclass(frozen=True)
class Plan:
    """What is tried of a kernel; first the heuristic's config."""

    program: str
    kind: str
    key: KernelKey
    chip: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Built:
    """A candidate that can be timed, and what the assembler reports of its kernels: the most registers of a thread and
    bytes of shared memory of a block, bytes of all spills, and how many kernels there are."""

    compiled: CompiledJob
    resources: Mapping[str, int]


class DatasetCompiler:
    """A bench of the tuner's processes (`irc/tuning/bench.py`): plans programs, and compiles candidates."""

    def __init__(self) -> None:
        self._compiler = CudaCompiler()

    def compile(self, job: PlanJob | Job) -> object:
        """The list of `Plan` of a program, or what was `Built` of a candidate."""
        if isinstance(job, PlanJob):
            return plans(job)
        compiled = self._compiler.compile(job)
        return Built(compiled, resources_of(Artifact.from_bytes(compiled.artifact)))


def resources_of(artifact: Artifact) -> dict[str, int]:
    kernels = artifact.manifest["kernels"]
    return {
        "registers": max(each["registers"] or 0 for each in kernels),
        "shared": max(each["shared_memory"] for each in kernels),
        "spills": sum(each["spills"] or 0 for each in kernels),
        "kernels": len(kernels),
    }


def plans(job: PlanJob) -> list[Plan]:
    """Of each kernel of a program that irc fuses, or of the call of a kernel. IrcError where that is not lowered."""
    return [
        plan_of(job.source, kind, subject, chosen(subject.space, job.count, job.seed))
        for kind, subject in subjects(job.source, job.arch)
    ]


def subjects(source: Source, arch: str) -> list[tuple[str, Subject]]:
    """The kernels of a program, and the kinds of their anchors. IrcError where that is not lowered."""
    if source.file is not None:
        with irc_frontend.target("cuda"):
            return [(LANGUAGE, _subject_of_call(source.file, source.text))]
    options = replace(Options(arch), any_order=source.any_order)
    module = isolate(parse(source.text, source.name, dims=dict(source.dims)))
    set_target(module, arch)
    return [
        (tunable.kernel.kind.value, subject_of(tunable, target(arch), options))
        for tunable in tunable_kernels(module, options)
    ]


def plan_of(source: Source, kind: str, subject: Subject, configs: Iterable[ConfigAttr]) -> Plan:
    candidates = tuple(candidate_of(subject, config) for config in configs)
    return Plan(source.name, kind, subject.key, subject.chip, candidates)


def candidate_of(subject: Subject, config: ConfigAttr) -> Candidate:
    space = subject.space
    return Candidate(config_text(config), space.estimate(config), space.parts(config), subject.job(config))


def _subject_of_call(file: Path, call: str) -> Subject:
    """Of `name(element[extents], ...)`, a call of a kernel in a file of Python."""
    spec = spec_from_file_location(f"dataset_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := module_from_spec(spec))
    name, _, arguments = call.partition("(")
    shapes = [(element, [int(n) for n in extents.split(",")]) for element, extents in _ARRAY.findall(arguments)]
    return getattr(module, name).subject(*(np.zeros(shape, DTYPES[element]) for element, shape in shapes))


def chosen(space: ConfigSpace, count: int, seed: int) -> list[ConfigAttr]:
    """The heuristic's config, and up to so many others: of the beginning of what a tuner tries, from all of that, and
    from the whole space."""
    random, order = Random(seed), RankedSearch(space, seed).order
    first = space.seeds[0]
    others = [config for config in order if config != first]
    split = round(FIRST * count)
    ahead, behind = others[:split], others[split:]
    nearby = random.sample(behind, min(len(behind), round(NEARBY * count)))
    found = dict.fromkeys([first, *ahead, *nearby])
    for _ in range(ATTEMPTS * count):
        if len(found) > count:
            break
        if (config := space.drawn(random)) is not None:
            found[config] = None
    return list(found)
