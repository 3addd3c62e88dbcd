"""The nd dialect: every op built from Python values verifies and survives text; constants; helpers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, StringAttr, bf16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure, is_side_effect_free
from xdsl.utils.exceptions import ParseError, VerifyException

from irc.dialects import nd
from irc.dialects.nd.collective import CollectiveOp
from irc.dialects.nd.table import ROWS, Row
from irc.ir.dtypes import ELEMENTS, Element, element_named


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    return test.TestOp(result_types=[nd.tensor(shape, element)]).results[0]


def context() -> Context:
    ctx = Context()
    for dialect in (Builtin, test.Test, nd.Nd):
        ctx.load_dialect(dialect)
    return ctx


X, Y, N, C = value([4, 8]), value([4, 8]), value([4, 8], i32), value([4, 8], i1)
NAMED = {op.name.removeprefix("nd."): op for op in nd.Nd.operations}


def operands_of(row: Row) -> tuple[SSAValue, ...]:
    """Operands of a type that the op of the table takes."""
    x = next(x for x in (X, N, C) if row.op.TAKES.has(nd.element_of(x)))
    return (x,) * len(row.parameters)


BUILT: dict[str, tuple[Callable[..., Operation], tuple[Any, ...], dict[str, Any], list[int]]] = {
    **{row.name: (op, operands_of(row), {}, [4, 8]) for op, row in ROWS.items() if op is not nd.LeakyReluOp},
    "leaky_relu": (nd.LeakyReluOp, (X, 0.01), {}, [4, 8]),
    "check_indices": (nd.CheckIndicesOp, (N, -4, 4), {}, [4, 8]),
    "ascending": (nd.AscendingOp, (N,), {}, [4, 8]),
    "where": (nd.WhereOp, (C, X, Y), {}, [4, 8]),
    "cast": (nd.CastOp, (X, bf16), {}, [4, 8]),
    "bitcast": (nd.BitcastOp, (X, i32), {}, [4, 8]),
    "broadcast": (nd.BroadcastOp, (X, [4, 3, 8], [0, 2]), {}, [4, 3, 8]),
    "permute": (nd.PermuteOp, (X, [1, -2]), {}, [8, 4]),
    "reshape": (nd.ReshapeOp, (X, [2, 16]), {}, [2, 16]),
    "slice": (nd.SliceOp, (X, [1, 0], [4, 8], [2, 3]), {}, [2, 3]),
    "pad": (nd.PadOp, (X, value([]), [1, 0], [0, 2]), {}, [5, 10]),
    "concat": (nd.ConcatOp, ([X, Y, X], -1), {}, [4, 24]),
    "flip": (nd.FlipOp, (X, [-1, 0]), {}, [4, 8]),
    "tile": (nd.TileOp, (X, [2, 0]), {}, [8, 0]),
    "tril": (nd.TrilOp, (X, -1), {}, [4, 8]),
    "triu": (nd.TriuOp, (X,), {}, [4, 8]),
    "take": (nd.TakeOp, (X, value([2, 3], i64), 1), {}, [4, 2, 3]),
    "reorder": (nd.ReorderOp, (X, value([8], i32), value([8], i64), -1), {}, [4, 8]),
    "take_along": (nd.TakeAlongOp, (X, value([4, 2], i8), -1), {}, [4, 2]),
    "one_hot": (nd.OneHotOp, (value([3], i32), 10, bf16), {}, [3, 10]),
    "scatter_add": (nd.ScatterAddOp, (X, value([3], i64), value([3, 8])), {}, [4, 8]),
    **{name: (NAMED[name], (X, [-1]), {}, [4]) for name in "sum prod mean max min".split()},
    "var": (nd.VarOp, (X, [1, 0], 1), {}, []),
    "any": (nd.AnyOp, (C, [0]), {}, [8]),
    "all": (nd.AllOp, (C, []), {}, [4, 8]),
    "argmax": (nd.ArgmaxOp, (X, -1), {}, [4]),
    "argmin": (nd.ArgminOp, (X, 0), {}, [8]),
    **{name: (NAMED[name], (X, -1), {}, [4, 8]) for name in "cumsum cumprod sort".split()},
    "topk": (nd.TopkOp, (X, 2, 1), {}, [4, 2]),
    "constant": (nd.ConstantOp.splat, (1, nd.tensor([3], f32)), {}, [3]),
    "extent": (nd.ExtentOp, (521, [2, 5]), {}, [2, 5]),
    "iota": (nd.IotaOp, (nd.tensor([2, 5], i32), -1), {}, [2, 5]),
    "random_normal": (nd.RandomNormalOp, (value([], i64), nd.tensor([4], f32)), {}, [4]),
    "random_uniform": (nd.RandomUniformOp, (value([], i64), nd.tensor([4], f64)), {}, [4]),
    "matmul": (nd.MatmulOp, (X, Y), {"lhs_contract": [-1], "rhs_contract": [1], "element": f64}, [4, 4]),
    "grouped_matmul": (nd.GroupedMatmulOp, (X, value([3, 8, 5]), value([3], i32)), {}, [4, 5]),
    "conv": (nd.ConvOp, (value([2, 4, 9]), value([6, 2, 3])), {"groups": 2, "strides": [2], "low": [1]}, [2, 6, 4]),
    "reduce_window": (
        nd.ReduceWindowOp,
        (X, [2, 3]),
        {
            "monoid": "max",
            "strides": [1, 2],
            "low": [0, 1],
            "high": [1, 1],
            "dilation": [1, 2],
            "input_dilation": [2, 1],
        },
        [7, 3],
    ),
    "softmax": (nd.SoftmaxOp, (X,), {}, [4, 8]),
    "log_softmax": (nd.LogSoftmaxOp, (X, 0), {}, [4, 8]),
    "layer_norm": (nd.LayerNormOp, (X,), {}, [4, 8]),
    "rms_norm": (nd.RmsNormOp, (X,), {}, [4, 8]),
    "attention": (nd.AttentionOp, (X, value([5, 8]), value([5, 3])), {"causal": True}, [4, 3]),
    "attention_log_sum_exp": (
        nd.AttentionLogSumExpOp,
        (value([2, 4, 8]), value([5, 8])),
        {"scale": 2.0, "window": 3, "bias": value([2, 4, 5], bf16)},
        [2, 4],
    ),
    "attention_weights": (nd.AttentionWeightsOp, (X, value([5, 8]), value([4])), {"causal": True}, [4, 5]),
}


def test_every_op_is_listed() -> None:
    of_ranks = {name for name, op in NAMED.items() if issubclass(op, CollectiveOp)}  # tests/lit/nd/dialect_valid.mlir
    assert set(BUILT) == set(NAMED) - of_ranks


@pytest.mark.parametrize("name", sorted(BUILT))
def test_builds_verifies_and_survives_text(name: str) -> None:
    build, args, options, shape = BUILT[name]
    place = FileLineColLoc(StringAttr("a.irc"), IntAttr(3), IntAttr(5))
    op = build(*args, **options, location=place)
    op.verify()
    assert list(nd.shape_of(op.results[0])) == shape
    assert op.location == place
    assert is_side_effect_free(op) and op.has_trait(Pure)
    for generic in (False, True):
        assert same(reparsed(op, generic), op)


def text_of(op: Operation, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(op)
    return stream.getvalue()


def reparsed(op: Operation, generic: bool) -> Operation:
    """`op` printed after ops that define its operands, and parsed."""
    stream = StringIO()
    printer = Printer(stream, print_generic_format=generic)
    for owner in dict.fromkeys(operand.owner for operand in op.operands):
        assert isinstance(owner, Operation)
        printer.print_op(owner)
        stream.write("\n")
    printer.print_op(op)
    module = Parser(context(), stream.getvalue()).parse_module()
    module.verify()
    return list(module.ops)[-1]


def same(a: Operation, b: Operation) -> bool:
    return (
        a.name == b.name
        and a.properties == b.properties
        and a.attributes == b.attributes
        and [v.type for v in a.operands] == [v.type for v in b.operands]
        and [v.type for v in a.results] == [v.type for v in b.results]
    )


def test_attributes_share_the_dictionary_with_properties() -> None:
    op = nd.SumOp(X, [1])
    op.attributes["declared"] = bf16
    assert text_of(op, False).endswith("{axes = [1], declared = bf16} : tensor<4x8xf32> -> tensor<4xf32>")
    assert reparsed(op, False).attributes == {"declared": bf16}


def test_sum_of_bool_is_i32_by_default() -> None:
    assert nd.element_of(nd.SumOp(C, [0])).name == "i32"
    assert nd.element_of(nd.SumOp(X, [0], f64)).name == "f64"


def test_matmul_free_axes() -> None:
    a, b = value([2, 3, 5, 7]), value([7, 2, 11])
    op = nd.MatmulOp(a, b, lhs_batch=[0], rhs_batch=[1], lhs_contract=[3], rhs_contract=[0])
    op.verify()
    assert (op.lhs_free, op.rhs_free) == ((1, 2), (2,))
    assert nd.shape_of(op) == (2, 3, 5, 11)


def test_builders_reject_axes_out_of_range() -> None:
    with pytest.raises(VerifyException, match="expected an axis in -2..1 of a rank-2 tensor, found 2"):
        nd.SumOp(X, [2])
    with pytest.raises(VerifyException, match="expected a tensor, found i32"):
        nd.ExpOp(test.TestOp(result_types=[i32]).results[0])


# Constants


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda e: e.name)
def test_splat_of_each_element_type_survives_text(element: Element) -> None:
    numbers = {"float": [0.0, 1.0, -1.5, 0.1], "bool": [True, False]}.get(element.kind, [0, 1, 100])
    for number in numbers:
        op = nd.ConstantOp.splat(number, nd.tensor([3, 2], element))
        assert same(reparsed(op, False), op) and same(reparsed(op, True), op)
        assert op.array().dtype == element.dtype and op.array().shape == (3, 2)
        assert op.splat_value == pytest.approx(number, rel=0.1)
        assert type(op.splat_value) is type(number)


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "f8e5m2"])
def test_infinities_and_nan(name: str) -> None:
    element = element_named(name)
    array = np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0]).astype(element.dtype)
    op = nd.ConstantOp.from_array(array)
    assert "[inf, -inf, nan, nan, -0.0]" in text_of(op, False)
    np.testing.assert_array_equal(op.array().astype(np.float64), array.astype(np.float64))
    assert same(reparsed(op, False), op)


def test_a_splat_is_one_element_whatever_the_shape() -> None:
    op = nd.ConstantOp.splat(2.0, nd.tensor([65536, 65536, 65536], f32))
    op.verify()
    assert len(op.value.data.data) == 4
    assert op.array().shape == (65536, 65536, 65536) and op.array()[5, 6, 7] == 2
    assert same(reparsed(op, False), op)


def test_equal_elements_become_a_splat() -> None:
    assert nd.ConstantOp.from_array(np.full((4, 4), 3, np.int8)).value == nd.ElementsAttr.splat(
        3, nd.tensor([4, 4], i8)
    )
    assert nd.ConstantOp.from_array(np.array([0.0, -0.0])).splat_value is None
    assert nd.ConstantOp.from_array(np.zeros((0, 4), np.float32)).splat_value == 0.0


def test_f8_literals_saturate() -> None:
    assert nd.ConstantOp.splat(1e9, nd.tensor([], element_named("f8e4m3"))).splat_value == 448.0


def test_integers_out_of_range_are_rejected() -> None:
    with pytest.raises(ValueError, match="300 is out of the range of u8"):
        nd.ConstantOp.splat(300, nd.tensor([], element_named("u8")))


def test_many_elements_are_printed_as_bytes() -> None:
    array = np.arange(1000, dtype=np.int16)
    op = nd.ConstantOp.from_array(array)
    assert 'nd.constant "0x00000100' in text_of(op, False)
    parsed = reparsed(op, False)
    assert isinstance(parsed, nd.ConstantOp)
    np.testing.assert_array_equal(parsed.array(), array)


@examples(200)
@given(st.sampled_from(ELEMENTS), st.binary(min_size=24, max_size=24))
def test_any_bits_survive_text(element: Element, data: bytes) -> None:
    if element.kind == "bool":
        data = bytes(b & 1 for b in data)
    op = nd.ConstantOp.from_array(np.frombuffer(data, element.dtype).reshape(-1, 3))
    assert same(reparsed(op, False), op)


def test_constant_folds_to_its_value() -> None:
    op = nd.ConstantOp.splat(1, nd.tensor([2], i64))
    assert op.fold() == (op.value,)
    assert op.has_trait(ConstantLike)


def test_bf16_literal_rounds_once() -> None:
    """1 + 2^-8 + 2^-40 is above the middle of two bf16 numbers; through f32 it would be the middle, which goes to even."""
    assert nd.ConstantOp.splat(1 + 2**-8 + 2**-40, nd.tensor([], bf16)).splat_value == 1 + 2**-7
    assert float(ml_dtypes.bfloat16(np.float32(1 + 2**-8 + 2**-40))) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "nd.constant",
        "nd.constant [ : tensor<1xf32>",
        "nd.constant 1.0 tensor<f32>",
        "nd.constant -true : tensor<i1>",
        "nd.constant 1.0 : tensor<?xf32>",
        "nd.constant #nd.elements<1.0> : tensor<1xf32>",
        '"nd.constant"() <{value = #nd.elements<1.5 : tensor<2xi32>>}> : () -> tensor<2xi32>',
        "nd.iota : tensor<3xi32>",
        "nd.iota {axis = 99999999999999999999} : tensor<3xi32>",
        "nd.iota {axis = 0 : tensor<3xi32>",
        "nd.iota {axis = 0} : (tensor<3xi32>)",
    ],
)
def test_bad_text_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        Parser(context(), f"%0 = {text}").parse_module()
