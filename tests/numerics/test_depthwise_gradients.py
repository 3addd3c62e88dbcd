"""Gradients of the kernels of depthwise convolutions, and of those of a few channels in each group, on the simulator."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawing import examples, long, slow
from hypothesis import given
from hypothesis import strategies as st
from numerics.harness import check_kernels
from numerics.lowered import lowered
from numerics.test_depthwise import CASES, Depthwise, drawn

from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

PLAIN = sorted(name for name, case in CASES.items() if (case.before, case.after) == ("x", "y"))


def gradient(case: Depthwise) -> str:
    """The gradient of the case's kernel, of the sum of its results times b."""
    lines = case.text().splitlines()
    arguments = lines[0][lines[0].index("(") : lines[0].index(")") + 1]
    kernel = arguments[arguments.index("k: ") + 3 : arguments.index(", b: ")]
    wide = "f64" if case.element == "f64" else "f32"
    return (
        f"func loss{arguments} -> {wide}[] {{\n{lines[1]}\n    return sum(cast(y * b, {wide}))\n}}\n"
        f"func f{arguments} -> {kernel} {{\n    return grad(loss, wrt=[k])(x, k, b)\n}}\n"
    )


@long(18)
@pytest.mark.parametrize("name", PLAIN)
def test_gradient(name: str) -> None:
    check_kernels(gradient(CASES[name]))


@examples(40, one_in=4)
@given(drawn(), st.booleans())
def test_drawn_gradients(case: Depthwise, is_last: bool) -> None:
    check_kernels(gradient(replace(case, last=is_last or case.last)))


@slow
@pytest.mark.parametrize("case", [Depthwise((2, 96, 16, 16), (3, 3)), Depthwise((4, 32, 16, 16), (3, 3), group=8)])
def test_columns_load_whole_sectors(case: Depthwise) -> None:
    """Threads have whole columns, and read and write whole sectors but for the few elements of the result."""
    module = lower(isolate(parse(gradient(case), "test")), "kernel", arch="sm_90a")
    kernels = [op for op in module.walk() if isinstance(op, FusedOp) and op.config is not None]
    assert "columns" in [op.config.instruction for op in kernels if op.config is not None]
    program = lowered(gradient(case))
    program.check()
    first = next(counts for counts in program.counts() if counts.name == "f_0")
    assert first.sectors() <= 1.1 * first.ideal_sectors()
