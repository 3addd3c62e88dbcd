"""Compile-time numbers: what literals and dims compute to, exactly and within bounds.

A number is an integer, a float or a bool. Integers are bounded by 64 bits. Floats are fractions (`1 / 3` is a third),
bounded by the finite float64 range; `inf`, `nan` and `-0.0` are Python floats. Errors are `NumberError`, which knows no
place in the text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes

from irc.ir.dtypes import Element

MIN_INTEGER, GREATEST_INTEGER = -(2**63), 2**63 - 1
GREATEST_FLOAT = Fraction(1.7976931348623157e308)
MAX_FRACTION_BITS = 2200
"""A fraction whose numerator or denominator is longer than this is rounded to float64: sizes stay bounded. Every
quotient of two float64 values is within it."""
LONGEST_LITERAL = 800
"""Digits of a float literal that are read exactly; a longer one is read as float64."""


class NumberError(Exception):
    """A computation that has no result, with a hint of what would have one."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Number:
    """`kind` is `int`, `float`, `bool`, or `extent`: a size that is known when the program is called. `value` is a
    whole fraction for ints, bools and extents, of which it is the number that stands for them; `text` says which."""

    value: Fraction | float
    kind: str
    text: str = ""

    def __str__(self) -> str:
        if self.kind == "extent":
            return self.text
        if self.kind == "bool":
            return "true" if self.value else "false"
        if self.kind == "int":
            return str(int(self.value))
        return format_float(float(self.value))

    @property
    def is_integer(self) -> bool:
        return self.kind == "int"


def integer(value: int) -> Number:
    """An integer of at most 64 bits."""
    if not MIN_INTEGER <= value <= GREATEST_INTEGER:
        raise NumberError("this number is beyond 64-bit integers", "a float literal (`1e30`) goes further")
    return Number(Fraction(value), "int")


def extent(stand_in: int, text: str) -> Number:
    """A size that is known when the program is called (`irc/support/extents.py`)."""
    return Number(Fraction(stand_in), "extent", text)


AT_RUN_TIME = "is known when the program is called"
AS_EXTENT = "it can be an extent of an array, alone or multiplied: `-D` gives it a size"


def boolean(value: bool) -> Number:
    return Number(Fraction(int(value)), "bool")


def real(value: Fraction | float) -> Number:
    """A float: exact where it is a fraction. A Python float stays as it is only where a fraction cannot say it."""
    if isinstance(value, float):
        if not math.isfinite(value) or (value == 0.0 and math.copysign(1.0, value) < 0):
            return Number(value, "float")
        value = Fraction(value)
    if abs(value) > GREATEST_FLOAT:
        raise NumberError("this number is beyond float64", "`inf` is the infinite value")
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_FRACTION_BITS:
        value = Fraction(float(value))
    return Number(value, "float")


def parse_integer(text: str, negative: bool = False) -> Number:
    """The value of decimal digits; `negative` is for the literal of the least integer."""
    digits = text.lstrip("0") or "0"
    if len(digits) > 19:
        raise NumberError("this number is beyond 64-bit integers", "a float literal (`1e30`) goes further")
    return integer(-int(digits) if negative else int(digits))


def parse_float(text: str) -> Number:
    """The exact value of a decimal literal; a value under the float64 range is 0."""
    nearest = float(text)
    if math.isinf(nearest):
        raise NumberError("this number is beyond float64", "`inf` is the infinite value")
    if nearest == 0 or len(text) > LONGEST_LITERAL:
        return real(Fraction(nearest))
    return real(Fraction(text))


def format_float(value: float) -> str:
    """The shortest literal that reads back as this float64; it always looks like a float."""
    return repr(value)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BITWISE: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
_ARITHMETIC: dict[str, Callable[..., Fraction | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def binary(op: str, left: Number, right: Number) -> Number:
    """`left op right` for the operators of the language, without `@`."""
    if "extent" in (left.kind, right.kind):
        return _of_extents(op, left, right)
    if op in _COMPARISONS:
        return _compare(op, left, right)
    if op in _BITWISE:
        return _bitwise(op, left, right)
    if "bool" in (left.kind, right.kind):
        raise NumberError(f"`{op}` does not take true or false", "bool takes `& | ^ ~` and comparisons")
    if op in ("<<", ">>"):
        return _shift(op, left, right)
    if op == "**":
        return _power(left, right)
    return _arithmetic(op, left, right)


def unary(op: str, operand: Number) -> Number:
    """`-x`, `+x` or `~x`."""
    if operand.kind == "extent":
        raise NumberError(f"{operand} {AT_RUN_TIME}", AS_EXTENT)
    if op == "~":
        if operand.kind == "float":
            raise NumberError("`~` takes integers and bools, not a float")
        return boolean(not operand.value) if operand.kind == "bool" else integer(~int(operand.value))
    if operand.kind == "bool":
        raise NumberError(f"`{op}` does not take true or false", "`~` negates a bool")
    if op == "+":
        return operand
    if operand.is_integer:
        return integer(-int(operand.value))
    return real(-float(operand.value) if operand.value == 0 else -operand.value)


def _of_extents(op: str, left: Number, right: Number) -> Number:
    """A product of extents and integers, which is an extent again; or an extent divided by a part of the number that
    its sizes are multiples of."""
    text = f"{left} {op} {right}"
    if op == "*" and {left.kind, right.kind} <= {"int", "extent"} and left.value > 0 and right.value > 0:
        return extent(int(integer(int(left.value * right.value)).value), text)
    if op == "//" and right.kind == "int" and right.value > 0 and left.value % right.value == 0:
        return extent(int(left.value / right.value), text)
    which = left if left.kind == "extent" else right
    raise NumberError(f"cannot compute `{text}`: {which} {AT_RUN_TIME}", AS_EXTENT)


def _compare(op: str, left: Number, right: Number) -> Number:
    if (left.kind == "bool") != (right.kind == "bool"):
        raise NumberError("cannot compare a bool and a number")
    return boolean(_COMPARISONS[op](left.value, right.value))


def _bitwise(op: str, left: Number, right: Number) -> Number:
    if left.kind != right.kind or left.kind == "float":
        raise NumberError(f"`{op}` takes two integers or two bools")
    value = _BITWISE[op](int(left.value), int(right.value))
    return boolean(bool(value)) if left.kind == "bool" else integer(value)


def _shift(op: str, left: Number, right: Number) -> Number:
    if not (left.is_integer and right.is_integer):
        raise NumberError(f"`{op}` takes integers")
    value, amount = int(left.value), int(right.value)
    if amount < 0:
        raise NumberError("a shift by a negative amount")
    if op == ">>":
        return integer(value >> min(amount, 64))
    if value and amount > 64:
        raise NumberError("this number is beyond 64-bit integers")
    return integer(value << amount if value else 0)


def _arithmetic(op: str, left: Number, right: Number) -> Number:
    a, b = left.value, right.value
    if op in ("/", "//", "%") and b == 0:
        raise NumberError("division by zero")
    both_integers = left.is_integer and right.is_integer and op != "/"
    if both_integers:
        return integer(int(_ARITHMETIC[op](int(a), int(b))))
    if isinstance(a, float) or isinstance(b, float):
        return real(_floats(op, float(a), float(b)))
    return real(Fraction(_ARITHMETIC[op](a, b)))


def _floats(op: str, a: float, b: float) -> float:
    """Arithmetic where an operand is infinite, nan or -0.0: as IEEE says, but overflow of finite values is an error."""
    try:
        value = float(_ARITHMETIC[op](a, b))
    except (OverflowError, ZeroDivisionError, ValueError):
        return math.nan
    if math.isinf(value) and math.isfinite(a) and math.isfinite(b):
        raise NumberError("this number is beyond float64", "`inf` is the infinite value")
    return value


def _power(left: Number, right: Number) -> Number:
    base, exponent = left.value, right.value
    if left.is_integer and right.is_integer and exponent >= 0:
        return integer(_whole_power(int(base), int(exponent)))
    if base == 0 and exponent < 0:
        raise NumberError("0 to a negative power")
    if _is_exact_power(base, exponent):
        return real(Fraction(base) ** int(exponent))
    return _float_power(float(base), float(exponent))


def _whole_power(base: int, exponent: int) -> int:
    """`base ** exponent`, computed only where it can be within 64 bits."""
    if abs(base) <= 1:
        return base if exponent % 2 else base * base if exponent else 1
    if exponent > 64:
        raise NumberError("this number is beyond 64-bit integers", "a float literal (`1e30`) goes further")
    return base**exponent


def _is_exact_power(base: Fraction | float, exponent: Fraction | float) -> bool:
    """Whether the power is a fraction that is cheap to compute exactly."""
    if isinstance(base, float) or isinstance(exponent, float) or exponent.denominator != 1 or abs(exponent) > 4096:
        return False
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    return bits * abs(int(exponent)) <= MAX_FRACTION_BITS


def _float_power(base: float, exponent: float) -> Number:
    try:
        value = math.pow(base, exponent)
    except OverflowError:
        raise NumberError("this number is beyond float64", "`inf` is the infinite value") from None
    except ValueError:
        raise NumberError("a negative number to a fractional power") from None
    return real(value)


def fit(number: Number, element: Element) -> int | float:
    """The value of a literal that has taken an element type: floats rounded once, to nearest even.

    Raises NumberError for a float where the type is an integer, bools among numbers, and values out of range.
    """
    if number.kind == "extent":
        raise NumberError(f"{number} {AT_RUN_TIME}, and is no number to compute with", AS_EXTENT)
    if (number.kind == "bool") != (element.kind == "bool"):
        wanted = "true or false" if element.kind == "bool" else f"a number, as in cast(x, {element.name})"
        raise NumberError(f"the literal {number} cannot be {element.name}", f"write {wanted}")
    if not element.is_float:
        return _fit_integer(number, element)
    value = number.value
    if isinstance(value, float):
        return _fit_special(value, element)
    rounded = round_fraction(Fraction(value), element)
    if abs(rounded) > element.limits()[1]:
        raise _out_of_range(number, element)
    return rounded


def _fit_integer(number: Number, element: Element) -> int:
    if number.kind == "float":
        raise NumberError(
            f"the float literal {number} cannot be {element.name}",
            "write an integer, or cast the array to a float type first: cast(x, f32)",
        )
    low, high = element.limits()
    if not low <= number.value <= high:
        raise _out_of_range(number, element)
    return int(number.value)


def _fit_special(value: float, element: Element) -> float:
    if math.isinf(value) and element.name == "f8e4m3":
        raise NumberError("f8e4m3 has no infinity", "f8e5m2 has one; the greatest f8e4m3 is 448")
    return value


def _out_of_range(number: Number, element: Element) -> NumberError:
    low, high = element.limits()
    return NumberError(
        f"the literal {number} is out of the range of {element.name}",
        f"{element.name} goes from {low} to {high}: cast to a wider type",
    )


def round_fraction(value: Fraction, element: Element) -> float:
    """The nearest value of a float type, ties to even, by one rounding; subnormals included, no upper limit."""
    if value == 0:
        return 0.0
    info = ml_dtypes.finfo(element.dtype)
    precision, least_exponent = int(info.nmant), int(info.minexp)
    exponent = max(_floor_log2(abs(value)), least_exponent)
    quantum = Fraction(2) ** (exponent - precision)
    try:
        return float(quantum * round(value / quantum))
    except OverflowError:
        return math.copysign(math.inf, value)


def _floor_log2(value: Fraction) -> int:
    estimate = value.numerator.bit_length() - value.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= value else estimate - 1
