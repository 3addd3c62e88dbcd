"""irc-bench: the speed of generated kernels on the GPU that is present.

A row is a program: the median time of its kernels, one after another, over runs of the whole plan on the same buffers
(so inputs that fit the L2 cache may be found there), and the rate: operations for programs with a matrix product,
bytes read and written once for the others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from irc.diagnostics import IrcError
from irc.files import write_text
from irc_tools.arguments import ArgumentParser
from irc_tools.errors import guarded
from irc_tools.inputs import draw_array
from irc_tools.machine import describe
from irc_tools.tables import amount, duration, print_table


def matmul(element: str, m: int, n: int, k: int) -> str:
    """`x @ w` of one element type."""
    return f"func f(x: {element}[{m}, {k}], w: {element}[{k}, {n}]) -> {element}[{m}, {n}] {{\n    return x @ w\n}}\n"


def gating(size: int) -> str:
    """Two products of one x, biases, and a gate, in one kernel."""
    square, row = f"bf16[{size}, {size}]", f"bf16[{size}]"
    return (
        f"func f(x: {square}, w1: {square}, w2: {square}, b1: {row}, b2: {row}) -> {square} {{\n"
        "    return sigmoid(x @ w1 + b1) * (x @ w2 + b2)\n}\n"
    )


def rows(element: str, expression: str, m: int = 16384, n: int = 8192, result: str = "M, N") -> str:
    """An expression of `x`, an M x N array."""
    return f"dim M = {m}, N = {n}\nfunc f(x: {element}[M, N]) -> {element}[{result}] {{\n    return {expression}\n}}\n"


PROGRAMS: dict[str, str] = {
    "matmul bf16 8192^3": matmul("bf16", 8192, 8192, 8192),
    "matmul bf16 4096^3": matmul("bf16", 4096, 4096, 4096),
    "matmul f16 4096^3": matmul("f16", 4096, 4096, 4096),
    "matmul bf16 2048^3": matmul("bf16", 2048, 2048, 2048),
    "matmul f32 4096^3": matmul("f32", 4096, 4096, 4096),
    "gating 4096": gating(4096),
    "gating 2048": gating(2048),
    "softmax bf16 16384x8192": rows("bf16", "softmax(x)"),
    "rms_norm bf16 16384x8192": rows("bf16", "rms_norm(x)"),
    "layer_norm bf16 16384x8192": rows("bf16", "layer_norm(x)"),
    "gelu bf16 16384x8192": rows("bf16", "gelu(x)"),
    "sum of rows bf16 16384x8192": rows("bf16", "sum(x, axis=1)", result="M"),
    "sum of columns bf16 16384x8192": rows("bf16", "sum(x, axis=0)", result="N"),
    "transpose bf16 16384^2": rows("bf16", "transpose(x)", 16384, 16384, "N, M"),
    "transpose f32 16384^2": rows("f32", "transpose(x)", 16384, 16384, "N, M"),
}


@dataclass(frozen=True)
class Measurement:
    """A program's kernels, its time in seconds, and its rate in `unit` a second."""

    name: str
    kernels: int
    seconds: float
    rate: float
    unit: str


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-bench", lambda: _run(arguments), debug="--debug" in arguments)


def _arguments() -> argparse.ArgumentParser:
    parser = ArgumentParser(prog="irc-bench", description="Times generated kernels on the GPU that is present.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="programs to run, by a part of their name (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the programs and exit")
    parser.add_argument("--repeat", type=int, default=21, metavar="N", help="timed runs of each (default: 21)")
    parser.add_argument("--json", metavar="FILE", help="write the machine and the measurements to FILE too")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    return parser


def _run(arguments: list[str]) -> int:
    args = _arguments().parse_args(arguments)
    chosen = [name for name in PROGRAMS if not args.names or any(part in name for part in args.names)]
    if not chosen:
        raise IrcError(f"no program has {' or '.join(args.names)} in its name", None, "--list names them")
    if args.list:
        print("\n".join(chosen))
        return 0
    found: list[Measurement] = []
    failed = False
    for name in chosen:
        try:
            found.append(measure(name, PROGRAMS[name], max(1, args.repeat)))
        except IrcError as error:
            print(f"{name}: error: {error}", file=sys.stderr)
            failed = True
    _print(found)
    if args.json is not None:
        record = {"machine": describe(), "rows": [asdict(row) for row in found]}
        write_text(Path(args.json), json.dumps(record, indent=2) + "\n")
    return 1 if failed else 0


def measure(name: str, program: str, repetitions: int) -> Measurement:
    """Compiles and times one program; IrcError where there is no GPU."""
    from irc.compiler import compile as compile_program
    from irc.runtime.profile import kernel_times

    executable = compile_program(program, "cuda")
    arrays = [draw_array(spec, 0, index) for index, spec in enumerate(executable.arguments)]
    times = kernel_times(executable, arrays, repetitions)
    seconds = sum(times.values())
    if any(kernel["anchor"] == "matmul" for kernel in executable.kernels):
        return Measurement(name, len(times), seconds, sum(k["flops"] for k in executable.kernels) / seconds, "FLOP")
    moved = sum(spec.nbytes for spec in (*executable.arguments, *executable.results))
    return Measurement(name, len(times), seconds, moved / seconds, "B")


def _print(found: Sequence[Measurement]) -> None:
    cells = [[r.name, str(r.kernels), duration(r.seconds), f"{amount(r.rate, r.unit)}/s"] for r in found]
    print_table("medians", ["program", "kernels", "time", "rate"], cells)


if __name__ == "__main__":
    sys.exit(main())
