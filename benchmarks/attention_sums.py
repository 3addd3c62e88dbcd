"""Times the gradients of attention whose sums threads add from registers beside those that TMA adds from shared memory.

`python benchmarks/attention_sums.py [--suite attention-any-order]` compiles each row of the suite with either value of
`sums` in the configs of its cascades, compares what both give, and times them in turns on a GPU: medians of 21 runs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import torch

import irc
from irc.analysis.cascades import cascade_of
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc_tools.bench.suite import load_suite

RUNS = 21


def compiled(text: str, sums: str | None, folder: Path) -> irc.Executable:
    module = lower(isolate(parse(text, "f.irc")), "kernel", arch="sm_90a", any_order=True)
    for kernel in [op for op in module.walk() if isinstance(op, FusedOp)]:
        if kernel.config is not None and adds_sums(kernel):
            kernel.config = kernel.config.replace(sums=sums)
    file = folder / f"{sums}.mlir"
    file.write_text(str(module))
    return irc.compile(file, "cuda", any_order=True)


def adds_sums(kernel: FusedOp) -> bool:
    found = map(cascade_of, kernel.cores())
    return any(cascade is not None and cascade.across for cascade in found)


def milliseconds(exe: irc.Executable, arrays: list[Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    exe(*arrays)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="attention-any-order")
    for row in load_suite(parser.parse_args().suite).rows:
        with tempfile.TemporaryDirectory() as folder:
            programs = {sums: compiled(row.program, sums, Path(folder)) for sums in ("staged", "registers")}
        types = {"bf16": torch.bfloat16, "f32": torch.float32}
        arrays = [
            torch.randn(spec.shape, device="cuda", dtype=types[spec.element]) * 0.5
            + (10 if spec.element == "f32" else 0)
            for spec in programs["staged"].arguments
        ]
        results = {sums: exe(*arrays) for sums, exe in programs.items()}
        pairs = zip(results["staged"], results["registers"], strict=True)
        away = max(float((a.float() - b.float()).abs().max() / a.float().abs().max()) for a, b in pairs)
        times: dict[str, list[float]] = {sums: [] for sums in programs}
        for _ in range(RUNS):
            for sums, exe in programs.items():
                times[sums].append(milliseconds(exe, arrays))
        staged, registers = (median(times[sums]) for sums in ("staged", "registers"))
        print(f"{row.name}: staged {staged:.3f} ms, registers {registers:.3f} ms, {staged / registers:.3f}; {away:.1e}")


if __name__ == "__main__":
    main()
