"""The nd passes, one by one: exactness of identities, roundings, random numbers, locations, limits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, ModuleOp, UnknownLoc
from xdsl.ir import Operation

from irc.canonicalization.casts import holds
from irc.dialects import nd
from irc.driver.lowering import passes_of
from irc.driver.pipelines import ND
from irc.driver.program import new_context
from irc.interpreters.nd.interpreter import evaluate
from irc.ir.dtypes import ELEMENTS, element_named
from irc.ir.parser import parse_ir
from irc.ir.rounding import cast_array
from irc.passes.nd.decompose_nd import DECOMPOSITIONS
from irc.support.diagnostics import IrcError

CONTEXT = new_context()
F32_SPECIALS = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-40, 3e38], np.float32)
I32_SPECIALS = np.array([0, 1, -1, 7, -8, 2**31 - 1, -(2**31), 3, 100], np.int32)


def run(module: ModuleOp, *names: str, **options: object) -> ModuleOp:
    for each in passes_of(names, **options):
        each.apply(CONTEXT, module)
        module.verify()
    return module


def function(body: str, arguments: str, result: str) -> ModuleOp:
    return parse_ir(
        CONTEXT, f"func.func @f({arguments}) -> {result} {{\n{body}\n  func.return %r : {result}\n}}", "f.mlir"
    )


def body(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if op.name.startswith("nd.")]


FLOAT_IDENTITIES = [
    ("nd.mul", "%x, %c", 1.0),
    ("nd.mul", "%x, %c", -1.0),
    ("nd.mul", "%c, %x", 1.0),
    ("nd.sub", "%x, %c", 0.0),
    ("nd.add", "%x, %c", "-0.0"),
    ("nd.div", "%x, %c", 1.0),
    ("nd.div", "%x, %c", 8.0),
    ("nd.div", "%x, %c", -0.25),
    ("nd.div", "%c, %x", 1.0),
    ("nd.pow", "%x, %c", 0.0),
    ("nd.pow", "%x, %c", 1.0),
    ("nd.pow", "%x, %c", 2.0),
]


@pytest.mark.parametrize(("op", "operands", "number"), FLOAT_IDENTITIES)
def test_float_identities_are_exact_and_simplify(op: str, operands: str, number: object):
    text = f"  %c = nd.constant {number} : tensor<9xf32>\n  %r = {op} {operands} : tensor<9xf32>"
    module = function(text, "%x: tensor<9xf32>", "tensor<9xf32>")
    before = evaluate(module, [F32_SPECIALS])[0]
    run(module, "canonicalize-nd")
    assert op not in [o.name for o in body(module)] or op == "nd.mul"
    after = evaluate(module, [F32_SPECIALS])[0]
    np.testing.assert_array_equal(before, after)
    finite = ~np.isnan(before)
    np.testing.assert_array_equal(np.signbit(before[finite]), np.signbit(after[finite]))


@pytest.mark.parametrize("narrow", [None, "bf16", "f16", "f8E4M3FN"])
@pytest.mark.parametrize("factor", ["%f, %h", "%h, %f", None])
def test_sums_of_one_hot_rows_are_exact(factor: str | None, narrow: str | None):
    """Positions inside and outside of the axis, times finite and other numbers, also rounded on the way."""
    text = """
  %b = nd.broadcast %i {dims = [0]} : tensor<9xi64> -> tensor<9x5xi64>
  %p = nd.iota {axis = 1} : tensor<9x5xi64>
  %e = nd.equal %b, %p : tensor<9x5xi64> -> tensor<9x5xi1>
  %n = nd.constant -3.0 : tensor<9x5xf32>
  %z = nd.constant 0.0 : tensor<9x5xf32>
  %h = nd.where %e, %n, %z : (tensor<9x5xi1>, tensor<9x5xf32>, tensor<9x5xf32>) -> tensor<9x5xf32>
  %f = nd.broadcast %x {dims = [0]} : tensor<9xf32> -> tensor<9x5xf32>
"""
    text += "" if factor is None else f"  %m = nd.mul {factor} : tensor<9x5xf32>\n"
    summed = "%h" if factor is None else "%m"
    if narrow is not None:
        text += f"  %d = nd.cast {summed} : tensor<9x5xf32> -> tensor<9x5x{narrow}>\n"
        text += f"  %w = nd.cast %d : tensor<9x5x{narrow}> -> tensor<9x5xf32>\n"
        summed = "%w"
    text += f"  %r = nd.sum {summed} {{axes = [1]}} : tensor<9x5xf32> -> tensor<9xf32>"
    module = function(text, "%x: tensor<9xf32>, %i: tensor<9xi64>", "tensor<9xf32>")
    indices = [np.full(9, at, np.int64) for at in (-1, 0, 2, 4, 5, 2**62)]
    before = [evaluate(module, [F32_SPECIALS, at])[0] for at in indices]
    run(module, "canonicalize-nd")
    assert "nd.sum" not in [o.name for o in body(module)]
    np.testing.assert_array_equal(before, [evaluate(module, [F32_SPECIALS, at])[0] for at in indices])


INTEGER_IDENTITIES = [
    ("nd.add", 0),
    ("nd.sub", 0),
    ("nd.mul", 0),
    ("nd.mul", 1),
    ("nd.mul", -1),
    ("nd.bitwise_and", 0),
    ("nd.bitwise_and", -1),
    ("nd.bitwise_or", 0),
    ("nd.bitwise_or", -1),
    ("nd.bitwise_xor", 0),
    ("nd.bitwise_xor", -1),
    ("nd.shift_left", 0),
    ("nd.shift_right", 0),
    ("nd.pow", 3),
]


@pytest.mark.parametrize(("op", "number"), INTEGER_IDENTITIES)
def test_integer_identities_are_exact_and_simplify(op: str, number: int):
    text = f"  %c = nd.constant {number} : tensor<9xi32>\n  %r = {op} %x, %c : tensor<9xi32>"
    module = function(text, "%x: tensor<9xi32>", "tensor<9xi32>")
    before = evaluate(module, [I32_SPECIALS])[0]
    run(module, "canonicalize-nd")
    assert op not in [o.name for o in body(module)]
    np.testing.assert_array_equal(before, evaluate(module, [I32_SPECIALS])[0])


@pytest.mark.parametrize("narrow", ELEMENTS, ids=lambda e: e.name)
@pytest.mark.parametrize("wide", ELEMENTS, ids=lambda e: e.name)
def test_holds_is_exact_conversion_there_and_back(wide: object, narrow: object):
    """`holds(B, A)` on the values of A that are hardest to hold."""
    assert isinstance(wide, type(ELEMENTS[0])) and isinstance(narrow, type(ELEMENTS[0]))
    if not holds(wide, narrow):
        return
    low, high = narrow.limits()
    values = [low, high, 0, 1]
    if narrow.is_float:
        info = ml_dtypes.finfo(narrow.dtype)
        values += [1 + float(info.eps), float(info.smallest_subnormal), float(high) * 0.75]
    elif narrow.is_integer:
        values += [int(high) - 1, int(low) + 1]
    x = np.array(values, np.float64 if narrow.is_float else narrow.dtype).astype(narrow.dtype)
    np.testing.assert_array_equal(cast_array(cast_array(x, wide.dtype), narrow.dtype), x)


def test_holds_knows_the_usual_pairs():
    named = element_named
    assert holds(named("f32"), named("bf16")) and holds(named("f64"), named("i32")) and holds(named("i16"), named("u8"))
    assert not holds(named("bf16"), named("f32")) and not holds(named("f32"), named("i32"))
    assert not holds(named("f16"), named("bf16")) and not holds(named("i8"), named("u8"))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_random_uniform_is_the_same_to_the_bit(element: str):
    type = f"tensor<5x7x{element}>"
    seed = np.array(-123456789012345)
    text = "  %r = nd.random_uniform %s : tensor<i64> -> "
    module = function(text + type, "%s: tensor<i64>", type)
    constant = function(f"  %s = nd.constant {seed} : tensor<i64>\n{text}{type}", "", type)
    before = evaluate(module, [seed])[0]
    after = evaluate(run(module, "decompose-nd"), [seed])[0]
    np.testing.assert_array_equal(evaluate(run(constant, "decompose-nd"), [])[0], before)
    assert "nd.random_uniform" not in [op.name for op in body(module)]
    np.testing.assert_array_equal(before, after)


def test_softmax_of_large_numbers_does_not_overflow():
    x = np.array([[1000.0, 1001.0, -1000.0]], np.float32)
    module = function("  %r = nd.softmax %x {axis = 1} : tensor<1x3xf32>", "%x: tensor<1x3xf32>", "tensor<1x3xf32>")
    result = evaluate(run(module, "decompose-nd"), [x])[0]
    np.testing.assert_allclose(result, [[1 / (1 + np.e), np.e / (1 + np.e), 0]], rtol=1e-6)


def test_variance_far_from_zero_does_not_cancel():
    x = np.float32(10000.0) + np.arange(8, dtype=np.float32)
    text = "  %r = nd.var %x {axes = [0], correction = 0} : tensor<8xf32> -> tensor<f32>"
    result = evaluate(run(function(text, "%x: tensor<8xf32>", "tensor<f32>"), "decompose-nd"), [x])[0]
    np.testing.assert_allclose(result, 5.25, rtol=1e-6)


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "layer_norm", "rms_norm"])
def test_composed_ops_of_nothing(op: str):
    eps = ", eps = 1.0e-5" if "norm" in op else ""
    type = "tensor<2x0xbf16>"
    module = function(f"  %r = nd.{op} %x {{axis = 1{eps}}} : {type}", f"%x: {type}", type)
    result = evaluate(run(module, *ND), [np.zeros((2, 0), ml_dtypes.bfloat16)])[0]
    assert result.shape == (2, 0)


def test_every_decomposed_op_is_gone_and_stays_when_kept():
    text = "  %a = nd.gelu %x : tensor<4xf32>\n  %r = nd.silu %a : tensor<4xf32>"
    module = function(text, "%x: tensor<4xf32>", "tensor<4xf32>")
    kept = run(module.clone(), "decompose-nd", keep=("gelu",))
    assert {op.name for op in body(kept)} & {"nd.gelu", "nd.silu"} == {"nd.gelu"}
    assert not any(type(op) in DECOMPOSITIONS for op in run(module, "decompose-nd").walk())
    with pytest.raises(IrcError, match="has no op sqrt to keep"):
        run(module, "decompose-nd", keep=("sqrt",))


def test_narrow_values_are_not_rounded_between_ops():
    """256 + 1 is not a bf16; the sum minus 256 is 1 only where nothing rounds in between."""
    text = """
  %c = nd.constant 256.0 : tensor<1xbf16>
  %a = nd.add %x, %c : tensor<1xbf16>
  %r = nd.sub %a, %c : tensor<1xbf16>"""
    module = function(text, "%x: tensor<1xbf16>", "tensor<1xbf16>")
    x = np.ones(1, ml_dtypes.bfloat16)
    assert evaluate(run(module.clone(), *ND), [x])[0] == 1
    assert evaluate(run(module, *ND, strict_rounding=True), [x])[0] == 0


def test_explicit_casts_round_before_and_after_canonicalization():
    text = """
  %c = nd.constant 256.0 : tensor<1xbf16>
  %a = nd.add %x, %c : tensor<1xbf16>
  %w = nd.cast %a : tensor<1xbf16> -> tensor<1xf32>
  %n = nd.cast %w : tensor<1xf32> -> tensor<1xbf16>
  %r = nd.sub %n, %c : tensor<1xbf16>"""
    module = function(text, "%x: tensor<1xbf16>", "tensor<1xbf16>")
    assert evaluate(run(module, *ND), [np.ones(1, ml_dtypes.bfloat16)])[0] == 0


def test_after_widening_only_casts_have_narrow_results_that_are_computed():
    text = """
  %a = nd.softmax %x {axis = 1} : tensor<4x4xbf16>
  %b = nd.matmul %a, %x {lhs_contract = [1], rhs_contract = [0]} : tensor<4x4xbf16>
  %i = nd.iota {axis = 0} : tensor<4x4xbf16>
  %s = nd.constant 1 : tensor<i64>
  %u = nd.random_uniform %s : tensor<i64> -> tensor<4x4xbf16>
  %c = nd.add %b, %i : tensor<4x4xbf16>
  %r = nd.add %c, %u : tensor<4x4xbf16>"""
    module = run(function(text, "%x: tensor<4x4xbf16>", "tensor<4x4xbf16>"), "decompose-nd", "widen-arithmetic")
    narrow = [op.name for op in body(module) if any(nd.element_of(r).is_narrow_float for r in op.results)]
    assert set(narrow) == {"nd.cast"}


def test_every_op_has_a_location_after_each_pass():
    text = """
  %m = nd.matmul %x, %x {lhs_contract = [1], rhs_contract = [1]} : tensor<4x4xbf16>
  %a = nd.softmax %m {axis = 1} : tensor<4x4xbf16>
  %b = nd.gelu %a : tensor<4x4xbf16>
  %c = nd.permute %b {permutation = [1, 0]} : tensor<4x4xbf16>
  %s = nd.constant 1 : tensor<i64>
  %u = nd.random_normal %s : tensor<i64> -> tensor<4x4xbf16>
  %d = nd.tril %c {k = 0} : tensor<4x4xbf16>
  %e = nd.layer_norm %d {axis = 1, eps = 1.0e-5} : tensor<4x4xbf16>
  %r = nd.add %e, %u : tensor<4x4xbf16>"""
    module = function(text, "%x: tensor<4x4xbf16>", "tensor<4x4xbf16>")
    lines = {op.location.line.data for op in module.walk() if isinstance(op.location, FileLineColLoc)}
    for each in passes_of(ND):
        each.apply(CONTEXT, module)
        for op in body(module):
            assert not isinstance(op.location, UnknownLoc), f"{op.name} after {each.name}"
            parts = op.location.locations if isinstance(op.location, FusedLoc) else ArrayAttr([op.location])
            assert isinstance(parts, ArrayAttr)
            assert {p.line.data for p in parts if isinstance(p, FileLineColLoc)} <= lines


def test_merged_ops_have_both_locations():
    text = "  %a = nd.exp %x : tensor<4xf32>\n  %b = nd.exp %x : tensor<4xf32>\n  %r = nd.mul %a, %b : tensor<4xf32>"
    module = run(function(text, "%x: tensor<4xf32>", "tensor<4xf32>"), "canonicalize-nd")
    exp = body(module)[0]
    assert isinstance(exp.location, FusedLoc) and isinstance(exp.location.locations, ArrayAttr)
    assert [p.line.data for p in exp.location.locations if isinstance(p, FileLineColLoc)] == [2, 3]


def test_canonical_form_is_a_fixed_point():
    text = """
  %m = nd.permute %x {permutation = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
  %s = nd.sum %m {axes = [1]} : tensor<8x4xf32> -> tensor<8xf32>
  %k = nd.reshape %s : tensor<8xf32> -> tensor<8x1xf32>
  %b = nd.broadcast %k {dims = [0, 1]} : tensor<8x1xf32> -> tensor<8x4xf32>
  %r = nd.div %m, %b : tensor<8x4xf32>"""
    module = run(function(text, "%x: tensor<4x8xf32>", "tensor<8x4xf32>"), "canonicalize-nd")
    once = str(module)
    assert str(run(module, "canonicalize-nd")) == once


def test_constants_stay_when_folding_is_off():
    text = "  %c = nd.constant 1.0 : tensor<4xf32>\n  %r = nd.exp %c : tensor<4xf32>"
    module = function(text, "", "tensor<4xf32>")
    assert [op.name for op in body(run(module.clone(), "canonicalize-nd", fold_constants=False))] == [
        "nd.constant",
        "nd.exp",
    ]
    assert [op.name for op in body(run(module, "canonicalize-nd"))] == ["nd.constant"]
