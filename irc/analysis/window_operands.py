"""How the operands of a convolution lie in memory: whether TMA can bring tiles of them, x as pixels of a window."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from irc.analysis.op_classes import shape_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import Iteration, Kind, iteration_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK
from irc.ir.windows import CORNERS, MAX_OFFSET, MAX_STEP
from irc.layout.access import slope_of

MIN_RUN = 16
"""Channels from which on a step along K is inside of one tap: rows of the narrowest swizzle, of 16 bits."""


def run_of(op: Operation) -> int:
    """The channels at one tap, where they are innermost in x; 0 where they are not, and where there are no taps."""
    iteration = iteration_of(op)
    dims = [iteration.dims[i] for i in iteration.along(iteration.inputs[0].map, "k")]
    has_taps = any(dim.kind is Kind.WINDOW for dim in dims)
    return dims[-1].extent if has_taps and dims[-1].kind is Kind.REDUCE else 0


def is_window_loadable(op: Operation, operand: int) -> bool:
    """Whether tensor maps can bring tiles of x (0), or of the kernel (1), of steps along K inside of one tap."""
    iteration, value = iteration_of(op), op.operands[operand]
    shape = shape_of(value)
    run, groups = run_of(op), iteration.extent("b")
    inner = max((axis for axis, extent in enumerate(shape) if extent != 1), default=0)
    is_aligned = shape[inner] * element_of(value.type).size % TENSOR_MAP_ALIGNMENT == 0
    if 0 in shape or run < MIN_RUN or (groups > 1 and run % MIN_RUN) or not is_aligned:
        return False
    expr = iteration.inputs[operand].map.results[inner]
    last = {iteration.dims[i].role for i in expr.used_dims() if iteration.dims[i].kind is not Kind.WINDOW}
    is_along = last - {"b"} in ({"k"}, {"n"}) and not any(
        iteration.dims[i].kind is Kind.WINDOW for i in expr.used_dims()
    )
    return is_along and (operand == 1 or (last - {"b"} == {"k"} and _is_window(iteration, shape, inner)))


def _is_window(iteration: Iteration, shape: tuple[int, ...], inner: int) -> bool:
    """Whether x, whose channels are its axis `inner`, is read as pixels of a window within the limits of TMA's im2col
    mode: images go outermost, one after the other, or are a part of space."""
    exprs = {axis: e for axis, e in enumerate(iteration.inputs[0].map.results) if axis != inner}
    outermost = AffineExpr.dimension(iteration.along(iteration.result, "m")[0])
    space = [axis for axis, e in exprs.items() if e != outermost]
    if not 1 <= len(space) <= TENSOR_MAP_RANK - 2:
        return False
    return all(_is_within(iteration, exprs[axis], shape[axis], len(space)) for axis in space)


def _is_within(iteration: Iteration, expr: AffineExpr, extent: int, rank: int) -> bool:
    """Whether steps, corners and moves along one axis of space, of `rank` ones, are in TMA's limits."""
    slopes = {i: slope_of(expr, i) for i in expr.used_dims()}
    rows = [i for i in slopes if iteration.dims[i].role == "m"]
    taps = [i for i in slopes if iteration.dims[i].kind is Kind.WINDOW]
    parts = [i for i in slopes if iteration.dims[i].role == "b"]
    if None in slopes.values() or len(rows) != 1 or len(taps) > 1 or len(slopes) != len(rows) + len(taps + parts):
        return False
    low, step = expr.eval([0] * len(iteration.dims), []), slopes[rows[0]] or 0
    high = low + (iteration.dims[rows[0]].extent - 1) * step - (extent - 1)
    reach = sum((iteration.dims[i].extent - 1) * (slopes[i] or 0) for i in (*taps, *parts))
    in_corners = low in CORNERS[rank] and high in CORNERS[rank]
    return in_corners and 1 <= step <= MAX_STEP and 0 <= reach <= MAX_OFFSET[rank]
