"""How the operands of a convolution lie in memory: whether TMA can bring tiles of them, x as pixels of a window.

Pixels lie along M, and channels along K. In the gradient of a kernel it is the other way around where channels are
innermost: x is contiguous along M, which has its channels, g along N, and K goes over the pixels. Then a tile is at one
place of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from irc.analysis.op_classes import shape_of
from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.ir.alignment import alignment_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import Iteration, Kind, Pattern, iteration_of, pattern_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK
from irc.ir.windows import CORNERS, MAX_OFFSET, MAX_STEP
from irc.layout.affine import slope_of
from irc.layout.windows import Reach

PIXELS = 64
"""Of a step along K."""

MIN_RUN = 16
"""Channels from which on a step along K is inside of one tap: rows of the narrowest swizzle, of 16 bits."""


def run_of(op: Operation) -> int:
    """The channels at one tap, where they are innermost in x; 0 where they are not, and where there are no taps."""
    iteration = iteration_of(op)
    dims = [iteration.dims[i] for i in iteration.along(iteration.inputs[0].map, "k")]
    has_taps = any(dim.kind is Kind.WINDOW for dim in dims)
    return dims[-1].extent if has_taps and dims[-1].kind is Kind.REDUCE else 0


def has_rows_of_taps(op: Operation) -> bool:
    """Whether K goes over rows of taps and channels that follow each other in x, some of which are not there: the
    threads that multiply load them in pairs. The kernel has them in rows that tensor maps can bring."""
    return isinstance(op, nd.ConvOp) and len(ints(op.taps)) > 0


def has_pairs_of_taps(op: Operation) -> bool:
    """Whether such rows begin at whole pairs of elements at most, by where the first one does and by the steps between
    them."""
    if not isinstance(op, nd.ConvOp) or not has_rows_of_taps(op):
        return False
    steps = ints(op.strides)[-1:] if op.result_shape[-1] > 1 else ()
    return any(n % 4 for n in (*steps, ints(op.low)[-1]))


def rows_of(op: Operation) -> tuple[int, ...]:
    """The dimensions along M, by position, that the rows of a tile go over: not the places where these are batches."""
    iteration = iteration_of(op)
    rows = iteration.along(iteration.result, "m")
    return tuple(i for i in rows if iteration.dims[i].number == 0) if _is_gradient(op) else rows


def rows_read(op: Operation) -> tuple[Reach, ...]:
    """What the rows of a product's result read of the left operand along each of its axes, at one place of the last
    contracted dimension, which moves along one of them by `step`. None where that is no part of a window, and where
    columns are not innermost in both operands."""
    iteration = iteration_of(op)
    contracted = iteration.along(iteration.inputs[0].map, "k")
    exprs = iteration.inputs[0].map.results
    if not contracted or iteration.dims[contracted[-1]].kind is not Kind.WINDOW or 0 in shape_of(op.operands[0]):
        return ()
    columns = set(iteration.along(iteration.result, "n")) | set(iteration.along(iteration.result, "b"))
    for value, access in zip(op.operands, iteration.inputs, strict=False):
        used = access.map.results[_inner(shape_of(value))].used_dims()
        if not used & columns or used & set(contracted):
            return ()
    if any(slope_of(expr, i) is None for expr in exprs for i in expr.used_dims()):
        return ()
    return tuple(_reach_of_rows(iteration, expr, contracted[-1]) for expr in exprs)


def _reach_of_rows(iteration: Iteration, expr: AffineExpr, walked: int) -> Reach:
    slopes = {i: abs(slope_of(expr, i) or 0) for i in expr.used_dims()}
    rows = [i for i in slopes if iteration.dims[i].role == "m"]
    reach = sum(slopes[i] * (iteration.dims[i].extent - 1) for i in rows)
    return Reach(1, slopes.get(walked, 0), reach, prod(iteration.dims[i].extent for i in rows))


def can_be_moved(op: Operation, dim: int) -> bool:
    """Whether TMA can begin at any pixel along a contracted dimension, as parts of it do, where pixels lie along K."""
    if not _is_gradient(op):
        return True
    iteration = iteration_of(op)
    (expr,) = (e for e in iteration.inputs[0].map.results if dim in e.used_dims())
    reach = sum((iteration.dims[i].extent - 1) * (slope_of(expr, i) or 0) for i in expr.used_dims())
    return iteration.dims[dim].kind is Kind.REDUCE or reach <= MAX_OFFSET[len(shape_of(op.operands[0])) - 2]


def is_window_loadable(op: Operation, operand: int) -> bool:
    """Whether tensor maps can bring tiles of x (0), or of the kernel (1), of steps along K inside of one tap, or of
    pixels. Steps of pixels have no end inside of them, as what comes next is no zero."""
    if has_rows_of_taps(op):
        return operand == 1
    if _is_gradient(op):
        return iteration_of(op).extent("k") % PIXELS == 0
    iteration, value = iteration_of(op), op.operands[operand]
    shape = shape_of(value)
    run = run_of(op)
    if 0 in shape or run < MIN_RUN or (_has_groups(op) and run % MIN_RUN) or not _is_aligned(value):
        return False
    inner = _inner(shape)
    expr = iteration.inputs[operand].map.results[inner]
    last = {iteration.dims[i].role for i in expr.used_dims() if iteration.dims[i].kind is not Kind.WINDOW}
    is_along = last - {"b"} in ({"k"}, {"n"}) and not any(
        iteration.dims[i].kind is Kind.WINDOW for i in expr.used_dims()
    )
    return is_along and (operand == 1 or (last - {"b"} == {"k"} and _is_window(iteration, shape, inner)))


def _has_groups(op: Operation) -> bool:
    """Whether the channels of one batch are beside those of another."""
    iteration = iteration_of(op)
    dims = {i for e in iteration.inputs[0].map.results for i in e.used_dims() if len(e.used_dims()) > 1}
    return any(iteration.dims[i].role == "b" for i in dims)


def _inner(shape: Sequence[int]) -> int:
    """The innermost axis that is not of one element."""
    return max((axis for axis, extent in enumerate(shape) if extent != 1), default=0)


def _is_aligned(value: SSAValue) -> bool:
    shape = shape_of(value)
    row = shape[_inner(shape)] * element_of(value.type).size
    return not (row % TENSOR_MAP_ALIGNMENT or alignment_of(value) % TENSOR_MAP_ALIGNMENT)


def _is_gradient(op: Operation) -> bool:
    """Whether x has its rows, and the kernel its columns, innermost, and both go over the pixels in one order."""
    iteration = iteration_of(op)
    x, kernel = (shape_of(value) for value in op.operands[:2])
    if pattern_of(op) is not Pattern.CONVOLUTION or 0 in (*x, *kernel) or element_of(op.operands[0].type).size != 2:
        return False
    pixels = iteration.along(iteration.inputs[0].map, "k")
    if not all(map(_is_aligned, op.operands[:2])) or pixels != iteration.along(iteration.inputs[1].map, "k"):
        return False
    innermost = (iteration.inputs[i].map.results[_inner(shape)] for i, shape in enumerate((x, kernel)))
    sides = [iteration.dims[e.position] if isinstance(e, AffineDimExpr) else None for e in innermost]
    if [side and side.name for side in sides] != ["m0", "n0"] or min(side.extent for side in sides if side) < MIN_RUN:
        return False
    is_in_order = iteration.dims[pixels[0]].kind is Kind.REDUCE and _inner(kernel) == len(kernel) - 1
    return is_in_order and _is_window(iteration, x, _inner(x))


def _is_window(iteration: Iteration, shape: tuple[int, ...], inner: int) -> bool:
    """Whether x, whose channels are its axis `inner`, is read as pixels of a window within the limits of TMA's im2col
    mode: images go outermost, one after the other, or are a part of space."""
    exprs = {axis: e for axis, e in enumerate(iteration.inputs[0].map.results) if axis != inner}
    is_along_k = iteration.inputs[0].map.results[inner].used_dims() & set(iteration.along(iteration.result, "m"))
    pixels = iteration.along(iteration.inputs[0].map, "k") if is_along_k else iteration.along(iteration.result, "m")
    space = [axis for axis, e in exprs.items() if not _is_image(iteration, e, pixels[0])]
    if not 1 <= len(space) <= TENSOR_MAP_RANK - 2:
        return False
    return all(_is_within(iteration, exprs[axis], shape[axis], len(space), pixels) for axis in space)


def _is_within(iteration: Iteration, expr: AffineExpr, extent: int, rank: int, pixels: Sequence[int]) -> bool:
    """Whether steps, corners and moves along one axis of space, of `rank` ones, are in TMA's limits."""
    slopes = {i: slope_of(expr, i) for i in expr.used_dims()}
    rows = [i for i in slopes if i in pixels]
    moves = [i for i in slopes if i not in pixels]
    if None in slopes.values() or len(rows) != 1 or any((slopes[i] or 0) < 0 for i in moves):
        return False
    low, step = expr.eval([0] * len(iteration.dims), []), slopes[rows[0]] or 0
    high = low + (iteration.dims[rows[0]].extent - 1) * step - (extent - 1)
    reach = sum((iteration.dims[i].extent - 1) * (slopes[i] or 0) for i in moves)
    in_corners = low in CORNERS[rank] and high in CORNERS[rank]
    return in_corners and 1 <= step <= MAX_STEP and reach <= MAX_OFFSET[rank]


def _is_image(iteration: Iteration, expr: AffineExpr, image: int) -> bool:
    """Whether a coordinate is that of the image, perhaps of a part of them."""
    parts = {i for i in expr.used_dims() if iteration.dims[i].role == "b"}
    is_whole = expr == AffineExpr.dimension(image)
    return is_whole or (iteration.dims[image].role == "k" and expr.used_dims() - parts == {image})
