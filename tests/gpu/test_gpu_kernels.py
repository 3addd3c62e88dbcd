"""Every program of `gpu.programs` on a GPU against the float64 reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.programs import PROGRAMS, Program, arguments_of, difference
from gpu.programs.compiling import compile_ahead

import irc
from irc.driver.program import isolate, parse
from irc.interpreters.nd.interpreter import evaluate
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
    check(program, irc.compile(program.text, "cuda"))


def check(program: Program, executable: irc.Executable) -> None:
    arrays = arguments_of(program, executable.arguments)
    found = executable(*arrays)
    results = list(found) if isinstance(found, tuple) else [found]
    with np.errstate(all="ignore"):
        references = evaluate(isolate(parse(program.text, program.name)), arrays, precision="float64")
    pairs = zip(executable.results, results, references, strict=True)
    wrong = [(spec.name, difference(program, a, b, spec.element)) for spec, a, b in pairs]
    assert not [w for w in wrong if w[1]], [w for w in wrong if w[1]]


OLDER = [
    *(
        f"matmul-{t}-{size}"
        for t in ("bf16", "f16", "i8", "u8", "f64", "f8e4m3")
        for size in ("65x129x17", "256x256x256")
    ),
    *(f"matmul-{t}-{size}" for t in ("bf16", "f16") for size in ("512x512x512", "257x511x1001", "64x64x8192")),
]
"""Products that mma.sync computes, by the names of the programs."""


@pytest.mark.parametrize("name", OLDER)
def test_products_of_sm_80(name: str) -> None:
    """What is compiled for sm_80 runs from its PTX."""
    check(named(name), irc.compile(named(name).text, "cuda", arch="sm_80"))


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


def torch_with_room(wanted: int) -> Any:
    """torch, where the GPU has so many bytes free."""
    torch = pytest.importorskip("torch")
    free, _ = torch.cuda.mem_get_info()
    if free < wanted:
        pytest.skip(f"the GPU has {free / 2**30:.0f} GiB free, the test takes {wanted / 2**30:.0f}")
    return torch


ROWS, COLUMNS = 2**9 + 1, 2**22
"""Of arrays of 2^31 + 2^22 elements: offsets need more than 32 bits, with a sign and without."""


def test_maps_and_reductions_of_arrays_beyond_two_to_the_31_elements() -> None:
    torch = torch_with_room(10 * ROWS * COLUMNS)
    text = f"""
dim R = {ROWS}, C = {COLUMNS}
func f(x: i8[R, C]) -> (i8[R, C], i32[3], i32[R], i8[C]) {{
    return x + 1, sum(x[R - 3:], axis=1), sum(x, axis=1), max(x, axis=0)
}}
"""
    executable = irc.compile(text, "cuda")
    torch.manual_seed(0)
    x = torch.randint(-50, 50, (ROWS, COLUMNS), dtype=torch.int8, device="cuda")
    y, last, sums, largest = executable(x)
    wanted = x.sum(1, dtype=torch.int32)
    assert torch.equal(y, x + 1)
    assert torch.equal(last, wanted[-3:])
    assert torch.equal(sums, wanted)
    assert torch.equal(largest, x.amax(0))


@pytest.mark.parametrize(
    ("order", "extents"), [((1, 0), (ROWS, COLUMNS)), ((0, 2, 1), (3, 32771, 21846)), ((2, 0, 1), (ROWS, 2**11, 2**11))]
)
def test_permutes_of_arrays_beyond_two_to_the_31_elements(order: tuple[int, ...], extents: tuple[int, ...]) -> None:
    torch = torch_with_room(4 * ROWS * COLUMNS)
    shapes = [", ".join(map(str, e)) for e in (extents, [extents[axis] for axis in order])]
    text = f"func f(x: i8[{shapes[0]}]) -> i8[{shapes[1]}] {{\n    return permute(x, {list(order)})\n}}\n"
    x = torch.randint(-128, 127, extents, dtype=torch.int8, device="cuda")
    assert torch.equal(irc.compile(text, "cuda")(x), x.permute(order))


def test_arrays_beyond_4_gib() -> None:
    """The same number of elements of 2 bytes, normed, permuted and summed."""
    torch = torch_with_room(20 * ROWS * COLUMNS)
    text = f"""
dim R = {ROWS}, C = {COLUMNS // 4096}, N = 4096
func f(x: bf16[R, C, N]) -> (bf16[R, N, C], bf16[R, C, N], f32[R]) {{
    return permute(x, [0, 2, 1]), rms_norm(x), sum(x, axis=[1, 2], dtype=f32)
}}
"""
    executable = irc.compile(text, "cuda")
    torch.manual_seed(0)
    x = torch.randn((ROWS, COLUMNS // 4096, 4096), dtype=torch.bfloat16, device="cuda")
    permuted, normed, sums = executable(x)
    assert torch.equal(permuted, x.permute(0, 2, 1))
    for row in (0, ROWS // 2, ROWS - 1):
        one = x[row].double()
        torch.testing.assert_close(sums[row].double(), one.sum(), atol=1.0, rtol=1e-5)
        wanted = one * torch.rsqrt((one * one).mean(-1, keepdim=True) + 1e-6)
        torch.testing.assert_close(normed[row].double(), wanted, atol=1e-3, rtol=1e-2)
