"""What nodes of the visitor tree compute: functors of CUTLASS where it has one that computes the same, and others."""

from __future__ import annotations

from dataclasses import dataclass

from irc.dialects.nd.elementwise import OPS
from irc.dialects.nd.table import row_named
from irc.ir.math_library import FUNCTIONS


@dataclass(frozen=True)
class Functor:
    """A class template over an element type, or an Array of them. `text` defines one that CUTLASS does not have."""

    name: str
    text: str = ""


CUTLASS = {
    "add": "cutlass::plus",
    "sub": "cutlass::minus",
    "mul": "cutlass::multiplies",
    "div": "cutlass::divides",
    "neg": "cutlass::negate",
    "maximum": "cutlass::maximum_with_nan_propagation",
    "minimum": "cutlass::minimum_with_nan_propagation",
}
"""By nd op."""

EXPRESSIONS = {
    "abs": "x < T(0) ? -x : x",
    "rsqrt": "T(1) / ::sqrtf(x)",
    "reciprocal": "T(1) / x",
    "sigmoid": "T(1) / (T(1) + ::expf(-x))",
    "relu": "x < T(0) ? T(0) : x",
    "sign": "x > T(0) ? T(1) : x < T(0) ? T(-1) : x",
    "floor": "::floorf(x)",
    "ceil": "::ceilf(x)",
    "round": "::rintf(x)",
    "isnan": "T(x != x)",
    "isinf": "T(x == x && x - x != x - x)",
    "logical_not": "T(x == T(0))",
    "pow": "::powf(x, y)",
    "equal": "T(x == y)",
    "not_equal": "T(x != y)",
    "less": "T(x < y)",
    "less_equal": "T(x <= y)",
    "greater": "T(x > y)",
    "greater_equal": "T(x >= y)",
    "where": "x != T(0) ? y : z",
    "bitwise_and": "T(x != T(0) && y != T(0))",
    "bitwise_or": "T(x != T(0) || y != T(0))",
    "bitwise_xor": "T((x != T(0)) != (y != T(0)))",
    "bitwise_not": "T(x == T(0))",
}
"""By nd op, of x, y and z of type T. bool is 0 and 1; bitwise ops are those on bool."""

BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")

IDENTITY = Functor("cutlass::epilogue::thread::Identity")
"""Rounds to the node's element type."""

ELEMENTWISE = """\
template <template <class> class Functor, class T, int N>
struct Elementwise {
  template <class... Arrays>
  CUTLASS_HOST_DEVICE cutlass::Array<T, N> operator()(Arrays const&... arrays) const {
    cutlass::Array<T, N> result;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) result[i] = Functor<T>{}(arrays[i]...);
    return result;
  }
};
"""
"""What functors of one element do with arrays."""


def functor_of(name: str, operands: int) -> Functor | None:
    """The functor of an nd op, by its name without `nd.`; None where there is none."""
    if name in CUTLASS:
        return Functor(CUTLASS[name])
    expression = EXPRESSIONS.get(name) or _function_of(name, operands)
    if expression is None:
        return None
    own = "".join(part.capitalize() for part in name.split("_"))
    parameters = ", ".join(f"T {letter}" for letter in "xyz"[:operands])
    text = (
        f"template <class T> struct {own} {{\n"
        f"  CUTLASS_HOST_DEVICE T operator()({parameters}) const {{ return {expression}; }}\n}};\n"
        f"template <class T, int N> struct {own}<cutlass::Array<T, N>> : Elementwise<{own}, T, N> {{}};\n"
    )
    return Functor(f"functors::{own}", text)


def functor_names() -> list[str]:
    """The nd ops that have a functor."""
    return sorted(name for name in {*CUTLASS, *EXPRESSIONS, *OPS} if functor_of(name, 1) is not None)


def _function_of(name: str, operands: int) -> str | None:
    """The call of the function that an nd op is."""
    row = row_named(name)
    function = next((text for op, text in FUNCTIONS.items() if row is not None and op.name == row.scalar), None)
    return None if function is None else f"::{function}f({', '.join('xyz'[:operands])})"
