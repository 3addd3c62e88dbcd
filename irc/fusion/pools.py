"""Pools of convolutions whose windows do not overlap, as several convolutions at larger strides.

The element of a window at one place in it is a convolution by itself, at strides of both and shifted. All elements have
the same tile: their products are in one kernel, which joins the windows in registers, so that no kernel writes the
convolution's result and none reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.op_classes import is_elementwise, is_splittable, monoid_of, reduced_axes, size_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, shape_of, tensor
from irc.dialects.nd.terms import Term, splat
from irc.fusion.products import MAX_PLACES
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import Inserter
from irc.ir.targets import Target
from irc.ir.windows import MAX_STEP
from irc.layout.instructions import WGMMA_COLUMNS, WGMMA_ROWS
from irc.support.integers import ceil_div
from irc.support.windows import in_order

JOINS = {"sum": "add", "max": "maximum", "min": "minimum"}
"""The elementwise op that joins two elements of a window, by its monoid."""

ROWS = 128
"""Of a tile of a convolution by itself."""

HELD = 384
"""Columns of all products together that a tile of 64 rows has at most, by the registers of a warp group."""


@dataclass(frozen=True)
class Windows:
    """What joins windows of an array by a monoid, and along each axis of the array their extent, and how far they are
    apart. The result has the axes of the array."""

    op: Operation
    array: SSAValue
    monoid: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def places(self) -> int:
        """Of a window."""
        return prod(self.extents)

    @property
    def across(self) -> tuple[int, ...]:
        """The axes along which windows are apart."""
        return tuple(axis for axis, stride in enumerate(self.strides) if stride > 1)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        return shape_of(self.op.results[0])


@dataclass(frozen=True)
class Pool:
    """Windows, the convolution that they are of, the elementwise ops between them in their order, and what these read
    besides: of each place of a window the same."""

    windows: Windows
    conv: nd.ConvOp
    between: tuple[Operation, ...]
    others: tuple[SSAValue, ...]

    @property
    def space(self) -> tuple[int, ...]:
        """The axes of the convolution's result, in the order of its numbers."""
        return in_order(range(len(self.conv.result_shape)), ints(self.conv.result_axes))[2:]

    @property
    def strides(self) -> list[int]:
        """Of the convolution of the elements at one place of the windows."""
        own = ints(self.conv.strides)
        return [step * self.windows.strides[axis] for step, axis in zip(own, self.space, strict=True)]

    def pays(self, machine: Target) -> bool:
        """Whether the convolution's result takes longer to be read again than tiles of fewer columns take more: TMA
        brings the pixels once for each tile along N, and SMs take whole tiles. 7x7 windows of 256 channels to 48 over
        60x48x17 take an H200 174 us, their maxima of 2x2 with them, and 241 in one kernel, whose tiles of four products
        are two for some SMs (benchmarks/results/2026-11-28-h200-random-convolutions.json, number 76)."""
        iteration, size = iteration_of(self.conv), element_of(self.conv.x).size
        columns, channels, taps = iteration.extent("n"), self.conv.kernel_shape[1], prod(self.conv.kernel_shape[2:])
        windows, places = prod(self.windows.counts) // columns, self.windows.places
        before = ceil_div(iteration.extent("m"), ROWS) * ceil_div(columns, WGMMA_COLUMNS)
        now = ceil_div(windows, WGMMA_ROWS) * ceil_div(columns, HELD // places)
        rows = WGMMA_ROWS * places * ceil_div(now, machine.sms) - ROWS * ceil_div(before, machine.sms)
        more = rows * taps * machine.costs.windows.pixel_cycles(channels * size) / machine.clock
        saved = (size_of(self.conv.result) + prod(self.windows.counts)) * size / machine.bandwidth
        return saved + machine.launch_time > more


def pool_of(op: Operation) -> Pool | None:
    """The pool of a convolution that an op is: its windows have a few places and do not overlap, and nothing else reads
    what is between them and the convolution. None where it is none."""
    windows = _windows_of(op)
    if windows is None or not 1 < windows.places <= MAX_PLACES or 0 in windows.counts:
        return None
    if element_of(op.results[0]) is not element_of(windows.array):
        return None
    found = _between(windows)
    if found is None:
        return None
    pool = Pool(windows, *found)
    return pool if _is_movable(pool) else None


def _windows_of(op: Operation) -> Windows | None:
    """Windows that do not overlap and are whole: of nd.reduce_window, or the inner ones of axes that a reshape has cut
    in two."""
    if isinstance(op, nd.ReduceWindowOp):
        numbers = op.numbers
        is_whole = not any((*numbers["low"], *numbers["high"])) and set(numbers["input_dilation"]) == {1}
        steps = zip(numbers["window"], numbers["strides"], numbers["dilation"], strict=True)
        if not is_whole or any(window > step or (window > 1 < apart) for window, step, apart in steps):
            return None
        return Windows(op, op.x, op.monoid.data, numbers["window"], numbers["strides"])
    if not is_splittable(op) or monoid_of(op) not in JOINS or not isinstance(op.operands[0].owner, nd.ReshapeOp):
        return None
    cut, reduced = op.operands[0].owner, reduced_axes(op)
    extents, shape = list[int](), shape_of(cut.result)
    for axis, extent in enumerate(shape):
        if axis in reduced and axis - 1 not in reduced and axis > 0:
            extents[-1] = extent
        elif axis not in reduced:
            extents.append(1)
        else:
            return None
    joined = [count * extent for count, extent in zip(shape_of(op.results[0]), extents, strict=True)]
    if tuple(joined) != shape_of(cut.x) or not cut.result.has_one_use():
        return None
    return Windows(op, cut.x, monoid_of(op), tuple(extents), tuple(extents))


def _between(windows: Windows) -> tuple[nd.ConvOp, tuple[Operation, ...], tuple[SSAValue, ...]] | None:
    """What `Pool` has besides the windows; None where they are of no convolution or of several, or what else is read
    differs along the axes across which windows move."""
    pending, inside = [windows.array], dict[Operation, None]()
    convs, others = dict[nd.ConvOp, None](), dict[SSAValue, None]()
    while pending:
        value = pending.pop()
        owner = value.owner
        if _is_same_across(value, windows.across):
            others[value] = None
        elif isinstance(owner, nd.ConvOp):
            convs[owner] = None
        elif isinstance(owner, Operation) and is_elementwise(owner):
            inside[owner] = None
            pending += owner.operands
        else:
            return None
    reads = windows.op if windows.op.operands[0] is windows.array else windows.op.operands[0].owner
    readers = {use.operation for maker in (*inside, *convs) for use in maker.results[0].uses}
    if len(convs) != 1 or not readers <= {reads, *inside}:
        return None
    (conv,) = convs
    block = conv.parent_block()
    assert block is not None
    return conv, tuple(op for op in block.ops if op in inside), tuple(others)


def _is_same_across(value: SSAValue, across: tuple[int, ...]) -> bool:
    """Whether the value is an array of one number, or repeats another one along these axes."""
    op = value.owner
    if isinstance(op, nd.ConstantOp):
        return op.splat_value is not None
    if not isinstance(op, nd.BroadcastOp):
        return False
    given = {dim for extent, dim in zip(shape_of(op.x), ints(op.dims), strict=True) if extent != 1}
    return given.isdisjoint(across)


def _is_movable(pool: Pool) -> bool:
    """Whether windows move across axes of space alone, the convolution's own places lie as far apart as numbers of
    `nd.conv` can say, and it is no other kind of one."""
    conv = pool.conv
    is_plain = {*ints(conv.input_dilation), integer(conv.groups), integer(conv.batch_groups)} == {1}
    if not is_plain or ints(conv.parts) or ints(conv.taps) or not set(pool.windows.across) <= set(pool.space):
        return False
    return max(pool.strides) <= MAX_STEP and all(_padding(pool, place) is not None for place in _places(pool))


def _places(pool: Pool) -> list[tuple[int, ...]]:
    """The places of a window along the axes of space, in their order in the array."""
    inside = product(*map(range, pool.windows.extents))
    return [tuple(place[axis] for axis in pool.space) for place in inside]


def _padding(pool: Pool, place: tuple[int, ...]) -> tuple[list[int], list[int]] | None:
    """`low` and `high` of the convolution for the elements at one place of the windows; None where one would be less
    than 0."""
    conv, lows, highs = pool.conv, list[int](), list[int]()
    for i, (axis, stride) in enumerate(zip(pool.space, pool.strides, strict=True)):
        low = ints(conv.low)[i] - ints(conv.strides)[i] * place[i]
        span = (conv.kernel_shape[2 + i] - 1) * ints(conv.dilation)[i] + 1
        least = (pool.windows.counts[axis] - 1) * stride + span - conv.x_shape[2 + i] - low
        if low < 0 or least + stride <= 0:
            return None
        lows.append(low)
        highs.append(max(0, least))
    return lows, highs


def join_windows(pool: Pool) -> None:
    """Replaces the pool by the convolutions of its places, what follows each, and what joins them."""
    at = Inserter.before(pool.windows.op)
    others = {value: _narrowed(value, pool, at) for value in pool.others}
    terms = [Term(_at_place(pool, place, others, at), at) for place in _places(pool)]
    joined = terms[0]
    for term in terms[1:]:
        joined = joined.apply(JOINS[pool.windows.monoid], term)
    joined.op.attributes |= pool.windows.op.attributes
    Rewriter.replace_op(pool.windows.op, [], [joined.value])


def _narrowed(value: SSAValue, pool: Pool, at: Inserter) -> SSAValue:
    """What is the same at each place of a window, for one of them."""
    shape, op = pool.windows.counts, value.owner
    if isinstance(op, nd.BroadcastOp):
        return Term(op.x, at).broadcast(shape, ints(op.dims)).value
    assert isinstance(op, nd.ConstantOp)
    assert op.splat_value is not None
    return splat(at, op.splat_value, shape, element_of(value)).value


def _at_place(pool: Pool, place: tuple[int, ...], others: dict[SSAValue, SSAValue], at: Inserter) -> SSAValue:
    conv, padding = pool.conv, _padding(pool, place)
    assert padding is not None
    low, high = padding
    new = conv.changed(strides=pool.strides, low=low, high=high)
    new.attributes |= conv.attributes
    values: dict[SSAValue, SSAValue] = {**others, conv.result: at.value(new)}
    for op in pool.between:
        new = type(op).create(
            operands=[values[operand] for operand in op.operands],
            result_types=[tensor(pool.windows.counts, element_of(result)) for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        values[op.results[0]] = at.value(new)
    return values[pool.windows.array]
