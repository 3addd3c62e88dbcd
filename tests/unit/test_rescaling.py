"""A walk over long rows keeps a maximum and the sums that are relative to it, whatever order the row comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import TILE
from irc.driver.program import new_context, parse
from irc.interpreters.tile import interpreter as tile
from irc.ir.parser import parse_ir

PROGRAM = """
func.func @f(%x: tensor<9x37xf32>, %w: tensor<9x37xf32>) -> (tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {{
  %m, %s, %p = kernel.fused @k reduce config<tile = {{d = 4, r = 8}}, reduction = "{style}"> (%a = %x : tensor<9x37xf32>, %b = %w : tensor<9x37xf32>) -> (tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {{
    %max = nd.max %a {{axes = [1]}} : tensor<9x37xf32> -> tensor<9xf32>
    %mb = nd.broadcast %max {{dims = [0]}} : tensor<9xf32> -> tensor<9x37xf32>
    %d = nd.sub %a, %mb : tensor<9x37xf32>
    %e = nd.exp %d : tensor<9x37xf32>
    %sum = nd.sum %e {{axes = [1]}} : tensor<9x37xf32> -> tensor<9xf32>
    %q = nd.{op} %e, %b : tensor<9x37xf32>
    %weighted = nd.sum %q {{axes = [1]}} : tensor<9x37xf32> -> tensor<9xf32>
    kernel.yield %max, %sum, %weighted : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
  }}
  func.return %m, %s, %p : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
}}
"""


def rows() -> np.ndarray[Any, Any]:
    """Rows that rise, fall, start with -inf, are all -inf, and hold infinities and NaN early and late."""
    x = np.random.default_rng(0).standard_normal((9, 37)).astype(np.float32) * 10
    x[1], x[2] = np.arange(37), -np.arange(37) * 5
    x[3, :20] = -np.inf
    x[4] = -np.inf
    x[5, 3], x[6, 36] = np.inf, np.inf
    x[7, 0], x[8, 36] = np.nan, np.nan
    return x


def lowered(style: str, op: str) -> ModuleOp:
    module = parse_ir(new_context(), PROGRAM.format(style=style, op=op), "rows.mlir")
    run_passes(module, passes_of(("tile-kernels", "assign-layouts")))
    module.verify()
    return module


@pytest.mark.parametrize("op", ["mul", "div"])
def test_special_values(op: str) -> None:
    x, w = rows(), np.random.default_rng(1).uniform(0.5, 2, (9, 37)).astype(np.float32)
    module = lowered("looped", op)
    with np.errstate(all="ignore"):
        found = tile.evaluate(module, [x, w])
        top = x.max(axis=1)
        e = np.exp(x.astype(np.float64) - top[:, None])
        expected = top, e.sum(axis=1), (e * w if op == "mul" else e / w).sum(axis=1)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5)


def test_one_walk() -> None:
    """A maximum and the sum relative to it are read together; what is weighted takes a walk of its own."""
    assert str(lowered("looped", "mul")).count("scf.for ") == 2
    assert str(lowered("looped", "add")).count("scf.for ") == 2


@pytest.mark.parametrize(
    "lines",
    [
        "return -take_along(log_softmax(x, axis=1), labels[:, None], axis=1)",
        "top = max(x, axis=1, keepdims=true)\n"
        "return log(sum(exp(x - top), axis=1, keepdims=true)) + top - take_along(x, labels[:, None], axis=1)",
    ],
)
def test_logits_are_read_once(lines: str) -> None:
    """However a cross entropy is written: the row is walked over once, and one element of it is picked."""
    head = "func cross_entropy(x: f32[400, 20000], labels: i64[400]) -> f32[400, 1] {\n"
    module = parse(f"{head}{lines}\n}}\n", "cross_entropy.irc")
    run_passes(module, passes_of(TILE))
    assert str(module).count("scf.for ") == 1
    assert str(module).count("tile.load %x") == 2
