"""Benches of `irc-tune dataset` that compile and time nothing. The text of a program names its kernels; the stages of a
candidate say what becomes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from irc.configs.alone import parse_config
from irc.driver.compiler import Options
from irc.driver.measuring import CompiledJob, Job
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey
from irc.tuning.bench import WRONG, Fault, Measured
from irc_tools.dataset.planning import Built, Candidate, Plan, PlanJob

FAILS, DIES, LIES, CRAWLS = 3, 4, 5, 6
"""Stages of candidates that do so."""

BROKEN = "broken"
"""A program that is not planned."""

HANGS = "hang"
"""A kernel whose own config hangs when it is timed."""


def seconds(config: str) -> float:
    stages = parse_config(config).stages or 1
    return 1.0 if stages == CRAWLS else 1e-4 / stages


def plan(job: PlanJob, kernel: str) -> Plan:
    configs = [f"stages = {number + 1}" for number in range(job.count + 1)]
    candidates = (Candidate(c, 1e-4, {"tiles": 1 / 3}, Job(f"{kernel} {c}", Options(job.arch))) for c in configs)
    return Plan(job.source.name, "map", KernelKey.of(f"{kernel} of tensor<8x8xf32>"), job.arch, tuple(candidates))


class FakeCompiler:
    def compile(self, job: PlanJob | Job) -> object:
        if isinstance(job, PlanJob):
            if job.source.text == BROKEN:
                raise IrcError("no program")
            return [plan(job, kernel) for kernel in job.source.text.split()]
        stages = parse_config(job.text.partition(" ")[2]).stages
        if stages == FAILS:
            raise IrcError("no room for 3 stages")
        if stages == DIES:
            os._exit(3)
        return Built(CompiledJob(job, b"", False), {"registers": 32})


class FakeTimer:
    """Times by turns are half of the others."""

    def refer(self, compiled: CompiledJob) -> Measured:
        if compiled.job.text.startswith(HANGS):
            time.sleep(600)
        return Measured(self._seconds(compiled))

    def measure(self, compiled: CompiledJob, limit: float) -> Measured:
        if f"stages = {LIES}" in compiled.job.text:
            raise Fault(WRONG, "result 0 is not the heuristic's")
        return Measured(self._seconds(compiled), self._seconds(compiled) > limit)

    def rank(self, compiled: Sequence[CompiledJob]) -> list[float | Fault]:
        return [self._seconds(each) / 2 for each in compiled]

    @staticmethod
    def _seconds(compiled: CompiledJob) -> float:
        return seconds(compiled.job.text.partition(" ")[2])
