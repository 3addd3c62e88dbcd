"""The machine code of the products of the benchmarks, and the time that it takes to make it.

A run takes a row of each class: of the suites `gemm` and `operands` one for each program, of `gemm-sweep` one for each
group and element, of `gemm-rows` all, of `convolution` the passes of two. `make test-sweep` takes all rows
(IRC_SWEEP=all).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from drawing import SWEEP, long

from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.codegen.sass import disassemble, opcodes_of, uses
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.manifest import KernelFacts, kernel_facts
from irc.driver.program import isolate, parse
from irc_tools.bench.rows import Row
from irc_tools.bench.suite import load_suite

ARCH = "sm_90a"
LOWERING, NVRTC = 0.5, 1.0
"""Seconds of a processor that one program and one kernel may take (`irc-bench-compile` times them on an idle one)."""

BUSY = 4.0
"""How much longer it may take where all processors are busy: 1.5 times as long was seen, and others share more caches."""

OPCODES = {
    "wgmma": ("HGMMA", "QGMMA", "IGMMA"),
    "mma": ("HMMA", "IMMA", "DMMA"),
    "fma": ("FFMA", "IMAD", "DFMA"),
    "direct": ("FFMA", "IMAD", "DFMA"),
    "columns": ("FFMA", "IMAD", "DFMA"),
}
"""What the machine code of a product has by the instruction of its config (CUDA Binary Utilities, Hopper)."""

BITS8 = {"f8e4m3": "QGMMA", "f8e5m2": "QGMMA", "i8": "IGMMA"}

CONVOLUTIONS = ("3x3 256x256x14x14>256", "depthwise 3x3", "softmax of channels")
"""Names of rows of `convolution` that every run takes begin so."""

T = TypeVar("T")


def rows() -> list[Row]:
    first, computed, sweep, others = (load_suite(name).rows for name in ("gemm", "operands", "gemm-sweep", "gemm-rows"))
    gemm, convolutions = (*first, *computed), load_suite("convolution").rows
    if SWEEP:
        return [*gemm, *sweep, *others, *convolutions]
    classes: dict[tuple[str, ...], Row] = {}
    for row in gemm:
        classes.setdefault((re.sub(r"[0-9x^]+", "", row.name),), row)
    for row in sweep:
        classes.setdefault((row.group, row.name.split()[-1]), row)
    return [*classes.values(), *others, *(row for row in convolutions if row.name.startswith(CONVOLUTIONS))]


def made_within(seconds: float, work: Callable[[], T]) -> T:
    """What the work gives, which takes this thread no longer than so many seconds of a processor in the best of three
    attempts: garbage of other tests may be collected in one of them."""
    spent: list[float] = []
    while len(spent) < 3:
        start = time.thread_time()
        result = work()
        spent.append(time.thread_time() - start)
        if spent[-1] < BUSY * seconds:
            return result
    raise AssertionError(f"took {min(spent):.2f} s of a processor, more than {BUSY} times {seconds} s")


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Everything is imported before something is timed."""
    lower(
        isolate(parse("func f(x: bf16[64, 64]) -> bf16[64, 64] {\n    return relu(x @ x)\n}\n", "warm")),
        "all",
        arch=ARCH,
    )


@long(16)
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_products(row: Row) -> None:
    """Tensor cores, or multiply-adds of windows, no spills, no warning that wgmma is serialized (C75xx), and made in time."""
    module = isolate(parse(row.program, row.name, dims=dict(row.dims)))
    facts = kernel_facts(lower(module, "kernel", arch=ARCH))
    lowered = made_within(LOWERING, lambda: lower(module, "all", arch=ARCH))
    is_window = row.name.startswith("depthwise") and not row.name.endswith("wgrad")
    anchor = "map" if is_window else "matmul"
    products = [op for op in lowered.ops if isinstance(op, KernelOp) and _anchor(facts, op) == anchor]
    assert products
    for op in products:
        name, source = op.sym_name.data, print_kernels([op])
        compiled = made_within(NVRTC, lambda name=name, source=source: compile_source(source, ARCH, name=name))
        assert compiled.warnings == (), name
        assert compiled.resources[name].spills == 0, name
        counts = opcodes_of(disassemble(compiled.cubin))
        assert not uses(counts, "STL"), name
        config = {"instruction": "direct", **facts[name].config}
        assert any(uses(counts, opcode) for opcode in OPCODES[config["instruction"]]), name
        if config.get("swap_ab") and row.name.startswith(("i8", "f8")):
            assert uses(counts, "UTMALDG") and not uses(counts, "LDG.E.128"), name
        if config["instruction"] == "wgmma" and row.name.startswith(CONVOLUTIONS):
            assert any(opcode.startswith("UTMALDG") and "IM2COL" in opcode for opcode in counts), name
        for element, opcode in BITS8.items():
            if row.name.endswith(f" {element}") and config["instruction"] == "wgmma":
                assert uses(counts, opcode), name


def _anchor(facts: dict[str, KernelFacts], op: KernelOp) -> str:
    found = facts.get(op.sym_name.data)
    return "" if found is None else found.anchor
