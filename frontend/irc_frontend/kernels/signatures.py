"""Operands and results that a kernel of the user's code declares: `x: f32[N, K], y: T[K], alpha: f32`."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irc.runtime.artifact import DTYPES, type_text
from irc_frontend.graph import fail

NUMBERS: Mapping[str, str] = {"f64": "double", "f32": "float", "i64": "long long", "i32": "int", "bool": "bool"}
"""What numbers can be declared as, and their types in C++."""

_DECLARATION = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*([A-Za-z_]\w*)\s*(?:\[([^\]]*)\])?\s*", re.ASCII)

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True)
class Extent:
    """An integer, a name, or a formula of these, as it is written."""

    text: str
    tree: ast.expr

    @property
    def name(self) -> str | None:
        """Where it is a name alone."""
        return self.tree.id if isinstance(self.tree, ast.Name) else None

    @property
    def names(self) -> set[str]:
        return {each.id for each in ast.walk(self.tree) if isinstance(each, ast.Name)}

    def value(self, known: Mapping[str, int]) -> int:
        """With these numbers in the place of its names."""
        try:
            return _value(self.tree, known)
        except ZeroDivisionError:
            raise fail(f"the extent {self.text} divides by zero") from None


@dataclass(frozen=True)
class Declared:
    """One operand or result. extents: None where it is a number."""

    name: str
    element: str
    extents: tuple[Extent, ...] | None

    @property
    def is_open(self) -> bool:
        """Whether the element type is a name that stands for any."""
        return self.element not in DTYPES

    def __str__(self) -> str:
        if self.extents is None:
            return f"{self.name}: {self.element}"
        return f"{self.name}: {self.element}[{', '.join(each.text for each in self.extents)}]"


def declared(what: str, text: str) -> tuple[Declared, ...]:
    """Of a list as `operands=` and `results=` have it."""
    found: list[Declared] = []
    for part in _parts(text):
        match = _DECLARATION.fullmatch(part)
        if match is None:
            raise fail(f"{what}: cannot read {part.strip()!r}", "`x: f32[N, K]` is an array, `alpha: f32` a number")
        name, element, extents = match[1], match[2], match[3]
        if element not in DTYPES and not (element[0].isupper() and extents is not None):
            known = ", ".join(DTYPES)
            hint = f"there are {known}; of an array a name with a capital letter, as T, stands for any"
            raise fail(f"{what}: {name} has the unknown element type {element}", hint)
        if extents is None and element not in NUMBERS:
            raise fail(f"{what}: the number {name} is {element}", f"numbers are {', '.join(NUMBERS)}")
        if any(each.name == name for each in found):
            raise fail(f"{what}: {name} is there twice")
        found.append(Declared(name, element, None if extents is None else _extents(what, name, extents)))
    return tuple(found)


def _parts(text: str) -> list[str]:
    """Between the commas that are outside of brackets."""
    return [part for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _extents(what: str, name: str, text: str) -> tuple[Extent, ...]:
    return tuple(_extent(what, name, part.strip()) for part in text.split(",") if part.strip())


def _extent(what: str, name: str, text: str) -> Extent:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        tree = None
    if tree is None or not _is_formula(tree):
        raise fail(
            f"{what}: cannot read the extent {text!r} of {name}",
            "an extent is a number, a name, or both joined by + - * // %",
        )
    return Extent(text, tree)


def _is_formula(tree: ast.expr) -> bool:
    if isinstance(tree, ast.BinOp):
        return type(tree.op) in _OPERATORS and _is_formula(tree.left) and _is_formula(tree.right)
    return isinstance(tree, ast.Name) or (isinstance(tree, ast.Constant) and type(tree.value) is int)


def _value(tree: ast.expr, known: Mapping[str, int]) -> int:
    if isinstance(tree, ast.BinOp):
        return _OPERATORS[type(tree.op)](_value(tree.left, known), _value(tree.right, known))
    if isinstance(tree, ast.Name):
        return known[tree.id]
    assert isinstance(tree, ast.Constant)
    assert isinstance(tree.value, int)
    return tree.value


@dataclass(frozen=True)
class Bound:
    """What the names of a declaration are in a call. elements: of the names that stand for types."""

    extents: Mapping[str, int]
    elements: Mapping[str, str]
    numbers: Mapping[str, int | float]

    @property
    def known(self) -> dict[str, int | float]:
        """What formulas and functions of a call may use."""
        return {**self.extents, **self.numbers}

    def shape(self, each: Declared) -> tuple[int, ...]:
        whole = {name: value for name, value in self.known.items() if isinstance(value, int)}
        found = tuple(extent.value(whole) for extent in each.extents or ())
        if any(extent < 0 for extent in found):
            raise fail(f"{each} has the shape {list(found)}", "extents are 0 or more")
        return found

    def element(self, each: Declared) -> str:
        return self.elements.get(each.element, each.element)


def bind(name: str, operands: Sequence[Declared], given: Sequence[tuple[tuple[int, ...], str] | int | float]) -> Bound:
    """The names of a call: of shapes and element types of arrays, and of numbers."""
    if len(given) != len(operands):
        listed = ", ".join(map(str, operands))
        raise fail(f"{name} takes {len(operands)} operands, found {len(given)}", f"they are {listed}")
    extents: dict[str, int] = {}
    elements: dict[str, str] = {}
    numbers: dict[str, int | float] = {}
    for each, value in zip(operands, given, strict=True):
        if each.extents is None:
            numbers[each.name] = _number(name, each, value)
        elif not isinstance(value, tuple):
            raise fail(f"{name} takes an array for {each}, found the number {value}")
        else:
            _bind_array(name, each, value, extents, elements)
    bound = Bound(extents, elements, numbers)
    for each, value in zip(operands, given, strict=True):
        if isinstance(value, tuple) and each.extents is not None and bound.shape(each) != value[0]:
            raise fail(f"{name}: {each} is {list(bound.shape(each))} here, found {type_text(value[1], value[0])}")
    return bound


def _bind_array(
    name: str,
    each: Declared,
    value: tuple[tuple[int, ...], str],
    extents: dict[str, int],
    elements: dict[str, str],
) -> None:
    shape, element = value
    wanted = elements.setdefault(each.element, element) if each.is_open else each.element
    if wanted != element or len(shape) != len(each.extents or ()):
        known = f", {each.element} = {wanted}" if each.is_open else ""
        raise fail(f"{name} takes {each}{known}, found {type_text(element, shape)}")
    for extent, size in zip(each.extents or (), shape, strict=True):
        if extent.name is not None and extents.setdefault(extent.name, size) != size:
            raise fail(
                f"{name} takes {each} with {extent.name} = {extents[extent.name]}, found {type_text(element, shape)}"
            )


def _number(name: str, each: Declared, value: object) -> int | float:
    if isinstance(value, float) and each.element[0] == "f" and math.isfinite(value):
        return value
    if isinstance(value, bool) and each.element == "bool":
        return value
    if isinstance(value, int) and not isinstance(value, bool) and each.element != "bool":
        bits = {"i32": 31, "i64": 63}.get(each.element)
        if bits is None:
            return float(value)
        if -(2**bits) <= value < 2**bits:
            return value
    found = f"an array {type_text(value[1], value[0])}" if isinstance(value, tuple) else repr(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise fail(f"{name} takes a number of Python for {each}, found {found}")
