"""argmax and argmin in parts: the first of equals, and the first NaN, wherever the parts end."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import irc
from irc.driver.program import new_context, parse
from irc.interpreters.nd.interpreter import evaluate
from irc.passes.kernel.split_reductions import SplitReductionsPass

EXTENT = 83
PARTS = 4
SHAPES = {
    "whole": ((EXTENT,), 0),
    "rows": ((3, EXTENT), 1),
    "columns": ((EXTENT, 5), 0),
    "between": ((2, EXTENT, 3), 1),
}
NAN = float("nan")
CASES = {
    "equal": lambda x: np.zeros_like(x),
    "few values": lambda x: np.floor(x * 2),
    "zeros of both signs": lambda x: np.where(x > 0, 0.0, -0.0),
    "nan": lambda x: np.where(x > 1.5, NAN, x),
    "all nan": lambda x: np.full_like(x, NAN),
    "infinities": lambda x: np.where(x > 0, np.inf, -np.inf),
    "one nan at the end": lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, NAN, x),
}


def split(op: str, shape: tuple[int, ...], axis: int, element: str) -> ModuleOp:
    operand = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    kept = [extent for at, extent in enumerate(shape) if at != axis]
    result = f"tensor<{''.join(f'{extent}x' for extent in kept)}i64>"
    module = parse(
        f"""func.func @f(%x: {operand}) -> {result} {{
  %r = kernel.fused @k reduce config<tile = {{d = 1, r = 8}}, split = {PARTS}> (%a = %x : {operand}) -> {result} {{
    %m = nd.{op} %a {{axis = {axis}}} : {operand} -> {result}
    kernel.yield %m : {result}
  }}
  func.return %r : {result}
}}""",
        "f.mlir",
    )
    SplitReductionsPass().apply(new_context(), module)
    return module


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("where", SHAPES)
def test_positions_of_parts(op: str, where: str) -> None:
    shape, axis = SHAPES[where]
    module = split(op, shape, axis, "f32")
    assert sum(inner.name == "kernel.fused" for inner in module.walk()) == 2
    rng = np.random.default_rng(0)
    for name, case in CASES.items():
        x = case(rng.standard_normal(shape)).astype(np.float32)
        (found,) = evaluate(module, [x])
        np.testing.assert_array_equal(found, getattr(np, op)(x, axis=axis), err_msg=name)


@pytest.mark.parametrize(("element", "dtype"), [("i8", np.int8), ("i64", np.int64), ("i1", np.bool_)])
def test_positions_of_integers(element: str, dtype: type) -> None:
    module = split("argmax", (EXTENT,), 0, element)
    x = np.random.default_rng(1).integers(-2, 1, EXTENT).astype(dtype)
    (found,) = evaluate(module, [x])
    assert found == np.argmax(x)


def test_a_long_argmax_is_split_over_the_chip() -> None:
    """On the simulator, with equals in different parts, and a NaN beyond the last whole part."""
    extent = 70_001
    executable = irc.compile(f"func f(x: f32[{extent}]) -> i64[] {{ return argmax(x) }}", target="sim", arch="sm_90a")
    assert len(executable.kernels) == 2
    x = np.zeros(extent, np.float32)
    assert executable(x) == 0
    x[[40_000, 69_000]] = 1
    assert executable(x) == 40_000
    x[70_000] = NAN
    assert executable(x) == 70_000
