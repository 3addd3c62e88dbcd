"""Functions of Triton on a GPU: what their references give, in graphs, saved, with scratch memory, trained by torch."""

# pyright: reportMissingParameterType=false, reportInvalidTypeForm=false

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irc
import irc_frontend as ir
from irc.runtime.driver import is_present

triton: Any = pytest.importorskip("triton")
tl: Any = pytest.importorskip("triton.language")

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]


@triton.jit
def axpy_of(x, y, out, N, alpha, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = alpha * tl.load(x + at, mask=at < N).to(tl.float32) + tl.load(y + at, mask=at < N).to(tl.float32)
    tl.store(out + at, found.to(out.dtype.element_ty), mask=at < N)


@triton.jit
def softmax_of(out, x, N, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * stride + at, mask=at < N, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * stride + at, powers / tl.sum(powers, 0), mask=at < N)


@triton.jit
def product_of(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(0, K, BK):
        k = step + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def numbers_of(out, flag, wide, exact):
    tl.store(out, wide % 1000)
    tl.store(out + 1, tl.where(flag, 7, 8))
    tl.store(out + 2, (exact * 1e9).to(tl.int64) % 1000)


@triton.jit
def bump_of(at, y):
    tl.atomic_add(y + tl.load(at + tl.program_id(0)), 1.0)


@triton.jit
def doubled_of(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    place = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(place, source.load(place) * 2)


axpy = ir.triton_kernel(
    axpy_of,
    operands="x: T[N], y: T[N], alpha: f32",
    results="out: T[N]",
    values={"BLOCK": 256},
    grid=lambda N, BLOCK: triton.cdiv(N, BLOCK),
    reference=lambda x, y, alpha: (alpha * x.astype("f32") + y.astype("f32")).astype(x.dtype),
)
softmax = ir.triton_kernel(
    softmax_of,
    operands="x: f32[M, N]",
    results="out: f32[M, N]",
    values={"stride": lambda N: N, "BLOCK": lambda N: triton.next_power_of_2(N)},
    grid=lambda M: M,
    reference=lambda x: ir.softmax(x, 1),
)
product = ir.triton_kernel(
    product_of,
    operands="a: T[M, K], b: T[K, N]",
    results="c: T[M, N]",
    values={"BM": 64, "BN": 128, "BK": 64},
    grid=lambda M, N, BM, BN: (triton.cdiv(M, BM), triton.cdiv(N, BN)),
    num_warps=4,
    num_stages=4,
    reference=lambda a, b: a @ b,
)
bump = ir.triton_kernel(
    bump_of, operands="x: f32[N], at: i32[K]", results="y: f32[N]", updates={"y": "x"}, grid=lambda K: K
)
doubled = ir.triton_kernel(
    doubled_of,
    operands="x: f32[M, N]",
    results="out: f32[M, N]",
    values={"BM": 32, "BN": 64},
    grid=lambda M, N, BM, BN: (triton.cdiv(M, BM), triton.cdiv(N, BN)),
)


def drawn(*shape: int, element: str = "f32") -> np.ndarray[Any, Any]:
    return ir.Tensor(np.random.default_rng(0).standard_normal(shape, np.float32)).astype(element).numpy()


def both(function: Any, *arrays: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What a function gives on the GPU, and by the reference."""
    with ir.target("cuda"):
        found = function(*arrays)
    with ir.target("interpret"):
        expected = function(*arrays)
    return found.astype(np.float32), expected.astype(np.float32)


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("size", [1, 1000, 4096])
def test_an_elementwise_function(element: str, size: int) -> None:
    x = drawn(size, element=element)
    found, expected = both(lambda x: axpy(x, x[::-1], 0.5), x)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape", [(7, 100), (64, 1024)])
def test_a_softmax_of_rows(shape: tuple[int, int]) -> None:
    found, expected = both(softmax, drawn(*shape))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [(512, 384, 256), (100, 200, 72)])
def test_a_product(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    a, b = drawn(m, k, element="bf16"), drawn(k, n, element="bf16")
    found, expected = both(product, a, b)
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-1)


def test_it_stands_in_a_graph() -> None:
    a, b = drawn(256, 128, element="bf16"), drawn(128, 192, element="bf16")

    @ir.jit
    def rows(a: Any, b: Any) -> Any:
        return (softmax(product(ir.tanh(a), b).astype("f32")) * 2).sum(1)

    found, expected = both(rows, a, b)
    np.testing.assert_allclose(found, expected, rtol=1e-2)
    np.testing.assert_allclose(found, 2, rtol=1e-3)


@pytest.mark.parametrize("flag", [True, False])
def test_numbers_of_all_types_are_passed(flag: bool) -> None:
    kernel = ir.triton_kernel(
        numbers_of, operands="flag: bool, wide: i64, exact: f64", results="out: i64[3]", grid=1, num_warps=1
    )
    with ir.target("cuda"):
        found = kernel(flag, (1 << 40) + 5, 0.123456789)
    np.testing.assert_array_equal(found, [(2**40 + 5) % 1000, 7 if flag else 8, 789])


def test_a_result_begins_as_its_operand() -> None:
    x, at = np.zeros(8, np.float32), np.array([1, 1, 5, 7], np.int32)
    with ir.target("cuda"):
        found = bump(x, at)
    np.testing.assert_array_equal(found, [0, 2, 0, 0, 0, 1, 0, 1])
    assert not x.any()


def test_descriptors_of_triton_lie_in_scratch_memory() -> None:
    x = drawn(128, 256)
    with ir.target("cuda"):
        np.testing.assert_array_equal(doubled(x), 2 * x)
        np.testing.assert_array_equal(ir.jit(lambda x: doubled(doubled(x)) + 1)(x), 4 * x + 1)


def test_a_saved_executable_runs_without_triton(tmp_path: Path) -> None:
    x = drawn(1000)
    with ir.target("cuda"):
        module = axpy.module(x, x, 2.0)
    path = tmp_path / "axpy.irx"
    irc.compile(module, "cuda").save(path)
    np.save(tmp_path / "x.npy", x)
    program = f"""
import sys
import numpy as np
sys.modules["triton"] = None
from irc.runtime.saved import load
x = np.load({str(tmp_path / "x.npy")!r})
np.testing.assert_allclose(load({str(path)!r})(x, x), 3 * x, rtol=1e-6)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_example_smooths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    example = importlib.import_module("triton_kernel")
    found, expected = both(lambda: example.main())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_it_is_trained_under_torch_compile() -> None:
    torch: Any = pytest.importorskip("torch")
    from irc_frontend.torch import backend

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(64, 96, device="cuda")

        def forward(self, x: Any, y: Any) -> Any:
            return softmax(axpy(self.inner(x).reshape(-1), y.reshape(-1), 2.0).reshape(32, 96)) * y

    torch.manual_seed(0)
    model = Model()
    x, y = torch.randn(32, 64, device="cuda"), torch.randn(32, 96, device="cuda")
    run = torch.compile(model, backend=backend, fullgraph=True)
    found = run(x, y)
    found.square().sum().backward()
    gradients = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    expected = torch.softmax(2 * model.inner(x) + y, 1) * y
    expected.square().sum().backward()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    for gradient, each in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, each.grad, rtol=1e-2, atol=1e-3)


def test_it_is_called_with_arrays_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(axpy(x, x, 2.0), 3 * x)
    torch.testing.assert_close(axpy(x[1:], x[:-1], 2.0), 2 * x[1:] + x[:-1])
