"""Loops and branches of StableHLO, written as JAX prints lax.scan, fori_loop, while_loop, cond and switch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc import IrcError
from irc_frontend.stablehlo import load

Array = np.ndarray[Any, Any]


def _values(text: str, *arrays: Array) -> Any:
    with ir.target("interpret"):
        return load(text, "f.mlir")(*arrays)


def _scan(start: int, step: int) -> str:
    """A scan over the layers %w; its counter starts at `start` and goes by `step`."""
    return f"""
module @jit_f attributes {{mhlo.num_partitions = 1 : i32}} {{
  func.func public @main(%w: tensor<4x3x3xf32>, %x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>) {{
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x2x3xf32>
    %c = stablehlo.constant dense<{start}> : tensor<i32>
    %1:4 = stablehlo.while(%iterArg = %w, %iterArg_0 = %c, %iterArg_1 = %x, %iterArg_2 = %0) : tensor<4x3x3xf32>, tensor<i32>, tensor<2x3xf32>, tensor<4x2x3xf32> attributes {{mhlo.known = true}}
    cond {{
      %c_3 = stablehlo.constant dense<4> : tensor<i32>
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.compare  LT, %iterArg_0, %c_3,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = stablehlo.compare  GE, %iterArg_0, %c_4,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = stablehlo.and %2, %3 : tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }} do {{
      %c_3 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.dynamic_slice %iterArg, %iterArg_0, %c_3, %c_3, sizes = [1, 3, 3] : (tensor<4x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
      %3 = stablehlo.reshape %2 : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
      %4 = func.call @closed_call(%3, %iterArg_1) : (tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
      %6 = stablehlo.dynamic_update_slice %iterArg_2, %5, %iterArg_0, %c_3, %c_3 : (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x3xf32>
      %by = stablehlo.constant dense<{step}> : tensor<i32>
      %7 = stablehlo.add %iterArg_0, %by : tensor<i32>
      stablehlo.return %iterArg, %7, %4, %6 : tensor<4x3x3xf32>, tensor<i32>, tensor<2x3xf32>, tensor<4x2x3xf32>
    }} loc(#loc1)
    return %1#2, %1#3 : tensor<2x3xf32>, tensor<4x2x3xf32>
  }}
  func.func private @closed_call(%arg0: tensor<3x3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> {{
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.tanh %0 : tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }}
}}
#loc1 = loc("f.py":3:0)
"""


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3]])
def test_a_scan_over_layers(order: list[int]) -> None:
    """Forward, from the end, and every other one."""
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal((4, 3, 3), dtype=np.float32), rng.standard_normal((2, 3), dtype=np.float32)
    last, rows = _values(_scan(order[0], order[1] - order[0]), w, x)
    expected, written = x, np.zeros((4, 2, 3), np.float32)
    for layer in order:
        expected = written[layer] = np.tanh(expected @ w[layer])
    np.testing.assert_allclose(last, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rows, written, rtol=1e-5, atol=1e-6)


def test_loops_inside_loops_see_what_is_around_them() -> None:
    """x + x + ... of `fori_loop(0, 3, lambda i, y: fori_loop(0, i, lambda j, y: y + x * j, y), x)`."""
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<2xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1:2 = stablehlo.while(%j = %zero, %z = %y) : tensor<i32>, tensor<2xf32>
    cond {
      %2 = stablehlo.compare LT, %j, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.convert %j : (tensor<i32>) -> tensor<f32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %4 = stablehlo.multiply %x, %3 : tensor<2xf32>
      %5 = stablehlo.add %z, %4 : tensor<2xf32>
      %6 = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %6, %5 : tensor<i32>, tensor<2xf32>
    }
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %2, %1#1 : tensor<i32>, tensor<2xf32>
  }
  return %0#1 : tensor<2xf32>
}"""
    x = np.asarray([1, -3], np.float32)
    assert np.array_equal(_values(text, x), x + x * sum(j for i in range(3) for j in range(i)))


def _while(condition: str, step: str) -> str:
    """`while i <condition>: i = i <step>` from 3 on."""
    return f"""func.func @main(%x: tensor<i32>) -> tensor<i32> {{
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<i32>
  cond {{
    %1 = stablehlo.compare {condition}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %1 = stablehlo.add {step} : tensor<i32>
    stablehlo.return %1, %y : tensor<i32>, tensor<i32>
  }}
  return %0#0 : tensor<i32>
}}"""


@pytest.mark.parametrize(
    ("condition", "step", "message"),
    [
        ("LT, %i, %x", "%i, %c", "the condition of stablehlo.while depends on an input of the program"),
        ("LT, %i, %c", "%i, %x", None),
        ("LE, %c, %i", "%i, %x", "depends on an input"),
        ("LT, %i, %i", "%i, %c", None),
        ("LT, %y, %y", "%i, %c", "depends on an input"),
    ],
)
def test_what_is_known_of_a_loop(condition: str, step: str, message: str | None) -> None:
    text = _while(condition, step)
    if message is None:
        assert _values(text, np.asarray(9, np.int32)) == 3
        return
    with pytest.raises(IrcError, match=message) as raised:
        load(text, "f.mlir")
    assert "f.mlir:3:" in str(raised.value)
    assert "1024 at most" in (raised.value.hint or "")


def test_a_loop_of_too_many_steps() -> None:
    text = _while("LE, %c, %i", "%i, %c")
    with pytest.raises(IrcError, match="more than 1024 steps are not supported") as raised:
        load(text, "f.mlir")
    assert "f.mlir:3:" in str(raised.value)


def _case(index: str) -> str:
    return f"""func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.case"({index}) ({{
    %1 = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }}, {{
    %1 = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }}, {{
    stablehlo.return %x : tensor<2xf32>
  }}) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"""


@pytest.mark.parametrize(("number", "factor"), [(0, -1), (1, 2), (2, 1), (3, 1), (-1, 1)])
def test_a_case(number: int, factor: int) -> None:
    """Numbers outside are those of the last branch, whether they are known or not."""
    x = np.asarray([1, -2], np.float32)
    assert np.array_equal(_values(_case("%n"), np.asarray(number, np.int32), x), factor * x)
    constant = _case("%c").replace("dense<1>", f"dense<{number}>")
    assert np.array_equal(_values(constant, np.asarray(7, np.int32), x), factor * x)
    assert "nd.where" not in str(load(constant).module)


IF = """func.func @main(%p: tensor<i1>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>) {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<2xf32>
    %2 = stablehlo.constant dense<5> : tensor<i32>
    stablehlo.return %1, %2 : tensor<2xf32>, tensor<i32>
  }, {
    %2 = stablehlo.constant dense<6> : tensor<i32>
    stablehlo.return %x, %2 : tensor<2xf32>, tensor<i32>
  }) : (tensor<i1>) -> (tensor<2xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<i32>
}"""


def test_an_if() -> None:
    x = np.asarray([1, -2], np.float32)
    for value in (True, False):
        found, number = _values(IF, np.asarray(value), x)
        assert np.array_equal(found, -x if value else x)
        assert number == (5 if value else 6)
    assert "nd.where" not in str(load(IF.replace('"stablehlo.if"(%p)', '"stablehlo.if"(%c)')).module)


def test_regions_are_nested_only_so_deep() -> None:
    deep = '"stablehlo.if"(%p) ({\n' * 2000
    with pytest.raises(IrcError, match="at most 50 regions"):
        load(f"func.func @main(%p: tensor<i1>) -> tensor<i1> {{\n{deep}")
