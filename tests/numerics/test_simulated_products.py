"""Products on tensor cores, as irc makes them, on the simulator: right however late copies land, without conflicts in
the epilogue's staging, and wrong as soon as one op that synchronises is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from numerics.harness import TOLERANCES, Array, assert_close, draw_arguments, evaluate_any, result_elements
from xdsl.dialects.builtin import ModuleOp

from irc.artifact import ArraySpec
from irc.dialects.kernel import ConfigAttr, FusedOp
from irc.dtypes import Element
from irc.interpreters.sim import KernelStatistics, SimProgram, SimulationError
from irc.lowering import passes_of, run_passes
from irc.pipelines import ALL
from irc.program import entry_of, isolate, parse, signature

EXAMPLES = Path(__file__).parents[2] / "examples"

both_times = pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])


@dataclass(frozen=True)
class Lowered:
    """A program of kernels, with arguments, and what it should give."""

    module: ModuleOp
    arguments: tuple[ArraySpec, ...]
    results: tuple[ArraySpec, ...]
    arrays: Sequence[Array]
    expected: Sequence[Array]
    elements: Sequence[Element]

    def check(self, module: ModuleOp | None = None, *, lazy: bool = False) -> None:
        """AssertionError where a result, of the program or of another module in its stead, is wrong."""
        program = SimProgram(self.module if module is None else module, self.arguments, self.results, lazy=lazy)
        found = program.run(self.arrays, None)
        for i, (a, b, element) in enumerate(zip(self.expected, found, self.elements, strict=True)):
            assert_close(a, b, element, TOLERANCES, f"result {i}")

    def counts(self) -> Sequence[KernelStatistics]:
        return SimProgram(self.module, self.arguments, self.results).statistics(self.arrays)

    def ops(self, name: str) -> int:
        """How many ops of this name its kernels have."""
        return sum(op.name == name for op in self.module.walk())


def lowered(
    text: str,
    tile: tuple[int, int, int] | None = None,
    *,
    arch: str = "sm_90a",
    instruction: str | None = None,
    dims: tuple[tuple[str, int], ...] = (),
) -> Lowered:
    """The kernels of a program. `tile` is that of its products, in two stages."""
    module = isolate(parse(text, "test", dims=dict(dims)))
    arguments, results = signature(entry_of(module))
    first = ALL.index("choose-config")
    run_passes(module, passes_of(ALL[:first], arch=arch))
    arrays, elements = draw_arguments(module), result_elements(module)
    expected = evaluate_any(module, arrays)
    for op in module.walk():
        if tile is not None and isinstance(op, FusedOp) and op.anchor.data == "matmul":
            op.config = ConfigAttr.of(tile=tile, stages=2)
    run_passes(module, passes_of(ALL[first:], arch=arch, instruction=instruction))
    return Lowered(module, arguments, results, arrays, expected, elements)


def example(name: str, tile: tuple[int, int, int], **dims: int) -> Lowered:
    return lowered((EXAMPLES / f"{name}.irc").read_text(), tile, dims=tuple(dims.items()))


@cache
def gating() -> Lowered:
    return example("gating", (64, 64, 64), M=64, K=320, N=64)


@cache
def gated_unit_step() -> Lowered:
    return example("gated_unit_step", (64, 64, 64), B=64, H=192)


MAJORS = {"nn": ("x", "w"), "tn": ("transpose(x)", "w"), "nt": ("x", "transpose(w)"), "tt": ("transpose(x)", "transpose(w)")}  # fmt: skip


def product_text(element: str, m: int, n: int, k: int, majors: str = "nn", result: str | None = None) -> str:
    a, b = MAJORS[majors]
    x = f"{m}, {k}" if a == "x" else f"{k}, {m}"
    w = f"{k}, {n}" if b == "w" else f"{n}, {k}"
    result = element if result is None else result
    return f"func f(x: {element}[{x}], w: {element}[{w}]) -> {result}[{m}, {n}] {{\n    return {a} @ {b}\n}}\n"


@both_times
@pytest.mark.parametrize("majors", MAJORS)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 192), (100, 72, 136)], ids=["whole", "ragged"])
def test_products_of_warp_groups(majors: str, m: int, n: int, k: int, lazy: bool) -> None:
    if (m, majors[0]) == (100, "t"):
        m = 104  # Rows that TMA can load.
    program = lowered(product_text("bf16", m, n, k, majors), (64, 64, 64))
    program.check(lazy=lazy)
    (counts,) = program.counts()
    tiles, steps = -(-m // 64) * -(-n // 64), -(-k // 64)
    assert counts.executions("cuda.wgmma") == tiles * steps * 4 * 4  # four depths of 16, four warps
    assert counts.executions("cuda.tma_load") == tiles * steps * 2
    assert counts.conflicts == 0


@pytest.mark.parametrize("tile", [(128, 128, 64), (64, 256, 64), (128, 256, 64), (64, 32, 32), (256, 64, 128)])
def test_tiles_of_warp_groups(tile: tuple[int, int, int]) -> None:
    program = lowered(product_text("f16", 256, 256, 256), tile)
    program.check()
    (counts,) = program.counts()
    assert counts.executions("cuda.wgmma")
    assert counts.conflicts == 0


@both_times
def test_gating(lazy: bool) -> None:
    gating().check(lazy=lazy)
    (counts,) = gating().counts()
    assert counts.executions("cuda.wgmma") == 5 * 4 * 4
    assert counts.executions("cuda.tma_load") == 5 * 3
    assert counts.conflicts == 0


def test_products_that_are_narrower_than_a_swizzle() -> None:
    """Two products of 32 columns side by side: panels of 64 bytes."""
    program = example("gating", (64, 32, 64), M=64, K=128, N=64)
    program.check()
    (counts,) = program.counts()
    assert counts.conflicts == 0


@both_times
def test_gated_unit_step(lazy: bool) -> None:
    """Its left operand is computed by the producer's warps, which write it for wgmma to read."""
    gated_unit_step().check(lazy=lazy)
    counts = gated_unit_step().counts()
    assert counts[0].executions("cuda.wgmma") == 3 * 3 * 4 * 4
    assert counts[0].executions("cuda.fence_proxy_async")


@pytest.mark.parametrize(("element", "result"), [("bf16", "bf16"), ("f16", "f16"), ("i8", "i32"), ("f64", "f64")])
@pytest.mark.parametrize("majors", ["nn", "tt"])
def test_products_of_warps(element: str, result: str, majors: str) -> None:
    program = lowered(product_text(element, 65, 130, 97, majors, result), arch="sm_80", instruction="mma")
    assert program.ops("cuda.mma")
    program.check()


SYNCHRONISING = (
    "cuda.barrier",
    "cuda.fence",
    "cuda.sync",
    "cuda.named",
    "cuda.wgmma_",
    "cuda.registers_fence",
    "cuda.tma",
)


def synchronising(module: ModuleOp) -> list[str]:
    """The names of the ops that synchronise or copy, in their order."""
    return [op.name for op in module.walk() if op.name.startswith(SYNCHRONISING)]


def without(module: ModuleOp, index: int) -> ModuleOp:
    """A copy of the module that lacks the op of this index among those that synchronise."""
    copy = module.clone()
    op = [op for op in copy.walk() if op.name.startswith(SYNCHRONISING)][index]
    op.detach()
    op.erase()
    return copy


def not_missed(program: Lowered, *names: str) -> list[str]:
    """Of the ops of these names (of all by default) those whose absence the simulator does not notice."""
    found: list[str] = []
    for index, name in enumerate(synchronising(program.module)):
        if names and name not in names:
            continue
        try:
            program.check(without(program.module, index))
        except SimulationError:
            continue
        found.append(name)
    return found


def test_every_op_that_synchronises_is_missed() -> None:
    """Some are there for symmetry alone: the wait of the last iteration and the one after the loop stand in for each
    other, and so do the fences of the accumulator behind them; no producer waits for the release of the last stage; and
    the two panels of the only tile find their buffers free."""
    waits = ["cuda.wgmma_wait", "cuda.registers_fence"]
    assert not_missed(gating()) == [*waits, *waits, "cuda.barrier_arrive", "cuda.tma_store_wait", "cuda.named_sync"]


def test_what_producers_that_write_owe_their_readers() -> None:
    """As above, the release of the last stage is one too many."""
    names = ("cuda.fence_proxy_async", "cuda.barrier_arrive", "cuda.barrier_wait", "cuda.barrier_expect")
    assert not_missed(gated_unit_step(), *names) == ["cuda.barrier_arrive"]
