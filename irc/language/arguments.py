"""The arguments of a builtin function's call: bound to names, and checked as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from irc.ir.dtypes import Element
from irc.language.builder import Builder
from irc.language.numbers import Number, NumberError, fit
from irc.language.operators import BOOL, Operand
from irc.language.syntax import SourceRange
from irc.language.values import Array, Items, Value, describe
from irc.support.diagnostics import IrcError


class Arguments:
    """Values by parameter name, each with its place. The accessors raise an IrcError at the argument that is wrong."""

    def __init__(self, builder: Builder, function: str, bound: dict[str, Operand], place: SourceRange):
        self.builder = builder
        self.function = function
        self.bound = bound
        self.place = place

    def __contains__(self, name: str) -> bool:
        return name in self.bound and self.bound[name][0] is not None

    def error(self, message: str, name: str | None = None, hint: str | None = None) -> IrcError:
        """An error at an argument, or at the whole call."""
        place = self.bound[name][1] if name in self.bound else self.place
        return self.builder.error(message, place, hint)

    def wrong(self, name: str, wanted: str, hint: str | None = None) -> IrcError:
        found = describe(self.bound[name][0])
        return self.error(f"{self.function} expects {wanted} for {name}, found {found}", name, hint)

    def operand(self, name: str) -> Operand:
        return self.bound[name]

    def value(self, name: str) -> Value:
        return self.bound[name][0]

    # Arrays

    def array(self, name: str) -> Array:
        value = self.value(name)
        if isinstance(value, Number):
            raise self.wrong(name, "an array", f"give the literal a type: cast({value}, f32)")
        if not isinstance(value, Array):
            raise self.wrong(name, "an array")
        return value

    def number_array(self, name: str) -> Array:
        x = self.array(name)
        if x.element is BOOL:
            raise self.wrong(name, "numbers", "cast(x, i32) makes numbers of a bool")
        return x

    def float_array(self, name: str) -> Array:
        x = self.array(name)
        if not x.element.is_float:
            raise self.wrong(name, "floats", "cast it: cast(x, f32)")
        return x

    def integer_array(self, name: str) -> Array:
        x = self.array(name)
        if not x.element.is_integer:
            raise self.wrong(name, "integers", "cast it: cast(x, i32)")
        return x

    def bool_array(self, name: str) -> Array:
        x = self.array(name)
        if x.element is not BOOL:
            raise self.wrong(name, "bools", "compare it: x != 0")
        return x

    def arrays(self, name: str) -> list[Array]:
        """A list of one array or more."""
        value = self.value(name)
        if not isinstance(value, Items) or not value.values:
            raise self.wrong(name, "a list of arrays, as in [x, y]")
        for item in value.values:
            if not isinstance(item, Array):
                raise self.error(f"{self.function} expects a list of arrays, found {describe(item)} in it", name)
        return [item for item in value.values if isinstance(item, Array)]

    # Compile-time values

    def integer(self, name: str, default: int | None = None) -> int:
        if name not in self and default is not None:
            return default
        value = self.value(name)
        if not isinstance(value, Number) or not value.is_integer:
            raise self.wrong(name, "an integer")
        return int(value.value)

    def extent(self, name: str, default: int) -> int:
        """An integer, or a size that is known when the program is called."""
        return self._integer_item(name, self.value(name), ("int", "extent")) if name in self else default

    def integers(self, name: str) -> list[int]:
        """A list of integers."""
        return self._integers(name, ("int",))

    def extents(self, name: str) -> list[int]:
        """A list of integers, and of sizes that are known when the program is called."""
        return self._integers(name, ("int", "extent"))

    def _integers(self, name: str, kinds: tuple[str, ...]) -> list[int]:
        value = self.value(name)
        if not isinstance(value, Items):
            raise self.wrong(name, "a list of integers")
        return [self._integer_item(name, item, kinds) for item in value.values]

    def _integer_item(self, name: str, item: Value, kinds: tuple[str, ...]) -> int:
        if not isinstance(item, Number) or item.kind not in kinds:
            hint = "`//` divides integers" if isinstance(item, Number) else None
            raise self.error(f"{self.function} expects integers in {name}, found {describe(item)}", name, hint)
        return int(item.value)

    def integer_or_integers(self, name: str) -> list[int]:
        value = self.value(name)
        return [self.integer(name)] if isinstance(value, Number) else self.integers(name)

    def shape(self, name: str) -> tuple[int, ...]:
        """A list of sizes, none negative."""
        sizes = tuple(self.extents(name))
        for size in sizes:
            if size < 0:
                raise self.error(f"a negative size, {size}", name, "sizes are 0 or more")
        return sizes

    def real(self, name: str, default: float) -> float:
        """A number as a float64."""
        if name not in self:
            return default
        value = self.value(name)
        if not isinstance(value, Number) or value.kind in ("bool", "extent"):
            raise self.wrong(name, "a number")
        return float(value.value)

    def flag(self, name: str, default: bool = False) -> bool:
        if name not in self:
            return default
        value = self.value(name)
        if not isinstance(value, Number) or value.kind != "bool":
            raise self.wrong(name, "true or false")
        return bool(value.value)

    def choice(self, name: str, options: Sequence[str], default: str) -> str:
        if name not in self:
            return default
        value = self.value(name)
        if not isinstance(value, str) or value not in options:
            listed = " or ".join(f'"{option}"' for option in options)
            raise self.wrong(name, listed)
        return value

    def element(self, name: str) -> Element:
        value = self.value(name)
        if not isinstance(value, Element):
            raise self.wrong(name, "an element type", "such as f32, bf16 or i32")
        return value

    def number_element(self, default: Element) -> Element:
        """That of the argument `dtype`."""
        if "dtype" not in self:
            return default
        element = self.element("dtype")
        if element is BOOL:
            raise self.wrong("dtype", "a number type")
        return element

    def literal(self, name: str, element: Element) -> int | float:
        """A number as a value of `element`."""
        value = self.value(name)
        if not isinstance(value, Number):
            raise self.wrong(name, "a number")
        try:
            return fit(value, element)
        except NumberError as error:
            raise self.builder.rejected(error, self.bound[name][1]) from None

    # Axes

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """An axis from the front."""
        return self.normalized(name, self.integer(name, default), rank)

    def axes(self, name: str, rank: int) -> list[int]:
        """Axes from the front, increasing: an integer, a list, or (None) all."""
        if name not in self:
            return list(range(rank))
        return self.distinct(name, self.integer_or_integers(name), rank)

    def distinct(self, name: str, axes: Sequence[int], rank: int) -> list[int]:
        found = sorted(self.normalized(name, axis, rank) for axis in axes)
        if len(set(found)) != len(found):
            raise self.error(f"{self.function} names an axis twice", name)
        return found

    def normalized(self, name: str, axis: int, rank: int) -> int:
        if not rank:
            raise self.error(f"axis {axis} of an array without axes", name)
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} is out of range", name, f"axes go from {-rank} to {rank - 1}")
        return axis % rank

    # Building

    def emit(
        self, op: str, operands: Sequence[Array], shape: tuple[int, ...], element: Element, **properties: object
    ) -> Array:
        return self.builder.emit(op, operands, shape, element, self.place, properties)

    def emit_like(self, op: str, x: Array, **properties: object) -> Array:
        """An op to x's own type."""
        return self.builder.emit(op, [x], x.shape, x.element, self.place, properties)
