"""Benches of `irc-tune exhaustive` that compile and time nothing. A config's stages say what becomes of it; times by
turns are half of the others."""

from __future__ import annotations

from collections.abc import Sequence

from irc.configs.alone import parse_config
from irc.driver.compiler import Options
from irc.driver.measuring import CompiledJob, Job
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey
from irc.tuning.bench import WRONG, Fault, Measured
from irc_tools.dataset.planning import Built, Candidate, Plan
from irc_tools.exhaustive.compiling import Listed, ListJob, NearJob

BEST = 24
"""Stages with which a call is shortest."""

FAILS, LIES = 4, 5
"""Stages of configs that cannot be compiled, and that compute something else."""

REFUSED = "refused"
"""A program whose heuristic's config computes something else."""


def seconds(stages: int) -> float:
    """100 us at the best, 10 % more for each stage that lies between."""
    return 1e-4 * (1 + 0.1 * abs(BEST - stages))


def candidate(name: str, stages: int) -> Candidate:
    config = f"stages = {stages}"
    return Candidate(config, 1e-4, {}, Job(f"{name} | {config}", Options("sm_90a")))


class FakeCompiler:
    """Lists stages from 1 on, and has ranked all but the last."""

    def compile(self, job: ListJob | NearJob | Job) -> object:
        if isinstance(job, ListJob):
            name = job.source.name
            candidates = tuple(candidate(name, number + 1) for number in range(job.count))
            plan = Plan(name, "map", KernelKey.of(f"{name} of tensor<8x8xf32>"), job.arch, candidates)
            return Listed(job.group, plan, (*range(job.count - 1), None), 30)
        if isinstance(job, NearJob):
            around = [stages + step for stages in map(stages_of, job.configs) for step in (1, -1)]
            new = [each for each in dict.fromkeys(around) if each > 0 and f"stages = {each}" not in job.tried]
            return [candidate(job.job.source.name, each) for each in new[: job.count]]
        if stages_of(job.text.partition(" | ")[2]) == FAILS:
            raise IrcError("no room for 4 stages")
        return Built(CompiledJob(job, b"", False), {"registers": 32})


def stages_of(config: str) -> int:
    return parse_config(config).stages or 1


class FakeTimer:
    def refer(self, compiled: CompiledJob) -> Measured:
        if compiled.job.text.startswith(REFUSED):
            raise Fault(WRONG, "nothing is right")
        return Measured(self._seconds(compiled))

    def measure(self, compiled: CompiledJob, limit: float) -> Measured:
        if self._stages(compiled) == LIES:
            raise Fault(WRONG, "result 0 is not the heuristic's")
        own = self._seconds(compiled)
        return Measured(own, own > limit)

    def rank(self, compiled: Sequence[CompiledJob]) -> list[float | Fault]:
        return [self._seconds(each) / 2 for each in compiled]

    @staticmethod
    def _stages(compiled: CompiledJob) -> int:
        return stages_of(compiled.job.text.partition(" | ")[2])

    def _seconds(self, compiled: CompiledJob) -> float:
        return seconds(self._stages(compiled))
