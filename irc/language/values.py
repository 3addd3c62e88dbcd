"""What expressions evaluate to, and how messages name it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from irc.ir.dtypes import Element, element_named, element_of
from irc.language.numbers import Number


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """A value of the IR under construction, with its shape and element type at hand."""

    value: SSAValue
    shape: tuple[int, ...]
    element: Element

    def __str__(self) -> str:
        return type_text(self.shape, self.element)

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b]`."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """The results of a function that has several."""

    values: tuple[Value, ...]


Value: TypeAlias = "Array | Number | Items | Several | Element | str | None"


def array_of(value: SSAValue) -> Array:
    """The array for a tensor value."""
    type = cast("TensorType[Any]", value.type)
    return Array(value, tuple(type.get_shape()), element_named(element_of(type).name))


@lru_cache(maxsize=4096)
def tensor_type(shape: tuple[int, ...], element: Element) -> TensorType[Any]:
    """The IR type; cached, since building one costs as much as building an op."""
    return TensorType(element.type, shape)


def type_text(shape: Sequence[int], element: Element) -> str:
    """`bf16[4096, 512]`."""
    return f"{element.name}[{', '.join(map(str, shape))}]"


def describe(value: Value) -> str:
    """What a message calls a value."""
    match value:
        case Array():
            return str(value)
        case Number(kind="extent"):
            return f"the extent {value}"
        case Number():
            return f"the literal {value}"
        case Items():
            return "a list"
        case Several():
            return f"{len(value.values)} values"
        case Element():
            return f"the element type {value.name}"
        case str():
            return f'the string "{value}"'
        case None:
            return "None"


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """`did you mean ...?` where a known name is like this one."""
    names = list(known)
    close = [each for each in names if each.lower() == name.lower()] or difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else None
