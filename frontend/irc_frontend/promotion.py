"""One element type for several operands, as numpy has it. Python numbers are weak: they take the arrays' type.

Where numpy computes in f64 and no operand is f64, that is an error which names both ways out: f64 is slow on a GPU, so
nobody should get it unasked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np

from irc.runtime.artifact import DTYPES, ELEMENT_NAMES
from irc_frontend.graph import Node, fail

Number: TypeAlias = bool | int | float


def accumulator(element: str) -> str:
    """The element type that arithmetic on one is done in: f32 for f16, bf16 and f8 (docs/language.md, Rounding)."""
    return "f32" if element[:1] in "bf" and element != "bool" and DTYPES[element].itemsize < 4 else element


def common_element(what: str, arrays: Sequence[Node], numbers: Sequence[Number] = ()) -> str:
    """The element type of `what` of the arrays and numbers."""
    element, first = arrays[0].element, arrays[0]
    for other in arrays[1:]:
        if other.element != element:
            element = _promoted(what, first, other, element)
    return _with_numbers(what, first, element, numbers) if numbers else element


def _promoted(what: str, x: Node, y: Node, element: str) -> str:
    found = promoted(element, y.element)
    if found is None:
        operand, narrow = _to_convert(element, y.element)
        ways = f"{operand}.astype({narrow!r}), or both of them in f32"
        raise fail(f"cannot {what} {x.type} (x) and {y.type} (y), which numpy has no common type for: {ways}")
    if found == "f64" != element and y.element != "f64":
        ways = _ways_out(*_to_convert(element, y.element))
        raise fail(f"cannot {what} {x.type} (x) and {y.type} (y) {ways}")
    return found


def _to_convert(x: str, y: str) -> tuple[str, str]:
    """The operand that is no float (or the second one), and the float type of the other."""
    return ("x", y) if x[0] in "iu" else ("y", x)


def _ways_out(operand: str, narrow: str) -> str:
    ways = f"{operand}.astype({narrow!r}) stays in {narrow}, {operand}.astype('f64') is numpy's f64"
    return f"without saying in which type: {ways}"


def _with_numbers(what: str, x: Node, element: str, numbers: Sequence[Number]) -> str:
    """The element type beside weak numbers."""
    kind = DTYPES[element].kind
    if kind in "iub" and (number := next((n for n in numbers if isinstance(n, float)), None)) is not None:
        raise fail(f"the float {number} meets an {element} array: cannot {what} {x.type} (x) {_ways_out('x', 'f32')}")
    return "i64" if kind == "b" and any(not isinstance(n, bool) for n in numbers) else element


@cache
def promoted(a: str, b: str) -> str | None:
    """numpy's type of elements of both types; None where it has none."""
    try:
        return ELEMENT_NAMES.get(np.promote_types(DTYPES[a], DTYPES[b]))
    except TypeError:
        return None
