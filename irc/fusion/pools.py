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

from irc.analysis.op_classes import is_elementwise, size_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, shape_of, tensor
from irc.dialects.nd.convolution import in_order
from irc.dialects.nd.terms import Term, splat
from irc.fusion.products import MAX_PLACES
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import Inserter
from irc.ir.targets import Target
from irc.ir.windows import MAX_STEP
from irc.layout.instructions import WGMMA_COLUMNS
from irc.support.integers import ceil_div

JOINS = {"sum": "add", "max": "maximum", "min": "minimum"}
"""The elementwise op that joins two elements of a window, by its monoid."""

HELD = 384
"""Columns of all products together that a tile of 64 rows has at most, by the registers of a warp group."""


@dataclass(frozen=True)
class Pool:
    """A window's reduction, the convolution that it is of, the elementwise ops between them in their order, and what
    these read besides: of each place of a window the same."""

    reduce: nd.ReduceWindowOp
    conv: nd.ConvOp
    between: tuple[Operation, ...]
    others: tuple[SSAValue, ...]

    @property
    def places(self) -> int:
        """Of a window."""
        return prod(ints(self.reduce.window))

    def pays(self, machine: Target) -> bool:
        """Whether the convolution's result takes longer to be read again than tiles of fewer columns take more: TMA
        brings the pixels once for each tile along N."""
        iteration, size = iteration_of(self.conv), element_of(self.conv.x).size
        columns, channels = iteration.extent("n"), self.conv.kernel_shape[1]
        pixels = iteration.points // (columns * channels)
        tiles = ceil_div(columns, HELD // self.places) - ceil_div(columns, WGMMA_COLUMNS)
        brought = pixels * tiles * machine.costs.windows.pixel_cycles(channels * size)
        saved = (size_of(self.conv.result) + size_of(self.reduce.result)) * size / machine.bandwidth
        return saved + machine.launch_time > brought / (machine.sms * machine.clock)


def pool_of(op: nd.ReduceWindowOp) -> Pool | None:
    """The pool that a reduction of windows is: they neither overlap nor reach beyond what they reduce, have a few
    places, and nothing else reads what is between them and a convolution. None where it is none."""
    numbers = op.numbers
    is_plain = not any((*numbers["low"], *numbers["high"])) and {*numbers["dilation"], *numbers["input_dilation"]} == {
        1
    }
    steps = zip(numbers["window"], numbers["strides"], strict=True)
    if not is_plain or any(window > step for window, step in steps) or not 1 < prod(numbers["window"]) <= MAX_PLACES:
        return None
    across = tuple(axis for axis, step in enumerate(numbers["strides"]) if step > 1)
    found = _between(op, across)
    if found is None:
        return None
    conv, between, others = found
    pool = Pool(op, conv, between, others)
    return pool if _is_movable(pool, across) else None


def _between(
    op: nd.ReduceWindowOp, across: tuple[int, ...]
) -> tuple[nd.ConvOp, tuple[Operation, ...], tuple[SSAValue, ...]] | None:
    """The convolution, and what `Pool` has; None where there are several, or what else is read differs along the axes
    across which windows move."""
    pending, inside = [op.x], dict[Operation, None]()
    convs, others = dict[nd.ConvOp, None](), dict[SSAValue, None]()
    while pending:
        value = pending.pop()
        owner = value.owner
        if _is_same_across(value, across):
            others[value] = None
        elif isinstance(owner, nd.ConvOp):
            convs[owner] = None
        elif isinstance(owner, Operation) and is_elementwise(owner):
            inside[owner] = None
            pending += owner.operands
        else:
            return None
    makers = [*inside, *convs]
    readers = {use.operation for maker in makers for use in maker.results[0].uses}
    if len(convs) != 1 or not readers <= {op, *inside}:
        return None
    (conv,) = convs
    return conv, tuple(each for each in conv.parent_block().ops if each in inside), tuple(others)  # pyright: ignore


def _is_same_across(value: SSAValue, across: tuple[int, ...]) -> bool:
    """Whether the value is an array of one number, or repeats another one along these axes."""
    op = value.owner
    if isinstance(op, nd.ConstantOp):
        return op.splat_value is not None
    if not isinstance(op, nd.BroadcastOp):
        return False
    given = {dim for extent, dim in zip(shape_of(op.x), ints(op.dims), strict=True) if extent != 1}
    return given.isdisjoint(across)


def _is_movable(pool: Pool, across: tuple[int, ...]) -> bool:
    """Whether windows move across axes of space alone, the convolution's own places lie as far apart as numbers of
    `nd.conv` can say, and it is no other kind of one."""
    conv, strides = pool.conv, ints(pool.reduce.strides)
    space = in_order(range(len(conv.result_shape)), ints(conv.result_axes))[2:]
    is_plain = {*ints(conv.input_dilation), integer(conv.groups), integer(conv.batch_groups)} == {1}
    if not is_plain or ints(conv.parts) or ints(conv.taps) or not set(across) <= set(space):
        return False
    if any(own * strides[axis] > MAX_STEP for own, axis in zip(ints(conv.strides), space, strict=True)):
        return False
    return all(_padding(pool, place) is not None for place in _places(pool))


def _places(pool: Pool) -> list[tuple[int, ...]]:
    """The places of a window along the axes of space, in their order."""
    axes = in_order(range(len(pool.conv.result_shape)), ints(pool.conv.result_axes))
    window = ints(pool.reduce.window)
    inside = product(*map(range, window))
    return [tuple(place[axis] for axis in axes[2:]) for place in inside]


def _padding(pool: Pool, place: tuple[int, ...]) -> tuple[list[int], list[int]] | None:
    """`low` and `high` of the convolution for the elements at one place of the windows; None where one would be less
    than 0."""
    conv, axes = pool.conv, in_order(range(len(pool.conv.result_shape)), ints(pool.conv.result_axes))
    lows, highs = list[int](), list[int]()
    for i, axis in enumerate(axes[2:]):
        stride = ints(conv.strides)[i] * ints(pool.reduce.strides)[axis]
        low = ints(conv.low)[i] - ints(conv.strides)[i] * place[i]
        span = (conv.kernel_shape[2 + i] - 1) * ints(conv.dilation)[i] + 1
        count = shape_of(pool.reduce.result)[axis]
        least = (count - 1) * stride + span - conv.x_shape[2 + i] - low
        if low < 0 or least + stride - 1 < 0:
            return None
        lows.append(low)
        highs.append(max(0, least))
    return lows, highs


def join_windows(pool: Pool) -> None:
    """Replaces the pool by the convolutions of its places, what follows each, and what joins them."""
    at = Inserter.before(pool.reduce)
    others = {value: _narrowed(value, pool, at) for value in pool.others}
    terms = [Term(_at_place(pool, place, others, at), at) for place in _places(pool)]
    joined = terms[0]
    for term in terms[1:]:
        joined = joined.apply(JOINS[pool.reduce.monoid.data], term)
    joined.op.attributes |= pool.reduce.attributes
    Rewriter.replace_op(pool.reduce, [], [joined.value])


def _narrowed(value: SSAValue, pool: Pool, at: Inserter) -> SSAValue:
    """What is the same at each place of a window, for one of them."""
    shape, op = shape_of(pool.reduce.result), value.owner
    if isinstance(op, nd.BroadcastOp):
        return Term(op.x, at).broadcast(shape, ints(op.dims)).value
    assert isinstance(op, nd.ConstantOp)
    assert op.splat_value is not None
    return splat(at, op.splat_value, shape, element_of(value)).value


def _at_place(pool: Pool, place: tuple[int, ...], others: dict[SSAValue, SSAValue], at: Inserter) -> SSAValue:
    conv, padding = pool.conv, _padding(pool, place)
    assert padding is not None
    axes = in_order(range(len(conv.result_shape)), ints(conv.result_axes))
    strides = [own * ints(pool.reduce.strides)[axis] for own, axis in zip(ints(conv.strides), axes[2:], strict=True)]
    low, high = padding
    new = nd.ConvOp(
        conv.x,
        conv.kernel,
        strides=strides,
        low=low,
        high=high,
        dilation=ints(conv.dilation),
        x_axes=ints(conv.x_axes),
        kernel_axes=ints(conv.kernel_axes),
        result_axes=ints(conv.result_axes),
        flipped=conv.is_flipped,
        element=element_of(conv.result),
        location=conv.location,
    )
    new.attributes |= conv.attributes
    values: dict[SSAValue, SSAValue] = {**others, conv.result: at.value(new)}
    for op in pool.between:
        new = type(op).create(
            operands=[values[operand] for operand in op.operands],
            result_types=[tensor(shape_of(pool.reduce.result), element_of(result)) for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        values[op.results[0]] = at.value(new)
    return values[pool.reduce.x]
