"""`x[...]`: slices, `None`, `...` and integers, as one slice and one reshape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irc.language.builder import Builder
from irc.language.numbers import Number
from irc.language.syntax import Ellipsis_, Expression, Index, Indexed, Slice
from irc.language.values import Array, Value, describe
from irc.support.diagnostics import IrcError


@dataclass(slots=True)
class _Range:
    """A part of one axis; `kept` is false for an integer index."""

    start: int
    stop: int
    step: int
    kept: bool

    @property
    def extent(self) -> int:
        return max(0, -((self.start - self.stop) // self.step))


class _Indexer:
    def __init__(self, builder: Builder, x: Array, node: Indexed, evaluate: Callable[[Expression], Value]):
        self.builder = builder
        self.x = x
        self.node = node
        self.evaluate = evaluate

    def apply(self) -> Array:
        parts = self._parts()
        ranges = [part for part in parts if part is not None]
        x = self._sliced(ranges)
        shape = tuple(1 if part is None else part.extent for part in parts if part is None or part.kept)
        return self.builder.reshape(x, shape, self.node.place)

    def _sliced(self, ranges: list[_Range]) -> Array:
        starts, stops, steps = [r.start for r in ranges], [r.stop for r in ranges], [r.step for r in ranges]
        shape = tuple(r.extent for r in ranges)
        if not any(starts) and tuple(stops) == self.x.shape and all(step == 1 for step in steps):
            return self.x
        properties = {"starts": starts, "stops": stops, "steps": steps}
        return self.builder.emit("slice", [self.x], shape, self.x.element, self.node.place, properties)

    def _parts(self) -> list[_Range | None]:
        """One entry for each axis of the operand and for each `None`, in order."""
        values = [(item, self._value(item)) for item in self.node.indices]
        given = sum(value is not None for item, value in values if not isinstance(item, Ellipsis_))
        if given > self.x.rank:
            raise self._error(f"{given} indices for {self.x}", self.node, "None adds an axis")
        ellipses = [item for item, _ in values if isinstance(item, Ellipsis_)]
        if len(ellipses) > 1:
            raise self._error("`...` more than once", ellipses[1])
        parts: list[_Range | None] = []
        axis = 0
        for item, value in values:
            if isinstance(item, Ellipsis_):
                rest = range(axis, axis + self.x.rank - given)
                parts += [_Range(0, self.x.shape[i], 1, True) for i in rest]
                axis = rest.stop
            elif value is None:
                parts.append(None)
            else:
                parts.append(self._range(item, value, self.x.shape[axis], axis))
                axis += 1
        return parts + [_Range(0, extent, 1, True) for extent in self.x.shape[axis:]]

    def _value(self, item: Index) -> Value:
        """The value of an expression; a slice or `...` stands for itself by a string."""
        return self.evaluate(item) if isinstance(item, Expression) else "slice"

    def _range(self, item: Index, value: Value, extent: int, axis: int) -> _Range:
        if isinstance(item, Slice):
            return self._slice(item, extent)
        if isinstance(value, Array):
            raise self._error(
                f"cannot index by {value}", item, "take(x, indices, axis) takes elements at an array of places"
            )
        at = self._integer(value, item)
        if not -extent <= at < extent:
            hint = f"indices go from {-extent} to {extent - 1}" if extent else "the axis is empty"
            raise self._error(f"index {at} is out of range for axis {axis} of {self.x}", item, hint)
        return _Range(at % extent, at % extent + 1, 1, False)

    def _slice(self, item: Slice, extent: int) -> _Range:
        bounds = [None if part is None else self._bound(part) for part in (item.start, item.stop, item.step)]
        step = 1 if bounds[2] is None else bounds[2]
        if step < 1:
            raise self._error(f"a step of {step}", item.step or item, "steps are positive: flip(x, axis) reverses")
        start, stop, _ = slice(bounds[0], bounds[1], step).indices(extent)
        return _Range(start, max(start, stop), step, True)

    def _bound(self, node: Expression) -> int | None:
        value = self.evaluate(node)
        return None if value is None else self._integer(value, node)

    def _integer(self, value: Value, item: Index) -> int:
        if not isinstance(value, Number) or not value.is_integer:
            hint = "where(c, a, b) chooses by a bool array" if isinstance(value, Array) else None
            raise self._error(f"an index is an integer, found {describe(value)}", item, hint)
        return int(value.value)

    def _error(self, message: str, item: Index, hint: str | None = None) -> IrcError:
        return self.builder.error(message, item.place, hint)


def index(builder: Builder, x: Array, node: Indexed, evaluate: Callable[[Expression], Value]) -> Array:
    """`x[indices]`. Bounds beyond the extent are clipped, as in numpy; integers are checked."""
    return _Indexer(builder, x, node, evaluate).apply()
