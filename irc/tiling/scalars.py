"""nd elementwise ops as scalar `arith` and `math` code, with the corner cases of docs/language.md spelled out.

Values are signless; whether an integer is unsigned comes from the nd element type (`Scalar.source`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    IntegerAttr,
    i1,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from irc.dialects.nd.declared import is_relaxed
from irc.dialects.scalar import CheckIndexOp, FmodOp
from irc.ir.dtypes import element_of
from irc.support.diagnostics import IrcError
from irc.tiling.nodes import name_of, number, signless
from irc.tiling.scalar_body import Body, Scalar, cast, width_of


def apply(body: Body, op: Operation, inputs: list[Scalar], result: Attribute) -> SSAValue:
    """The scalar that the nd op computes of its inputs; `result` is its nd element type."""
    name = name_of(op)
    if name == "cast":
        return cast(body, inputs[0], result)
    if name == "bitcast":
        return _bitcast(body, inputs[0].value, signless(result))
    if name in _COMPARE:
        return _compare(body, name, *inputs)
    if name == "check_indices":
        return _check_index(body, inputs[0], number(op, "low"), number(op, "high"))
    rule = _RULES.get(name)
    if rule is None:
        raise IrcError(f"{op.name} cannot be computed in a kernel", op.location, "run decompose-nd first")
    if name == "leaky_relu":
        return _leaky_relu(body, inputs[0].value, _slope(op))
    body.fastmath = APPROXIMATE if is_relaxed(op) else None
    value = rule(body, *inputs)
    body.fastmath = None
    return value


def _slope(op: Operation) -> float:
    value: Any = op.properties["slope"]
    return value.value.data


def _check_index(body: Body, x: Scalar, low: int, high: int) -> SSAValue:
    """One comparison: what is less than low is large without its sign."""
    value, type = x.value, x.value.type
    least, most = element_of(x.source).limits()
    first, count = max(low, least), min(high, most + 1) - max(low, least)
    if count > most - least:
        return value
    offset = body(arith.SubiOp(value, body.constant(first, type))) if first else value
    return body(CheckIndexOp(value, body.compare("ult", offset, body.constant(count, type)), low, high))


def _bitcast(body: Body, value: SSAValue, target: Attribute) -> SSAValue:
    return value if value.type == target else body(arith.BitcastOp(value, target))


_COMPARE: dict[str, tuple[str, str, str]] = {
    "equal": ("oeq", "eq", "eq"),
    "not_equal": ("une", "ne", "ne"),
    "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"),
    "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
}
"""The predicates for floats, signed and unsigned integers."""


def _compare(body: Body, name: str, a: Scalar, b: Scalar) -> SSAValue:
    return body.compare(_COMPARE[name][0 if a.is_float else 2 if a.is_unsigned else 1], a.value, b.value)


Rule = Callable[..., SSAValue]


def _float_unary(op: Callable[[SSAValue], Operation]) -> Rule:
    return lambda body, x: body(op(x.value))


def _binary(of_float: Any, of_signed: Any, of_unsigned: Any = None) -> Rule:
    def rule(body: Body, a: Scalar, b: Scalar) -> SSAValue:
        op = of_float if a.is_float else of_unsigned if of_unsigned is not None and a.is_unsigned else of_signed
        return body(op(a.value, b.value))

    return rule


def _neg(body: Body, x: Scalar) -> SSAValue:
    if x.is_float:
        return body(arith.NegfOp(x.value))
    return body(arith.SubiOp(body.constant(0, x.value.type), x.value))


def _abs(body: Body, x: Scalar) -> SSAValue:
    if x.is_float:
        return body(math.AbsFOp(x.value))
    if x.is_unsigned:
        return x.value
    negative = body.compare("slt", x.value, body.constant(0, x.value.type))
    return body.select(negative, _neg(body, x), x.value)


def _sign(body: Body, x: Scalar) -> SSAValue:
    type, value = x.value.type, x.value
    zero, one = body.constant(0, type), body.constant(1, type)
    if x.is_unsigned:
        return body.select(body.compare("eq", value, zero), zero, one)
    greater, less = ("ogt", "olt") if x.is_float else ("sgt", "slt")
    rest = body(arith.AddfOp(value, zero)) if x.is_float else value  # 0 of -0, NaN of NaN
    below = body.select(body.compare(less, value, zero), body.constant(-1, type), rest)
    return body.select(body.compare(greater, value, zero), one, below)


def _relu(body: Body, x: Scalar) -> SSAValue:
    zero = body.constant(0, x.value.type)
    if x.is_float:
        return body(arith.MaximumfOp(x.value, zero))
    return x.value if x.is_unsigned else body(arith.MaxSIOp(x.value, zero))


def _leaky_relu(body: Body, x: SSAValue, slope: float) -> SSAValue:
    scaled = body(arith.MulfOp(x, body.constant(slope, x.type)))
    return body.select(body.compare("ogt", x, body.constant(0.0, x.type)), x, scaled)


def _reciprocal(body: Body, x: Scalar) -> SSAValue:
    return body(arith.DivfOp(body.constant(1.0, x.value.type), x.value))


APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""A result that is off by up to about 2 ** -20 of itself will do."""
RECIPROCAL = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC, FastMathFlag.ALLOW_RECIP])
"""And a quotient may be a product with an approximate reciprocal, 0 where that is subnormal."""


def _sigmoid(body: Body, x: Scalar) -> SSAValue:
    """1 / (1 + exp(-x)). Exact division takes a slow path for the large divisors of very negative x."""
    one = body.constant(1.0, x.value.type)
    power = body(math.ExpOp(body(arith.NegfOp(x.value))))
    divisor = body(arith.AddfOp(one, power))
    body.fastmath = RECIPROCAL
    return body(arith.DivfOp(one, divisor))


def _silu(body: Body, x: Scalar) -> SSAValue:
    return body(arith.MulfOp(x.value, _sigmoid(body, x)))


def _rounding(op: Callable[[SSAValue], Operation]) -> Rule:
    return lambda body, x: body(op(x.value)) if x.is_float else x.value


def _isinf(body: Body, x: Scalar) -> SSAValue:
    return body.compare("oeq", body(math.AbsFOp(x.value)), body.constant(float("inf"), x.value.type))


def _not(body: Body, x: Scalar) -> SSAValue:
    return body(arith.XOrIOp(x.value, body.constant(-1, x.value.type)))


def _shift_left(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    small, amount = _shift_amount(body, b)
    return body.select(small, body(arith.ShLIOp(a.value, amount)), body.constant(0, a.value.type))


def _shift_right(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    small, amount = _shift_amount(body, b)
    if a.is_unsigned:
        return body.select(small, body(arith.ShRUIOp(a.value, amount)), body.constant(0, a.value.type))
    last = body.constant(width_of(a.value.type) - 1, a.value.type)
    return body(arith.ShRSIOp(a.value, body.select(small, amount, last)))


def _shift_amount(body: Body, b: Scalar) -> tuple[SSAValue, SSAValue]:
    """(whether the amount is below the width, an amount that is)."""
    type = b.value.type
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


def _floordiv(body: Body, a: Scalar, b: Scalar) -> SSAValue:
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


def _mod(body: Body, a: Scalar, b: Scalar) -> SSAValue:
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


def _pow(body: Body, a: Scalar, b: Scalar) -> SSAValue:
    if a.is_float:
        return body(math.PowFOp(a.value, b.value))
    exponent = _constant_of(b.value)
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


def _constant_of(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _where(body: Body, test: Scalar, yes: Scalar, no: Scalar) -> SSAValue:
    return body.select(test.value, yes.value, no.value)


def _clamp(body: Body, x: Scalar, low: Scalar, high: Scalar) -> SSAValue:
    return _MINIMUM(body, Scalar(_MAXIMUM(body, x, low), x.source), high)


_MAXIMUM = _binary(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp)
_MINIMUM = _binary(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp)

_RULES: dict[str, Rule] = {
    "neg": _neg,
    "abs": _abs,
    "sign": _sign,
    "relu": _relu,
    "leaky_relu": _relu,
    "reciprocal": _reciprocal,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "exp": _float_unary(math.ExpOp),
    "exp2": _float_unary(math.Exp2Op),
    "expm1": _float_unary(math.ExpM1Op),
    "log": _float_unary(math.LogOp),
    "log2": _float_unary(math.Log2Op),
    "log1p": _float_unary(math.Log1pOp),
    "sqrt": _float_unary(math.SqrtOp),
    "rsqrt": _float_unary(math.RsqrtOp),
    "sin": _float_unary(math.SinOp),
    "cos": _float_unary(math.CosOp),
    "tan": _float_unary(math.TanOp),
    "tanh": _float_unary(math.TanhOp),
    "erf": _float_unary(math.ErfOp),
    "floor": _rounding(math.FloorOp),
    "ceil": _rounding(math.CeilOp),
    "round": _rounding(math.RoundEvenOp),
    "isnan": lambda body, x: body.is_nan(x.value),
    "isinf": _isinf,
    "logical_not": _not,
    "bitwise_not": _not,
    "bitwise_and": _binary(None, arith.AndIOp),
    "bitwise_or": _binary(None, arith.OrIOp),
    "bitwise_xor": _binary(None, arith.XOrIOp),
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "add": _binary(arith.AddfOp, arith.AddiOp),
    "sub": _binary(arith.SubfOp, arith.SubiOp),
    "mul": _binary(arith.MulfOp, arith.MuliOp),
    "div": _binary(arith.DivfOp, arith.DivSIOp),
    "floordiv": _floordiv,
    "mod": _mod,
    "pow": _pow,
    "minimum": _MINIMUM,
    "maximum": _MAXIMUM,
    "atan2": _binary(math.Atan2Op, None),
    "where": _where,
    "clamp": _clamp,
}


def combine(body: Body, monoid: str, source: Attribute, a: SSAValue, b: SSAValue) -> SSAValue:
    """The step of a reduction or scan."""
    x, y = Scalar(a, source), Scalar(b, source)
    match monoid:
        case "sum":
            return _RULES["add"](body, x, y)
        case "prod":
            return _RULES["mul"](body, x, y)
        case "max":
            return body(arith.OrIOp(a, b)) if a.type == i1 else _MAXIMUM(body, x, y)
        case "min":
            return body(arith.AndIOp(a, b)) if a.type == i1 else _MINIMUM(body, x, y)
        case "any":
            return body(arith.OrIOp(a, b))
        case _:
            return body(arith.AndIOp(a, b))


def first_extreme(body: Body, monoid: str, x: tuple[Scalar, SSAValue], y: tuple[Scalar, SSAValue]) -> SSAValue:
    """Whether y goes before x as the result of argmax or argmin: NaN before numbers, then
    the extreme, then the smaller index."""
    (a, i), (b, j) = x, y
    greater, equal = ("ogt", "oeq") if a.is_float else ("ugt" if a.is_unsigned else "sgt", "eq")
    if monoid == "argmin":
        greater = greater.replace("gt", "lt")
    better, same = body.compare(greater, b.value, a.value), body.compare(equal, b.value, a.value)
    if a.is_float:
        nan_a, nan_b = body.is_nan(a.value), body.is_nan(b.value)
        only_b = body(arith.AndIOp(nan_b, body(arith.XOrIOp(nan_a, body.constant(1, i1)))))
        better = body(arith.OrIOp(better, only_b))
        same = body(arith.OrIOp(same, body(arith.AndIOp(nan_a, nan_b))))
    earlier = body.compare("slt", j, i)
    return body(arith.OrIOp(better, body(arith.AndIOp(same, earlier))))
