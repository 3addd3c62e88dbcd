"""Every program of `gpu.programs` on a GPU against the float64 reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.programs import PROGRAMS, Program, arguments_of, difference
from gpu.programs.compiling import compile_ahead

import irc
from irc.interpreters.nd import evaluate
from irc.program import isolate, parse
from irc.runtime.driver import is_present, present_arch

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]


@pytest.fixture(scope="module", autouse=True)
def compiled(request: pytest.FixtureRequest) -> None:
    """The programs that were selected, compiled side by side before the first of them runs."""
    items: list[Any] = request.session.items
    selected = [item.callspec.params.get("program") for item in items if hasattr(item, "callspec")]
    compile_ahead([program.text for program in selected if isinstance(program, Program)], present_arch())


def named(name: str) -> Program:
    return next(program for program in PROGRAMS if program.name == name)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program(program: Program) -> None:
    executable = irc.compile(program.text, "cuda")
    arrays = arguments_of(program, executable.arguments)
    found = executable(*arrays)
    results = list(found) if isinstance(found, tuple) else [found]
    with np.errstate(all="ignore"):
        references = evaluate(isolate(parse(program.text, program.name)), arrays, precision="float64")
    pairs = zip(executable.results, results, references, strict=True)
    wrong = [(spec.name, difference(program, a, b, spec.element)) for spec, a, b in pairs]
    assert not [w for w in wrong if w[1]], [w for w in wrong if w[1]]


DETERMINISTIC = (
    "length-long-rows-f32",
    "length-tall-f32",
    "matmul-bf16-64x64x8192",
    "epilogue-everything-odd",
    "cumsum-very-long",
    "batch-norm",
)
"""Programs in which the order of a sum could depend on timing."""


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_five_runs_give_the_same_bits(name: str) -> None:
    program = named(name)
    executable = irc.compile(program.text, "cuda")
    arrays = arguments_of(program, executable.arguments)
    runs = [executable(*arrays) for _ in range(5)]
    bits = [[np.asarray(r).tobytes() for r in (run if isinstance(run, tuple) else (run,))] for run in runs]
    assert all(run == bits[0] for run in bits)


def test_arrays_beyond_two_to_the_31_elements() -> None:
    """A map over 2^31 + 2^22 bytes and reductions of its rows: offsets need more than 32 bits."""
    torch = pytest.importorskip("torch")
    rows, columns = 2**9 + 1, 2**22
    free, _ = torch.cuda.mem_get_info()
    if free < 10 * rows * columns:
        pytest.skip(f"the GPU has {free / 2**30:.0f} GiB free")
    text = f"""
dim R = {rows}, C = {columns}
func f(x: i8[R, C]) -> (i8[R, C], i32[3], i32[R]) {{
    return x + 1, sum(x[R - 3:], axis=1), sum(x, axis=1)
}}
"""
    executable = irc.compile(text, "cuda")
    torch.manual_seed(0)
    x = torch.randint(-50, 50, (rows, columns), dtype=torch.int8, device="cuda")
    y, last, sums = executable(x)
    wanted = x.sum(1, dtype=torch.int32)
    assert torch.equal(y, x + 1)
    assert torch.equal(last, wanted[-3:])
    assert torch.equal(sums, wanted)
