"""Products whose parts of K are added up by blocks in turn: right, in the order of the parts, and with nothing but one
array beside the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import long
from xdsl.dialects.builtin import ModuleOp

import irc_frontend as ir
from irc.dialects import cuda
from irc.driver.lowering import lower
from irc.driver.program import isolate, load, signature
from irc.interpreters.sim import SimulationError
from irc.interpreters.tile.interpreter import evaluate
from irc.ir.functions import entry_of
from irc.runtime.sim import SimProgram
from irc.support.diagnostics import IrcError

SERIAL: dict[str, Any] = {"split": 4, "split_sums": "serial"}

CASES: dict[str, tuple[str, dict[str, Any], tuple[int, int, int]]] = {
    "fma": ("sm_80", {"instruction": "fma"}, (72, 256, 40)),
    "mma": ("sm_80", {"instruction": "mma"}, (128, 512, 96)),
    "wgmma": ("sm_90a", {}, (200, 512, 136)),
    "a transposed tile": ("sm_90a", {"swap_ab": True}, (120, 512, 136)),
}


@long(2)
@pytest.mark.parametrize("name", CASES)
def test_parts_are_added(name: str) -> None:
    arch, config, (m, k, n) = CASES[name]
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    operation = ir.MatmulOperation("f16", "f16", "f32", target="sim", arch=arch, config={**SERIAL, **config})
    np.testing.assert_array_equal(operation.run(x, w).sync(), x.astype(np.float32) @ w.astype(np.float32))
    assert len(operation.plan(x, w).kernels) == 1, "no kernel adds up what the first left"


PROGRAM = """\
func.func @f(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %0 = kernel.fused @product matmul config<tile = {m = 16, n = 16, k = 16}, stages = 1, warps = 1, schedule = "grid",
      split = 4, split_sums = "serial", instruction = "fma"> (%a = %x : tensor<32x64xf32>, %b = %w : tensor<64x48xf32>) -> tensor<32x48xf32> {
    %1 = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
    kernel.yield %1 : tensor<32x48xf32>
  }
  func.return %0 : tensor<32x48xf32>
}
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleOp:
    path = tmp_path / "product.mlir"
    path.write_text(PROGRAM)
    return isolate(load(path))


def in_order() -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Operands whose parts are 1e8, 1, -1e8 and 1, and their sum in this order: in f32 it is 1, in others 0 or 2."""
    x = np.zeros((32, 64), np.float32)
    x[:, [0, 16, 32, 48]] = 1e8, 1, -1e8, 1
    return [x, np.ones((64, 48), np.float32)], np.ones((32, 48), np.float32)


def test_parts_are_added_in_their_order(module: ModuleOp) -> None:
    arguments, expected = in_order()
    types = signature(entry_of(module))
    (found,) = SimProgram(lower(module, "all", arch="sm_90a"), *types).run(arguments, None)
    np.testing.assert_array_equal(found, expected)
    (found,) = evaluate(lower(module, "tile", arch="sm_90a"), arguments)
    np.testing.assert_array_equal(found, expected)


def test_a_turn_that_is_not_passed_on_is_a_deadlock(module: ModuleOp) -> None:
    types, lowered = signature(entry_of(module)), lower(module, "all", arch="sm_90a")
    (passed,) = (op for op in lowered.walk() if isinstance(op, cuda.AtomicOp) and str(op.value.type) == "i32")
    passed.detach()
    passed.erase()
    with pytest.raises(SimulationError, match="waits for .* to be 1"):
        SimProgram(lowered, *types).run(in_order()[0], None)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"split_sums": "serial"}, "only the parts of K of a product are added in turn"),
        ({**SERIAL, "schedule": "persistent"}, "blocks of one tile add in turn"),
        ({**SERIAL, "instruction": "direct"}, "no sums in registers alone"),
    ],
)
def test_what_cannot_be_added_in_turn_is_refused(config: dict[str, Any], message: str) -> None:
    x = np.ones((64, 64), np.float16)
    operation = ir.MatmulOperation("f16", "f16", "f32", target="sim", config=config)
    with pytest.raises(IrcError, match=message):
        operation.plan(x, x)
