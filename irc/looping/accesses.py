"""Loads and stores of tiles: coordinates in a view, what of them is inside, and places in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from irc.dialects import tile
from irc.layout.affine import slope_of
from irc.layout.segments import segments_of
from irc.looping.emitter import INDEX, Emitter
from irc.looping.forms import Form, constant
from irc.looping.unsupported import Unsupported
from irc.looping.values import Indices, Value

SHORTEST = 4
"""Elements of segments that are worth a loop."""


@dataclass(frozen=True)
class ViewAccess:
    """An access to a view: element `indices` of the tile is at `coordinates` of it."""

    op: tile.AccessOp
    memory: SSAValue
    shape: tuple[int, ...]
    offsets: tuple[Form, ...]
    symbols: tuple[Form | Value, ...]
    tap: tuple[int, ...] = ()
    """What is added to the coordinates."""

    @property
    def extents(self) -> tuple[int, ...]:
        return self.op.view_type.get_shape()

    @property
    def strides(self) -> tuple[int, ...]:
        return self.op.view_type.get_strides()

    def coordinates(self, emitter: Emitter, indices: Indices) -> list[Form]:
        """Along each dimension of the view."""
        dims = [offset + index for offset, index in zip(self.offsets, indices, strict=True)]
        symbols = [self._symbol(emitter, symbol, indices) for symbol in self.symbols]
        found = [evaluated(emitter, expr, dims, symbols) for expr in self.op.access_map.results]
        return [form + shift for form, shift in zip(found, self.tap or (0,) * len(found), strict=True)]

    def _symbol(self, emitter: Emitter, symbol: Form | Value, indices: Indices) -> Form:
        if isinstance(symbol, Form):
            return symbol
        value = symbol.at(emitter, indices)
        if isinstance(value.type, IndexType):
            return Form.of(value)
        return Form.of(emitter.known(("index", value), lambda: emitter.add(arith.IndexCastOp(value, INDEX))))

    def place(self, coordinates: Sequence[Form]) -> Form:
        """The place in memory, in elements."""
        total = constant(0)
        for coordinate, stride in zip(coordinates, self.strides, strict=True):
            total = total + coordinate * stride
        return total

    def tests(self, emitter: Emitter, coordinates: Sequence[Form]) -> list[SSAValue]:
        """What has to hold for the coordinates to be inside of the view."""
        return [test for dim in self.op.checked_dims for test in emitter.tests(coordinates[dim], self.extents[dim])]

    def steps(self) -> list[int | None]:
        """By how many elements the place moves along each axis of the tile; None where that is not constant."""
        gathered = [a for a in range(len(self.shape)) if any(_moves(symbol, a) for symbol in self.symbols)]
        steps: list[int | None] = []
        for axis in range(len(self.shape)):
            parts = [slope_of(expr, axis) for expr in self.op.access_map.results]
            if axis in gathered or any(part is None for part in parts):
                steps.append(None)
            else:
                steps.append(sum((part or 0) * stride for part, stride in zip(parts, self.strides, strict=True)))
        return steps

    def segments(self) -> tuple[int, int] | None:
        """(axis, width): the axis of the tile along which places in memory follow each other, or every other one, but
        where a multiple of width ends; the one with the most lines of memory in a segment."""
        found: list[tuple[int, int, int]] = []
        for axis, extent in enumerate(self.shape):
            each = segments_of(self.op.access_map.results, axis)
            if extent == 1 or each is None or each.dividend != AffineExpr.dimension(axis) or each.by < SHORTEST:
                continue
            step = sum(slope * stride for slope, stride in zip(each.slopes, self.strides, strict=True))
            if step in (1, 2):
                found.append((each.by // step, axis, each.by))
        return max(found)[1:] if found else None

    @property
    def fast(self) -> int | None:
        """The axis of the tile along which memory is contiguous."""
        return next((a for a, step in enumerate(self.steps()) if step == 1 and self.shape[a] > 1), None)

    @property
    def order(self) -> list[int]:
        """The axes with several elements, outermost first, as they lie in memory: many places far apart that are
        written in turn share a few sets of the cache. The contiguous axis is the innermost."""
        fast, steps = self.fast, self.steps()
        axes = [axis for axis, n in enumerate(self.shape) if n > 1]
        inner = axes[-1:] if fast is None else [fast]
        outer = [axis for axis in axes if axis not in inner]
        return [*sorted(outer, key=lambda axis: abs(steps[axis] or inf), reverse=True), *inner]

    def clamped(self, emitter: Emitter, axis: int) -> tuple[Form, Form]:
        """(low, high) of the indices along an axis of the tile that are inside of the view, where checked coordinates
        say so by themselves: they move with this axis alone, one by one."""
        lows, highs = [constant(0)], [constant(self.shape[axis])]
        start = None
        for dim in filter(self._is_clamping, self.op.checked_dims):
            if not self._follows(dim, axis):
                continue
            start = start or self.coordinates(emitter, [constant(0)] * len(self.shape))
            highs.append(constant(self.extents[dim]) - start[dim])
            lows.append(start[dim] * -1)
        return emitter.greatest(lows), emitter.greatest([emitter.least(highs), constant(0)])

    def loops(self, emitter: Emitter, order: Sequence[int]) -> list[tuple[int, Form, Form]]:
        """Loops over the elements of the tile that are inside of the view, as far as `clamped` knows them."""
        return [(axis, *self.clamped(emitter, axis)) for axis in order]

    @property
    def is_clamped(self) -> bool:
        """Whether the `clamped` loops go over elements inside of the view alone."""
        return all(map(self._is_clamping, self.op.checked_dims))

    def is_clamped_by(self, dim: int, axis: int) -> bool:
        """Whether the `clamped` indices along an axis are those at which a checked coordinate is inside."""
        return self._is_clamping(dim) and self._follows(dim, axis)

    def _follows(self, dim: int, axis: int) -> bool:
        """Whether a coordinate moves with an axis of the tile by a constant step."""
        return bool(slope_of(self.op.access_map.results[dim], axis)) and self.shape[axis] > 1

    def _is_clamping(self, dim: int) -> bool:
        """Whether a checked coordinate moves with one axis of the tile, one by one."""
        axes = [axis for axis, extent in enumerate(self.shape) if extent > 1]
        steps = [slope_of(self.op.access_map.results[dim], axis) for axis in axes]
        is_gathered = any(_moves(symbol, axis) for symbol in self.symbols for axis in axes)
        return [step for step in steps if step != 0] == [1] and not is_gathered

    def bound(self, emitter: Emitter, coordinates: Sequence[Form]) -> None:
        """Says that the checked coordinates that `clamped` loops run over are inside."""
        for dim in filter(self._is_clamping, self.op.checked_dims):
            emitter.bound(coordinates[dim], 0, self.extents[dim])


def _moves(symbol: Form | Value, axis: int) -> bool:
    return isinstance(symbol, Value) and symbol.shape[axis] > 1


def evaluated(emitter: Emitter, expr: AffineExpr, dims: Sequence[Form], symbols: Sequence[Form]) -> Form:
    """An affine expression of index values."""
    match expr:
        case AffineConstantExpr():
            return constant(expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            a, b = (evaluated(emitter, side, dims, symbols) for side in (expr.lhs, expr.rhs))
            return _applied(emitter, expr.kind, a, b)
        case _:
            raise Unsupported(f"the expression {expr}")


def _applied(emitter: Emitter, kind: AffineBinaryOpKind, a: Form, b: Form) -> Form:
    if kind is AffineBinaryOpKind.Add:
        return a + b
    if kind is AffineBinaryOpKind.Mul and (a.is_constant or b.is_constant):
        return a * b.constant if b.is_constant else b * a.constant
    if not b.is_constant or b.constant <= 0 or kind is AffineBinaryOpKind.Mul:
        raise Unsupported("an affine map that is not linear")
    if kind is AffineBinaryOpKind.CeilDiv:
        return emitter.divided(a * -1, b.constant, is_rest=False) * -1
    return emitter.divided(a, b.constant, is_rest=kind is AffineBinaryOpKind.Mod)
