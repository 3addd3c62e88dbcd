"""Rows of odd pitch that a loop walks over: vectors are put together from aligned words, on the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irc
import irc_frontend as ir
from irc.dialects import cuda, tile
from irc.driver.lowering import lower

ROWS, COLUMNS, STEP = 5, 1003, 512


def program(element: str) -> str:
    """The sums of each STEP-th column of the rows: what is behind the end of a row is added as it was loaded."""
    x, y, t = f"{ROWS}x{COLUMNS}x{element}", f"{ROWS}x{STEP}xf32", f"tensor<1x{STEP}x{element}>"
    s = f"tensor<1x{STEP}xf32>"
    return f"""builtin.module {{
  func.func @f(%x: tensor<{x}>) -> tensor<{y}> {{
    %0 = kernel.launch @f_0(%x) : (tensor<{x}>) -> tensor<{y}>
    func.return %0 : tensor<{y}>
  }}
  tile.program @f_0(%x: !tile.view<{x}>, %y: !tile.view<{y}>) {{results = 1 : i64, config = #kernel.config<warps = 1>}} {{
    tile.for_tiles (%m) extents [{ROWS}] steps [1] {{
      %c0 = arith.constant 0 : index
      %end = arith.constant {COLUMNS} : index
      %step = arith.constant {STEP} : index
      %zero = arith.constant 0.0 : f32
      %s0 = tile.splat %zero : f32 -> {s}
      %sum = scf.for %n = %c0 to %end step %step iter_args(%s = %s0) -> ({s}) {{
        %xt = tile.load %x[%m, %n] {{checked = array<i64: 1>}} : !tile.view<{x}> -> {t}
        %next = tile.map %s, %xt : {s}, {t} -> {s} {{
        ^bb0(%a: f32, %b: {element}):
          %wide = arith.extf %b : {element} to f32
          %c = arith.addf %a, %wide : f32
          tile.yield %c : f32
        }}
        scf.yield %next : {s}
      }}
      tile.store %sum, %y[%m, %c0] : {s}, !tile.view<{y}>
    }}
  }}
}}"""


@pytest.mark.parametrize(("element", "dtype"), [("bf16", ml_dtypes.bfloat16), ("f16", np.float16)])
def test_what_is_behind_a_row_is_0(element: str, dtype: Any, tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(program(element))
    x = np.random.default_rng(0).integers(-8, 9, (ROWS, COLUMNS)).astype(dtype)
    executable = irc.compile(tmp_path / "f.mlir", target="sim")
    padded = np.zeros((ROWS, 2 * STEP))
    padded[:, :COLUMNS] = x
    np.testing.assert_array_equal(np.asarray(executable(x)), padded[:, :STEP] + padded[:, STEP:])


@ir.kernel
def log_sums(x: ir.Tensor):
    """Of exponentials, in one walk over each row."""
    M, N = x.shape
    out = ir.empty(M)
    for m in ir.tiles(M):
        top, total = ir.full((m,), -np.inf), ir.zeros((m,))
        for n in ir.tiles(N):
            row = x[m, n].astype("f32")
            new = ir.maximum(top, row.max(axis=1))
            total = total * ir.exp(top - new) + ir.exp(row - new[:, None]).sum(axis=1)
            top = new
        out[m] = ir.log(total) + top
    return out


@pytest.mark.parametrize("columns", [5003, 8191, 8193])
def test_sums_over_odd_rows(columns: int) -> None:
    x = np.random.default_rng(1).standard_normal((3, columns)).astype(ml_dtypes.bfloat16)
    found = log_sums.with_config(tile={"m": 1, "n": 4096}, warps=4)
    lowered = lower(found.module(x), "cuda", arch="sm_90a")
    assert any(isinstance(op, cuda.LoadAcrossOp) for op in lowered.walk())
    with ir.target("sim"):
        values = found(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(values, np.log(np.exp(wide).sum(1)), rtol=1e-6)


def test_whole_vectors_are_loaded_as_before() -> None:
    x = np.zeros((3, 5000), ml_dtypes.bfloat16)
    loads = [op for op in lower(log_sums.module(x), "tile", arch="sm_90a").walk() if isinstance(op, tile.LoadOp)]
    assert not any(op.across or op.exact for op in loads)
