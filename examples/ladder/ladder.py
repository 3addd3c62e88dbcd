"""Times the rungs of the ladder, beside torch where there is a GPU, with the memory that each takes.

python examples/ladder/ladder.py                               2048 to 16384, on a GPU
python examples/ladder/ladder.py --tall                        x [4 s^2, 128] @ w [128, 64] instead of squares
python examples/ladder/ladder.py --target cpu --sizes 128 256 --json ladder.json --plot ladder.svg
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import ml_dtypes
import numpy as np
from rungs import GATES, PRODUCTS

import irc_frontend as ir

Arrays = Sequence[Any]
SIZES = (2048, 4096, 8192, 16384)
REPETITIONS, WARMUPS = 10, 2
SHORT, CALLS = 1e-2, 20
"""Seconds of calls that are timed several at a time, and how many."""

LIMIT = 2.0
"""Seconds of a call after which a rung is not tried at larger sizes."""

TOLERANCE = 2e-2
"""Of results of bf16, relative to the largest."""


@dataclass(frozen=True)
class Timing:
    """A call of a rung: seconds, operations a second, and the bytes that it takes beside its operands."""

    work: str
    rung: str
    size: int
    seconds: float
    flops: float
    memory: int


class Numpy:
    """Arrays of numpy, for irc's targets without a GPU."""

    peers: tuple[str, ...] = ()

    def drawn(self, *shape: int) -> Any:
        values = np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)
        return (values / shape[0] ** 0.5).astype(ml_dtypes.bfloat16)

    def wide(self, x: Any) -> Any:
        return np.asarray(x).astype(np.float32)

    def seconds(self, work: Callable[[], Any]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def memory(self, work: Callable[[], Any]) -> int:
        work()  # Compiles.
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak


class Torch:
    """Tensors of torch on a GPU, whose own product is one more rung."""

    peers = ("torch",)

    def __init__(self) -> None:
        import torch

        self._torch: Any = torch

    def drawn(self, *shape: int) -> Any:
        generator = self._torch.Generator("cuda").manual_seed(shape[0])
        values = self._torch.randn(shape, generator=generator, device="cuda") / shape[0] ** 0.5
        return values.to(self._torch.bfloat16)

    def wide(self, x: Any) -> Any:
        return x.float()

    def seconds(self, work: Callable[[], Any]) -> float:
        """Of a call; of short ones several, one after the other, so that the host may be ahead."""
        once = self._elapsed(work, 1)
        return self._elapsed(work, CALLS) / CALLS if once < SHORT else once

    def _elapsed(self, work: Callable[[], Any], calls: int) -> float:
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3

    def memory(self, work: Callable[[], Any]) -> int:
        """What is less free on the device afterwards: pools keep the most that they had."""
        self._torch.cuda.synchronize()
        self._torch.cuda.empty_cache()
        free = self._torch.cuda.mem_get_info()[0]
        work()
        self._torch.cuda.synchronize()
        return free - self._torch.cuda.mem_get_info()[0]


Bench = Numpy | Torch


def torch_product(x: Any, w: Any) -> Any:
    return x @ w


def torch_gate(x: Any, w: Any, v: Any) -> Any:
    return (x @ w).sigmoid() * (x @ v)


def shapes(size: int, tall: bool) -> tuple[int, int, int]:
    """M, K and N."""
    return (4 * size * size, 128, 64) if tall else (size, size, size)


def works(bench: Bench, size: int, tall: bool) -> Iterator[tuple[str, dict[str, Callable[..., Any]], Arrays, float]]:
    """What is computed, by whom, of which arrays, and how many operations it takes."""
    m, k, n = shapes(size, tall)
    x, w = bench.drawn(m, k), bench.drawn(k, n)
    products: dict[str, Callable[..., Any]] = {**PRODUCTS, **dict.fromkeys(bench.peers, torch_product)}
    yield "product", products, (x, w), 2.0 * m * k * n
    if not tall:
        gates: dict[str, Callable[..., Any]] = {**GATES, **dict.fromkeys(bench.peers, torch_gate)}
        yield "gate", gates, (x, w, bench.drawn(k, n, 1)[:, :, 0]), 4.0 * m * k * n


def check(bench: Bench, work: str, result: Any, arrays: Arrays) -> float:
    """The largest error, relative to the largest element of the same work in f32. SystemExit where that is large."""
    x, w, *others = map(bench.wide, arrays)
    expected = (x @ others[0]) / (1 + np.e ** -(x @ w)) if others else x @ w
    error = float(abs(bench.wide(result) - expected).max() / abs(expected).max())
    if not error <= TOLERANCE:
        raise SystemExit(f"{work}: an error of {error:.1e}")
    return error


def timed(bench: Bench, sizes: Sequence[int], tall: bool) -> Iterator[Timing]:
    """All rungs at all sizes, those that have become slow left out."""
    slow: set[tuple[str, str]] = set()
    for size in sorted(sizes):
        for work, rungs, arrays, operations in works(bench, size, tall):
            for name, rung in rungs.items():
                if (work, name) in slow:
                    continue
                seconds, memory = measured(bench, f"{name} {work} of {size}", partial(rung, *arrays), arrays)
                if seconds >= LIMIT:
                    slow.add((work, name))
                yield Timing(work, name, size, seconds, operations / seconds, memory)


def measured(bench: Bench, name: str, call: Callable[[], Any], arrays: Arrays) -> tuple[float, int]:
    """The seconds of a call, whose result is checked, and the bytes that it takes."""
    results: list[Any] = []
    memory = bench.memory(lambda: results.append(call()))
    check(bench, name, results.pop(), arrays)
    results.clear()
    seconds = [bench.seconds(call) for _ in range(WARMUPS)][-1]
    return (seconds if seconds >= LIMIT else median(bench.seconds(call) for _ in range(REPETITIONS))), memory


def plot(path: Path, timings: Sequence[Timing]) -> None:
    """TFLOP/s and memory of each rung over the sizes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    kinds = list(dict.fromkeys(each.work for each in timings))
    figure, axes = pyplot.subplots(2, len(kinds), figsize=(6 * len(kinds), 8), squeeze=False)
    for column, work in enumerate(kinds):
        for rung in dict.fromkeys(each.rung for each in timings if each.work == work):
            own = [each for each in timings if (each.work, each.rung) == (work, rung)]
            sizes = [each.size for each in own]
            axes[0][column].plot(sizes, [each.flops / 1e12 for each in own], marker="o", label=rung)
            axes[1][column].plot(sizes, [each.memory / 1e6 for each in own], marker="o", label=rung)
        for row, label in enumerate(("TFLOP/s", "MB beside the operands")):
            axes[row][column].set(xlabel=f"size of the {work}", ylabel=label, xscale="log", yscale="log")
            axes[row][column].legend()
    figure.tight_layout()
    figure.savefig(path)


def main(argv: Sequence[str] | None = None) -> list[Timing]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="default: 2048 4096 8192 16384")
    parser.add_argument("--tall", action="store_true", help="x [4 s^2, 128] @ w [128, 64], s a size")
    parser.add_argument("--target", default="cuda", choices=("cuda", "cpu", "sim"))
    parser.add_argument("--json", type=Path, help="where the timings go")
    parser.add_argument("--plot", type=Path, help="a picture of them, .svg or .png")
    args = parser.parse_args(argv)
    bench = Torch() if args.target == "cuda" else Numpy()
    found: list[Timing] = []
    with ir.target(args.target):
        for each in timed(bench, args.sizes, args.tall):
            found.append(each)
            speed, memory = f"{each.flops / 1e12:9.3f} TFLOP/s", f"{each.memory / 1e6:10.1f} MB"
            print(f"{each.work:<8} {each.size:>6} {each.rung:<14} {each.seconds * 1e3:10.3f} ms {speed} {memory}")
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")
    if args.plot is not None:
        plot(args.plot, found)
    return found


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
