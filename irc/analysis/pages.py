"""Operands of products that lie in pages of a pool: which page holds a row is data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from irc.analysis.cascades import MIN_ROWS, Cascade
from irc.analysis.op_classes import shape_of
from irc.analysis.strided_views import StridedView, strided_view
from irc.dialects import nd
from irc.dialects.nd.base import integer
from irc.ir.iteration import iteration_of
from irc.support.shapes import row_major

MULTIPLE = 16
"""Of which the rows of a page are: a step has rows of one page, as many as a matrix instruction is deep or more."""


@dataclass(frozen=True)
class Pages:
    """A value that `view` takes from what `take` gathers, a page of so many `rows` for each index."""

    take: nd.TakeOp
    view: StridedView
    rows: int


def pages_of(value: SSAValue, axes: Sequence[int]) -> Pages | None:
    """The pages in which a value lies along these axes, the ones along which tiles have some of it; None where it lies
    in none, or its other axes do not lie within a page."""
    view = strided_view(value)
    take = view.array.owner
    if not isinstance(take, nd.TakeOp) or not view.is_loadable or len(axes) != 1:
        return None
    behind = integer(take.axis) + len(shape_of(take.indices))
    shape = shape_of(take.result)
    if behind >= len(shape) - 1 or view.strides[axes[0]] != row_major(shape)[behind]:
        return None
    rows, extent = shape[behind], view.shape[axes[0]]
    is_whole = rows % MULTIPLE == 0 and (extent % rows == 0 or rows % extent == 0)
    return Pages(take, view, rows) if is_whole and not view.cuts else None


def tiled_axes(product: Operation, operand: int, role: str) -> tuple[int, ...]:
    """The axes of a product's operand along which a tile lies: the last one with a role, or all where it is short."""
    iteration = iteration_of(product)
    axes = iteration.axes(iteration.inputs[operand].map, role)
    return axes[-1:] if iteration.extents(role)[-1] >= MIN_ROWS else axes


def columns_in_pages(cascade: Cascade) -> list[tuple[Operation, int, Pages]]:
    """The products of a cascade whose operands along the columns lie in pages, with the operand."""
    sides = [(op, list(op.operands).index(cascade.sides(op)[1])) for op in cascade.scores]
    roles = [(op, side, "mn"[side]) for op, side in sides] + [(op, 1, "k") for op in cascade.products]
    found = ((op, side, pages_of(op.operands[side], tiled_axes(op, side, role))) for op, side, role in roles)
    return [(op, side, pages) for op, side, pages in found if pages is not None]


def page_rows(cascade: Cascade) -> int:
    """What the columns of a step have to divide: the rows of the smallest page of its operands; 0 where none lies in
    pages."""
    return min((pages.rows for *_, pages in columns_in_pages(cascade)), default=0)
