"""Sorts of StableHLO with the comparators that JAX prints, and top_k, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc import IrcError
from irc_frontend.stablehlo import load

Array = np.ndarray[Any, Any]

CANONICAL = """
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %1 = stablehlo.compare  EQ, %p, %zero,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %zero, %p : tensor<i1>, tensor<f32>
    %3 = stablehlo.compare  NE, %p, %p,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>
    %5 = stablehlo.compare  EQ, %q, %zero,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.select %5, %zero, %q : tensor<i1>, tensor<f32>
    %7 = stablehlo.compare  NE, %q, %q,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>
    %9 = stablehlo.compare  LT, %4, %8,  TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
"""
"""How JAX compares floats: zeros are equal, and so are NaNs, which come last."""


def _results(text: str, *arrays: Array) -> tuple[Array, ...]:
    with ir.target("interpret"):
        found = load(text, "f.mlir")(*arrays)
    return found if isinstance(found, tuple) else (found,)


def _sort(comparator: str, *elements: str, shape: str = "3x8", axis: int = 1) -> str:
    """A sort of arrays of these types; %p and %q are the elements of the first, %p1 and %q1 those of the second."""
    types = ", ".join(f"tensor<{shape}x{each}>" for each in elements)
    names = [f"%x{number}" for number in range(len(elements))]
    taken = ", ".join(f"{name}: tensor<{shape}x{each}>" for name, each in zip(names, elements, strict=True))
    pairs = [(f"%p{n or ''}", f"%q{n or ''}", each) for n, each in enumerate(elements)]
    scalars = ", ".join(f"{p}: tensor<{each}>, {q}: tensor<{each}>" for p, q, each in pairs)
    results = ", ".join(f"%0#{n}" for n in range(len(elements))) if len(elements) > 1 else "%0"
    return f"""func.func @main({taken}) -> ({types}) {{
  %0{f":{len(elements)}" if len(elements) > 1 else ""} = "stablehlo.sort"({", ".join(names)}) <{{dimension = {axis} : i64, is_stable = true}}> ({{
  ^bb0({scalars}):
    {comparator}
    stablehlo.return %9 : tensor<i1>
  }}) : ({types}) -> ({types})
  return {results} : {types}
}}"""


def _compare(direction: str, element: str, order: str, a: str = "%p", b: str = "%q") -> str:
    return f"%9 = stablehlo.compare  {direction}, {a}, {b},  {order} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>"


def _floats() -> Array:
    x = np.random.default_rng(0).standard_normal((3, 8), dtype=np.float32).round(1)
    x[0, :6] = [np.nan, 0.0, -0.0, np.inf, -np.inf, -np.nan]
    x[1, 3] = x[1, 5]
    return x


def test_floats_as_jax_sorts_them() -> None:
    x = _floats()
    (found,) = _results(_sort(CANONICAL, "f32"), x)
    np.testing.assert_array_equal(found, np.sort(x, 1))
    (found,) = _results(_sort(CANONICAL, "f32", axis=0), x)
    np.testing.assert_array_equal(found, np.sort(x, 0))


def _bits_in_order(x: Array) -> Array:
    bits = x.view(np.int32)
    return np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_the_total_order_of_floats(direction: str) -> None:
    """It tells zeros of both signs and NaNs of both signs apart."""
    x = _floats()
    (found,) = _results(_sort(_compare(direction, "f32", "TOTALORDER"), "f32"), x)
    expected = np.sort(_bits_in_order(x), 1)
    np.testing.assert_array_equal(_bits_in_order(found), expected if direction == "LT" else expected[:, ::-1])


@pytest.mark.parametrize(("direction", "is_descending"), [("LT", False), ("GT", True)])
@pytest.mark.parametrize("is_turned", [False, True])
def test_an_argsort_is_stable(direction: str, is_descending: bool, is_turned: bool) -> None:
    x = np.random.default_rng(1).integers(0, 4, (3, 8), dtype=np.int32)
    places = np.broadcast_to(np.arange(8, dtype=np.int32), (3, 8)).copy()
    operands = ("%q", "%p") if is_turned else ("%p", "%q")
    values, found = _results(_sort(_compare(direction, "i32", "SIGNED", *operands), "i32", "i32"), x, places)
    order = np.argsort(-x if is_descending != is_turned else x, 1, kind="stable")
    np.testing.assert_array_equal(found, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_an_iota_that_is_carried_is_the_order() -> None:
    text = _sort(_compare("LT", "i32", "SIGNED"), "i32", "i32").replace(
        "(%x0: tensor<3x8xi32>, %x1: tensor<3x8xi32>)", "(%x0: tensor<3x8xi32>)"
    )
    text = text.replace("{\n", "{\n  %x1 = stablehlo.iota dim = 1 : tensor<3x8xi32>\n", 1)
    x = np.random.default_rng(2).integers(0, 4, (3, 8), dtype=np.int32)
    np.testing.assert_array_equal(_results(text, x)[1], np.argsort(x, 1, kind="stable"))


def test_a_sort_by_two_keys() -> None:
    """As lax.sort(num_keys=2) prints it; the second key goes down."""
    comparator = """
    %1 = stablehlo.compare  GT, %p1, %q1,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare  LT, %p, %q,  TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare  EQ, %p, %q,  TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.and %3, %1 : tensor<i1>
    %9 = stablehlo.or %2, %4 : tensor<i1>
"""
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 3, (3, 8)).astype(np.float32), rng.integers(0, 3, (3, 8), dtype=np.int32)
    carried = rng.standard_normal((3, 8), dtype=np.float32)
    found = _results(_sort(comparator, "f32", "i32", "f32"), x, y, carried)
    for row in range(3):
        order = np.lexsort((-y[row], x[row]))
        for result, given in zip(found, (x, y, carried), strict=True):
            np.testing.assert_array_equal(result[row], given[row][order])


@pytest.mark.parametrize(
    "comparator",
    [
        _compare("LE", "i32", "SIGNED"),
        _compare("LT", "i32", "SIGNED", "%p", "%q1"),
        _compare("LT", "i32", "SIGNED", "%p", "%p"),
        f"%1 = stablehlo.negate %p : tensor<i32>\n{_compare('LT', 'i32', 'SIGNED', '%1', '%q')}",
        f"%1 = stablehlo.add %p, %q : tensor<i32>\n{_compare('LT', 'i32', 'SIGNED', '%1', '%1')}",
        "%9 = stablehlo.constant dense<true> : tensor<i1>",
    ],
)
def test_comparators_that_are_refused(comparator: str) -> None:
    with pytest.raises(IrcError, match=r"the comparator of stablehlo.sort is not supported") as raised:
        load(_sort(comparator, "i32", "i32"), "f.mlir")
    assert "irc has a < b, a > b" in (raised.value.hint or "")
    assert "f.mlir:" in str(raised.value)


TOP_K = [
    "%values, %places = chlo.top_k(%x, k = 3) : {signature}",
    '%values, %places = stablehlo.composite "chlo.top_k" %x {{composite_attributes = {{k = 3 : i64, largest = true}}, decomposition = @chlo.top_k.impl, version = 1 : i32}} : ({signature}',
    "%values, %places = stablehlo.custom_call @mhlo.topk(%x) {{mhlo.attributes = {{k = 3 : i64, largest = true}}, mhlo.version = 1 : i64}} : ({signature}",
]


def _top_k(text: str) -> str:
    signature = "tensor<3x8xi32>{} -> (tensor<3x3xi32>, tensor<3x3xi32>)"
    op = text.format(signature=signature.format(")" if "({signature}" in text else ""))
    return f"func.func @main(%x: tensor<3x8xi32>) -> (tensor<3x3xi32>, tensor<3x3xi32>) {{\n{op}\nreturn %values, %places : tensor<3x3xi32>, tensor<3x3xi32>\n}}"


@pytest.mark.parametrize(
    ("text", "is_largest"),
    [*((text, True) for text in TOP_K), *((text.replace("= true", "= false"), False) for text in TOP_K[1:])],
)
def test_top_k(text: str, is_largest: bool) -> None:
    x = np.random.default_rng(4).integers(-4, 4, (3, 8), dtype=np.int32)
    values, places = _results(_top_k(text), x)
    order = np.argsort(-x if is_largest else x, 1, kind="stable")[:, :3]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_a_composite_is_its_decomposition() -> None:
    text = """module {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.composite "my.twice" %x {composite_attributes = {n = 2 : i64}, decomposition = @twice} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}"""
    assert _results(text, np.asarray([1, 2], np.float32))[0].tolist() == [2, 4]
