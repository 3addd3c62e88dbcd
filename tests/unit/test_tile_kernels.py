"""`tile-kernels` keeps the meaning of kernels: the kernel level and the tile level give the same results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tile_cases import CASES, Case
from tile_cases_products import NN, PRODUCTS, SMALL, dims
from tile_cases_reductions import REDUCTIONS
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, scf
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.parser import Parser

from irc.dialects.cuda import Cuda
from irc.dialects.kernel import Kernel
from irc.dialects.nd import Nd
from irc.dialects.scalar import Scalar
from irc.dialects.tile import ProgramOp, Tile
from irc.interpreters import kernel
from irc.interpreters.nd import interpreter as nd
from irc.interpreters.tile import interpreter as tile
from irc.ir.dtypes import element_of
from irc.passes.kernel.split_reductions import SplitReductionsPass
from irc.passes.tile.tile_kernels import TileKernelsPass
from irc.support.diagnostics import IrcError

assert kernel, "importing it registers what kernel.fused means"

TOLERANCE = {8: 1e-12, 4: 2e-6, 2: 1e-2, 1: 0.15}
"""Relative to the largest value, by the bytes of the element type: sums are associated in another order."""


def context() -> Context:
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, math.Math, scf.Scf, Nd, Kernel, Tile, Scalar, Cuda):
        ctx.load_dialect(dialect)
    return ctx


def draw(type: Any, rng: np.random.Generator, scale: float) -> np.ndarray[Any, Any]:
    element, shape = element_of(type), type.get_shape()
    if element.is_float:
        return (rng.standard_normal(shape) * scale).astype(np.float32).astype(element.dtype)
    if element.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    return rng.integers(-9 if element.kind == "int" else 0, 10, shape).astype(element.dtype)


def check_same(expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> None:
    assert expected.dtype == found.dtype
    assert expected.shape == found.shape
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(found, expected)
        return
    a, b = expected.astype(np.float64), found.astype(np.float64)
    largest = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    tolerance = TOLERANCE[expected.dtype.itemsize] * max(largest, 1e-30)
    np.testing.assert_allclose(b, a, rtol=0, atol=tolerance)


def tiled(case: Case, before: Sequence[Any] = ()) -> Any:
    ctx = context()
    module = Parser(ctx, case.text()).parse_module()
    module.verify()
    arguments = nd.entry(module, None).body.block.args
    rng = np.random.default_rng(0)
    args = [draw(a.type, rng, case.scale) for a in arguments]
    expected = nd.evaluate(module, args)
    for transform in (*before, TileKernelsPass()):
        transform.apply(ctx, module)
    module.verify()
    return module, args, expected


@pytest.mark.parametrize("case", [*CASES, *REDUCTIONS, *PRODUCTS], ids=lambda c: c.name)
def test_meaning_is_kept(case: Case) -> None:
    module, args, expected = tiled(case)
    text = str(module)
    again = Parser(context(), text).parse_module()
    again.verify()
    assert str(again) == text
    for a, b in zip(expected, tile.evaluate(again, args), strict=True):
        check_same(a, b)


SPLIT = [
    Case("row-sum", "matmul" + SMALL, "%x: 20x24xf32, %w: 24x40xf32", f"""
           %p = nd.matmul %x, %w {{{NN}}} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
           %e = nd.exp %p : tensor<20x40xf32>
           %s = nd.sum %e {{axes = [1]}} : tensor<20x40xf32> -> tensor<20xf32>
           %r = nd.relu %s : tensor<20xf32>""", "%r: 20xf32", 0.2),
    Case("results-and-sums", "matmul" + SMALL, "%x: 20x24xf32, %w: 24x40xf32, %b: 40xf32", f"""
           %p = nd.matmul %x, %w {{{NN}}} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
           %bb = nd.broadcast %b {{dims = [1]}} : tensor<40xf32> -> tensor<20x40xf32>
           %q = nd.add %p, %bb : tensor<20x40xf32>
           %s = nd.sum %q {{axes = [1]}} : tensor<20x40xf32> -> tensor<20xf32>
           %t = nd.max %q {{axes = [0]}} : tensor<20x40xf32> -> tensor<40xf32>
           %u = nd.sum %q {{axes = [0, 1]}} : tensor<20x40xf32> -> tensor<f32>""", "%q: 20x40xf32, %s: 20xf32, %t: 40xf32, %u: f32"),
    Case("sums-only", "matmul" + SMALL, "%x: 32x24xf32, %w: 24x48xf32", f"""
           %q = nd.matmul %x, %w {{{NN}}} : (tensor<32x24xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
           %s = nd.sum %q {{axes = [1]}} : tensor<32x48xf32> -> tensor<32xf32>
           %t = nd.max %q {{axes = [0]}} : tensor<32x48xf32> -> tensor<48xf32>
           %u = nd.max %q {{axes = [0, 1]}} : tensor<32x48xf32> -> tensor<f32>""", "%s: 32xf32, %t: 48xf32, %u: f32"),
    Case("small-tile", "matmul" + SMALL, "%x: 5x24xf32, %w: 24x7xf32", f"""
           %q = nd.matmul %x, %w {{{NN}}} : (tensor<5x24xf32>, tensor<24x7xf32>) -> tensor<5x7xf32>
           %s = nd.sum %q {{axes = [1]}} : tensor<5x7xf32> -> tensor<5xf32>
           %t = nd.prod %q {{axes = [0]}} : tensor<5x7xf32> -> tensor<7xf32>""", "%s: 5xf32, %t: 7xf32"),
    Case("batch", "matmul" + SMALL, "%x: 3x20x24xf32, %w: 3x24x40xf32", f"""
           %q = nd.matmul %x, %w {{{dims("0", "0", "2", "1")}}} : (tensor<3x20x24xf32>, tensor<3x24x40xf32>) -> tensor<3x20x40xf32>
           %s = nd.sum %q {{axes = [2]}} : tensor<3x20x40xf32> -> tensor<3x20xf32>
           %t = nd.sum %q {{axes = [0, 1]}} : tensor<3x20x40xf32> -> tensor<40xf32>""", "%s: 3x20xf32, %t: 40xf32"),
    Case("long-rows", 'reduce config<tile = {d = 1, r = 16}, reduction = "looped", split = 4>', "%x: 3x150xf32", """
           %e = nd.exp %x : tensor<3x150xf32>
           %s = nd.sum %e {axes = [1]} : tensor<3x150xf32> -> tensor<3xf32>
           %t = nd.max %x {axes = [1]} : tensor<3x150xf32> -> tensor<3xf32>
           %r = nd.div %s, %t : tensor<3xf32>""", "%r: 3xf32, %t: 3xf32", 0.2),
    Case("everything", 'reduce config<tile = {d = 1, r = 16}, reduction = "looped", split = 4>', "%x: 7x30xf32", """
           %e = nd.exp %x : tensor<7x30xf32>
           %s = nd.sum %e {axes = [0, 1]} : tensor<7x30xf32> -> tensor<f32>""", "%s: f32"),
]  # fmt: skip


@pytest.mark.parametrize("case", SPLIT, ids=lambda c: c.name)
def test_partial_results(case: Case) -> None:
    module, args, expected = tiled(case, [SplitReductionsPass()])
    for a, b in zip(expected, tile.evaluate(module, args), strict=True):
        check_same(a, b)


def test_long_chains_do_not_recurse() -> None:
    lines = ["%v0 = nd.add %a, %b : tensor<33xf32>"]
    lines += [f"%v{i + 1} = nd.{'sub' if i % 2 else 'add'} %v{i}, %b : tensor<33xf32>" for i in range(3000)]
    case = Case("chain", "map", "%a: 33xf32, %b: 33xf32", "\n".join(lines), "%v3000: 33xf32")
    module, args, expected = tiled(case)
    check_same(expected[0], tile.evaluate(module, args)[0])


def test_locations_are_those_of_the_nd_ops() -> None:
    text = """
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = kernel.fused map (%a = %x : tensor<8xf32>) -> tensor<8xf32> {
    %e = "nd.exp"(%a) : (tensor<8xf32>) -> tensor<8xf32> loc("p.irc":3:7)
    %n = "nd.neg"(%e) : (tensor<8xf32>) -> tensor<8xf32> loc("p.irc":4:7)
    kernel.yield %n : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
"""
    ctx = context()
    module = Parser(ctx, text).parse_module()
    TileKernelsPass().apply(ctx, module)
    lines = {
        op.name: op.location.line.data
        for op in module.walk()
        if isinstance(op.location, FileLineColLoc) and op.name in ("math.exp", "arith.negf", "tile.store")
    }
    assert lines == {"math.exp": 3, "arith.negf": 4, "tile.store": 4}


def test_unchecked_access_out_of_range_is_an_error() -> None:
    text = """
tile.program @p(%x: !tile.view<5xf32>, %y: !tile.view<8xf32>) {results = 1 : i64} {
  tile.for_tiles (%i) extents [8] steps [8] {
    %a = tile.load %x[%i] : !tile.view<5xf32> -> tensor<8xf32>
    tile.store %a, %y[%i] : tensor<8xf32>, !tile.view<8xf32>
  }
}
"""
    module = Parser(context(), text).parse_module()
    program = module.body.block.first_op
    assert isinstance(program, ProgramOp)
    with pytest.raises(
        IrcError, match=r"'tile.load': dimension 0 of the view is accessed out of range, found 0 to 7 of 5"
    ):
        tile.run_program(program, [np.ones(5, np.float32)], [builtin.TensorType(builtin.f32, [8])])


def test_a_role_that_waits_in_vain_is_an_error() -> None:
    text = """
tile.program @p() {results = 0 : i64} {
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 1 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.release %s
  } @compute warps 1 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  }
}
"""
    module = Parser(context(), text).parse_module()
    program = module.body.block.first_op
    assert isinstance(program, ProgramOp)
    with pytest.raises(IrcError, match="waits for a stage"):
        tile.run_program(program, [], [])
