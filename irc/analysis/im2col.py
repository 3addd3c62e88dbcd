"""Which accesses TMA can make in its im2col mode: pixels of a window that moves over images (CUDA driver API,
cuTensorMapEncodeIm2col; PTX ISA, 5.5.4).

Along one dimension of a tile the access goes over the places of a window: `row floordiv (P Q)`, `row floordiv Q mod P`
and `row mod Q` are the image and the place, times the steps, from a corner on. Scalars move all of them alike. Along
the other dimension it goes over channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from irc.analysis.index_values import greatest
from irc.analysis.tma import has_tensor_map
from irc.dialects.tile import AccessOp, Im2colAttr
from irc.ir.dtypes import element_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK
from irc.ir.windows import CORNERS, MAX_OFFSET, MAX_PIXELS, MAX_STEP
from irc.layout.affine import bounds, slope_of
from irc.support.integers import ceil_div

FEW = 2
"""Dimensions of space whose moves have 8 bits."""


@dataclass(frozen=True)
class _Coordinate:
    """`step * (row floordiv divisor mod count) + low + moved`: count is 0 where there is no remainder, divisor where
    the coordinate does not depend on the row."""

    step: int
    divisor: int
    count: int
    low: int
    moved: AffineExpr


def im2col_access(op: AccessOp, shape: Sequence[int]) -> Im2colAttr | None:
    """How TMA brings a tile of extents `shape` as pixels of a window; None where it cannot."""
    size = element_of(op.view_type.element_type).size
    channel = channel_dim(op, len(shape))
    if channel is None or not has_tensor_map(op):
        return None
    pixel = 1 - channel
    if shape[channel] * size % TENSOR_MAP_ALIGNMENT or not 1 < shape[pixel] <= MAX_PIXELS:
        return None
    found = [_coordinate(expr, pixel) for expr in op.access_map.results[:-1]]
    if any(at is None or channel in e.used_dims() for at, e in zip(found, op.access_map.results, strict=False)):
        return None
    places = [at for at in found if at is not None]
    rows = greatest(op.offsets[pixel])
    if rows is None:
        return None
    windows = (_window(op, places, *order, rows) for order in _orders(places))
    return next((window for window in windows if window is not None), None)


def _window(
    op: AccessOp, places: Sequence[_Coordinate], image: int, space: Sequence[int], rows: int
) -> Im2colAttr | None:
    """The window over these dimensions, where it is within TMA's limits."""
    extents = op.view_type.get_shape()
    if not 1 <= len(space) <= TENSOR_MAP_RANK - 2:
        return None
    counts = [_count(places[d], rows + 1) for d in space]
    lower, steps = [places[d].low for d in space], [places[d].step for d in space]
    ends = [low + (count - 1) * step for low, count, step in zip(lower, counts, steps, strict=True)]
    upper = [end - (extents[d] - 1) for d, end in zip(space, ends, strict=True)]
    corners = CORNERS[len(space)]
    if any(corner not in corners for corner in (*lower, *upper)) or any(not 1 <= step <= MAX_STEP for step in steps):
        return None
    if not all(_is_in_reach(places[d].moved, op.symbols, MAX_OFFSET[len(space)]) for d in space):
        return None
    return Im2colAttr.of([image, *space, len(extents) - 1], lower, upper, steps)


def channel_dim(op: AccessOp, rank: int) -> int | None:
    """The dimension of a tile of two along which an access goes over the innermost one of its view, by elements."""
    if rank != 2:
        return None
    slopes = [slope_of(op.access_map.results[-1], d) for d in range(2)]
    return slopes.index(1) if slopes in ([0, 1], [1, 0]) else None


def first_pixel(op: AccessOp, window: Im2colAttr, rank: int) -> tuple[list[AffineExpr], list[AffineExpr]]:
    """The coordinates of the first pixel and channel of a tile, images first, and by how far its pixels are moved in
    space. Rows beyond the last place of the window are in the next image, also where the view is of one."""
    channel = channel_dim(op, rank)
    assert channel is not None
    results, extents = op.access_map.results, op.view_type.get_shape()
    row, image, first = AffineExpr.dimension(1 - channel), AffineExpr.constant(0), list[AffineExpr]()
    if (at := window.dimensions[0]) >= 0:
        image = results[at]
    moves: list[AffineExpr] = []
    for dim, lower, upper, step in zip(window.dimensions[1:-1], *window.window, strict=True):
        place = _coordinate(results[dim], 1 - channel)
        assert place is not None
        moves.append(place.moved)
        if not place.divisor:
            first.append(AffineExpr.constant(place.low))
            continue
        count = (upper + extents[dim] - 1 - lower) // step + 1
        first.append((row // place.divisor) % count * step + place.low)
        if not place.count:
            image = image + row // (place.divisor * count)
    return [image, *first, results[-1]], moves


def _coordinate(expr: AffineExpr, pixel: int) -> _Coordinate | None:
    """The parts of a coordinate; None where it has others."""
    low, moved = 0, AffineExpr.constant(0)
    row: tuple[int, int, int] | None = None
    for term in _addends(expr):
        if isinstance(term, AffineConstantExpr):
            low += term.value
        elif not term.used_dims():
            moved = moved + term
        elif row is not None or (row := _row(term, pixel)) is None:
            return None
    step, divisor, count = row or (1, 0, 1)
    return _Coordinate(step, divisor, count, low, moved)


def _addends(expr: AffineExpr) -> Iterator[AffineExpr]:
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add:
        yield from _addends(expr.lhs)
        yield from _addends(expr.rhs)
    else:
        yield expr


def _row(term: AffineExpr, pixel: int) -> tuple[int, int, int] | None:
    """(step, divisor, count) of `step * (row floordiv divisor mod count)`."""
    step = divisor = 1
    count = 0
    if (inner := _by(term, AffineBinaryOpKind.Mul)) is not None:
        term, step = inner
    if (inner := _by(term, AffineBinaryOpKind.Mod)) is not None:
        term, count = inner
    if (inner := _by(term, AffineBinaryOpKind.FloorDiv)) is not None:
        term, divisor = inner
    is_row = isinstance(term, AffineDimExpr) and term.position == pixel
    return (step, divisor, count) if is_row and step > 0 else None


def _by(term: AffineExpr, kind: AffineBinaryOpKind) -> tuple[AffineExpr, int] | None:
    if isinstance(term, AffineBinaryOpExpr) and term.kind is kind and isinstance(term.rhs, AffineConstantExpr):
        return term.lhs, term.rhs.value
    return None


def _orders(places: Sequence[_Coordinate]) -> Iterator[tuple[int, list[int]]]:
    """The dimension of the images, -1 where there is none, and those of space, outermost first; none where a tile's
    rows do not go over them one after the other. Outermost, images may be moved, where a tile is in a part of them:
    rather than three dimensions of space, and where fewer are not within the limits."""
    moving = sorted((d for d, at in enumerate(places) if at.divisor), key=lambda d: -places[d].divisor)
    still = [d for d, at in enumerate(places) if not at.divisor]
    for outer, inner in zip(moving, [*moving[1:], None], strict=True):
        least = 1 if inner is None else places[inner].divisor * places[inner].count
        if places[outer].divisor != least:
            return
    if any(not places[d].count for d in moving[1:]):
        return
    outermost = [d for d in moving[:1] if not places[d].count]
    candidates = [*outermost, *still]
    images = [d for d in candidates if _is_image(places[d])]
    moved = [d for d in candidates if d == 0 and d not in images and places[d].step == 1 and places[d].low == 0]
    orders = [(i, [d for d in (*still, *moving) if d != i]) for i in (*(images[:1] or [-1]), *moved)]
    yield from sorted(orders, key=lambda order: len(order[1]) > FEW)


def _is_image(at: _Coordinate) -> bool:
    """Whether a window has no corners along the dimension, and does not move."""
    return at.step == 1 and at.low == 0 and at.moved == AffineExpr.constant(0)


def _count(at: _Coordinate, rows: int) -> int:
    """The places of the window along a dimension."""
    return at.count or ceil_div(rows, at.divisor)


def _is_in_reach(moved: AffineExpr, symbols: Sequence[SSAValue], most: int) -> bool:
    reach = bounds(moved, [greatest(s) for s in symbols])[1]
    return reach is not None and reach <= most
