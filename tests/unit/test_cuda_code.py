"""Kernels whose CUDA C++ the user wrote: declared, referred to numpy where there is no GPU, compiled by NVRTC."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from declared_kernels import check_op_of_torch, module_of

import irc
import irc_frontend as ir
from irc.driver.build import build
from irc.driver.program import new_context
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.runtime.artifact import Artifact
from irc.support.diagnostics import IrcError, render
from irc_frontend.kernels import CudaKernel

pytestmark = pytest.mark.usefixtures("on_cpu")

X = np.linspace(-1, 1, 300, dtype=np.float32)
Y = np.full(300, 3, np.float32)

AXPY = r"""
extern "C" __global__ void axpy(const T* x, const T* y, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = T(alpha * float(x[i]) + float(y[i]));
}
"""


def axpy(**options: Any) -> CudaKernel:
    given: dict[str, Any] = {
        "source": AXPY,
        "name": "axpy",
        "operands": "x: T[N], y: T[N], alpha: f32",
        "results": "out: T[N]",
        "grid": lambda N: (N + 127) // 128,
        "block": 128,
        "reference": lambda x, y, alpha: alpha * x + y,
    }
    return ir.cuda_kernel(**(given | options))


def compiled(function: Callable[..., Any], *arrays: Any) -> Artifact:
    return build(module_of(function, *arrays))


def test_other_targets_run_the_reference() -> None:
    kernel = axpy()
    expected = 2 * X + Y
    np.testing.assert_array_equal(kernel(X, Y, 2.0), expected)
    np.testing.assert_array_equal(kernel(X, alpha=2.0, y=Y), expected)
    with ir.target("sim"):
        np.testing.assert_array_equal(kernel(X, Y, 2.0), expected)
    np.testing.assert_allclose(ir.jit(lambda x: ir.exp(kernel(x, Y, 2)))(X), np.exp(expected), rtol=1e-6)


def test_the_gradient_of_the_reference() -> None:
    np.testing.assert_array_equal(ir.grad(lambda x: axpy()(x, Y, 3.0).sum())(X), np.full_like(X, 3))


def test_a_gradient_that_the_user_gives() -> None:
    kernel = axpy()

    @kernel.gradient
    def _(g: ir.Tensor, out: ir.Tensor, x: ir.Tensor, y: ir.Tensor, alpha: float) -> Any:
        return g * (100 * alpha), None

    np.testing.assert_array_equal(ir.grad(lambda x: kernel(x, Y, 2.0).sum())(X), np.full_like(X, 200))


def test_a_gradient_that_nobody_says() -> None:
    kernel = axpy(reference=None)
    with ir.target("cuda"), pytest.raises(IrcError, match="axpy has no gradient") as error:
        ir.grad(lambda x: kernel(x, Y, 2.0).sum())(X)
    assert "@axpy.gradient" in (error.value.hint or "")


def test_the_vmap_of_a_kernel() -> None:
    xs = np.stack([X, 2 * X])
    np.testing.assert_array_equal(ir.vmap(lambda x: axpy()(x, Y, 2.0))(xs), 2 * xs + Y)


def test_nvrtc_compiles_the_text_beside_kernels_of_irc() -> None:
    kernel = axpy()
    artifact = compiled(lambda x, y: ir.exp(kernel(ir.sqrt(x), y, 2.0)), X, Y)
    launched = [step["kernel"] for step in artifact.plan["steps"]]
    assert launched[1] == "axpy_0" and len(launched) == 3
    found = next(each for each in artifact.kernels if each.name == "axpy_0")
    assert found.cubin[:4] == b"\x7fELF" and AXPY in found.source
    assert found.location.startswith(f"{__file__}:")
    entry = next(each for each in artifact.manifest["kernels"] if each["name"] == "axpy_0")
    assert entry["grid"] == [3, 1, 1] and entry["registers"] > 0


@pytest.mark.parametrize(("element", "header"), [("float16", "cuda_fp16.h"), ("float8_e4m3fn", "cuda_fp8.h")])
def test_element_types_are_names_of_the_text(element: str, header: str) -> None:
    x = ir.Tensor(X).astype(element).numpy()
    artifact = compiled(lambda x: axpy(reference=None)(x, x, 2.0), x)
    assert f"#include <{header}>" in artifact.kernels[0].source


def test_two_kinds_of_call_are_two_kernels() -> None:
    kernel = axpy()
    artifact = compiled(lambda x, y: kernel(kernel(kernel(x, y, 2.0), y, 3.0), y, 2.0), X, Y)
    launched = [step["kernel"] for step in artifact.plan["steps"]]
    assert launched == ["axpy_0", "axpy_1", "axpy_0"]


def test_the_ir_is_read_back() -> None:
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    text = print_ir(module)
    assert print_ir(parse_ir(new_context(), text, "again.mlir")) == text
    assert 'entry "axpy"' in text and "constexpr int N = 300;" in text


BUMP = 'extern "C" __global__ void bump(const int* at, float* y) { atomicAdd(&y[at[threadIdx.x]], 1.0f); }'


def test_a_result_that_holds_an_operand_has_one_pointer() -> None:
    """It is a copy, or the operand's own memory where that is donated."""
    bump = ir.cuda_kernel(
        BUMP,
        name="bump",
        operands="x: f32[N], at: i32[K]",
        results="y: f32[N]",
        updates={"y": "x"},
        grid=1,
        block=lambda K: K,
    )
    at = np.zeros(4, np.int32)
    steps = compiled(lambda x, at: bump(x, at), X, at).plan["steps"]
    assert [step["is"] for step in steps] == ["Copy", "Launch"]
    assert [each["space"] for each in steps[1]["parameters"]] == ["argument", "result"]
    donated = irc.compile(module_of(lambda x, at: bump(x, at), X, at), "sim", donate=[0])
    assert donated.manifest["kernels"][0]["block"] == [4, 1, 1]


def test_results_that_are_zero_before() -> None:
    count = ir.cuda_kernel(
        BUMP.replace("bump", "count"),
        name="count",
        operands="at: i32[K]",
        results="y: f32[16]",
        zeroed=["y"],
        grid=1,
        block=lambda K: K,
    )
    steps = compiled(lambda at: count(at), np.zeros(4, np.int32)).plan["steps"]
    assert [step["is"] for step in steps] == ["Memset", "Launch"]


def test_an_error_of_the_text_is_at_its_line_of_the_file() -> None:
    kernel = ir.cuda_kernel(
        r"""
extern "C" __global__ void wrong(const float* x, float* out) {
  out[0] = x[0];
  out[1] = missing(x[1]);  // the line of the error
}
""",
        name="wrong",
        operands="x: f32[N]",
        results="out: f32[N]",
        grid=1,
        block=32,
    )
    with pytest.raises(IrcError) as error:
        compiled(lambda x: kernel(x), X)
    text = render(error.value)
    assert text.startswith(f"{__file__}:") and 'identifier "missing" is undefined' in text
    assert "// the line of the error" in text.splitlines()[1]


def test_an_error_of_a_text_that_no_file_has() -> None:
    kernel = axpy(source="\n".join(AXPY.replace("alpha", "beta").split("\n")))
    with pytest.raises(IrcError) as error:
        compiled(lambda x, y: kernel(x, y, 2.0), X, Y)
    text = render(error.value)
    assert text.startswith('<axpy.cu>:4:3: error: CUDA C++ of axpy: identifier "beta" is undefined')
    assert "out[i] = T(beta" in text.splitlines()[1]


def test_a_header_that_is_not_found() -> None:
    with pytest.raises(IrcError, match="nowhere.h") as error:
        compiled(lambda x, y: axpy(source="#include <nowhere.h>\n" + AXPY)(x, y, 2.0), X, Y)
    assert "cuda_bf16.h" in (error.value.hint or "")


def test_a_kernel_without_c_linkage() -> None:
    with pytest.raises(IrcError, match="has no kernel of this name") as error:
        compiled(lambda x, y: axpy(source=AXPY.replace('extern "C"', ""))(x, y, 2.0), X, Y)
    assert 'extern "C" __global__ void axpy(...)' in (error.value.hint or "")


def test_a_kernel_without_a_reference() -> None:
    with pytest.raises(IrcError, match="axpy is CUDA C\\+\\+, which a GPU alone runs") as error:
        axpy(reference=None)(X, Y, 2.0)
    assert "reference=" in (error.value.hint or "")
    assert str(error.value).startswith(f"{__file__}:")


@pytest.mark.parametrize("target", ["cpu", "sim", "interpret"])
def test_ir_of_a_kernel_is_for_a_gpu(target: str) -> None:
    module = module_of(lambda x, y: axpy()(x, y, 2.0), X, Y)
    with pytest.raises(IrcError, match="axpy_0 is") as error:
        irc.compile(module, target)(X, Y)
    assert "reference=" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"operands": "x: f33[N], y: T[N], alpha: f32"}, "x has the unknown element type f33", "there are f64, f32"),
        ({"operands": "x: T[N], y, alpha: f32"}, "operands: cannot read 'y'", "is an array"),
        ({"operands": "x: T[N], y: T[N], alpha: bf16"}, "the number alpha is bf16", "numbers are f64, f32"),
        ({"operands": "x: T[N], x: T[N], alpha: f32"}, "operands: x is there twice", ""),
        ({"operands": "x: T[N], y: T[N ** 2], alpha: f32"}, "cannot read the extent 'N ** 2' of y", "+ - * // %"),
        ({"results": "out: T[M]"}, "out: T[M] has the unknown extent M", "operands have the extents: N, alpha"),
        ({"results": "out: U[N]"}, "out: U[N] has an element type that no operand has", ""),
        ({"results": ""}, "results: axpy has none", ""),
        ({"results": "x: T[N]"}, "axpy has x twice", ""),
        ({"name": "saxpy"}, "the text has no kernel saxpy", 'extern "C"'),
        ({"grid": lambda M: M}, "grid is a function of M, which no operand declares", "names are N, alpha"),
        ({"updates": {"out": "z"}}, "updates: expected a result and an operand", "operands: x, y"),
        ({"zeroed": ["x"]}, "zeroed: expected results, found 'x'", "results: out"),
    ],
)
def test_declarations_that_are_wrong(options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(IrcError) as error:
        axpy(**options)
    assert message in error.value.message
    assert hint in (error.value.hint or "")
    assert str(error.value).startswith(f"{__file__}:")


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ((X, Y), "axpy takes 3 operands, found 2"),
        ((X, Y[:7], 2.0), "axpy takes y: T[N] with N = 300, found f32[7]"),
        ((X, Y.astype(np.float64), 2.0), "axpy takes y: T[N], T = f32, found f64[300]"),
        ((X, Y, Y), "axpy takes a number of Python for alpha: f32, found an array f32[300]"),
        ((X, 1.0, 2.0), "axpy takes an array for y: T[N], found the number 1.0"),
        ((X, Y, "2"), "axpy takes a number of Python for alpha: f32, found '2'"),
    ],
)
def test_calls_that_are_wrong(operands: Any, message: str) -> None:
    with pytest.raises(IrcError) as error:
        axpy()(*operands)
    assert message in error.value.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 2048}, "block of axpy is 2048"),
        ({"grid": lambda N: N - 300}, "grid of axpy is 0"),
        ({"grid": (1, 2, 3, 4)}, "grid of axpy is (1, 2, 3, 4)"),
        ({"shared": -1}, "shared of axpy is -1"),
        ({"reference": lambda x, y, alpha: x[:4]}, "the reference of axpy gives f32[4]"),
    ],
)
def test_launches_that_are_wrong(options: dict[str, Any], message: str) -> None:
    with ir.target("cuda"), pytest.raises(IrcError) as error:
        axpy(**options).module(X, Y, 2.0)
    assert message in error.value.message


def test_the_example_equalizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    example = importlib.import_module("cuda_kernel")
    found = example.main()
    np.testing.assert_allclose(np.quantile(found, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.05)
    image = np.zeros((64, 64), np.uint8)
    artifact = compiled(lambda x: example.histogram(x, 64), image.reshape(-1))
    assert [step["is"] for step in artifact.plan["steps"]] == ["Memset", "Launch"]


def test_it_is_an_op_of_torch() -> None:
    check_op_of_torch(axpy())


def test_a_kernel_of_python_may_have_any_name() -> None:
    """Also that of irc's own kernels, which are called after their function."""

    @ir.kernel
    def graph(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        for m in ir.tiles(*x.shape):
            out[m] = x[m] * 2
        return out

    artifact = compiled(lambda x: ir.exp(graph(ir.sqrt(x))).sum(), np.abs(X))
    names = [each.name for each in artifact.kernels]
    assert len(names) == len(set(names)) and "graph_kernel_0" in names
