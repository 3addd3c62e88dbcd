"""The device functions that ops of math are: the accurate ones of CUDA, and the approximate ones."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

FUNCTIONS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.PowFOp: "pow",
    math.RoundOp: "round",
    math.RoundEvenOp: "rint",
    math.RsqrtOp: "rsqrt",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
"""The function on double; the one on float has the suffix f."""

APPROXIMATE: dict[type[Operation], str] = {
    math.CosOp: "approximate_cos",
    math.ErfOp: "approximate_erf",
    math.ExpOp: "approximate_exp",
    math.Exp2Op: "approximate_exp2",
    math.ExpM1Op: "approximate_expm1",
    math.LogOp: "__logf",
    math.Log10Op: "__log10f",
    math.Log1pOp: "approximate_log1p",
    math.Log2Op: "__log2f",
    math.PowFOp: "approximate_pow",
    math.SinOp: "approximate_sin",
    math.SqrtOp: "approximate_sqrt",
    math.TanOp: "approximate_tan",
    math.TanhOp: "approximate_tanh",
}
"""CUDA C++ programming guide, intrinsic functions; those without a leading underscore are in the prelude."""

SHORT: dict[type[Operation], str] = {math.CosOp: "near_cos", math.SinOp: "near_sin", math.TanOp: "near_tan"}
"""The approximate functions of angles below 2 ** 24: those of ops with the attribute `near`."""


def math_names() -> frozenset[str]:
    """Names that a local variable cannot have, as it would hide a function."""
    names = {*FUNCTIONS.values(), *APPROXIMATE.values(), *SHORT.values(), "fmin", "fmax", "pow"}
    return frozenset(names | {f"{name}f" for name in names})
