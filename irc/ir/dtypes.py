"""The element types of irc, and their names at every level.

One row a type: its name in `.irc` text, the builtin IR type, the numpy dtype (bf16 and f8 by ml_dtypes), and the type
that CUDA C++ code uses. Everything that maps between these names goes through this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute


@dataclass(frozen=True)
class Element:
    """An element type: `kind` is one of `float`, `int`, `uint`, `bool`; `size` is in bytes."""

    name: str
    type: Attribute
    dtype: np.dtype[Any]
    cuda: str
    kind: str

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    @property
    def bits(self) -> int:
        return 8 * self.size

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer (bool is not)."""
        return self.kind in ("int", "uint")

    @property
    def is_narrow_float(self) -> bool:
        """Whether arithmetic on it is done in f32 (docs/language.md, Rounding)."""
        return self.is_float and self.size < 4

    def limits(self) -> tuple[float, float] | tuple[int, int]:
        """The least and the greatest finite value."""
        if self.is_float:
            info = ml_dtypes.finfo(self.dtype)
            return float(info.min), float(info.max)
        if self.kind == "bool":
            return 0, 1
        integer = np.iinfo(self.dtype)
        return int(integer.min), int(integer.max)


ELEMENTS: tuple[Element, ...] = (
    Element("f64", Float64Type(), np.dtype(np.float64), "double", "float"),
    Element("f32", Float32Type(), np.dtype(np.float32), "float", "float"),
    Element("f16", Float16Type(), np.dtype(np.float16), "f16", "float"),
    Element("bf16", BFloat16Type(), np.dtype(ml_dtypes.bfloat16), "bf16", "float"),
    Element("f8e4m3", Float8E4M3FNType(), np.dtype(ml_dtypes.float8_e4m3fn), "f8e4m3", "float"),
    Element("f8e5m2", Float8E5M2Type(), np.dtype(ml_dtypes.float8_e5m2), "f8e5m2", "float"),
    Element("i64", IntegerType(64), np.dtype(np.int64), "long long", "int"),
    Element("i32", IntegerType(32), np.dtype(np.int32), "int", "int"),
    Element("i16", IntegerType(16), np.dtype(np.int16), "short", "int"),
    Element("i8", IntegerType(8), np.dtype(np.int8), "signed char", "int"),
    Element("u8", IntegerType(8, Signedness.UNSIGNED), np.dtype(np.uint8), "unsigned char", "uint"),
    Element("bool", IntegerType(1), np.dtype(np.bool_), "bool", "bool"),
)
"""In the order of docs/language.md, Text."""


@cache
def element_named(name: str) -> Element:
    """The element type with this `.irc` name; KeyError where there is none."""
    return {e.name: e for e in ELEMENTS}[name]


def element_of(type: Attribute) -> Element:
    """The element type of an IR scalar or tensor type; `index` counts as i64. KeyError where irc has no such type."""
    scalar: Attribute = type.element_type if isinstance(type, TensorType) else type  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    found = _OF_CLASS.get(scalar.__class__)
    return _element_of_scalar(scalar) if found is None else found


_OF_CLASS = {e.type.__class__: e for e in ELEMENTS if not isinstance(e.type, IntegerType)}
"""Of floats: the class says all of the type, and has its hash at hand."""


@cache
def _element_of_scalar(type: Attribute) -> Element:
    """Of a scalar: the hash of a tensor type takes as long as all else that is asked about it."""
    if isinstance(type, IndexType):
        return element_named("i64")
    return {e.type: e for e in ELEMENTS}[type]


@cache
def element_of_dtype(dtype: np.dtype[Any]) -> Element:
    """The element type of a numpy dtype; KeyError where irc has no such type."""
    return {e.dtype: e for e in ELEMENTS}[np.dtype(dtype)]


def accumulator(element: Element) -> Element:
    """The type that arithmetic on `element` is done in: f32 for f16, bf16, f8 (docs/language.md, Rounding)."""
    return element_named("f32") if element.is_narrow_float else element
