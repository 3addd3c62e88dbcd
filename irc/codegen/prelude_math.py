"""Snippets: functions on float that are accurate to about 2 ** -20 (relative) and take few instructions.

They stand for ops of `arith` and `math` with the fastmath flag `afn`, whose results end in 16 bits. All of them keep
infinities and NaN; what is subnormal may become 0 where that is said. Instructions and their errors: PTX ISA, floating
point instructions.
"""

from __future__ import annotations

from irc.codegen.snippet import Snippet
from irc.ir.approximations import ERF_LOWER, ERF_UPPER

_EXP2 = """\
DEVICE float approximate_exp2(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
"""
"""0 where the result is subnormal."""

_EXP = """\
DEVICE float approximate_exp(float x) { return approximate_exp2(x * 1.44269504f); }
"""

_EXPM1 = """\
DEVICE float approximate_expm1(float x) {
  const float series = x + x * x * (0.5f + x * (0.166666667f + x * (0.0416666667f + x * 0.00833333333f)));
  return fabsf(x) < 0.125f ? series : approximate_exp(x) - 1.0f;
}
"""

_LOG1P = """\
DEVICE float approximate_log1p(float x) {
  const float series = x - x * x * (0.5f - x * (0.333333333f - x * (0.25f - x * 0.2f)));
  return fabsf(x) < 0.0625f ? series : __logf(1.0f + x);
}
"""

_DIVISION = """\
DEVICE float approximate_reciprocal(float x) {
  float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r;
}
DEVICE float approximate_quotient(float a, float b) {
  float r; asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r;
}
"""
"""The reciprocal is infinite where the argument is subnormal and 0 where the result is; the quotient has the full
range."""

_SQRT = """\
DEVICE float approximate_sqrt(float x) { float r; asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
"""

_TANH = """\
DEVICE float approximate_tanh(float x) {
  const float square = x * x;
  const float series = x + x * square * (square * 0.133333333f - 0.333333333f);
  const float quotient = fmaf(-2.0f, approximate_reciprocal(1.0f + approximate_exp2(x * 2.88539008f)), 1.0f);
  return square < 0.00390625f ? series : quotient;
}
"""


def _horner(coefficients: tuple[float, ...]) -> str:
    """The polynomial in `t` with these coefficients, that of degree 0 first."""
    text = f"{coefficients[-1]!r}f"
    for coefficient in reversed(coefficients[:-1]):
        text = f"fmaf({text}, t, {coefficient!r}f)"
    return text


_ERF = f"""\
DEVICE float approximate_erf(float x) {{
  const float t = x * x;
  const float upper = {_horner(ERF_UPPER)};
  const float lower = {_horner(ERF_LOWER)};
  const float quotient = x * upper * approximate_reciprocal(lower);
  return fabsf(x) >= 3.84f ? copysignf(1.0f, x) : quotient;
}}
"""

_POWERS = 106
"""Powers of two by which the mantissa of a float, as an integer of 24 bits, is multiplied; the last is infinity's."""

_PER_RADIAN = 0x28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF158
"""1 / (2 pi) in units of 2 ** -256."""


def _turns(power: int) -> int:
    """The fraction of a revolution that 2 ** power radians are, in units of 2 ** -64."""
    return (_PER_RADIAN << power) % 2**256 >> 192


_NEAR = """\
DEVICE float near_fraction(float x) {
  const float whole = fmaf(x, 0.159154937f, 12582912.0f) - 12582912.0f;
  return fmaf(x, 6.42063833e-09f, fmaf(x, 0.159154937f, -whole)) * 6.28318531f;
}
"""
"""The angle without whole revolutions, by 1 / (2 pi) in two floats: for |x| below 2 ** 24, where its error is small."""

_FRACTION = f"""\
__constant__ const unsigned long long TURNS[{_POWERS}] = {{{", ".join(f"{_turns(i):#x}ull" for i in range(_POWERS))}}};
DEVICE float fraction_of_revolution(float x) {{
  if (!(fabsf(x) >= 16777216.0f)) return near_fraction(x);
  const unsigned bits = (unsigned)__float_as_int(x);
  const int turns = (int)(TURNS[(bits >> 23 & 255u) - 150u] * (bits & 0x7fffffu | 0x800000u) >> 32);
  return turns * copysignf(1.46291808e-09f, x) + (x - x);
}}
"""
"""The same of any angle: beyond 2 ** 24 by the fraction that each power of two leaves (Payne and Hanek, "Radian
reduction for trigonometric functions", 1983). That side is short: it stands in the code of every element of a
thread."""

_SIN = """\
DEVICE float approximate_sin(float x) { return __sinf(fraction_of_revolution(x)); }
"""

_COS = """\
DEVICE float approximate_cos(float x) { return __cosf(fraction_of_revolution(x)); }
"""

_TAN = """\
DEVICE float approximate_tan(float x) { return __tanf(fraction_of_revolution(x)); }
"""

_NEAR_FUNCTIONS = tuple(
    Snippet(
        f"near_{name}",
        f"DEVICE float near_{name}(float x) {{ return __{name}f(near_fraction(x)); }}\n",
        ("near_fraction",),
    )
    for name in ("sin", "cos", "tan")
)
"""Of angles below 2 ** 24 alone."""

_POW = """\
DEVICE float approximate_pow(float x, float y) {
  if (y == 0.0f) return 1.0f;
  const float power = fabsf(x) == 1.0f ? 1.0f : approximate_exp2(y * __log2f(fabsf(x)));
  if (__float_as_int(x) >= 0 || x == 0.0f && y != truncf(y)) return power;
  const bool integer = y == truncf(y), odd = integer && fabsf(y) < 16777216.0f && ((int)y & 1);
  return odd ? -power : integer || isinf(x) ? power : __int_as_float(0x7fc00000);
}
"""

MATH: tuple[Snippet, ...] = (
    Snippet("approximate_exp2", _EXP2),
    Snippet("approximate_exp", _EXP, ("approximate_exp2",)),
    Snippet("approximate_expm1", _EXPM1, ("approximate_exp",)),
    Snippet("approximate_log1p", _LOG1P),
    Snippet("approximate_division", _DIVISION),
    Snippet("approximate_sqrt", _SQRT),
    Snippet("approximate_tanh", _TANH, ("approximate_exp2", "approximate_division")),
    Snippet("approximate_erf", _ERF, ("approximate_division",)),
    Snippet("near_fraction", _NEAR),
    Snippet("fraction_of_revolution", _FRACTION, ("near_fraction",)),
    Snippet("approximate_sin", _SIN, ("fraction_of_revolution",)),
    Snippet("approximate_cos", _COS, ("fraction_of_revolution",)),
    Snippet("approximate_tan", _TAN, ("fraction_of_revolution",)),
    *_NEAR_FUNCTIONS,
    Snippet("approximate_pow", _POW, ("approximate_exp2",)),
)
