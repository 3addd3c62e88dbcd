"""Snippets: conversions between float types and to integers, division, minimum and maximum, integer powers.

Conversions round to nearest even and go through float; from double, through a float rounded to odd, which makes the
second rounding right (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). f8 needs sm_89 for
the instructions; before it the arithmetic is done by hand.
"""

from __future__ import annotations

from irc.codegen.snippet import Snippet
from irc.dialects.cuda import PACKED

_F16 = """\
DEVICE float f16_to_float(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits)); return r; }
DEVICE f16 float_to_f16(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
"""

_BF16 = """\
DEVICE float bf16_to_float(bf16 x) {
  float r;  // a move, not a shift: of the upper half of a word it is one instruction
  asm("mov.b32 %0, {%1, %2};" : "=f"(r) : "h"((unsigned short)0), "h"(x.bits));
  return r;
}
DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
"""

_BYTES_TO_FLOAT = """\
DEVICE float i8_to_float(signed char x) { return __int_as_float(0x4b000080 ^ (unsigned char)x) - 8388736.0f; }
DEVICE float u8_to_float(unsigned char x) { return __int_as_float(0x4b000000 | x) - 8388608.0f; }
"""
"""As the low bits of 2^23: the instruction that converts bytes has 16 lanes of an SM, others 128."""

_F8_BY_HAND = """\
template <int M, int BIAS, unsigned NAN_BITS> DEVICE unsigned char float_to_f8(float x, float largest) {
  const unsigned bits = __float_as_uint(x);
  const unsigned char sign = (bits >> 31) << 7;
  if (x != x) return sign | NAN_BITS;
  const float magnitude = fminf(fabsf(x), largest);
  const int exponent = max(int(__float_as_uint(magnitude) >> 23) - 127, 1 - BIAS);
  const int steps = int(rintf(magnitude * __int_as_float((127 + M - exponent) << 23)));
  return sign | (unsigned char)(((exponent + BIAS - 1) << M) + steps);
}
"""

_F8E4M3 = """\
DEVICE float f8e4m3_to_float(f8e4m3 x) {
#if __CUDA_ARCH__ >= 890
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)x.bits));
  return f16_to_float(f16{(unsigned short)pair});
#else
  const int exponent = x.bits >> 3 & 15, mantissa = x.bits & 7;
  const float normal = float(8 + mantissa) * __int_as_float((127 + exponent - 10) << 23);
  const float magnitude = exponent ? normal : float(mantissa) * 0.001953125f;
  return (x.bits & 127) == 127 ? __int_as_float(0x7fc00000) : x.bits & 128 ? -magnitude : magnitude;
#endif
}
DEVICE f8e4m3 float_to_f8e4m3(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return f8e4m3{(unsigned char)pair};
#else
  return f8e4m3{float_to_f8<3, 7, 0x7f>(x, 448.0f)};
#endif
}
"""

_F8E5M2 = """\
DEVICE float f8e5m2_to_float(f8e5m2 x) { return f16_to_float(f16{(unsigned short)(x.bits << 8)}); }
DEVICE f8e5m2 float_to_f8e5m2(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return f8e5m2{(unsigned char)pair};
#else
  return f8e5m2{float_to_f8<2, 15, 0x7f>(x, 57344.0f)};
#endif
}
"""

_TO_ODD = """\
DEVICE float double_to_float_odd(double x) {
  const float r = __double2float_rz(x);
  return double(r) != x && x == x && fabs(x) <= 1.7976931348623157e308 ? __uint_as_float(__float_as_uint(r) | 1) : r;
}
"""

_TO_INTEGER = """\
template <typename T, typename F> DEVICE T float_to_integer(F x, F least, F past, T lowest, T highest) {
  return x != x ? T(0) : x <= least ? lowest : x >= past ? highest : T(x);
}
"""

_DIVISION = """\
template <typename T> DEVICE bool negates(T b) { return b == T(-1) && T(-1) < T(0); }
template <typename T> DEVICE T divide(T a, T b) {
  return b == T(0) ? T(0) : negates(b) ? T(0ull - (unsigned long long)a) : T(a / b);
}
template <typename T> DEVICE T remainder_of(T a, T b) { return b == T(0) || negates(b) ? T(0) : T(a % b); }
template <typename T> DEVICE T floor_divide(T a, T b) {
  const T q = divide(a, b), r = T(a - T((unsigned long long)q * (unsigned long long)b));
  return b != T(0) && r != T(0) && (r < T(0)) != (b < T(0)) ? T(q - 1) : q;
}
template <typename T> DEVICE T ceil_divide(T a, T b) {
  const T q = divide(a, b), r = T(a - T((unsigned long long)q * (unsigned long long)b));
  return b != T(0) && r != T(0) && (r < T(0)) == (b < T(0)) ? T(q + 1) : q;
}
"""

_EXTREMA = """\
DEVICE float minimum(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE float maximum(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE double minimum(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }
DEVICE double maximum(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }
"""

_POWER = """\
template <typename T> DEVICE T integer_power(T base, T exponent) {
  if (exponent < T(0)) return base == T(1) ? T(1) : base == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  unsigned long long result = 1, factor = (unsigned long long)base;
  for (; exponent; exponent >>= 1, factor *= factor) if (exponent & 1) result *= factor;
  return T(result);
}
"""


def _packed(kind: str, element: str, instruction: str, constant: int | None) -> Snippet:
    more = "" if constant is None else f', "r"({constant:#x})'
    return Snippet(
        f"packed_{kind}_{element}",
        f"DEVICE void packed_{kind}_{element}(void* result, const void* lhs, const void* rhs) {{\n"
        f"  unsigned w, x, y;\n  memcpy(&x, lhs, 4);\n  memcpy(&y, rhs, 4);\n"
        f'  asm("{instruction};" : "=r"(w) : "r"(x), "r"(y){more});\n  memcpy(result, &w, 4);\n}}\n',
    )


_MASKED_OR = """\
template <unsigned MASK> DEVICE unsigned masked_or(unsigned x, unsigned y) {
  unsigned r;  // one instruction: the compiler makes two of two constants
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "n"(MASK), "r"(y));
  return r;
}
"""

_BYTES = """\
DEVICE unsigned word_of(const void* bytes, int at) {
  unsigned w;
  memcpy(&w, (const char*)bytes + (at & ~3), 4);
  return w;
}
"""

_BYTES_IN_HALVES = """\
DEVICE unsigned bytes_in_halves(const void* bytes, int i, int j) {  // the upper byte of each half is any
  const unsigned w = word_of(bytes, i);
  if (j - i == 2 && (i & 3) < 2) return w >> 8 * (i & 3);
  return __byte_perm(w, word_of(bytes, j), (i & 3) | ((j & 3) + 4) << 8);
}
"""

WIDENED = {
    ("i8", "bf16"): (
        "  const unsigned low = masked_or<0x7f007f>(w, 0x43004300), high = masked_or<0x800080>(w, 0x43004300);\n"
        "  packed_subf_bf16(result, &low, &high);\n",
        "masked_or",
        "packed_subf_bf16",
    ),
    ("u8", "bf16"): (
        "  const unsigned low = masked_or<0x7f007f>(w, 0x43004300), high = (~w & 0x800080) * 0x86;\n"
        "  packed_subf_bf16(result, &low, &high);\n",
        "masked_or",
        "packed_subf_bf16",
    ),
    ("i8", "f16"): (
        "  const unsigned raised = masked_or<0xff00ff>(w, 0x64006400) ^ 0x800080, by = 0x64806480;\n"
        "  packed_subf_f16(result, &raised, &by);\n",
        "masked_or",
        "packed_subf_f16",
    ),
    ("u8", "f16"): (
        "  const unsigned raised = masked_or<0xff00ff>(w, 0x64006400), by = 0x64006400;\n"
        "  packed_subf_f16(result, &raised, &by);\n",
        "masked_or",
        "packed_subf_f16",
    ),
}
"""Of w, which has an integer in the lower byte of each half. It becomes the last bits of a number whose last place is
1, 128 in bf16 and 1024 in f16, which is subtracted. bf16 has room for 7 of them there: the eighth tells 256, 0x4380,
from 128, 0x4300."""

MAGIC = {"bf16": 0x43004300, "f16": 0x64006400}
"""Two numbers whose last place is 1."""

_WIDENED_BITS = """\
template <int FIRST, int COUNT, bool UNSIGNED>
DEVICE void packed_widen_bits_{target}(void* result, const void* source, int i, int j) {
  constexpr unsigned mask = ((1u << COUNT) - 1) * 0x10001, sign = UNSIGNED ? 0 : (1u << (COUNT - 1)) * 0x10001;
  const unsigned w = __byte_perm(word_of(source, i) >> FIRST, word_of(source, j) >> FIRST,
                                 (i & 3) | ((j & 3) + 4) << 8), by = {magic:#x} | sign;
  unsigned raised;  // one instruction: (w & mask) ^ by
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(raised) : "r"(w), "n"(mask), "r"(by));
  packed_subf_{target}(result, &raised, &by);
}
"""
"""As above, of the bits of a field. The first one of a signed field is turned: the field is a number from 0 on then,
larger by what that bit counts, which is subtracted too. The mask leaves out what a shift brings of other bytes."""

_WIDENED_F8 = """\
  unsigned pair;
  const unsigned w = __byte_perm(word_of(source, i), word_of(source, j), (i & 3) | ((j & 3) + 4) << 4);
#if __CUDA_ARCH__ >= 890
  asm("cvt.rn.f16x2.{kind}x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)w));{narrowed}
#else
  const unsigned short low = float_to_{target}(f8{kind}_to_float(f8{kind}{(unsigned char)w})).bits;
  pair = low | (unsigned)float_to_{target}(f8{kind}_to_float(f8{kind}{(unsigned char)(w >> 8)})).bits << 16;
#endif
  memcpy(result, &pair, 4);
"""

_F16_TO_BF16 = """
  asm("{ .reg .b16 x, y; .reg .f32 a, b; mov.b32 {x, y}, %1; cvt.f32.f16 a, x; cvt.f32.f16 b, y; "
      "cvt.rn.bf16x2.f32 %0, b, a; }" : "=r"(pair) : "r"(pair));"""


def widen_name(source: str, target: str) -> str:
    """The function that widens two elements of one type, by the names of both types."""
    return f"packed_widen_{source}_{target}"


def _widen(source: str, target: str, body: str, *needs: str) -> Snippet:
    """`source` is an array of whole words, i and j are places in it."""
    name = widen_name(source, target)
    return Snippet(
        name, f"DEVICE void {name}(void* result, const void* source, int i, int j) {{\n{body}}}\n", ("word_of", *needs)
    )


def _widen_integers(source: str, target: str, body: str, *needs: str) -> Snippet:
    first = "  const unsigned w = bytes_in_halves(source, i, j);\n"
    return _widen(source, target, first + body, "bytes_in_halves", *needs)


def _widen_bits(target: str) -> Snippet:
    text = _WIDENED_BITS.replace("{target}", target).replace("{magic:#x}", f"{MAGIC[target]:#x}")
    return Snippet(f"packed_widen_bits_{target}", text, ("word_of", f"packed_subf_{target}"))


def _widen_f8(source: str, target: str) -> Snippet:
    narrowed = _F16_TO_BF16 if target == "bf16" else ""
    body = _WIDENED_F8.replace("{narrowed}", narrowed).replace("{kind}", source.removeprefix("f8"))
    needs = (f"{source}_conversions", f"{target}_conversions")
    return _widen(source, target, body.replace("{target}", target), *needs)


_INDEX_OUT_OF_RANGE = """\
extern "C" __device__ __attribute__((noreturn))
void __assertfail(const char* assertion, const char* file, unsigned line, const char* function, size_t bytes);
DEVICE void index_out_of_range(const char* expected) { __assertfail(expected, "irc", 0, __func__, 1); }
"""
"""What the `assert` of CUDA C++ calls: it prints, and ends the launch with CUDA_ERROR_ASSERT."""

NUMBERS: tuple[Snippet, ...] = (
    Snippet("f16_conversions", _F16, ("f16",)),
    Snippet("bf16_conversions", _BF16, ("bf16",)),
    Snippet("bytes_to_float", _BYTES_TO_FLOAT),
    Snippet("float_to_f8", f"#if __CUDA_ARCH__ < 890\n{_F8_BY_HAND}#endif\n"),
    Snippet("f8e4m3_conversions", _F8E4M3, ("f8e4m3", "f16_conversions", "float_to_f8")),
    Snippet("f8e5m2_conversions", _F8E5M2, ("f8e5m2", "f16_conversions", "float_to_f8")),
    Snippet("double_to_float_odd", _TO_ODD),
    Snippet("float_to_integer", _TO_INTEGER),
    Snippet("division", _DIVISION),
    Snippet("extrema", _EXTREMA),
    *(_packed(kind, "bf16", row.bf16, row.constant) for kind, row in PACKED.items()),
    *(_packed(kind, "f16", row.f16, None) for kind, row in PACKED.items()),
    Snippet("masked_or", _MASKED_OR),
    Snippet("word_of", _BYTES),
    Snippet("bytes_in_halves", _BYTES_IN_HALVES, ("word_of",)),
    *(_widen_integers(source, target, *made) for (source, target), made in WIDENED.items()),
    *(_widen_bits(target) for target in MAGIC),
    *(_widen_f8(source, target) for source in ("f8e4m3", "f8e5m2") for target in ("bf16", "f16")),
    Snippet("integer_power", _POWER),
    Snippet("index_out_of_range", _INDEX_OUT_OF_RANGE),
)
