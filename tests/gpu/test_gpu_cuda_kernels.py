"""Kernels given as CUDA C++ on a GPU: what their references give, in graphs, in place, trained by torch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.driver import is_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

AXPY = r"""
extern "C" __global__ void axpy(const T* x, const T* y, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = T(alpha * float(x[i]) + float(y[i]));
}
"""
axpy = ir.cuda_kernel(
    AXPY,
    name="axpy",
    operands="x: T[N], y: T[N], alpha: f32",
    results="out: T[N]",
    grid=lambda N: (N + 127) // 128,
    block=128,
    reference=lambda x, y, alpha: (alpha * x.astype("f32") + y.astype("f32")).astype(x.dtype),
)
bump = ir.cuda_kernel(
    'extern "C" __global__ void bump(const int* at, float* y) { atomicAdd(&y[at[threadIdx.x]], 1.0f); }',
    name="bump",
    operands="x: f32[N], at: i32[K]",
    results="y: f32[N]",
    updates={"y": "x"},
    grid=1,
    block=lambda K: K,
)


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_it_computes_what_its_reference_does(element: str) -> None:
    drawn = np.random.default_rng(0)
    x, y = (ir.Tensor(drawn.standard_normal(1000, np.float32)).astype(element).numpy() for _ in range(2))
    with ir.target("interpret"):
        expected = axpy(x, y, 0.5)
    with ir.target("cuda"):
        found = axpy(x, y, 0.5)
    np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), rtol=1e-2, atol=1e-2)


def test_it_stands_in_a_graph() -> None:
    x = np.linspace(1, 2, 4096, dtype=np.float32)
    with ir.target("cuda"):
        found = ir.jit(lambda x: ir.exp(axpy(ir.sqrt(x), x, 2)).sum())(x)
    np.testing.assert_allclose(found, np.exp(2 * np.sqrt(x) + x).sum(), rtol=1e-5)


def test_a_result_begins_as_its_operand() -> None:
    x, at = np.zeros(8, np.float32), np.array([1, 1, 5, 7], np.int32)
    with ir.target("cuda"):
        found = bump(x, at)
    np.testing.assert_array_equal(found, [0, 2, 0, 0, 0, 1, 0, 1])
    assert not x.any()


def test_the_example_equalizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    example = importlib.import_module("cuda_kernel")
    with ir.target("interpret"):
        expected = example.main()
    with ir.target("cuda"):
        np.testing.assert_allclose(example.main(), expected, rtol=1e-6)


def test_it_is_trained_under_torch_compile() -> None:
    torch: Any = pytest.importorskip("torch")
    from irc_frontend.torch import backend

    x, y = (torch.linspace(-1, 1, 512, device="cuda").requires_grad_() for _ in range(2))
    run = torch.compile(lambda x, y: torch.exp(axpy(x, y, 2.0)).sum(), backend=backend, fullgraph=True)
    run(x, y).backward()
    expected = torch.exp(2 * x + y).detach()
    torch.testing.assert_close(x.grad, 2 * expected)
    torch.testing.assert_close(y.grad, expected)
