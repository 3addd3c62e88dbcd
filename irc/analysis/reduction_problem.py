"""What a kernel of reductions computes, in numbers: rows, their lengths, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import gcd, prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from irc.analysis.op_classes import LARGE, has_parts, is_position, is_scan, reduced_axes, shape_of
from irc.analysis.runs import ends_reduced, outer_axes, run_of, short_run
from irc.dialects.kernel import FusedOp
from irc.ir.dtypes import Element, element_of
from irc.ir.walks import depending_on
from irc.layout.requests import LINE_BYTES, WIDEST
from irc.support.integers import ceil_div, power_of_two


@dataclass(frozen=True)
class Reduction:
    """The reductions of a kernel over `rows` of `extent` elements each; `count` is of their accumulators, an index too.

    role: of the dimensions that rows run along, `r`, or `s` of scans.
    columns: extent of the innermost kept axis where the rows are not contiguous, of several where one is less than a
    line of memory; else 1.
    is_contiguous: whether the elements of a row follow each other in memory. returns: whether the rows are read again
    after they have been reduced. gives_rows: whether a result has their size. is_nested: whether one reduction needs
    the result of another. is_splittable: whether parts can be reduced first. element: what is reduced. loaded: the
    element of the largest operand. arrays: operands of the domain's size, or of a large part of it. weights: those as
    long as a row, which all rows read. is_aligned: whether runs of contiguous elements that are alike start at
    multiples of 16 bytes. together: elements of a column that follow each other in one row, when rows are put together
    so that they start at such multiples and fill tiles; else 1. inner: reduced elements that follow each other in
    memory, where they are so few that a first kernel keeps them apart, as columns, and a second one joins them; else 1.
    The other fields are those of the first kernel then.
    """

    count: int
    role: str
    rows: int
    extent: int
    columns: int
    element: Element
    loaded: Element
    arrays: int
    weights: int
    is_aligned: bool
    is_contiguous: bool
    returns: bool
    gives_rows: bool
    is_nested: bool
    is_splittable: bool
    together: int
    inner: int

    @property
    def can_be_split(self) -> bool:
        """Whether a first kernel can reduce parts of the rows, and a second one finish them."""
        return self.is_splittable and not self.returns and not self.is_nested


def reduction_of(kernel: FusedOp) -> Reduction:
    """The reductions of a reduce kernel; they have the same axes of the same domain."""
    cores = kernel.cores()
    op = cores[0]
    shape, axes, loaded = shape_of(op.operands[0]), reduced_axes(op), _loaded(kernel, op)
    returns = _returns(kernel, set(cores), shape)
    is_nested = not set(cores).isdisjoint(depending_on(cores, kernel.block.ops))
    is_simple = not (is_nested or returns or any(is_position(core) or not has_parts(core) for core in cores))
    inner = short_run(shape, axes) if is_simple else 1
    axes = axes if inner == 1 else outer_axes(shape, axes)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    extent = prod(shape[axis] for axis in axes)
    together = _together(shape, axes, loaded) if is_simple and inner == 1 else 1
    return Reduction(
        count=sum(2 if is_position(core) else 1 for core in cores),
        role="s" if is_scan(op) else "r",
        rows=prod(shape[axis] for axis in kept),
        extent=extent,
        columns=_columns(shape, axes, loaded),
        element=max((element_of(core.operands[0].type) for core in cores), key=lambda element: element.size),
        loaded=loaded,
        arrays=sum(LARGE * prod(shape_of(value)) >= prod(shape) for value in kernel.inputs),
        weights=sum(extent <= prod(shape_of(value)) < prod(shape) // LARGE for value in kernel.inputs),
        is_aligned=together * run_of(shape, axes) * loaded.size % WIDEST == 0 or run_of(shape, axes) == prod(shape),
        is_contiguous=ends_reduced(shape, axes),
        returns=returns,
        gives_rows=any(prod(shape_of(value)) >= prod(shape) > 1 for value in kernel.outputs),
        is_nested=is_nested,
        is_splittable=all(map(has_parts, cores)),
        together=together,
        inner=inner,
    )


MIN_ROWS = 64
"""Rows, each of several put together, for which it is worth it to reduce those several in the end."""

MIN_ROW = 4096
"""Elements of such a row that waste little of its last tile."""


def _columns(shape: tuple[int, ...], axes: tuple[int, ...], loaded: Element) -> int:
    innermost = next((axis for axis in reversed(range(len(shape))) if shape[axis] != 1), None)
    if innermost is None or innermost in axes:
        return 1
    return shape[innermost] if shape[innermost] * loaded.size >= LINE_BYTES else run_of(shape, axes)


def _together(shape: tuple[int, ...], axes: tuple[int, ...], loaded: Element) -> int:
    """Rows of the innermost axes, of a reduction over all others, that are put together; 1 where there is no need."""
    columns, size = run_of(shape, axes), loaded.size
    extent = prod(shape[axis] for axis in axes)
    is_over_columns = 0 < columns * extent == prod(shape) and columns > 1 and not ends_reduced(shape, axes)
    if not is_over_columns or columns * size % WIDEST == 0:
        return 1
    least = WIDEST // gcd(WIDEST, columns * size)
    together = least * max(1, power_of_two(ceil_div(MIN_ROW, least * columns)))
    return together if extent >= MIN_ROWS * together else 1


def _loaded(kernel: FusedOp, op: Operation) -> Element:
    """The element of the largest operand; of a kernel that reads nothing, what is reduced."""
    largest = max(kernel.inputs, key=lambda value: prod(shape_of(value)), default=op.operands[0])
    return element_of(largest.type)


def _returns(kernel: FusedOp, cores: Set[Operation], domain: tuple[int, ...]) -> bool:
    """Whether something of the domain's size depends on a reduction, or a scan gives it."""
    first = [op for op in kernel.block.ops if is_scan(op) or op in cores]
    values = (value for op in (*first, *depending_on(first, kernel.block.ops)) for value in op.results)
    return any(isinstance(v.type, TensorType) and prod(shape_of(v)) >= prod(domain) > 1 for v in values)
