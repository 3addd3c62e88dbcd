"""C++ literals of constants of every element type, non-finite ones included, without headers."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute

from irc.ir.dtypes import Element, element_of


def literal(value: Attribute, type: Attribute, *, wide_index: bool = False) -> str:
    """The C++ expression of an integer or float attribute; KeyError for another attribute."""
    if isinstance(value, IntegerAttr):
        width = (64 if wide_index else 32) if isinstance(type, IndexType) else element_of(type).bits
        return _integer(value.value.data, width, is_bool=element_of(type).kind == "bool")
    if isinstance(value, FloatAttr):
        return float_literal(float(value.value.data), element_of(type))
    raise KeyError(f"no literal for {value}")


def _integer(value: int, width: int, *, is_bool: bool) -> str:
    if is_bool:
        return "true" if value else "false"
    least = -(2 ** (width - 1))
    value = (value - least) % 2**width + least
    suffix = "LL" if width == 64 else ""
    if value == least and width >= 32:
        return f"({value + 1}{suffix} - 1)"
    return f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"


def float_literal(value: float, element: Element) -> str:
    """The C++ expression of a float of an element type: bits where decimal digits cannot say it."""
    with np.errstate(over="ignore"):
        rounded = np.array(value).astype(element.dtype)
    bits = int(rounded.view(np.dtype(f"u{element.size}")))
    if element.size < 4:
        return f"{element.cuda}{{{bits:#x}}}"
    if element.name == "f64":
        return _decimal(value, "") if math.isfinite(value) else f"__longlong_as_double({bits:#x}LL)"
    return _decimal(float(rounded), "f") if math.isfinite(float(rounded)) else f"__int_as_float({bits:#x})"


def _decimal(value: float, suffix: str) -> str:
    """Six digits where they are exact, else as many as tell all values of the type apart: 9 of float, 17 of double."""
    text = f"{value:.6g}"
    if float(text) != value:
        text = f"{value:.9g}" if suffix else f"{value:.17g}"
    if "." not in text and "e" not in text:
        text += ".0"
    return f"({text}{suffix})" if text.startswith("-") else text + suffix
