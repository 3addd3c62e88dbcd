"""What `.irc` text means: the ops, types, literals and locations that `parse` makes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.ir.dtypes import element_named
from irc.language import parse
from irc.language.values import array_of


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp)]


def body(text: str, parameters: str = "x: f32[4, 6], y: f32[6], i: i32[4, 6], b: bool[4, 6]") -> list[Operation]:
    """The ops of `e = <text>`, without the return."""
    module = parse(f"func f({parameters}, r: f32[]) -> f32[] {{\n  e = {text}\n  return r\n}}")
    module.verify()
    return list(functions(module)[0].body.blocks[0].ops)[:-1]


def names(text: str) -> str:
    return " ".join(op.name.removeprefix("nd.") for op in body(text))


def type_of(text: str, parameters: str = "x: f32[4, 6], y: f32[6], i: i32[4, 6], b: bool[4, 6]") -> str:
    return str(array_of(body(text, parameters)[-1].results[0]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y", "broadcast add"),
        ("x + x", "add"),
        ("2 * x", "constant mul"),
        ("x - 1 + y", "constant sub broadcast add"),
        ("-x ** 2", "constant pow neg"),
        ("2 ** -x", "neg constant pow"),
        ("x ** 2 ** 3", "constant pow"),
        ("i & 1 << 2 | i", "constant bitwise_and bitwise_or"),
        ("i // 2 % 3", "constant floordiv constant mod"),
        ("~b & b ^ b", "bitwise_not bitwise_and bitwise_xor"),
        ("x < y", "broadcast less"),
        ("i << 3 >> 1", "constant shift_left constant shift_right"),
        ("+x", ""),
        ("x[1:3, None, ::2]", "slice reshape"),
        ("x[:]", ""),
        ("x[-1]", "slice reshape"),
        ("x[..., 0]", "slice reshape"),
        ("where(b, x, 0)", "constant where"),
        ("where(b, true, false)", "constant constant where"),
        ("clamp(x, 0, y)", "constant broadcast clamp"),
        ("sum(x, keepdims=true)", "sum reshape"),
        ("argmax(x)", "reshape argmax"),
        ("stack([x, x])", "reshape reshape concat"),
        ("transpose(x) @ x", "permute matmul"),
        ("pad(x, [[1, 0], [0, 2]])", "constant pad"),
        ("random_normal([2], f32, seed=3)", "constant random_normal"),
    ],
)
def test_operations(text: str, expected: str) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[1:100:2, -2:]", "f32[2, 2]"),
        ("x[3:1]", "f32[0, 6]"),
        ("x[None, ..., 1, None]", "f32[1, 4, 1]"),
        ("x @ y", "f32[4]"),
        ("y @ y", "f32[]"),
        ("sum(i)", "i32[]"),
        ("sum(b)", "i32[]"),
        ("sum(b, axis=-1, keepdims=true)", "i32[4, 1]"),
        ("mean(i, axis=[0])", "f32[6]"),
        ("sum(x, dtype=f64)", "f64[]"),
        ("argmin(x, axis=1)", "i64[4]"),
        ("any(b, axis=0)", "bool[6]"),
        ("isnan(x)", "bool[4, 6]"),
        ("reshape(x, [3, -1])", "f32[3, 8]"),
        ("broadcast(y, [2, 6, 3], dims=[1])", "f32[2, 6, 3]"),
        ("expand_dims(y, [0, -1])", "f32[1, 6, 1]"),
        ("tile(y, [2, 3])", "f32[2, 18]"),
        ("one_hot(i, 5, bf16)", "bf16[4, 6, 5]"),
        ("take(y, i)", "f32[4, 6]"),
        ("concat([x, x], axis=-1)", "f32[4, 12]"),
        ("cast(x, u8)", "u8[4, 6]"),
        ("iota([2, 3], i64, axis=1)", "i64[2, 3]"),
        ("array([[1, 2], [3, 4]], i8)", "i8[2, 2]"),
        ("matmul(x, y, dtype=f64)", "f64[4]"),
        ("reorder(x, iota([6], i32), iota([6], i64), axis=-1)", "f32[4, 6]"),
        ("grouped_matmul(x, broadcast(y, [3, 6, 2], dims=[1]), iota([3], i32))", "f32[4, 2]"),
        ("grouped_matmul(x, x, iota([3], i64), x_contract=0, y_contract=0, dtype=f64)", "f64[3, 6, 6]"),
    ],
)
def test_result_types(text: str, expected: str) -> None:
    assert type_of(text) == expected


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ("bf16", "bf16"),
        ("f16", "f16"),
        ("f8e4m3", "f32"),
        ("f8e5m2", "f32"),
        ("i8", "i32"),
        ("u8", "i32"),
        ("i16", "i16"),
    ],
)
def test_product_types(operands: str, result: str) -> None:
    assert type_of("a @ a", f"a: {operands}[3, 3]") == f"{result}[3, 3]"


@pytest.mark.parametrize(
    ("a", "b", "result", "ops"),
    [
        ([5, 2, 3], [3, 4], [5, 2, 4], "matmul"),
        ([2, 3], [5, 3, 4], [5, 2, 4], "broadcast matmul"),
        ([3], [5, 3, 4], [5, 4], "matmul"),
        ([5, 1, 2, 3], [6, 3, 4], [5, 6, 2, 4], "broadcast broadcast matmul"),
        ([3], [3], [], "matmul"),
        ([5, 2, 3], [3], [5, 2], "matmul"),
    ],
)
def test_batches_broadcast_as_numpy_does(a: list[int], b: list[int], result: list[int], ops: str) -> None:
    found = body("a @ b", f"a: f32{a}, b: f32{b}")
    assert " ".join(op.name.removeprefix("nd.") for op in found) == ops
    assert list(nd.shape_of(found[-1].results[0])) == result == list((np.ones(a) @ np.ones(b)).shape)


def constant(text: str, parameters: str) -> nd.ConstantOp:
    return next(op for op in body(text, parameters) if isinstance(op, nd.ConstantOp))


@pytest.mark.parametrize(
    ("literal", "element", "value"),
    [
        ("2 / 3", "f32", float(np.float32(2 / 3))),
        ("1 + 2 ** -24", "f32", 1.0),  # halfway between 1 and the next: to even
        ("1 + 3 * 2 ** -24", "f32", 1.0 + 2**-22),
        ("1e-5", "f64", 1e-5),
        ("65519", "f16", 65504.0),
        ("1 / 3 * 3", "f64", 1.0),
        ("-0.0", "f32", -0.0),
        ("10 % 4 - 7 // 2", "i32", -1),
        ("-9223372036854775808", "i64", -(2**63)),
        ("1 << 7", "u8", 128),
        ("-inf", "bf16", float("-inf")),
    ],
)
def test_literals_are_exact_and_rounded_once(literal: str, element: str, value: float) -> None:
    found = constant(f"maximum(a, {literal})", f"a: {element}[3]").splat_value
    assert found is not None
    assert float(found) == value and np.signbit(float(found)) == np.signbit(value)


def test_dims_follow_a_replacement() -> None:
    text = "dim A = 4, B = 2 * A\ndim C = B + 1\nfunc f(x: f32[A, B, C]) -> f32[A, B, C] { return x }"
    assert str(array_of(functions(parse(text))[0].body.block.args[0])) == "f32[4, 8, 9]"
    replaced = functions(parse(text, dims={"A": 1}))[0]
    assert str(array_of(replaced.body.block.args[0])) == "f32[1, 2, 3]"
    fixed = functions(parse(text, dims={"B": 5}))[0]
    assert str(array_of(fixed.body.block.args[0])) == "f32[4, 5, 6]"


def test_calls_are_inlined_and_keep_both_places() -> None:
    text = "func g(a: f32[3]) -> f32[3] {\n  return exp(a)\n}\nfunc f(x: f32[3]) -> f32[3] {\n  y = g(x)\n  return g(a=y)\n}\n"
    module = parse(text, "p.irc")
    module.verify()
    assert [f.sym_name.data for f in functions(module)] == ["g", "f"]
    inlined = list(functions(module)[1].body.block.ops)
    assert [op.name for op in inlined] == ["nd.exp", "nd.exp", "func.return"]
    location = inlined[1].location
    assert isinstance(location, CallSiteLoc)
    assert isinstance(location.callee, FileLineColLoc) and isinstance(location.caller, FileLineColLoc)
    assert (location.callee.line.data, location.callee.column.data) == (2, 10)
    assert (location.caller.line.data, location.caller.column.data) == (6, 10)


def test_every_op_has_its_place_and_names_are_hints() -> None:
    text = "func f(x: f32[3], w_1: f32[3]) -> f32[3] {\n  h = exp(x) + w_1\n  return h\n}"
    module = parse(text, "p.irc")
    function = functions(module)[0]
    ops = list(function.body.block.ops)
    places = [(op.location.line.data, op.location.column.data) for op in ops if isinstance(op.location, FileLineColLoc)]
    assert places == [(2, 7), (2, 7), (3, 3)]
    assert ops[1].results[0].name_hint == "h"
    assert function.body.block.args[0].name_hint == "x"
    assert function.arg_attrs is not None and "w_1" in str(function.arg_attrs)


def test_newlines_comments_and_trailing_commas() -> None:
    text = (
        "# a comment\r\n\r\ndim A = 3 # sizes\r\nfunc f(\r\n  x: f32[A], # first\r\n  y: f32[A],\r\n) -> (f32[A],) {\r\n"
        "\r\n  # inside\r\n  z = (x\r\n    + y)\r\n  return z\r\n}\r\n# the end"
    )
    assert len(functions(parse(text))) == 1


def test_tuples() -> None:
    text = """func g(x: f32[6]) -> (f32[3], f32[3]) { return split(x, 2) }
func f(x: f32[6]) -> (f32[3], f32[3], f32[2], i64[2]) {
    a, b = g(x)
    c, d = topk(x, 2, axis=0)
    return a, b, c, d
}"""
    parse(text).verify()


def test_shift_of_a_slice_is_a_slice() -> None:
    op = body("x[1:, ::2]")[0]
    assert isinstance(op, nd.SliceOp)
    assert (ints(op.starts), ints(op.stops), ints(op.steps)) == ((1, 0), (4, 6), (1, 2))


def test_element_rows_are_shared() -> None:
    assert array_of(body("x + x")[0].results[0]).element is element_named("f32")


def test_deep_sums_are_not_nested() -> None:
    module = parse(f"func f(x: f32[3]) -> f32[3] {{ return {' + '.join(['x'] * 5000)} }}")
    assert len(list(functions(module)[0].body.block.ops)) == 5000


def test_two_thousand_statements_parse_quickly() -> None:
    lines = "\n".join(f"  a{i} = relu(x) * 2 + y" for i in range(2000))
    text = f"func f(x: f32[4, 4], y: f32[4]) -> f32[4, 4] {{\n{lines}\n  return x\n}}"
    parse("func f(x: f32[]) -> f32[] { return x }")
    start = time.process_time()
    parse(text)
    assert time.process_time() - start < 6  # 1.2 s on an idle machine
