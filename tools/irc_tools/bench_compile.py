"""irc-bench-compile: how long the compiler takes, beside what it should.

Commands are timed as a user runs them (in a fresh process, the median of several runs); passes in this process.
`--suite NAME` times instead what every program of a suite of irc-bench takes: its passes, and NVRTC on each of its
kernels, once, in seconds of a processor, nothing from a cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from irc.support.diagnostics import IrcError
from irc.support.files import write_text
from irc_tools.bench.rows import Row as SuiteRow
from irc_tools.bench.suite import load_suite
from irc_tools.errors import guarded
from irc_tools.machine import describe
from irc_tools.tables import print_table

ARCH = "sm_90a"

PASSES, KERNEL = 0.5, 1.0
"""Seconds that all passes on a program and NVRTC on a kernel should take at most."""

SMALL = """\
dim M = 64, N = 32
func small(x: f32[M, N], b: f32[N]) -> f32[M] {
    y = relu(x + b)
    return sum(y * y, axis=1)
}
"""

GATING = """\
dim M = 4096, K = 4096, N = 4096
func gating(x: bf16[M, K], w1: bf16[K, N], w2: bf16[K, N], b1: bf16[N], b2: bf16[N]) -> bf16[M, N] {
    h = x @ w1 + b1
    g = x @ w2 + b2
    return sigmoid(h) * g
}
"""

OPS = 2000
"""nd ops of the long program."""


@dataclass(frozen=True)
class Row:
    """A measurement and what it should be at most, in seconds."""

    name: str
    seconds: float
    goal: float


@dataclass(frozen=True)
class Compiled:
    """A program of a suite: seconds of a processor of all passes, and of NVRTC by kernel."""

    suite: str
    name: str
    passes: float
    kernels: dict[str, float]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-bench-compile", lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="irc-bench-compile", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each command (default: 5)")
    parser.add_argument("--json", metavar="FILE", help="write the rows to FILE too")
    parser.add_argument(
        "--suite", action="append", metavar="NAME|FILE", help="time the programs of a suite of irc-bench instead"
    )
    args = parser.parse_args(arguments)
    rows = _suites(args.suite) if args.suite else _commands(args.repeat)
    if args.json is not None:
        record = {"machine": describe(), "rows": [asdict(row) for row in rows]}
        write_text(Path(args.json), json.dumps(record, indent=2) + "\n")
    return 0


def _commands(repeat: int) -> Sequence[Row]:
    rows = measure(max(1, repeat))
    columns = ["", "seconds", "goal", ""]
    cells = [[r.name, f"{r.seconds:.3f}", f"{r.goal:g}", "" if r.seconds <= r.goal else "over"] for r in rows]
    print_table(f"compile times, {os.cpu_count()} CPUs", columns, cells)
    return rows


def _suites(names: Sequence[str]) -> Sequence[Compiled]:
    programs = [(name, row) for name in names for row in load_suite(name).rows if row.program]
    if not programs:
        raise IrcError(f"no row of {', '.join(names)} is a program")
    compile_row("", SuiteRow("small", SMALL))  # which imports the passes, and loads NVRTC
    compiled = [compile_row(name, row) for name, row in programs]
    print_table(
        f"seconds of a processor to compile {', '.join(names)} for {ARCH}",
        ["row", "passes", "NVRTC", "kernel"],
        [_compiled_cells(each) for each in compiled],
    )
    kernels = [(seconds, f"{kernel} of {c.name}") for c in compiled for kernel, seconds in c.kernels.items()]
    for what, goal, times in (("passes", PASSES, [(c.passes, c.name) for c in compiled]), ("NVRTC", KERNEL, kernels)):
        seconds, longest = max(times)
        over = sum(each > goal for each, _ in times)
        print(f"{what}: the longest {seconds:.3f} s, {longest}; {over} of {len(times)} over {goal:g} s")
    return compiled


def _compiled_cells(compiled: Compiled) -> list[str]:
    times = "\n".join(f"{seconds:.3f}" for seconds in compiled.kernels.values())
    return [compiled.name, f"{compiled.passes:.3f}", times, "\n".join(compiled.kernels)]


def compile_row(suite: str, row: SuiteRow) -> Compiled:
    """Lowers a row's program, parsed before, and compiles its kernels one after the other. IrcError where it does not
    compile."""
    from irc.codegen.nvrtc import compile_source
    from irc.codegen.printer import print_kernels
    from irc.dialects.cuda import KernelOp
    from irc.driver.lowering import lower
    from irc.driver.program import parse
    from irc.support.garbage import seldom_collecting

    module = parse(row.program, row.name, dims=dict(row.dims))
    with seldom_collecting():
        begin = time.thread_time()
        lowered = lower(module, "all", arch=ARCH)
        passes, kernels = time.thread_time() - begin, dict[str, float]()
        for op in [op for op in lowered.ops if isinstance(op, KernelOp)]:
            source, begin = print_kernels([op]), time.thread_time()
            compile_source(source, ARCH)
            kernels[op.sym_name.data] = time.thread_time() - begin
    return Compiled(suite, row.name, passes, kernels)


def measure(repeat: int) -> list[Row]:
    """All rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "small.irc", SMALL)
        write_text(folder / "gating.irc", GATING)
        gating, out = str(folder / "gating.irc"), str(folder / "out")
        _command(["opt", str(folder / "small.irc")], folder)  # which makes the tables of the language, once
        cold = [_command(["compile", gating, "-o", out], folder / f"cache{i}") for i in range(repeat)]
        warm = [_command(["compile", gating, "-o", out], folder / "cache0") for _ in range(repeat)]
        return [
            Row("import irc", _median(repeat, lambda: _python("import irc")), 0.3),
            Row("import irc_frontend", _median(repeat, lambda: _python("import irc_frontend")), 0.4),
            Row("irc-opt --help", _median(repeat, lambda: _command(["opt", "--help"], folder)), 0.35),
            Row(
                "irc-opt small.irc", _median(repeat, lambda: _command(["opt", str(folder / "small.irc")], folder)), 0.5
            ),
            Row("lowering gating, all passes", _lowering(GATING, repeat), PASSES),
            Row("NVRTC, gating's kernel", _machine_code(GATING, repeat), KERNEL),
            Row("irc-compile gating.irc, cold", median(cold), 3.0),
            Row("irc-compile gating.irc, cached", median(warm), 0.7),
            Row(f"{OPS} nd ops, all passes", _lowering(long_program(OPS), 1), 30.0),
            Row("GPT-2's training step, 12 layers, cold", _gpt2(folder / "cache_gpt2"), 30.0),
        ]


def long_program(ops: int) -> str:
    """A program of about that many nd ops: elementwise chains, with a reduction, a broadcast and a permute at times,
    and a matrix product at the end."""
    lines = ["func long(x: f32[128, 128], y: f32[128, 128], w: f32[128, 128]) -> (f32[128, 128], f32[128]) {"]
    value, count = "x", 0
    while count < ops - 2:
        new = f"v{count}"
        expression, cost = _step(count, value)
        lines.append(f"    {new} = {expression}")
        value, count = new, count + cost
    lines += [f"    p = {value} @ w", f"    return p, sum({value}, axis=0)", "}"]
    return "\n".join(lines) + "\n"


def _step(number: int, value: str) -> tuple[str, int]:
    """An expression on the value, and how many ops it is."""
    if number % 97 == 0:
        return f"{value} - mean({value}, axis=1, keepdims=true)", 4
    if number % 61 == 0:
        return f"transpose({value})", 1
    unary = ("tanh", "sigmoid", "relu", "sin")
    if number % 3 == 0:
        return f"{unary[number // 3 % len(unary)]}({value})", 1
    return (f"{value} * y", 1) if number % 3 == 1 else (f"{value} + x", 1)


def _median(repeat: int, run: Callable[[], float]) -> float:
    return median(run() for _ in range(repeat))


def _command(arguments: list[str], cache: Path) -> float:
    """Seconds of a command in a fresh process, with its own compilation cache. Its module is run, which needs no
    installed script."""
    tool, *rest = arguments
    return _process([sys.executable, "-m", f"irc_tools.{tool}", *rest], cache)


def _python(text: str) -> float:
    """Seconds of a few lines of Python in a fresh process."""
    return _process([sys.executable, "-c", text], None)


def _gpt2(cache: Path) -> float:
    """Seconds of recording and compiling the step with an empty cache: the lowering, and NVRTC on all cores."""
    return _process([sys.executable, "-m", "irc_tools.gpt2_step"], cache)


def _process(command: list[str], cache: Path | None) -> float:
    environment = os.environ if cache is None else {**os.environ, "IRC_CACHE_DIR": str(cache)}
    begin = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _lowering(text: str, repeat: int) -> float:
    """Seconds of all passes on a program in this process, the parse not counted; the least of several."""
    from irc.driver.lowering import lower
    from irc.driver.program import parse

    module = parse(text, "bench.irc")
    times: list[float] = []
    for _ in range(repeat):
        begin = time.perf_counter()
        lower(module, "all", arch=ARCH)
        times.append(time.perf_counter() - begin)
    return min(times)


def _machine_code(text: str, repeat: int) -> float:
    """Seconds from the source of a program's kernels to their machine code; the least of several."""
    from irc.codegen.nvrtc import compile_source
    from irc.codegen.printer import print_kernels
    from irc.dialects.cuda import KernelOp
    from irc.driver.lowering import lower
    from irc.driver.program import parse

    module = lower(parse(text, "bench.irc"), "cuda", arch=ARCH)
    source = print_kernels([op for op in module.ops if isinstance(op, KernelOp)])
    times: list[float] = []
    for _ in range(repeat):
        begin = time.perf_counter()
        compile_source(source, ARCH)
        times.append(time.perf_counter() - begin)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
