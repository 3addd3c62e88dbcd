"""What elementwise nd ops mean in numpy; where each precision rounds; errors; the cpu target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from nd_functions import BF16, E4M3, E5M2, INF, INTEGERS, NAN, array, module, random, run, same, wrapped
from xdsl.dialects import test
from xdsl.dialects.builtin import bf16, f16, f32, i1, i8, i16, i32, i64
from xdsl.ir import Operation, SSAValue

from irc.dialects import nd
from irc.interpreters.nd.interpreter import evaluate
from irc.ir.dtypes import element_named, element_of_dtype
from irc.language import parse
from irc.runtime.interpreted import InterpretedProgram
from irc.support.diagnostics import IrcError

# Elementwise

REAL: dict[type[nd.NdOp], Callable[[float], float]] = {
    nd.ExpOp: math.exp,
    nd.Exp2Op: math.exp2,
    nd.Expm1Op: math.expm1,
    nd.LogOp: math.log,
    nd.Log2Op: math.log2,
    nd.Log10Op: math.log10,
    nd.Log1pOp: math.log1p,
    nd.SqrtOp: math.sqrt,
    nd.RsqrtOp: lambda x: x**-0.5,
    nd.ReciprocalOp: lambda x: 1 / x,
    nd.SinOp: math.sin,
    nd.CosOp: math.cos,
    nd.TanOp: math.tan,
    nd.TanhOp: math.tanh,
    nd.ErfOp: math.erf,
    nd.SigmoidOp: lambda x: 1 / (1 + math.exp(-x)),
    nd.SiluOp: lambda x: x / (1 + math.exp(-x)),
    nd.GeluOp: lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    nd.ReluOp: lambda x: max(x, 0.0),
    nd.NegOp: lambda x: -x,
    nd.AbsOp: abs,
    nd.SignOp: lambda x: math.copysign(1.0, x),
    nd.FloorOp: math.floor,
    nd.CeilOp: math.ceil,
    nd.RoundOp: round,
}
TOLERANCE = {np.float64: 1e-14, np.float32: 1e-6, np.float16: 1e-3, BF16: 8e-3}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda d: d.__name__)
@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_real_functions(op: type[nd.NdOp], dtype: Any) -> None:
    x = array([0.125, 0.5, 0.75, 1.5, 2.5, 3.0], dtype)
    expected = [float(REAL[op](float(v))) for v in x]
    np.testing.assert_allclose(run(op, x).astype(np.float64), expected, rtol=TOLERANCE[dtype])


def test_erf_is_accurate_in_float64() -> None:
    x = np.linspace(-6, 6, 241)
    np.testing.assert_allclose(run(nd.ErfOp, x), [math.erf(v) for v in x], rtol=1e-15)


def test_special_values_of_functions() -> None:
    x = array([NAN, INF, -INF, -0.0, -1.0])
    same(run(nd.ReluOp, x), [NAN, INF, 0, 0, 0])
    same(run(nd.SignOp, x), [NAN, 1, -1, 0, -1])
    same(run(nd.LogOp, x), [NAN, INF, NAN, -INF, NAN])
    same(run(nd.Log10Op, x), [NAN, INF, NAN, -INF, NAN])
    same(run(nd.Log10Op, 10.0 ** np.arange(-20, 21)), np.arange(-20, 21))
    same(run(nd.SigmoidOp, x)[:3], [NAN, 1, 0])
    same(run(nd.IsnanOp, x), [True, False, False, False, False])
    same(run(nd.IsinfOp, x), [False, True, True, False, False])
    same(run(nd.RoundOp, array([0.5, 1.5, 2.5, -0.5, -1.5])), [0, 2, 2, 0, -2])


def test_parametrized_functions() -> None:
    x = array([-2.0, -0.5, 0.0, 1.0, 3.0], np.float64)
    same(run(lambda v: nd.LeakyReluOp(v, 0.25), x), [-0.5, -0.125, 0, 1, 3])
    tanh = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x]
    np.testing.assert_allclose(run(lambda v: nd.GeluOp(v, "tanh"), x), tanh, rtol=1e-14)


def test_unary_integers_wrap_and_stay() -> None:
    x = array([-128, -3, 0, 127], np.int8)
    same(run(nd.NegOp, x), [-128, 3, 0, -127])
    same(run(nd.AbsOp, x), [-128, 3, 0, 127])
    same(run(nd.FloorOp, x), x)
    same(run(nd.BitwiseNotOp, x), [127, 2, -1, -128])
    same(run(nd.NegOp, array([1, 0, 255], np.uint8)), [255, 0, 1])
    same(run(nd.BitwiseNotOp, array([True, False], bool)), [False, True])


@examples(150)
@given(st.sampled_from(INTEGERS), st.data())
def test_integer_arithmetic(dtype: Any, data: st.DataObject) -> None:
    info = np.iinfo(dtype)
    number = st.sampled_from([info.min, info.max, 0, 1]) | st.integers(int(info.min), int(info.max))
    a, b = data.draw(number), data.draw(number)
    x, y = array([a], dtype), array([b], dtype)
    bits = info.bits
    expected = {
        nd.AddOp: a + b,
        nd.SubOp: a - b,
        nd.MulOp: a * b,
        nd.FloorDivOp: a // b if b else 0,
        nd.ModOp: a % b if b else 0,
        nd.MinimumOp: min(a, b),
        nd.MaximumOp: max(a, b),
        nd.BitwiseAndOp: a & b,
        nd.BitwiseOrOp: a | b,
        nd.BitwiseXorOp: a ^ b,
        nd.ShiftLeftOp: a << b if 0 <= b < bits else 0,
        nd.ShiftRightOp: a >> b if 0 <= b < bits else -(a < 0),
    }
    for op, value in expected.items():
        assert int(run(op, x, y)[0]) == wrapped(value, dtype), op.name


def test_the_power_of_one_half_is_that_of_c() -> None:
    """numpy's own shortcut, a square root, differs at -inf and -0.0."""
    text = "func f(x: f64[4]) -> f64[4] {\n    return x ** 0.5\n}\n"
    (found,) = evaluate(parse(text), [np.array([-INF, -0.0, 4.0, -1.0])])
    assert found[0] == INF
    assert not np.signbit(found[1])
    assert found[2] == 2
    assert np.isnan(found[3])


def test_integer_powers() -> None:
    x, y = array([2, -3, 7, 0, 1, -1, -1, 2], np.int8), array([6, 5, 3, 0, -1, -1, -2, -3], np.int8)
    same(run(nd.PowOp, x, y), [64, 13, 87, 1, 1, -1, 1, 0])


@examples(150)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_float_floor_division_is_pythons(a: float, b: float) -> None:
    if b == 0 or not math.isfinite(a // b):
        return
    assert run(nd.FloorDivOp, array([a], np.float64), array([b], np.float64))[0] == a // b
    assert run(nd.ModOp, array([a], np.float64), array([b], np.float64))[0] == a % b


def test_nan_in_binary_ops() -> None:
    x, y = array([NAN, 1, NAN, 2]), array([1, NAN, NAN, 1])
    same(run(nd.MinimumOp, x, y), [NAN, NAN, NAN, 1])
    same(run(nd.MaximumOp, x, y), [NAN, NAN, NAN, 2])
    same(run(nd.EqualOp, x, y), [False] * 4)
    same(run(nd.NotEqualOp, x, y), [True] * 4)
    same(run(nd.LessOp, x, y), [False] * 4)
    same(run(nd.GreaterEqualOp, x, y), [False, False, False, True])
    same(run(nd.ClampOp, array([NAN, -5, 0, 5]), array([-1] * 4), array([1, 1, NAN, 1])), [NAN, -1, NAN, 1])


def test_where_takes_either() -> None:
    c, x, y = array([True, False], bool), array([1, NAN]), array([NAN, 2])
    same(run(nd.WhereOp, c, x, y), [1, 2])


def test_bf16_computes_in_f32_and_rounds() -> None:
    x, y = array([1.0, 256.0], BF16), array([2**-8, 1.0], BF16)
    same(run(nd.AddOp, x, y), [1.0, 256.0])
    same(run(nd.AddOp, array([1 + 2**-7], BF16), array([2**-8], BF16)), [1 + 2**-6])


# Casts


def test_casts_to_integers_saturate() -> None:
    x = array([NAN, INF, -INF, 1e30, -1e30, 2.9, -2.9])
    for dtype, element in ((np.int8, i8), (np.int32, i32), (np.int64, i64), (np.uint8, element_named("u8"))):
        info = np.iinfo(dtype)
        found = run(lambda v, e=element: nd.CastOp(v, e), x)
        assert found.tolist() == [0, info.max, info.min, info.max, info.min, 2, max(-2, int(info.min))]


def test_casts_of_integers_wrap() -> None:
    same(run(lambda v: nd.CastOp(v, i8), array([300, -129, 127], np.int32)), [44, 127, 127])
    same(run(lambda v: nd.CastOp(v, i1), array([0, 5, -1], np.int32)), [False, True, True])
    same(run(lambda v: nd.CastOp(v, i1), array([0.0, NAN, 0.25])), [False, True, True])
    same(run(lambda v: nd.CastOp(v, f16), array([True, False], bool)), [1, 0])


def test_casts_to_f8_saturate() -> None:
    x = array([1e9, -INF, NAN, 448, 0.3])
    same(run(lambda v: nd.CastOp(v, element_named("f8e4m3")), x), [448, -448, NAN, 448, 0.3125])
    same(run(lambda v: nd.CastOp(v, element_named("f8e5m2")), x), [57344, -57344, NAN, 448, 0.3125])


@examples(300)
@given(st.sampled_from([BF16, np.float16, E4M3, E5M2]), st.integers(0, 2**64 - 1))
def test_casts_from_float64_round_once_to_nearest(dtype: Any, bits: int) -> None:
    exponent = bits % 24 - 12
    value = (1 + (bits >> 12) / 2**52) * 2.0**exponent
    found = float(run(lambda v: nd.CastOp(v, element_of_dtype(np.dtype(dtype))), array([value], np.float64))[0])
    grid = np.arange(256 if np.dtype(dtype).itemsize == 1 else 65536).astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        grid = grid.astype(np.float64)
    grid = grid[np.isfinite(grid)]
    assert abs(found - value) == np.min(np.abs(grid - value))


def test_casts_round_ties_to_even() -> None:
    x = array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-40], np.float64)
    same(run(lambda v: nd.CastOp(v, bf16), x), [1, 1 + 2**-6, 1 + 2**-7])
    same(run(lambda v: nd.CastOp(v, bf16), array([2**62 + 2**54 + 1], np.int64)), [2**62 + 2**55])
    same(run(lambda v: nd.CastOp(v, f32), array([2**24 + 1, 2**24 + 3], np.int32)), [2**24, 2**24 + 4])


@pytest.mark.parametrize("shape", [(), (3,), (0, 2)])
def test_bitcast(shape: tuple[int, ...]) -> None:
    x = random(shape)
    same(run(lambda v: nd.BitcastOp(v, i32), x), np.frombuffer(x.tobytes(), np.int32).reshape(shape))
    y = random(shape, BF16)
    bits = np.frombuffer(y.tobytes(), np.int16).reshape(shape)
    same(run(lambda v: nd.BitcastOp(v, i16), y), bits)
    same(run(lambda v: nd.BitcastOp(v, i16), y, precision="float64"), bits)
    same(run(lambda v: nd.BitcastOp(v, bf16), bits, precision="float64"), y.astype(np.float64))


# Precisions, errors


def test_precisions_differ_in_where_they_round() -> None:
    """1 + 2^-8 - 1 in bf16: lost when each op rounds, kept when only the result does."""
    one, small = array([1.0], BF16), array([2**-8], BF16)

    def body(a: SSAValue, b: SSAValue) -> list[Operation]:
        total = nd.AddOp(a, b)
        return [total, nd.SubOp(total, a)]

    assert float(run(body, one, small)[0]) == 0
    assert run(body, one, small, precision="excess").tolist() == [2**-8]
    assert run(body, one, small, precision="float64").tolist() == [2**-8]
    assert InterpretedProgram(module(body, one, small))([one, small])[0].astype(np.float64).tolist() == [2**-8]


def test_float64_rounds_at_casts_operands_and_results() -> None:
    x = array([1 + 2**-8 + 2**-20])

    def there_and_back(a: SSAValue) -> list[Operation]:
        narrow = nd.CastOp(a, bf16)
        return [narrow, nd.CastOp(narrow, f32)]

    assert run(there_and_back, x, precision="float64").tolist() == [1 + 2**-7]
    assert run(lambda a: nd.CastOp(a, bf16), x, precision="float64").tolist() == [1 + 2**-7]

    def sum_then_product(a: SSAValue, b: SSAValue) -> list[Operation]:
        total = nd.AddOp(a, b)
        return [total, nd.MatmulOp(total, a, lhs_contract=[0], rhs_contract=[0], element=f32)]

    one = array([1.0], BF16)
    assert run(sum_then_product, one, array([2**-9], BF16), precision="float64").item() == 1.0


def test_float64_keeps_f32_arithmetic_unrounded() -> None:
    x = array([2.0**24])
    body = lambda a: [one := nd.ConstantOp.splat(1.0, nd.tensor([1], f32)), s := nd.AddOp(a, one), nd.SubOp(s, a)]  # noqa: E731
    assert run(body, x).tolist() == [0]
    assert run(body, x, precision="float64").tolist() == [1]


def test_splats_are_not_expanded() -> None:
    """A splat of 2^40 elements is used through a slice."""

    def body() -> list[Operation]:
        splat = nd.ConstantOp.splat(1.5, nd.tensor([2**20, 2**20], bf16))
        turned = nd.PermuteOp(splat, [1, 0])
        flat = nd.ReshapeOp(turned, [2**40])
        return [splat, turned, flat, nd.SliceOp(flat, [5], [7])]

    same(run(body, precision="program"), [1.5, 1.5])
    assert run(body, precision="float64").tolist() == [1.5, 1.5]


def test_results_are_the_callers() -> None:
    x = random((3, 4))
    (result,) = InterpretedProgram(module(lambda v: nd.PermuteOp(v, [0, 1]), x))([x])
    result[...] = 0
    assert x.any()


def test_bad_arguments_and_ops_are_errors() -> None:
    x = random((3, 4))
    program = module(nd.ExpOp, x)
    for arrays, message in (
        ([], "f takes 1 arrays, found 0"),
        ([x.T], r"f: argument 0 has the shape \[3, 4\], found \[4, 3\]"),
        ([x.astype(np.int32)], "f: argument 0 has elements f32, found int32"),
    ):
        with pytest.raises(IrcError, match=message):
            evaluate(program, arrays)
        with pytest.raises(IrcError, match=message):
            InterpretedProgram(program)(arrays)
    with pytest.raises(IrcError, match="no function g"):
        evaluate(program, [x], func="g")
    with pytest.raises(IrcError, match=r"test\.pureop has no meaning in numpy"):
        evaluate(module(lambda v: test.TestPureOp(operands=[v], result_types=[v.type]), x), [x])


def test_memory_is_freed_at_the_last_use() -> None:
    """A chain of 200 additions of 8 MB arrays holds a few of them at a time."""
    import tracemalloc

    x = np.zeros(2**20, np.float64)

    def chain(a: SSAValue) -> list[Operation]:
        ops: list[Operation] = [nd.AddOp(a, a)]
        for _ in range(50):
            ops.append(nd.AddOp(ops[-1], a))
        return ops

    program = InterpretedProgram(module(chain, x))
    tracemalloc.start()
    program([x])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * x.nbytes
