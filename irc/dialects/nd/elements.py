"""`#nd.elements`: the value of a constant. A splat stores one element for any shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.dialects.nd.syntax import float_text, parse_number
from irc.ir.dtypes import Element, element_of
from irc.ir.rounding import cast_array

Number = bool | int | float
LISTED = 256
"""Up to this many elements are printed as nested lists; more are printed as the bytes in hexadecimal."""

DEEPEST = 64
"""Nested lists that are read."""


@irdl_attr_definition
class ElementsAttr(ParametrizedAttribute):
    """The elements of a tensor: little-endian bytes of all of them in row-major order, or of one (a splat).

    Canonical: equal elements are a splat, and every NaN is the quiet one. Build it by `splat` or `from_array`.
    """

    name = "nd.elements"
    type: TensorType[Attribute]
    data: BytesAttr

    @staticmethod
    def splat(value: Number, type: TensorType[Any]) -> ElementsAttr:
        """`value` at every place of `type`, rounded to its element type; ValueError where an integer does not fit."""
        element = element_of(type)
        if not element.is_float and not element.limits()[0] <= value <= element.limits()[1]:
            raise ValueError(f"{value} is out of the range of {element.name}")
        number = np.array(float(value)) if element.is_float else np.array(value, element.dtype)
        return _canonical(_rounded(number, element), type)

    @staticmethod
    def from_array(array: np.ndarray[Any, Any], type: TensorType[Any]) -> ElementsAttr:
        """The elements of `array`, which has the dtype and the shape of `type`."""
        if array.dtype != element_of(type).dtype or array.shape != type.get_shape():
            raise ValueError(f"expected an array for {type}, found {array.dtype}{list(array.shape)}")
        return _canonical(array, type)

    @property
    def element(self) -> Element:
        """The row of `irc.ir.dtypes` of the elements."""
        return element_of(self.type)

    @property
    def is_splat(self) -> bool:
        """Whether one stored element stands for all."""
        return len(self.data.data) == self.element.size

    def first(self) -> Number:
        """The first stored element as a Python number."""
        return _number(self.data.data[: self.element.size], self.element.dtype)

    def array(self) -> np.ndarray[Any, Any]:
        """A read-only array of the type's shape; a splat is a broadcast view of one element."""
        stored = np.frombuffer(self.data.data, self.element.dtype)
        shape = self.type.get_shape()
        return np.broadcast_to(stored.reshape(()), shape) if self.is_splat else stored.reshape(shape)

    def verify(self) -> None:
        count, size = len(self.data.data), self.element.size
        if count not in (size, size * prod(self.type.get_shape())):
            raise VerifyException(
                f"nd.elements expects the bytes of one or of all elements of {self.type}, found {count}"
            )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_elements(self, printer)
            printer.print_string(" : ")
            printer.print_attribute(self.type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            literal = Literal(parser)
            parser.parse_punctuation(":")
            elements = literal.resolve(parser.parse_type())
        return [elements.type, elements.data]


@lru_cache(1024)
def _number(data: bytes, dtype: np.dtype[Any]) -> Number:
    """The number that these bytes are: programs have few, and simplifications ask for them again and again."""
    return cast(Number, np.frombuffer(data, dtype)[0].item())


def _rounded(numbers: np.ndarray[Any, Any], element: Element) -> np.ndarray[Any, Any]:
    """`numbers` cast to the element type, but a literal inf stays one where the type has it."""
    result = cast_array(numbers, element.dtype)
    if element.name != "f8e5m2":
        return result
    return np.where(np.isinf(numbers), numbers.astype(element.dtype), result)


def _canonical(array: np.ndarray[Any, Any], type: TensorType[Any]) -> ElementsAttr:
    if element_of(type).is_float and bool(np.isnan(array).any()):
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    if array.size == 0:
        return ElementsAttr(type, BytesAttr(bytes(array.itemsize)))
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.itemsize}")
    if bool((bits == bits[0]).all()):
        bits = bits[:1]
    return ElementsAttr(type, BytesAttr(bits.tobytes()))


def print_elements(elements: ElementsAttr, printer: Printer) -> None:
    """`1.0` for a splat, `[[1, 2], [3, 4]]`, or the bytes as `"0x..."`; without the type."""
    array = elements.array()
    if elements.is_splat:
        printer.print_string(_number_text(elements.first(), elements.element))
    elif array.size <= LISTED:
        printer.print_string(_list_text(array.tolist(), elements.element))
    else:
        printer.print_string(f'"0x{elements.data.data.hex()}"')


def _number_text(value: Number, element: Element) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(_shortest(value, element)) if isinstance(value, float) else str(value)


def _shortest(value: float, element: Element) -> float:
    """The float64 of least digits that rounds to `value` of the element type: 0.1, not 0.10000000149011612 for f32."""
    if element.name == "f64" or not isfinite(value):
        return value
    short = float(str(element.dtype.type(value)))
    return short if cast_array(np.array(short), element.dtype).item() == value else value


def _list_text(values: Any, element: Element) -> str:
    if isinstance(values, list):
        return f"[{', '.join(_list_text(v, element) for v in cast(list[Any], values))}]"
    return _number_text(values, element)


class Literal:
    """The text of elements before their type is known."""

    def __init__(self, parser: AttrParser):
        self.parser = parser
        self.position = parser.pos
        text = parser.parse_optional_str_literal()
        self.value: Any = _parse_nested(parser) if text is None else text
        self.end = parser.pos

    def resolve(self, type: Attribute) -> ElementsAttr:
        """The elements, of `type`; a parse error at the literal where they do not agree."""
        try:
            if not isinstance(type, TensorType) or any(extent < 0 for extent in type.get_shape()):
                raise ValueError(f"expected a static tensor type, found {type}")
            return self._resolve(cast("TensorType[Any]", type))
        except (KeyError, ValueError, OverflowError) as error:
            message = f"not one of irc's element types: {type}" if isinstance(error, KeyError) else str(error)
            self.parser.raise_error(message, self.position, self.end)

    def _resolve(self, type: TensorType[Any]) -> ElementsAttr:
        element = element_of(type)
        if isinstance(self.value, str):
            return _canonical(_from_hex(self.value, element, type.get_shape()), type)
        flat, shape = _flattened(self.value)
        for value in flat:
            _check_literal(value, element)
        if not isinstance(self.value, list):
            return ElementsAttr.splat(flat[0], type)
        if shape != type.get_shape():
            raise ValueError(f"expected elements of shape {list(type.get_shape())}, found {list(shape)}")
        source = np.float64 if element.is_float else element.dtype
        return _canonical(_rounded(np.array(flat, source), element).reshape(shape), type)


def _parse_nested(parser: AttrParser, depth: int = 0) -> Any:
    if parser.parse_optional_punctuation("[") is None:
        return parse_number(parser)
    if depth == DEEPEST:
        parser.raise_error(f"lists nested deeper than {DEEPEST}")
    values: list[Any] = []
    while parser.parse_optional_punctuation("]") is None:
        if values:
            parser.parse_punctuation(",")
        values.append(_parse_nested(parser, depth + 1))
    return values


def _flattened(value: Any) -> tuple[list[Number], tuple[int, ...]]:
    """(the numbers, the shape) of nested lists; ValueError where the lists differ in length."""
    if not isinstance(value, list):
        return [value], ()
    parts = [_flattened(v) for v in cast(list[Any], value)]
    if len({shape for _, shape in parts}) > 1:
        raise ValueError("expected nested lists of one length")
    return [number for flat, _ in parts for number in flat], (len(parts), *(parts[0][1] if parts else ()))


def _check_literal(value: Number, element: Element) -> None:
    if isinstance(value, bool) != (element.kind == "bool"):
        raise ValueError(f"expected {element.name} elements, found {_number_text(value, element)}")
    if isinstance(value, float) and not element.is_float:
        raise ValueError(f"expected {element.name} elements, found {_number_text(value, element)}")
    if not element.is_float and not element.limits()[0] <= value <= element.limits()[1]:
        raise ValueError(f"{value} is out of the range of {element.name}")


def _from_hex(text: str, element: Element, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if not text.startswith("0x"):
        raise ValueError("expected numbers or bytes as 0x...")
    data = bytes.fromhex(text[2:])
    if len(data) != element.size * prod(shape):
        raise ValueError(f"expected {element.size * prod(shape)} bytes, found {len(data)}")
    if element.kind == "bool" and data.strip(b"\0\1"):
        raise ValueError("expected bytes of 0 and 1 for bool elements")
    return np.frombuffer(data, element.dtype).reshape(shape)
