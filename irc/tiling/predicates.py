"""Where a value can be anything but nothing: conditions on places, as inequalities, and what they leave of a loop.

A loop over columns need not come to steps in which a mask hides all columns from all rows of the tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from irc.tiling.index_maps import Dim, Lin, atoms, constant
from irc.tiling.nodes import Apply, Cast, Choose, Constant, Coordinate, Load, Node, Reduced, Test, name_of
from irc.tiling.program import Axis
from irc.tiling.stage import Stage

Inequalities = frozenset[Lin]
"""Expressions that are at least 0."""

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
                return passed(node.tests) | self.of(node.inside, nothing)
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


def passed(tests: Iterable[Test]) -> Inequalities:
    """What holds where all tests do."""
    found = [test.lin - test.low for test in tests if test.low is not None]
    return frozenset(found + [test.lin * -1 + (test.high - 1) for test in tests if test.high is not None])


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
            return frozenset({b - a - 1})
        case "less_equal":
            return frozenset({b - a})
        case "greater":
            return frozenset({a - b - 1})
        case "greater_equal":
            return frozenset({a - b})
        case "equal":
            return frozenset({a - b, b - a})
        case _:
            return NONE


def _place(node: Node) -> Lin | None:
    """An integer that is computed from places."""
    if not isinstance(node.source, IntegerType):
        return None
    match node:
        case Coordinate():
            return node.lin
        case Constant():
            return constant(int(node.value))
        case Apply(inputs=(lhs, rhs)) if name_of(node.op) in ("add", "sub"):
            a, b = _place(lhs), _place(rhs)
            if a is None or b is None:
                return None
            return a + b if name_of(node.op) == "add" else a - b
        case _:
            return None


def column_bounds(
    stage: Stage, inequalities: Iterable[Lin], rows: Axis, column: Dim, step: int
) -> tuple[SSAValue, SSAValue]:
    """From where to where the columns can have anything, for the rows of a tile: multiples of a step, and at most all
    columns. The stage has the rows."""
    first, end = stage.index(0), stage.index(column.extent)
    for lin in inequalities:
        lin = stage.program.resolve(lin)
        sign = dict(lin.terms).get(column, 0)
        rest = Lin(tuple((a, f) for a, f in lin.terms if a != column), lin.const)
        known = {rows.dim, *stage.scalars}
        if sign not in (1, -1) or any(a == column for a in atoms(rest)) or any(a not in known for a, _ in rest.terms):
            continue
        factor = dict(rest.terms).get(rows.dim, 0) if rows.dim is not None else 0
        most = rest + (max(factor, 0) * (rows.extent - 1))
        location = stage.program.op.location
        if sign == -1:  # column <= rest
            last = stage.insert(arith.MinSIOp(_index(stage, most + 1, rows), end), location)
            end = last
            continue
        back = _index(stage, most * -1, rows)
        begin = stage.insert(arith.FloorDivSIOp(back, stage.index(step)), location)
        begin = stage.insert(arith.MuliOp(begin, stage.index(step)), location)
        first = stage.insert(arith.MaxSIOp(begin, first), location)
    return first, end


def _index(stage: Stage, lin: Lin, rows: Axis) -> SSAValue:
    """An expression of the tile's first row, and of what is the same for the tile."""
    location = stage.program.op.location
    total = stage.index(lin.const) if lin.const or not lin.terms else None
    for atom, factor in lin.terms:
        assert isinstance(atom, Dim)
        value = rows.offset if atom == rows.dim else stage.scalars[atom]
        if factor != 1:
            value = stage.insert(arith.MuliOp(value, stage.index(factor)), location)
        total = value if total is None else stage.insert(arith.AddiOp(value, total), location)
    assert total is not None
    return total
