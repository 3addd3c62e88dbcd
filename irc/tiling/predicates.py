"""Where a value can be anything but nothing: conditions on places, and on integers that are read from arrays by places,
as inequalities. `irc/tiling/column_bounds.py` says what they leave of a loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import IntegerType

from irc.ir.dtypes import element_of
from irc.tiling.index_maps import ZERO, Coords, Lin, bounds, constant
from irc.tiling.nodes import Apply, Cast, Choose, Constant, Coordinate, Load, Node, Reduced, Test, name_of


@dataclass(frozen=True)
class Element:
    """An integer of the operand with a number, which does not fall along any axis where it `is_ascending`."""

    argument: int
    at: Coords
    is_ascending: bool


@dataclass(frozen=True)
class Sum:
    """Places, and elements of arrays times 1 or -1."""

    places: Lin
    elements: tuple[tuple[Element, int], ...] = ()

    def plus(self, other: Sum, sign: int) -> Sum:
        return Sum(self.places + other.places * sign, self.elements + tuple((e, f * sign) for e, f in other.elements))

    def reach(self, other: Sum, by: int = 0) -> Sum:
        """What is at least 0 where this is another one at least, or that and a number."""
        found = self.plus(other, -1)
        return Sum(found.places - by, found.elements)


Inequalities = frozenset[Sum]
"""What is at least 0."""

NONE: Inequalities = frozenset()


@dataclass(frozen=True)
class Support:
    """Where values can be anything but nothing. `hidden` holds wherever the nodes of its keys are not -inf."""

    hidden: Mapping[Node, Inequalities]

    def of(self, node: Node, nothing: float) -> Inequalities:
        """What holds wherever a value is not `nothing`, which is 0 or -inf. Of conditions on places alone."""
        match node:
            case Cast():
                return self.of(node.input, nothing)
            case Choose() if _is(node.outside, nothing):
                return tested(node.tests) | self.of(node.inside, nothing)
            case Apply():
                return self._of_apply(node, nothing)
            case _:
                return self.hidden.get(node, NONE) if nothing == -inf else NONE

    def _of_apply(self, node: Apply, nothing: float) -> Inequalities:
        match name_of(node.op), node.inputs:
            case "where", (condition, inside, outside) if _is(outside, nothing):
                return self._where(condition) | self.of(inside, nothing)
            case "where", (_, inside, outside):
                return self.of(inside, nothing) & self.of(outside, nothing)
            case "neg" | "abs" | "relu", (value,) if nothing == 0:
                return self.of(value, 0)
            case "maximum" | "minimum", (value, bound) if nothing == 0 and _is(bound, 0):
                return self.of(value, 0)
            case "exp" | "exp2", (power,) if nothing == 0:
                return self.of(power, -inf)
            case "cast", (value,):
                return self.of(value, nothing)
            case "sub", (value, rows) if nothing == -inf and _is_finite(rows):
                return self.of(value, nothing)
            case "add", (a, b) if nothing == -inf:
                return self.of(a, nothing) | self.of(b, nothing)
            case "mul", (a, b) if nothing == 0:
                return self.of(a, 0) | self.of(b, 0)
            case "mul", (value, Constant(value=factor)) if factor > 0:
                return self.of(value, nothing)
            case "div", (value, _) if nothing == 0:
                return self.of(value, 0)
            case _:
                return NONE

    def _where(self, condition: Node) -> Inequalities:
        """What holds wherever a condition does: of places, or that a value is more than 0."""
        match condition:
            case Apply(inputs=(value, bound)) if name_of(condition.op) == "greater" and _is(bound, 0):
                return self.of(value, 0)
            case _:
                return implied(condition)


def passed(tests: Iterable[Test]) -> frozenset[Lin]:
    """What is at least 0 where all tests hold."""
    found = [test.lin - test.low for test in tests if test.low is not None]
    return frozenset(found + [test.lin * -1 + (test.high - 1) for test in tests if test.high is not None])


def tested(tests: Iterable[Test]) -> Inequalities:
    """What holds where all tests do."""
    return frozenset(map(Sum, passed(tests)))


def _is_finite(node: Node) -> bool:
    """Whether a value is taken to be no -inf, so that -inf less the value is -inf: a reduction that others are relative
    to, which begins at a finite number whose products with factors are finite; an element of an array; a choice of
    such; or a number > 0 times either."""
    match node:
        case Apply(inputs=(value, Constant(value=factor))) if name_of(node.op) == "mul" and factor > 0:
            return _is_finite(value)
        case Apply(inputs=(_, inside, outside)) if name_of(node.op) == "where":
            return _is_finite(inside) and _is_finite(outside)
        case Constant():
            return node.value > -inf
        case _:
            return isinstance(node, Reduced | Load)


def _is(node: Node, value: float) -> bool:
    return isinstance(node, Constant) and node.value == value


def implied(condition: Node) -> Inequalities:
    """What holds wherever a condition does."""
    if not isinstance(condition, Apply) or len(condition.inputs) != 2:
        return NONE
    name, (lhs, rhs) = name_of(condition.op), condition.inputs
    if name == "bitwise_and":
        return implied(lhs) | implied(rhs)
    a, b = _place(lhs), _place(rhs)
    if a is None or b is None:
        return NONE
    match name:
        case "less":
            return frozenset({b.reach(a, 1)})
        case "less_equal":
            return frozenset({b.reach(a)})
        case "greater":
            return frozenset({a.reach(b, 1)})
        case "greater_equal":
            return frozenset({a.reach(b)})
        case "equal":
            return frozenset({a.reach(b), b.reach(a)})
        case _:
            return NONE


def _place(node: Node) -> Sum | None:
    """An integer that is computed from places, and from integers of arrays."""
    if not isinstance(node.source, IntegerType):
        return None
    match node:
        case Coordinate():
            return Sum(node.lin)
        case Constant():
            return Sum(constant(int(node.value)))
        case Load():
            return Sum(ZERO, ((Element(node.argument, node.at, node.is_ascending), 1),))
        case Apply(inputs=(lhs, rhs)) if name_of(node.op) in ("add", "sub"):
            a, b = _place(lhs), _place(rhs)
            if a is None or b is None:
                return None
            return a.plus(b, 1 if name_of(node.op) == "add" else -1)
        case Apply(inputs=(value,)) if name_of(node.op) == "cast":
            place = _place(value)
            return place if place is not None and _keeps(value, place, node.source) else None
        case _:
            return None


def _keeps(value: Node, place: Sum, target: IntegerType) -> bool:
    """Whether an integer is the same in another type."""
    least, most = element_of(target).limits()
    low, high = element_of(value.source).limits() if place.elements else bounds(place.places)
    return least <= low and high <= most
