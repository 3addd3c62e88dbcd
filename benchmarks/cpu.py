"""Speed of the target `cpu`, beside torch eager, torch.compile and irc's interpreter (target `interpret`).

`python benchmarks/cpu.py FILE.json [--compile] [--alone] [ROW ...]` times the rows by turns in one run: a repetition
has calls of each variant, after a pause and one call that does not count, and what counts is the median of the ratios
within a repetition. Results are compared with
torch's first. With `--alone` each variant has one thread, and times are of the process's CPU: what else runs on the
machine counts less.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F
from cpu_models import Gpt, ResNet

import irc
import irc_frontend as ir

REPETITIONS = 21
SECONDS = 0.05
"""Of a repetition's calls of one variant, about."""
PAUSE = 0.03
"""Seconds between variants: the threads of OpenMP look for work for some 10 ms after torch's last call, on the cores of
what is timed next."""


@dataclass(frozen=True)
class Row:
    """A program and what torch computes; the memory-bound rows have a bar of their own."""

    name: str
    text: str
    peer: Callable[..., Any]
    is_memory_bound: bool = True


def _func(signature: str, value: str) -> str:
    return f"func f{signature} {{\n    return {value}\n}}\n"


_X = "f32[4096, 1024]"
ROWS = [
    Row("softmax 4096 x 1024", _func(f"(x: {_X}) -> {_X}", "softmax(x)"), lambda x: torch.softmax(x, -1)),
    Row(
        "softmax 4096 x 1024 bf16",
        _func("(x: bf16[4096, 1024]) -> bf16[4096, 1024]", "softmax(x)"),
        lambda x: torch.softmax(x, -1),
    ),
    Row(
        "layer norm 4096 x 1024",
        _func(f"(x: {_X}, w: f32[1024], b: f32[1024]) -> {_X}", "layer_norm(x) * w + b"),
        lambda x, w, b: F.layer_norm(x, (1024,), w, b),
    ),
    Row("gelu 4096 x 1024", _func(f"(x: {_X}) -> {_X}", "gelu(x)"), F.gelu),
    Row(
        "gelu(x + b) 4096 x 1024 bf16",
        _func("(x: bf16[4096, 1024], b: bf16[1024]) -> bf16[4096, 1024]", "gelu(x + b)"),
        lambda x, b: F.gelu(x + b),
    ),
    Row("silu(x) y 4096 x 1024", _func(f"(x: {_X}, y: {_X}) -> {_X}", "silu(x) * y"), lambda x, y: F.silu(x) * y),
    Row(
        "transpose 2048 x 2048",
        _func("(x: f32[2048, 2048]) -> f32[2048, 2048]", "transpose(x)"),
        lambda x: x.t().contiguous(),
    ),
    Row(
        "permute (0,2,1,3) 8 x 512 x 12 x 64",
        _func("(x: f32[8, 512, 12, 64]) -> f32[8, 12, 512, 64]", "permute(x, [0, 2, 1, 3])"),
        lambda x: x.permute(0, 2, 1, 3).contiguous(),
    ),
    Row(
        "permute (3,0,2,1) 24 x 32 x 40 x 96",
        _func("(x: f32[24, 32, 40, 96]) -> f32[96, 24, 40, 32]", "permute(x, [3, 0, 2, 1])"),
        lambda x: x.permute(3, 0, 2, 1).contiguous(),
    ),
    Row("sum of 4096 x 1024", _func(f"(x: {_X}) -> f32[]", "sum(x)"), torch.sum),
    Row("sums of rows 4096 x 1024", _func(f"(x: {_X}) -> f32[4096]", "sum(x, 1)"), lambda x: x.sum(1)),
    Row("sums of columns 4096 x 1024", _func(f"(x: {_X}) -> f32[1024]", "sum(x, 0)"), lambda x: x.sum(0)),
    Row("argmax of rows 4096 x 1024", _func(f"(x: {_X}) -> i64[4096]", "argmax(x, 1)"), lambda x: x.argmax(1)),
    Row("cumsum of rows 4096 x 1024", _func(f"(x: {_X}) -> {_X}", "cumsum(x, 1)"), lambda x: x.cumsum(1)),
    Row(
        "sigmoid(x w1 + b1) (x w2 + b2), 1024, f32",
        "func f(x: f32[1024, 1024], w: f32[1024, 1024], v: f32[1024, 1024], b: f32[1024], c: f32[1024]) -> "
        "f32[1024, 1024] {\n    return sigmoid(x @ w + b) * (x @ v + c)\n}\n",
        lambda x, w, v, b, c: torch.sigmoid(x @ w + b) * (x @ v + c),
        False,
    ),
    Row(
        "examples/gating.irc at 1024, bf16",
        "func f(x: bf16[1024, 1024], w: bf16[1024, 1024], v: bf16[1024, 1024], b: bf16[1024], c: bf16[1024]) -> "
        "bf16[1024, 1024] {\n    return sigmoid(x @ w + b) * (x @ v + c)\n}\n",
        lambda x, w, v, b, c: torch.sigmoid(x @ w + b) * (x @ v + c),
        False,
    ),
]


def arguments_of(executable: irc.Executable) -> tuple[list[Any], list[torch.Tensor]]:
    """Arrays for irc, and the same for torch."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(spec.shape).astype(spec.dtype) for spec in executable.arguments]
    tensors = [
        torch.from_numpy(x.astype(np.float32)).bfloat16() if x.dtype == ml_dtypes.bfloat16 else torch.from_numpy(x)
        for x in arrays
    ]
    return arrays, tensors


def by_turns(variants: dict[str, Callable[[], Any]], clock: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of a call of each variant, repetition by repetition; which goes first moves on."""
    counts: dict[str, int] = {}
    for name, call in variants.items():
        call()
        begin = clock()
        call()
        counts[name] = max(1, round(SECONDS / max(clock() - begin, 1e-6)))
    names = list(variants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for at in range(REPETITIONS):
        for name in names[at % len(names) :] + names[: at % len(names)]:
            time.sleep(PAUSE)
            variants[name]()
            begin = clock()
            for _ in range(counts[name]):
                variants[name]()
            seconds[name].append((clock() - begin) / counts[name])
    return seconds


def entry(name: str, seconds: dict[str, list[float]], **more: Any) -> dict[str, Any]:
    """A row of the record: medians in milliseconds, and how much faster irc is, by the ratios of repetitions."""
    ours = seconds["irc"]
    found = {
        "name": name,
        **more,
        "ms": {each: round(1e3 * median(times), 4) for each, times in seconds.items()},
        "times faster": {
            each: round(median(a / b for a, b in zip(times, ours, strict=True)), 3)
            for each, times in seconds.items()
            if each != "irc"
        },
    }
    print(json.dumps(found), flush=True)
    return found


def run_row(row: Row, clock: Callable[[], float], *, compiles: bool) -> dict[str, Any]:
    ours, interpreted = irc.compile(row.text, target="cpu"), irc.compile(row.text, target="interpret")
    arrays, tensors = arguments_of(ours)
    error = difference(ours(*arrays), row.peer(*tensors))
    variants: dict[str, Callable[[], Any]] = {
        "irc": lambda: ours(*arrays),
        "torch": lambda: row.peer(*tensors),
        "interpreter": lambda: interpreted(*arrays),
    }
    if compiles:
        compiled = torch.compile(row.peer, dynamic=False)
        variants["torch.compile"] = lambda: compiled(*tensors)
    return entry(row.name, by_turns(variants, clock), memory_bound=row.is_memory_bound, error=error)


def difference(found: Any, expected: torch.Tensor) -> float:
    """The largest error, relative to the largest value."""
    a, b = np.asarray(found).astype(np.float64), expected.double().numpy()
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30))


@dataclass(frozen=True)
class Model:
    """A model of torch, and what it is called with."""

    name: str
    make: Callable[[], torch.nn.Module]
    argument: Callable[[], torch.Tensor]


MODELS = [
    Model("forward pass of a GPT-2 of 4 layers of 512, 2 x 256 words", Gpt, lambda: torch.randint(0, 8000, (2, 256))),
    Model("forward pass of ResNet-18, 1 x 224 x 224", ResNet, lambda: torch.randn(1, 3, 224, 224)),
]


def run_model(model: Model, clock: Callable[[], float], *, compiles: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    module, x = model.make().eval(), model.argument()
    ours = torch.compile(module, backend="irc")
    with ir.target("cpu"):
        error = difference(ours(x).numpy(), module(x))
    variants: dict[str, Callable[[], Any]] = {"irc": lambda: ours(x), "torch": lambda: module(x)}
    if compiles:
        compiled = torch.compile(type(module).forward, dynamic=False)
        variants["torch.compile"] = lambda: compiled(module, x)
    return entry(model.name, by_turns(variants, clock), memory_bound=False, error=error)


def train_digits() -> dict[str, Any]:
    """Seconds of the CPU that the example takes on each target, and its last line, by turns."""
    example = Path(__file__).parents[1] / "examples" / "train_digits.py"
    seconds: dict[str, list[float]] = {"cpu": [], "interpret": []}
    said: dict[str, str] = {}
    for _ in range(3):
        for target, times in seconds.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            output = subprocess.check_output(
                [sys.executable, example], env={**os.environ, "IRC_TARGET": target}, text=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            said[target] = output.strip().splitlines()[-1]
    row = {
        "name": "examples/train_digits.py",
        "seconds": {name: round(median(t), 2) for name, t in seconds.items()},
        "said": said,
    }
    print(json.dumps(row), flush=True)
    return row


COLD = """
import time, numpy, irc
begin = time.process_time()
import irc.driver.cpu, irc.language
imported = time.process_time()
exe = irc.compile("func f(x: f32[64, 64]) -> f32[64, 64] {{ return softmax(x) }}", target="cpu")
exe(numpy.ones((64, 64), numpy.float32))
print(imported - begin, time.process_time() - imported)
"""


def cold_compile() -> dict[str, Any]:
    """Seconds of the CPU that a small program takes to be compiled and run in a new process, with an empty cache and a
    full one, and the imports of the compiler before it."""
    found: dict[str, list[float]] = {"empty cache": [], "known machine code": []}
    imports: list[float] = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            for times in found.values():
                command = [sys.executable, "-c", COLD.replace("{{", "{").replace("}}", "}")]
                output = subprocess.check_output(command, env={**os.environ, "IRC_CACHE_DIR": folder})
                imported, compiled = map(float, output.split())
                imports.append(imported)
                times.append(compiled)
    row = {
        "name": "a softmax, compiled and run",
        "seconds": {name: median(times) for name, times in {**found, "imports": imports}.items()},
    }
    print(json.dumps(row), flush=True)
    return row


def machine() -> dict[str, Any]:
    packages = ("numpy", "scipy", "llvmlite", "torch", "xdsl")
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "")
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": commit.stdout.strip(),
        "cpu": model or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "its own choice"),
        "packages": {name: importlib.metadata.version(name) for name in packages},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--compile", action="store_true", help="torch.compile too: needs a C++ compiler")
    parser.add_argument("--alone", action="store_true", help="one thread each, times of the CPU")
    args = parser.parse_args(arguments)
    clock = time.perf_counter
    if args.alone:
        os.environ["IRC_THREADS"] = "1"
        torch.set_num_threads(1)
        clock = time.process_time
    chosen = [row for row in ROWS if not args.rows or any(text in row.name for text in args.rows)]
    record: dict[str, Any] = {"machine": machine(), "threads": 1 if args.alone else torch.get_num_threads(), "rows": []}
    with torch.no_grad():
        record["rows"] += [run_row(row, clock, compiles=args.compile) for row in chosen]
        models = [model for model in MODELS if not args.rows or any(text in model.name for text in args.rows)]
        record["rows"] += [run_model(model, clock, compiles=args.compile) for model in models]
    if not args.rows:
        record["rows"] += [train_digits(), cold_compile()]
    bound = [row["times faster"] for row in record["rows"] if row.get("memory_bound")]
    for peer in ("torch", "torch.compile"):
        if ratios := [row[peer] for row in bound if peer in row]:
            record[f"geometric mean, memory-bound, of {peer}"] = round(float(np.exp(np.mean(np.log(ratios)))), 3)
    Path(args.file).write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
