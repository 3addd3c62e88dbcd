"""The tuner's bench of this CPU, where kernels with some sizes of the tile m go wrong."""

from __future__ import annotations

import os
from typing import Any

from irc.dialects.tile import ProgramOp
from irc.driver.measuring import CompiledJob, CpuBench, Job
from irc.driver.program import new_context
from irc.ir.parser import parse_ir

DIES, LIES, EATS = 8, 16, 32
"""Rows of tiles of kernels that do so."""


class FaultyCpuBench(CpuBench):
    """Compiles and times others as they are."""

    def compile(self, job: Job) -> CompiledJob:
        (program,) = (op for op in parse_ir(new_context(), job.text).walk() if isinstance(op, ProgramOp))
        config: Any = program.config
        rows = config.tile["m"]
        if rows == DIES:
            os.abort()
        if rows == EATS:
            bytearray(1 << 50)
        return super().compile(Job(job.text.replace("nd.exp ", "nd.tanh "), job.options) if rows == LIES else job)
