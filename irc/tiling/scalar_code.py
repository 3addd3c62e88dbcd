"""Elementwise ops as scalar `arith` and `math` code, with the corner cases of docs/language.md spelled out.

Values are signless; whether an integer is unsigned comes from the nd element type (`Scalar.source`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from xdsl.dialects import arith, math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from irc.dialects.nd.table import Row
from irc.dialects.scalar import FmodOp
from irc.ir.properties import constant_of
from irc.tiling.scalar_body import Body, Scalar, width_of

ScalarCode = Callable[..., SSAValue]
"""Adds the scalar of scalars to a body: (body, scalars..., the op's properties by name)."""

OPS: dict[str, Callable[..., Operation]] = {op.name: op for op in (*arith.Arith.operations, *math.Math.operations)}


@cache
def code_of(row: Row) -> ScalarCode | None:
    """The code of an elementwise op, as its row says; None where decompose-nd takes it apart."""
    scalar = row.scalar
    if isinstance(scalar, tuple):
        return _compare(*scalar) if row.op.IS_TEST else _by_type(*scalar)
    if scalar in OPS:
        build = OPS[scalar]
        return lambda body, *inputs: body(build(*(x.value for x in inputs)))
    return FUNCTIONS[scalar] if scalar else None


def _by_type(of_float: str, of_signed: str, of_unsigned: str | None = None) -> ScalarCode:
    """Ops by element type; without a name the scalar itself."""

    def code(body: Body, *inputs: Scalar) -> SSAValue:
        x = inputs[0]
        name = of_float if x.is_float else of_unsigned or of_signed if x.is_unsigned else of_signed
        return body(OPS[name](*(x.value for x in inputs))) if name else x.value

    return code


def _compare(of_float: str, of_signed: str, of_unsigned: str) -> ScalarCode:
    """Predicates by element type."""

    def code(body: Body, a: Scalar, b: Scalar) -> SSAValue:
        return body.compare(of_float if a.is_float else of_unsigned if a.is_unsigned else of_signed, a.value, b.value)

    return code


def neg(body: Body, x: Scalar) -> SSAValue:
    if x.is_float:
        return body(arith.NegfOp(x.value))
    return body(arith.SubiOp(body.constant(0, x.value.type), x.value))


def absolute(body: Body, x: Scalar) -> SSAValue:
    if x.is_float:
        return body(math.AbsFOp(x.value))
    if x.is_unsigned:
        return x.value
    negative = body.compare("slt", x.value, body.constant(0, x.value.type))
    return body.select(negative, neg(body, x), x.value)


def sign(body: Body, x: Scalar) -> SSAValue:
    type, value = x.value.type, x.value
    zero, one = body.constant(0, type), body.constant(1, type)
    if x.is_unsigned:
        return body.select(body.compare("eq", value, zero), zero, one)
    greater, less = ("ogt", "olt") if x.is_float else ("sgt", "slt")
    rest = body(arith.AddfOp(value, zero)) if x.is_float else value  # 0 of -0, NaN of NaN
    below = body.select(body.compare(less, value, zero), body.constant(-1, type), rest)
    return body.select(body.compare(greater, value, zero), one, below)


def relu(body: Body, x: Scalar) -> SSAValue:
    zero = body.constant(0, x.value.type)
    if x.is_float:
        return body(arith.MaximumfOp(x.value, zero))
    return x.value if x.is_unsigned else body(arith.MaxSIOp(x.value, zero))


def leaky_relu(body: Body, x: Scalar, slope: float) -> SSAValue:
    value, type = x.value, x.value.type
    scaled = body(arith.MulfOp(value, body.constant(slope, type)))
    return body.select(body.compare("ogt", value, body.constant(0.0, type)), value, scaled)


def reciprocal(body: Body, x: Scalar) -> SSAValue:
    return body(arith.DivfOp(body.constant(1.0, x.value.type), x.value))


APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""A result that is off by up to about 2 ** -20 of itself will do."""
RECIPROCAL = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC, FastMathFlag.ALLOW_RECIP])
"""And a quotient may be a product with an approximate reciprocal, 0 where that is subnormal."""


def sigmoid(body: Body, x: Scalar) -> SSAValue:
    """1 / (1 + exp(-x)). Exact division takes a slow path for the large divisors of very negative x."""
    one = body.constant(1.0, x.value.type)
    power = body(math.ExpOp(body(arith.NegfOp(x.value))))
    divisor = body(arith.AddfOp(one, power))
    body.fastmath = RECIPROCAL
    return body(arith.DivfOp(one, divisor))


def silu(body: Body, x: Scalar) -> SSAValue:
    return body(arith.MulfOp(x.value, sigmoid(body, x)))


def isnan(body: Body, x: Scalar) -> SSAValue:
    return body.is_nan(x.value)


def isinf(body: Body, x: Scalar) -> SSAValue:
    return body.compare("oeq", body(math.AbsFOp(x.value)), body.constant(float("inf"), x.value.type))


def invert(body: Body, x: Scalar) -> SSAValue:
    return body(arith.XOrIOp(x.value, body.constant(-1, x.value.type)))


def shift_left(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    small, amount = _shift_amount(body, b)
    if small is None:
        return body(arith.ShLIOp(a.value, amount))
    return body.select(small, body(arith.ShLIOp(a.value, amount)), body.constant(0, a.value.type))


def shift_right(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    small, amount = _shift_amount(body, b)
    if small is None:
        return body(arith.ShRUIOp(a.value, amount) if a.is_unsigned else arith.ShRSIOp(a.value, amount))
    if a.is_unsigned:
        return body.select(small, body(arith.ShRUIOp(a.value, amount)), body.constant(0, a.value.type))
    last = body.constant(width_of(a.value.type) - 1, a.value.type)
    return body(arith.ShRSIOp(a.value, body.select(small, amount, last)))


def _shift_amount(body: Body, b: Scalar) -> tuple[SSAValue | None, SSAValue]:
    """(whether the amount is below the width, None where it is known to be; an amount that is)."""
    type, known = b.value.type, constant_of(b.value)
    if known is not None and 0 <= known < width_of(type):
        return None, b.value
    small = body.compare("ult", b.value, body.constant(width_of(type), type))
    return small, body.select(small, b.value, body.constant(0, type))


def _quotient_and_rest(body: Body, a: Scalar, b: Scalar) -> tuple[SSAValue, SSAValue]:
    """Floored integer division: by 0 it is 0 and leaves 0; the least integer by -1 wraps."""
    x, y, type = a.value, b.value, a.value.type
    zero, one = body.constant(0, type), body.constant(1, type)
    by_zero = body.compare("eq", y, zero)
    if a.is_unsigned:
        safe = body.select(by_zero, one, y)
        quotient, rest = body(arith.DivUIOp(x, safe)), body(arith.RemUIOp(x, safe))
        return body.select(by_zero, zero, quotient), body.select(by_zero, zero, rest)
    by_minus_one = body.compare("eq", y, body.constant(-1, type))
    safe = body.select(body(arith.OrIOp(by_zero, by_minus_one)), one, y)
    quotient, rest = body(arith.DivSIOp(x, safe)), body(arith.RemSIOp(x, safe))
    opposite = body(arith.XOrIOp(body.compare("slt", rest, zero), body.compare("slt", y, zero)))
    below = body(arith.AndIOp(body.compare("ne", rest, zero), opposite))
    quotient = body.select(below, body(arith.SubiOp(quotient, one)), quotient)
    rest = body.select(below, body(arith.AddiOp(rest, y)), rest)
    quotient = body.select(by_minus_one, body(arith.SubiOp(zero, x)), quotient)
    return body.select(by_zero, zero, quotient), rest


def floordiv(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    """Of floats as numpy's: x without what C's fmod leaves is a multiple of y and no larger than x, so that nothing
    overflows but the quotient, which has the sign of x / y where it is 0."""
    if not a.is_float:
        return _quotient_and_rest(body, a, b)[0]
    x, y = a.value, b.value
    body.fastmath = None
    rest = body(FmodOp(x, y))
    whole = body(math.RoundEvenOp(body(arith.DivfOp(body(arith.SubfOp(x, rest)), y))))
    below = body(arith.SubfOp(whole, body.constant(1.0, x.type)))
    floored = body.select(_opposite(body, rest, y), below, whole)
    exact = body(arith.DivfOp(x, y))
    by_zero = body.compare("oeq", y, body.constant(0.0, x.type))
    return body.select(by_zero, exact, body(math.CopySignOp(floored, exact)))


def mod(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    if not a.is_float:
        return _quotient_and_rest(body, a, b)[1]
    x, y = a.value, b.value
    rest = body(FmodOp(x, y))
    floored = body.select(_opposite(body, rest, y), body(arith.AddfOp(rest, y)), rest)
    return body(math.CopySignOp(floored, y))  # where it is 0, too


def _opposite(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
    """Whether x is not 0 and has the other sign than y."""
    zero = body.constant(0.0, x.type)
    opposite = body(arith.XOrIOp(body.compare("olt", x, zero), body.compare("olt", y, zero)))
    return body(arith.AndIOp(body.compare("one", x, zero), opposite))


def power(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    if a.is_float:
        return body(math.PowFOp(a.value, b.value))
    exponent = constant_of(b.value)
    if exponent is None or exponent < 0:
        return _integer_power(body, a, b)
    result, power = body.constant(1, a.value.type), a.value
    while exponent > 0:
        if exponent & 1:
            result = body(arith.MuliOp(result, power))
        exponent >>= 1
        if exponent:
            power = body(arith.MuliOp(power, power))
    return result


def _integer_power(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    """By squaring, for every bit of the exponent; a negative one gives 1 // a ** -b, which is 0 unless a is 1 or -1."""
    type = a.value.type
    zero, one = body.constant(0, type), body.constant(1, type)
    result, power = one, a.value
    for bit in range(width_of(type) - (0 if a.is_unsigned else 1)):
        is_set = body.compare("ne", body(arith.AndIOp(b.value, body.constant(1 << bit, type))), zero)
        result = body.select(is_set, body(arith.MuliOp(result, power)), result)
        power = body(arith.MuliOp(power, power))
    if a.is_unsigned:
        return result
    odd = body.compare("ne", body(arith.AndIOp(b.value, one)), zero)
    of_minus_one = body.select(odd, a.value, one)
    small = body.select(body.compare("eq", a.value, body.constant(-1, type)), of_minus_one, zero)
    small = body.select(body.compare("eq", a.value, one), one, small)
    return body.select(body.compare("slt", b.value, zero), small, result)


def where(body: Body, test: Scalar, yes: Scalar, no: Scalar) -> SSAValue:
    return body.select(test.value, yes.value, no.value)


add = _by_type("arith.addf", "arith.addi")
multiply = _by_type("arith.mulf", "arith.muli")
maximum = _by_type("arith.maximumf", "arith.maxsi", "arith.maxui")
minimum = _by_type("arith.minimumf", "arith.minsi", "arith.minui")


def clamp(body: Body, x: Scalar, low: Scalar, high: Scalar) -> SSAValue:
    return minimum(body, Scalar(maximum(body, x, low), x.source), high)


FUNCTIONS: dict[str, ScalarCode] = {
    "absolute": absolute,
    "clamp": clamp,
    "floordiv": floordiv,
    "invert": invert,
    "isinf": isinf,
    "isnan": isnan,
    "leaky_relu": leaky_relu,
    "mod": mod,
    "neg": neg,
    "power": power,
    "reciprocal": reciprocal,
    "relu": relu,
    "shift_left": shift_left,
    "shift_right": shift_right,
    "sigmoid": sigmoid,
    "sign": sign,
    "silu": silu,
    "where": where,
}
"""What rows name that is not an op."""
