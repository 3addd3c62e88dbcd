"""Kernels written in Python on a GPU: their configs are timed, and they are trained in models of PyTorch."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import python_kernels
from kernel_rows import check_row

import irc_frontend as ir
from irc.runtime.driver import is_present
from irc_tools.bench import command
from irc_tools.bench.record import read_record
from irc_tools.bench.rows import Row
from irc_tools.bench.suite import load_suite

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]


product = ir.kernel(python_kernels.product)


@ir.kernel
def rows(table: ir.Tensor, ids: ir.Tensor) -> ir.Tensor:
    out = ir.empty((ids.shape[0], table.shape[1]), table.dtype)
    for m, n in ir.tiles(*out.shape):
        out[m, n] = table[ids[m], n]
    return out


def test_configs_are_timed() -> None:
    x = np.random.default_rng(0).standard_normal((512, 512), np.float32).astype(np.float16)
    given = product.with_configs([{"tile": {"m": 48}}, {"tile": {"m": 64, "n": 32}}, {"tile": {"m": 128, "n": 128}}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = given(x, x)
    expected = x.astype(np.float64) @ x.astype(np.float64)
    assert np.abs(found - expected).max() < 4e-3 * np.abs(expected).max()


@pytest.mark.parametrize("row", load_suite("kernels").rows, ids=lambda row: row.name)
def test_a_row_of_the_suite_is_right(row: Row) -> None:
    check_row(row, "cuda")


def test_the_suite_times_kernels_beside_torch_and_triton(tmp_path: Path) -> None:
    """Where triton is not installed, a note says so."""
    pytest.importorskip("torch")
    options = ["--suite", "kernels", "--filter", "rms_norm", "--quick", "--peers", "all"]
    assert command.main([*options, "--json", str(tmp_path / "r.json")]) == 0
    (row,) = read_record(tmp_path / "r.json").rows
    assert row.lines == 7
    assert {"irc", "copy", "eager"} <= set(row.times)
    assert {"eager", "best"} <= set(row.ratios)
    assert "triton" in row.times or any(note.startswith("triton") for note in row.notes)


def test_numbers_that_are_none_gather_zeros() -> None:
    table = np.arange(60, dtype=np.float32).reshape(10, 6)
    found = rows(table, np.asarray([3, -1, 5, 100], np.int32))
    np.testing.assert_array_equal(found, [table[3], 0 * table[0], table[5], 0 * table[0]])


def test_a_model_with_a_kernel_is_trained() -> None:
    torch: Any = pytest.importorskip("torch")
    from irc_frontend.torch import backend

    class Model(torch.nn.Module):
        def __init__(self, multiply: Any):
            super().__init__()
            self.weight, self.bias = (torch.nn.Parameter(torch.randn(*s) * 0.1) for s in [(128, 256), (256,)])
            self._multiply = multiply

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.gelu(self._multiply(x, self.weight) + self.bias)

    torch.manual_seed(0)
    model, other = (Model(each).to("cuda", torch.bfloat16) for each in (product, torch.matmul))
    other.load_state_dict(model.state_dict())
    x = torch.randn(192, 128, device="cuda", dtype=torch.bfloat16)
    found: list[list[Any]] = []
    for run in (other, model, torch.compile(model, backend=backend, fullgraph=True)):
        run.zero_grad()
        y = run(x)
        y.float().square().mean().backward()
        found.append([y, *(parameter.grad.clone() for parameter in run.parameters())])
    for eager, compiled, expected in zip(found[1], found[2], found[0], strict=True):
        for each in (eager, compiled):
            torch.testing.assert_close(each, expected, rtol=3e-2, atol=3e-2 * expected.abs().max().item())
