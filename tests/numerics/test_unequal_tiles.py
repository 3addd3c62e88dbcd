"""Tiles of unequal columns that meet in a vector of their rows, as tile programs, on the simulator."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc

DEPTH = 32

TILES = [(32, 16, 64), (64, 80, 128), (64, 128, 64), (192, 80, 112), (48, 48, 96), (64, 176, 144)]


def two_products(config: str, rows: int, first: int, second: int) -> str:
    """The product of x and v, less the largest element of each row of the product of x and w. A block has `rows` rows
    of both, and `first` and `second` columns."""
    x, w, v, y = (
        f"{2 * rows}x{DEPTH}xbf16",
        f"{DEPTH}x{first}xbf16",
        f"{DEPTH}x{second}xbf16",
        f"{2 * rows}x{second}xf32",
    )
    s, o, row = f"tensor<{rows}x{first}xf32>", f"tensor<{rows}x{second}xf32>", f"tensor<{rows}x1xf32>"
    xt = f"tensor<{rows}x{DEPTH}xbf16>"
    return f"""builtin.module {{
  func.func @f(%x: tensor<{x}>, %w: tensor<{w}>, %v: tensor<{v}>) -> tensor<{y}> {{
    %0 = kernel.launch @f_0(%x, %w, %v) : (tensor<{x}>, tensor<{w}>, tensor<{v}>) -> tensor<{y}>
    func.return %0 : tensor<{y}>
  }}
  tile.program @f_0(%x: !tile.view<{x}>, %w: !tile.view<{w}>, %v: !tile.view<{v}>, %y: !tile.view<{y}>) \
{{results = 1 : i64, config = #kernel.config<{config}>}} {{
    tile.for_tiles (%i) extents [{2 * rows}] steps [{rows}] {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %s0 = tile.splat %zero : f32 -> {s}
      %o0 = tile.splat %zero : f32 -> {o}
      %xt = tile.load %x[%i, %c0] : !tile.view<{x}> -> {xt}
      %wt = tile.load %w[%c0, %c0] : !tile.view<{w}> -> tensor<{w}>
      %s = tile.dot %xt, %wt, %s0 : {xt}, tensor<{w}>, {s} -> {s}
      %most = tile.reduce %s {{axes = array<i64: 1>}} : {s} -> {row} {{
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }}
      %vt = tile.load %v[%c0, %c0] : !tile.view<{v}> -> tensor<{v}>
      %o = tile.dot %xt, %vt, %o0 : {xt}, tensor<{v}>, {o} -> {o}
      %r = tile.map %o, %most : {o}, {row} -> {o} {{
      ^bb0(%a: f32, %b: f32):
        %c = arith.subf %a, %b : f32
        tile.yield %c : f32
      }}
      tile.store %r, %y[%i, %c0] : {o}, !tile.view<{y}>
    }}
  }}
}}"""


@long(2)
@pytest.mark.parametrize("config", ['instruction = "fma"', 'instruction = "mma", warps = 4'])
@pytest.mark.parametrize(("rows", "first", "second"), TILES)
def test_products_that_meet_in_a_vector(config: str, rows: int, first: int, second: int, tmp_path: Path) -> None:
    if (rows, config[15:18]) == (48, "mma"):
        config = config.replace("4", "6")  # three along the rows
    (tmp_path / "f.mlir").write_text(two_products(config, rows, first, second))
    rng = np.random.default_rng(0)
    shapes = [(2 * rows, DEPTH), (DEPTH, first), (DEPTH, second)]
    x, w, v = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)
    found = np.asarray(irc.compile(tmp_path / "f.mlir", target="sim")(x, w, v))
    x, w, v = (array.astype(np.float64) for array in (x, w, v))
    np.testing.assert_allclose(found, x @ v - (x @ w).max(1, keepdims=True), atol=1e-3)


ROWS = """builtin.module {
  func.func @f(%x: tensor<64x64xf32>, %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
    %0 = kernel.launch @f_0(%x, %y) : (tensor<64x64xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
    func.return %0 : tensor<64x48xf32>
  }
  tile.program @f_0(%x: !tile.view<64x64xf32>, %y: !tile.view<64x48xf32>, %o: !tile.view<64x48xf32>) {results = 1 : i64} {
    tile.for_tiles (%m) extents [64] steps [32] {
      %c0 = arith.constant 0 : index
      %xt = tile.load %x[%m, %c0] : !tile.view<64x64xf32> -> tensor<32x64xf32>
      %s = tile.reduce %xt {axes = array<i64: 1>} : tensor<32x64xf32> -> tensor<32x1xf32> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      %yt = tile.load %y[%m, %c0] : !tile.view<64x48xf32> -> tensor<32x48xf32>
      %r = tile.map %yt, %s : tensor<32x48xf32>, tensor<32x1xf32> -> tensor<32x48xf32> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.subf %a, %b : f32
        tile.yield %c : f32
      }
      tile.store %r, %o[%m, %c0] : tensor<32x48xf32>, !tile.view<64x48xf32>
    }
  }
}"""


def test_a_vector_is_converted_between_tiles_that_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(ROWS)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((64, columns)).astype(np.float32) for columns in (64, 48))
    found = np.asarray(irc.compile(tmp_path / "f.mlir", target="sim")(x, y))
    np.testing.assert_allclose(found, y - x.sum(1, keepdims=True), atol=1e-4)
