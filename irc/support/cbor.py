"""Data as CBOR (RFC 8949): what JSON has, in a binary form that C reads in one pass (`irc/runtime/native/cbor.c`).

A subset: integers of 64 bits, floats of 64 bits, text, arrays, maps with text as keys, null, false and true, all of
definite length.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, cast

_UNSIGNED, _NEGATIVE, _TEXT, _ARRAY, _MAP, _SIMPLE = 0, 1, 3, 4, 5, 7
"""Major types."""

_CONSTANTS: Mapping[int, bool | None] = {20: False, 21: True, 22: None}
_FLOAT = 27

_SIZES = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}
"""The number behind the first byte, by that byte's low bits."""


def encoded(value: Any) -> bytes:
    """The bytes of a value. TypeError where it is no such value, struct.error where an integer has more bits."""
    parts: list[bytes] = []
    _encode(value, parts)
    return b"".join(parts)


def decoded(content: bytes) -> Any:
    """The value of bytes; sequences are lists. ValueError where they are no such value."""
    try:
        value, end = _decode(content, 0)
    except (IndexError, struct.error) as error:
        raise ValueError("it ends within a value") from error
    if end != len(content):
        raise ValueError(f"{len(content) - end} bytes follow the value")
    return value


def _encode(value: Any, parts: list[bytes]) -> None:
    if value is None or isinstance(value, bool):
        parts.append(bytes([_SIMPLE << 5 | (22 if value is None else 20 + value)]))
    elif isinstance(value, int):
        parts.append(_head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value))
    elif isinstance(value, float):
        parts.append(bytes([_SIMPLE << 5 | _FLOAT]) + struct.pack(">d", value))
    elif isinstance(value, str):
        parts += (_head(_TEXT, len(content := value.encode())), content)
    elif isinstance(value, list | tuple):
        items = cast(Sequence[Any], value)
        parts.append(_head(_ARRAY, len(items)))
        for item in items:
            _encode(item, parts)
    elif isinstance(value, dict):
        entries = cast(dict[str, Any], value)
        parts.append(_head(_MAP, len(entries)))
        for key, item in entries.items():
            _encode(key, parts)
            _encode(item, parts)
    else:
        raise TypeError(f"expected what JSON has, found {type(value).__name__}")


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    low = next((low for low, form in _SIZES.items() if number < 1 << 8 * struct.calcsize(form)), _FLOAT)
    return bytes([major << 5 | low]) + struct.pack(_SIZES[low], number)


def _decode(content: bytes, at: int) -> tuple[Any, int]:
    """The value at a byte, and the byte behind it."""
    major, number, at = content[at] >> 5, content[at] & 31, at + 1
    if major == _SIMPLE and number in _CONSTANTS:
        return _CONSTANTS[number], at
    if major == _SIMPLE and number == _FLOAT:
        return struct.unpack_from(">d", content, at)[0], at + 8
    if number in _SIZES:
        form = _SIZES[number]
        (number,) = struct.unpack_from(form, content, at)
        at += struct.calcsize(form)
    elif number >= 24:
        raise ValueError(f"expected a value, found the byte {content[at - 1]:#x}")
    if major == _UNSIGNED:
        return number, at
    if major == _NEGATIVE:
        return -1 - number, at
    if major == _TEXT:
        if at + number > len(content):
            raise IndexError
        return content[at : at + number].decode(), at + number
    if major == _ARRAY:
        return _items(content, at, number)
    if major == _MAP:
        flat, end = _items(content, at, 2 * number)
        return dict(zip(flat[::2], flat[1::2], strict=True)), end
    raise ValueError(f"expected a value, found the byte {content[at - 1]:#x}")


def _items(content: bytes, at: int, count: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    for _ in range(count):
        item, at = _decode(content, at)
        items.append(item)
    return items, at
