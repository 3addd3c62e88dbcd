"""The registry of meanings of `nd` ops, and how values are carried in each precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from xdsl.ir import Attribute, Operation

from irc.ir.dtypes import Element, element_of
from irc.ir.rounding import cast_array
from irc.support.diagnostics import IrcError

Array: TypeAlias = np.ndarray[Any, Any]

Precision: TypeAlias = Literal["program", "excess", "float64"]
"""How floats are carried between ops:

- `program`: the IR to the letter. Each value has its IR element type; an op on f16, bf16 or f8 computes in f32 and
  rounds its result.
- `excess`: what docs/language.md, Numbers, says of a program before `widen-arithmetic`: f16, bf16 and f8 values are
  carried in f32 and rounded by casts, as operands of matrix products, and as results of the function.
- `float64`: as `excess`, with every float carried in float64. The yardstick of `--check`.

After `widen-arithmetic` the three differ only in the width of what is computed in f32.
"""

Meaning: TypeAlias = Callable[[Any, Sequence[Array], Precision], Array | tuple[Array, ...]]
MeaningT = TypeVar("MeaningT", bound=Meaning)

MEANINGS: dict[type[Operation], Meaning] = {}
"""What each op means: (op, operand arrays, precision) -> result arrays, in any float width that holds them;
`evaluate_op` brings them to the carried one."""

LOWER_LEVELS = {"kernel.fused": "irc.interpreters.kernel", "kernel.launch": "irc.interpreters.tile.interpreter"}
"""The modules that register the meanings of ops of lower levels, imported when such an op is first met."""


def meaning(*ops: type[Operation]) -> Callable[[MeaningT], MeaningT]:
    """Registers the decorated function as the meaning of `ops`. Other levels add their own ops."""

    def register(function: MeaningT) -> MeaningT:
        for op in ops:
            MEANINGS[op] = function
        return function

    return register


def meaning_of(op: Operation) -> Meaning:
    """IrcError where the op has none."""
    if type(op) not in MEANINGS and op.name in LOWER_LEVELS:
        import_module(LOWER_LEVELS[op.name])
    if type(op) not in MEANINGS:
        raise IrcError(f"{op.name} has no meaning in numpy", op.location)
    return MEANINGS[type(op)]


def carried_dtype(element: Element, precision: Precision) -> np.dtype[Any]:
    """The numpy dtype that carries values of an element type."""
    if precision == "program" or not element.is_float:
        return element.dtype
    if precision == "float64":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if element.is_narrow_float else element.dtype


def carry(x: Array, type: Attribute, precision: Precision) -> Array:
    """An array as a value of an IR type: in `program` rounded to it, else only in the carried dtype."""
    return convert(x, carried_dtype(element_of(type), precision))


def rounded(x: Array, type: Attribute) -> Array:
    """`x` rounded to the element type of `type`, in x's dtype: what the user sees of it."""
    element = element_of(type)
    if not element.is_float or x.dtype == element.dtype:
        return x
    return convert(convert(x, element.dtype), x.dtype)


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """`cast_array`, in which a broadcast scalar stays one."""
    if x.dtype == dtype:
        return x
    if x.size > 1 and not any(x.strides):
        one = x[(slice(0, 1),) * x.ndim]
        return np.broadcast_to(cast_array(one, dtype), x.shape)
    return cast_array(x, dtype)


def wide(x: Array) -> Array:
    """f16, bf16 and f8 in f32; others as they are."""
    return convert(x, np.dtype(np.float32)) if is_narrow(x) else x


def is_narrow(x: Array) -> bool:
    """Whether arithmetic on the array's dtype is done in f32."""
    return x.dtype.itemsize < 4 and x.dtype.kind not in "iub"


def is_floating(x: Array) -> bool:
    """Whether the array has floats, those of ml_dtypes included."""
    return x.dtype.kind not in "iub"


def evaluate_op(op: Operation, args: Sequence[Array], precision: Precision = "program") -> tuple[Array, ...]:
    """The results of one op; IrcError where it has no meaning."""
    with np.errstate(all="ignore"):
        results = meaning_of(op)(op, args, precision)
        arrays = results if isinstance(results, tuple) else (results,)
        return tuple(
            carry(np.asarray(array), result.type, precision) for array, result in zip(arrays, op.results, strict=True)
        )
