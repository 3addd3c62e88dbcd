"""Which configs of a kernel are tried, and their machine code; in processes of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random

from irc.configs.alone import config_text, parse_config
from irc.configs.space import ConfigSpace
from irc.dialects.kernel import ConfigAttr
from irc.driver.measuring import CompiledJob, CudaCompiler, Job
from irc.driver.tuning import COMPILE_MEMORY
from irc.runtime.artifact import Artifact
from irc.support import cache
from irc.tuning.search import RankedSearch
from irc.tuning.session import Subject
from irc.tuning.workers import Setup
from irc_tools.dataset.planning import (
    Built,
    Candidate,
    Plan,
    candidate_of,
    plan_of,
    resources_of,
    subjects,
)
from irc_tools.dataset.sources import Source

FIRST = 16
"""Configs that a tuner would try first, of which the ratio that they reach is asked for."""

BEST_SHARE = 0.6
"""Of the configs where there are more than are tried: those that the model puts first. Half of the others are drawn
from the rest of what it ranks, half from the whole space."""

ATTEMPTS = 4
"""Draws for each config that is wanted."""

COMPILING = Setup("irc_tools.exhaustive.compiling:ExhaustiveCompiler", memory=COMPILE_MEMORY)

KEPT = "candidates"
"""The kind of entries of the cache."""


@dataclass(frozen=True)
class ListJob:
    """A program's kernel, its group, and up to how many configs of it are tried."""

    group: str
    source: Source
    arch: str
    count: int
    seed: int


@dataclass(frozen=True)
class Listed:
    """What is tried of a kernel, the heuristic's config first. orders: the place of each in the model's order, None of
    those that it has not ranked. ranked: how many configs that has."""

    group: str
    plan: Plan
    orders: tuple[int | None, ...]
    ranked: int


@dataclass(frozen=True)
class NearJob:
    """Neighbors of configs, the nearest of the first to be tried first, without those that were tried."""

    job: ListJob
    configs: tuple[str, ...]
    tried: Collection[str]
    count: int


class ExhaustiveCompiler:
    """A bench of the tuner's processes (`irc/tuning/bench.py`): lists configs, and compiles them. What was compiled is
    kept in the cache, so that machines without a GPU can do that ahead of time."""

    def __init__(self) -> None:
        self._compiler = CudaCompiler()
        self._subjects: dict[tuple[str, str], tuple[str, Subject]] = {}
        """By program and chip."""

    def compile(self, job: ListJob | NearJob | Job) -> object:
        """`Listed`, a list of `Candidate`, or what was `Built`."""
        if isinstance(job, ListJob):
            return listed(job, *self._subject(job))
        if isinstance(job, NearJob):
            return near(job, self._subject(job.job)[1])
        key = cache.key_of(KEPT, job.text, job.options)
        if (stored := cache.read(KEPT, key)) is None:
            compiled = self._compiler.compile(job)
            stored = bytes([compiled.is_loose]) + only_code(Artifact.from_bytes(compiled.artifact)).to_bytes()
            cache.write(KEPT, key, stored)
        compiled = CompiledJob(job, stored[1:], stored[0] == 1)
        return Built(compiled, resources_of(Artifact.from_bytes(compiled.artifact)))

    def _subject(self, job: ListJob) -> tuple[str, Subject]:
        name = job.source.name, job.arch
        if name not in self._subjects:
            self._subjects[name] = main_subject(job.source, job.arch)
        return self._subjects[name]


def only_code(artifact: Artifact) -> Artifact:
    """What runs of it: a fifth of its bytes."""
    return replace(artifact, levels={}, kernels=tuple(replace(each, source="", ptx="") for each in artifact.kernels))


def listed(job: ListJob, kind: str, subject: Subject) -> Listed:
    order = RankedSearch(subject.space, job.seed).order
    places = {config: place for place, config in enumerate(order)}
    configs = chosen(subject.space, order, job.count, job.seed)
    return Listed(
        job.group,
        plan_of(job.source, kind, subject, configs),
        tuple(places.get(each) for each in configs),
        len(order),
    )


def main_subject(source: Source, arch: str) -> tuple[str, Subject]:
    """The kernel of a program that should take longest, and the kind of its anchor. IrcError where the program is not
    lowered."""
    return max(subjects(source, arch), key=lambda each: each[1].space.estimate(each[1].space.seeds[0]))


def chosen(space: ConfigSpace, order: Sequence[ConfigAttr], count: int, seed: int) -> list[ConfigAttr]:
    """All configs that the model ranks, the heuristic's first; where these are more than `count`, the first of them and
    some that are drawn."""
    random, first = Random(seed), space.seeds[0]
    order = [first, *(config for config in order if config != first)]
    if len(order) <= count:
        found = dict.fromkeys(order)
    else:
        ahead = max(min(FIRST, count), round(BEST_SHARE * count))
        drawn = random.sample(order[ahead:], (count - ahead) // 2)
        found = dict.fromkeys([*order[:ahead], *drawn])
    for _ in range(ATTEMPTS * count):
        if len(found) >= count:
            break
        if (config := space.drawn(random)) is not None:
            found[config] = None
    return list(found)


def near(job: NearJob, subject: Subject) -> list[Candidate]:
    around = [each for text in job.configs for each in subject.space.neighbors(parse_config(text))]
    new = [each for each in dict.fromkeys(around) if config_text(each) not in job.tried]
    return [candidate_of(subject, each) for each in new[: job.count]]
