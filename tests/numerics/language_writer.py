"""A program of the language under construction: its values, their types, and how far they may be off.

`noise` is 0 for what no rounding has touched: comparisons, positions, bits and casts to integers, where the least
difference decides, take such values alone. Functions with a pole take what cannot be near it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

from numerics.drawn_programs import Drawn
from numerics.harness import TOLERANCES

FLOATS = ("f32", "f32", "f32", "f64", "bf16", "bf16", "f16", "f8e4m3", "f8e5m2")
INTEGERS = ("i8", "u8", "i16", "i32", "i64")
ELEMENTS = (*FLOATS, *INTEGERS, "bool")
DIFFERENTIABLE = ("f32", "f32", "f32", "f64", "bf16", "f16")
EXTENTS = (1, 1, 1, 2, 3, 4, 5, 8, 9, 17, 31, 33, 129)
MAX_ELEMENTS = 3000
"""Elements of an array."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    name: str
    element: str
    shape: Shape
    noise: float = 0.0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.element in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.element in INTEGERS

    @property
    def is_exact(self) -> bool:
        return self.noise == 0


class Writer(Drawn):
    """A program of the language under construction, with its values."""

    def __init__(self, random: Random, *, is_differentiated: bool = False) -> None:
        super().__init__(random)
        self.is_differentiated = is_differentiated
        self.values: list[Value] = []
        self.used: set[str] = set()
        for _ in range(random.randint(1, 3)):
            self.argument()

    def argument(self, element: str | None = None, shape: Sequence[int] | None = None) -> Value:
        if element is None:
            elements = (*DIFFERENTIABLE, *DIFFERENTIABLE, *ELEMENTS) if self.is_differentiated else ELEMENTS
            element = self.random.choice(elements)
        shape = tuple(self.any_shape() if shape is None else shape)
        value = Value(self.parameter(element, list(shape)), element, shape)
        self.values.append(value)
        return value

    def any_shape(self) -> Shape:
        while True:
            shape = tuple(
                self.random.choice(EXTENTS) for _ in range(self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 6)))
            )
            if prod(shape) <= MAX_ELEMENTS:
                return shape

    def pick(self, holds: Callable[[Value], bool]) -> Value | None:
        """A value for which `holds`, the later ones more often."""
        found = [value for value in self.values if holds(value)]
        return self.random.choice(found[-4:] if self.chance(0.5) else found) if found else None

    def choice(self, *texts: str) -> str:
        return self.random.choice(texts)

    def put(self, text: str, element: str, shape: Sequence[int], of: Sequence[Value], rounds: bool = True) -> None:
        """A statement; `rounds`: whether it computes, in floats, so that a result may be off."""
        self.put_all(text, element, [shape], of, rounds)

    def put_all(
        self, text: str, element: str, shapes: Sequence[Sequence[int]], of: Sequence[Value], rounds: bool = True
    ) -> list[Value]:
        """A statement that gives several results."""
        names = [f"v{len(self.statements)}" + ("" if len(shapes) == 1 else f"_{i}") for i in range(len(shapes))]
        self.statements.append(f"{', '.join(names)} = {text}")
        noise = sum(value.noise for value in of)
        if rounds and element in FLOATS:
            least = ("bf16",) if "bf16" in text else ()
            noise += max(TOLERANCES[each] for each in (element, *least, *(v.element for v in of if v.is_float)))
        self.used |= {value.name for value in of}
        values = [Value(name, element, tuple(shape), noise) for name, shape in zip(names, shapes, strict=True)]
        self.values += values
        return values


def fits(shape: Sequence[int]) -> bool:
    return prod(shape) <= MAX_ELEMENTS


def without(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    return [extent for axis, extent in enumerate(shape) if axis not in axes]


def any_axis(p: Writer, x: Value) -> int:
    return p.random.randrange(x.rank)


def signed(p: Writer, axis: int, rank: int) -> int:
    """The axis, perhaps counted from the end."""
    return axis - rank if p.chance(0.3) else axis


def other(p: Writer, x: Value, exact: bool = False) -> tuple[Value, Shape]:
    """A value of the same element type whose shape broadcasts with that of x, and the shape of both."""

    def joins(v: Value) -> bool:
        if v.element != x.element or (exact and not v.is_exact):
            return False
        together = joined(x.shape, v.shape)
        return together is not None and fits(together)

    found = p.pick(joins) if p.chance(0.8) else None
    if found is None:
        shape = [n if p.chance(0.7) else 1 for n in x.shape][p.random.randint(0, x.rank) if p.chance(0.4) else 0 :]
        found = p.argument(x.element, shape)
    together = joined(x.shape, found.shape)
    assert together is not None
    return found, together


def joined(a: Shape, b: Shape) -> Shape | None:
    """The shape to which both broadcast."""
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if any(n != m and 1 not in (n, m) for n, m in pairs):
        return None
    return tuple(m if n == 1 else n for n, m in pairs)
