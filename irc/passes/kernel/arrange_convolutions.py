"""arrange-convolutions: arrays of convolutions lie as their kernels read them.

TMA reads pixels of a window where x has its channels last, in rows of multiples of 16 bytes (cuTensorMapEncodeIm2col).
Rows that end inside of a sector of 32 bytes take it twice as long, as half of them begin inside of one.
Threads that gather x element by element, where pixels or taps lie side by side in memory, take several times as long
as the tensor cores. A copy moves x once more, beside what made it, as convolutions of libraries do too. The kernel is
read in rows of channels, of inputs or of outputs; it is small, and permuted likewise where its taps are innermost.

Images of few channels are read where they lie. A row of taps and its channels follow each other in memory: each is K of
a convolution of one channel over rows of elements. The threads that multiply load pairs of them, so rows of the kernel
begin at a whole pair, and are filled to a power of two, by taps that are not there.

On a CPU products read the kernel where it lies in rows of channels; each tile of places would gather it otherwise.

A convolution of one tap with channels first is a product. It is a convolution again where a copy of x, which tensor
maps read, and what follows it in its kernel take less (`irc/fusion/points.py`).

A pool of a convolution is read where its elements are made, in one kernel of several products (`irc/fusion/pools.py`).

A depthwise convolution is summed in registers. Threads that have words of channels of the result read words of x, and
words of the kernel where its output channels are innermost, else one element after another. Where x has short rows of
places, threads that go along them have nothing to multiply beyond their ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.costs import flops_of
from irc.analysis.window_operands import MIN_RUN, is_window_loadable, run_of
from irc.configs.gathered import MAX_DEPTH, PAIRED_BYTES
from irc.configs.product_instructions import WGMMA_OPERANDS
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, shape_of
from irc.dialects.nd.terms import Term
from irc.fusion.points import convolution, moved_columns, pays
from irc.fusion.pools import join_windows, pool_of
from irc.ir.blocks import ops_in
from irc.ir.iteration import Pattern, iteration_of
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, remove_dead_code
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, Target, target_of
from irc.layout.requests import SECTOR_BYTES
from irc.support.integers import ceil_div, power_of_two
from irc.support.shapes import inverse
from irc.support.windows import in_order

GATHERED_TILE = (128, 256)
"""Rows and columns of a tile that is gathered: the other operand's elements are brought once for each."""

LANES = 32
"""Elements that an SM's threads load from its caches in a cycle, one each."""

Copies = dict[tuple[SSAValue, tuple[int, ...], int, int], SSAValue]
"""Of an array, with its axes in an order and so many zeros behind each of so many parts of the last one."""


@dataclass(frozen=True)
class ArrangeConvolutionsPass(Pass):
    """x, or the kernel, of a convolution of 16 bits and fewer, of 16 channels and more, that tensor maps cannot read
    -> a copy with channels last, rows of channels filled with zeros to multiples of 16 bytes. Where the convolution is
    too small for the copy to pay, where its window is beyond the limits of the im2col mode, or where the target has no
    TMA or no products of warp groups: nothing. Rows of channels are filled to multiples of 32 bytes where that is
    expected to pay, also of x that tensor maps can read; channels of each of several groups likewise to multiples of
    16. A product whose rows lie on both sides of what is contracted, and whose columns a permute moves there -> a
    convolution of one tap of a copy of the left operand, where that is expected to pay. A pool of a convolution that
    tensor maps read, of windows of up to four places that do not overlap, with nothing between them that differs from
    place to place of a window -> a convolution for each place, at larger strides, and what joins them elementwise,
    where that is expected to pay. One of few channels, channels
    last in x -> one of one channel over rows of elements, and a copy of the kernel. The kernel of a depthwise
    convolution with channels last -> a copy with output channels last, and x with short rows of places -> one with
    channels last, where only the result has these; on a CPU, the kernel of any other, of 16 channels and more, with
    taps last -> a copy with input channels last.
    """

    name: ClassVar[str] = "arrange-convolutions"
    always: bool = False
    """Copy also where that is not expected to pay."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine, copies = target_of(op), Copies()
        for matmul in [inner for inner in ops_in(op) if isinstance(inner, nd.MatmulOp)]:
            self._arrange_points(matmul, machine, copies)
        for conv in [inner for inner in ops_in(op) if isinstance(inner, nd.ConvOp)]:
            if _is_depthwise(conv):
                if _has_short_rows(conv) and not machine.exact_tiles and (self.always or _turning_pays(conv, machine)):
                    _turn(conv, 0, copies, [0, *range(2, len(conv.x_shape)), 1])
                if _is_turnable(conv) and (self.always or _is_long(conv, machine)):
                    _turn(conv, 1, copies, [*range(1, len(conv.kernel_shape)), 0])
                continue
            if machine.exact_tiles:
                if _has_taps_last(conv):
                    _turn(conv, 1, copies, [0, *range(2, len(conv.kernel_shape)), 1])
                continue
            if (row := _row_of_taps(conv, machine)) is not None and (self.always or _is_long(conv, machine)):
                _read_in_rows(conv, row)
                continue
            if fill := _fill_of_groups(conv, machine, always=self.always):
                _arrange(conv, (0, 1), fill, copies)
                continue
            if not _is_possible(conv, machine):
                continue
            sides = [side for side in (0, 1) if not is_window_loadable(conv, side)]
            if sides and not (self.always or _pays(conv, sides, machine)):
                continue
            fill = _fill(conv, machine, is_copied=0 in sides, always=self.always)
            if sides or fill:
                _arrange(conv, sides, fill, copies)
        for pool in map(pool_of, list(ops_in(op))):
            if pool is not None and _is_brought(pool.conv, machine) and (self.always or pool.pays(machine)):
                join_windows(pool)
        remove_dead_code(op)

    def _arrange_points(self, op: nd.MatmulOp, machine: Target, copies: Copies) -> None:
        permute = moved_columns(op)
        if permute is None or op.precision.data != "default" or not _is_multiplied(op, machine):
            return
        if iteration_of(op).extent("k") >= MIN_RUN and (self.always or pays(op, permute, machine)):
            conv = convolution(op, permute)
            _arrange(conv, (0,), _fill(conv, machine, is_copied=True, always=self.always), copies)


@dataclass(frozen=True)
class _Row:
    """The elements of a row of taps: those before the taps that there are, these, and all."""

    before: int
    taps: int
    size: int


def _row_of_taps(op: nd.ConvOp, machine: Target) -> _Row | None:
    """How the taps along the last axis and the channels become one row; None where they do not follow each other in x,
    or K is too long for the registers of the threads that multiply."""
    rank, axes = len(op.x_shape), ints(op.x_axes) or tuple(range(len(op.x_shape)))
    if rank < 3 or (axes[1], axes[-1]) != (rank - 1, rank - 2):
        return None
    is_plain = {*ints(op.input_dilation), ints(op.dilation)[-1], integer(op.groups), integer(op.batch_groups)} == {1}
    channels = op.kernel_shape[1]
    if not is_plain or op.is_flipped or ints(op.parts) or channels >= MIN_RUN:
        return None
    if not _is_multiplied(op, machine) or element_of(op.x).size != PAIRED_BYTES:
        return None
    step, low, extent = (n * channels for n in (ints(op.strides)[-1], ints(op.low)[-1], op.x_shape[-1]))
    before = low % 2 if step % 2 == extent % 2 == 0 else 0
    taps = op.kernel_shape[-1] * channels
    size = max(MIN_RUN, power_of_two(before + taps))
    return _Row(before, taps, size) if size * prod(op.kernel_shape[2:-1]) <= MAX_DEPTH else None


def _is_long(op: nd.ConvOp, machine: Target) -> bool:
    """Whether loads of an element for each multiply-add take longer than one more launch."""
    return iteration_of(op).points / (machine.sms * machine.clock * LANES) > machine.launch_time


def _read_in_rows(op: nd.ConvOp, row: _Row) -> None:
    """Replaces the convolution by one of one channel over the elements of rows."""
    rank, at, channels = len(op.x_shape), Inserter.before(op), op.kernel_shape[1]
    own = in_order(range(rank), ints(op.kernel_axes))
    kernel = Term(op.kernel, at).permute([own[0], *own[2:], own[1]])
    kernel = kernel.reshape([*kernel.shape[:-2], row.taps])
    ends = [0] * (rank - 2)
    kernel = kernel.pad([*ends, row.before], [*ends, row.size - row.before - row.taps])
    lies = shape_of(op.x)
    x = Term(op.x, at).reshape([*lies[:-2], lies[-2] * channels, 1])
    *steps, step = ints(op.strides)
    *low, first = ints(op.low)
    *high, _ = ints(op.high)
    step, first = step * channels, first * channels + row.before
    beyond = (op.result_shape[-1] - 1) * step + row.size - first - lies[-2] * channels
    new = nd.ConvOp(
        x.value,
        kernel.reshape([*kernel.shape, 1]).value,
        strides=[*steps, step],
        low=[*low, first],
        high=[*high, max(0, beyond)],
        dilation=ints(op.dilation),
        x_axes=ints(op.x_axes),
        kernel_axes=[0, rank - 1, *range(1, rank - 1)],
        result_axes=ints(op.result_axes),
        taps=[row.before, row.before + row.taps],
        element=element_of(op.result),
        location=op.location,
    )
    new.attributes |= op.attributes
    Rewriter.replace_op(op, new)


def _is_depthwise(op: nd.ConvOp) -> bool:
    return op.kernel_shape[1] == 1 and integer(op.groups) > 1


def _is_turnable(op: nd.ConvOp) -> bool:
    """Whether channels are innermost in x and the result, and taps in the kernel."""
    rank = len(op.kernel_shape)
    arrays = ((op.x, op.x_axes, 1), (op.kernel, op.kernel_axes, 0), (op.result, op.result_axes, 1))
    x, kernel, result = (_inner(value) == in_order(range(rank), ints(axes))[role] for value, axes, role in arrays)
    return x and result and not kernel and 0 not in op.kernel_shape


def _has_taps_last(op: nd.ConvOp) -> bool:
    """Whether channels are innermost in x, of several groups of them there is one, and taps are innermost in the
    kernel: K is in the order of x."""
    rank = len(op.kernel_shape)
    x, kernel = (in_order(range(rank), ints(axes)) for axes in (op.x_axes, op.kernel_axes))
    is_plain = {*ints(op.input_dilation), integer(op.groups), integer(op.batch_groups)} == {1} and not ints(op.parts)
    is_empty = 0 in (*shape_of(op.x), *shape_of(op.kernel), *shape_of(op.result))
    if not is_plain or is_empty or op.kernel_shape[1] < MIN_RUN:
        return False
    return _inner(op.x) == x[1] and _inner(op.kernel) not in (kernel[0], kernel[1])


def _inner(value: SSAValue) -> int:
    """The innermost axis that is not of one element."""
    return max((axis for axis, extent in enumerate(shape_of(value)) if extent != 1), default=0)


def _has_short_rows(op: nd.ConvOp) -> bool:
    """Whether a depthwise convolution has channels last in its result, but places in x: threads go along rows of these,
    some of them beyond the end."""
    rank = len(op.kernel_shape)
    x, result = (in_order(range(rank), ints(axes)) for axes in (op.x_axes, op.result_axes))
    is_empty = 0 in (*shape_of(op.x), *shape_of(op.kernel), *shape_of(op.result))
    return not is_empty and not ints(op.parts) and _inner(op.result) == result[1] and _inner(op.x) in x[2:]


def _turning_pays(op: nd.ConvOp, machine: Target) -> bool:
    """Whether a copy of x with channels last takes less than the threads beyond the ends of its rows."""
    rank = len(op.kernel_shape)
    row = op.result_shape[in_order(range(rank), ints(op.x_axes)).index(_inner(op.x))]
    beyond = iteration_of(op).points * (power_of_two(row) - row) / row
    saved = machine.costs.windows.depthwise * beyond / (machine.sms * machine.clock)
    return saved > 2 * element_of(op.x).size * prod(op.x_shape) / machine.bandwidth + machine.launch_time


def _turn(op: nd.ConvOp, side: int, copies: Copies, last: Sequence[int]) -> None:
    """Has the convolution read a copy of x (0), or of its kernel (1), with its axes in this order: 0 is that of images,
    or of output channels, 1 that of input channels."""
    rank, name = len(op.kernel_shape), ("x_axes", "kernel_axes")[side]
    own = in_order(range(rank), ints(getattr(op, name)))
    key = op.operands[side], tuple(own[role] for role in last), 0, 1
    if key not in copies:
        copies[key] = _copy(Term(op.operands[side], Inserter.before(op)), *key[1:]).value
    op.operands[side] = copies[key]
    setattr(op, name, DenseArrayBase.from_list(i64, [last.index(role) for role in range(rank)]))


def _is_multiplied(op: nd.ConvOp | nd.MatmulOp, machine: Target) -> bool:
    """Whether there is TMA, and warp groups multiply its elements."""
    x, kernel = op.operands
    operands = WGMMA_OPERANDS.get(element_of(x).name) if machine.has_tma and machine.has_wgmma else None
    if operands is None or operands.parts > 1 or operands.accumulator != element_of(op.result).name:
        return False
    return element_of(x) is element_of(kernel) and 0 not in (*shape_of(x), *shape_of(kernel), *shape_of(op.result))


def _is_possible(op: nd.ConvOp, machine: Target) -> bool:
    """Whether warp groups multiply its elements, and steps along K can be inside of the channels at one tap."""
    channels, groups = op.kernel_shape[1], max(integer(op.groups), integer(op.batch_groups))
    return _is_multiplied(op, machine) and channels >= MIN_RUN and (groups == 1 or channels % MIN_RUN == 0)


def _is_brought(op: nd.ConvOp, machine: Target) -> bool:
    """Whether TMA brings both of its operands to warp groups."""
    return _is_possible(op, machine) and all(is_window_loadable(op, side) for side in (0, 1))


def _pays(op: nd.ConvOp, sides: Sequence[int], machine: Target) -> bool:
    """Whether copies take less than what gathering takes beyond the products that it is beside."""
    elements = sum(_gathered(op, side) for side in sides)
    gathered = machine.costs.windows.gathered * elements / (machine.sms * machine.clock * LANES)
    saved = gathered - flops_of(op) / machine.flops[element_of(op.x).name]
    moved = sum(2 * element_of(value).size * prod(shape_of(value)) for value in (op.operands[side] for side in sides))
    return saved > moved / machine.bandwidth + machine.launch_time * len(sides)


def _gathered(op: nd.ConvOp, side: int) -> int:
    """The elements of x (0) or of the kernel (1) that all tiles bring together."""
    iteration = iteration_of(op)
    other = iteration.extent("mn"[1 - side])
    return iteration.points // other * ceil_div(other, GATHERED_TILE[1 - side])


def _fill(op: nd.ConvOp, machine: Target, *, is_copied: bool, always: bool) -> int:
    """The zeros behind a row of channels: up to 16 bytes, which a copy of x needs, or up to whole sectors, where they
    take less time than pixels that begin inside of one. Groups have none."""
    size, channels = element_of(op.x).size, op.kernel_shape[1]
    if integer(op.groups) > 1 or not (is_copied or run_of(op) == channels):
        return 0
    least = -channels % (TENSOR_MAP_ALIGNMENT // size) if is_copied else 0
    whole = -channels % (SECTOR_BYTES // size)
    if whole == least or always:
        return whole
    pixels = prod(op.x_shape) // channels
    moved = size * pixels * (whole - least if is_copied else 2 * channels + whole)
    launches = 0 if is_copied else 2  # of x and of the kernel
    iteration = iteration_of(op)
    brought = iteration.points // (channels * iteration.extent("n")) * ceil_div(iteration.extent("n"), GATHERED_TILE[1])
    saved = machine.costs.windows.split_pixel * brought / (machine.sms * machine.clock)
    return whole if saved > moved / machine.bandwidth + machine.launch_time * launches else least


def _fill_of_groups(op: nd.ConvOp, machine: Target, *, always: bool) -> int:
    """The zeros behind the channels of each of several groups with which a step along K is inside of one group, where
    the copy and the products of the zeros take less than sums in registers, or than gathering."""
    groups, channels = integer(op.groups), op.kernel_shape[1]
    fill = -channels % MIN_RUN
    if groups == 1 or channels == 1 or fill == 0 or not _is_multiplied(op, machine):
        return 0
    if always:
        return fill
    size, outputs, points = element_of(op.x).size, op.kernel_shape[0] // groups, iteration_of(op).points
    pixels, costs = points // (channels * outputs), machine.costs.windows
    if op.pattern is Pattern.WINDOW:
        cycles = points / costs.register_multiply_adds
    else:
        cycles = costs.gathered * pixels * channels * ceil_div(outputs, GATHERED_TILE[1]) / LANES
    cycles -= pixels * ceil_div(outputs, GATHERED_TILE[1]) * costs.pixel_cycles((channels + fill) * size)
    moved = size * prod(op.x_shape) // channels * (2 * channels + fill)
    return fill if cycles / (machine.sms * machine.clock) > moved / machine.bandwidth + 2 * machine.launch_time else 0


def _arrange(op: nd.ConvOp, sides: Sequence[int], fill: int, copies: Copies) -> None:
    """Replaces the convolution by one of copies, with so many zeros behind rows of channels, those of each group, where
    tensor maps read these."""
    rank = len(op.x_shape)
    roles = inverse(in_order(range(rank), ints(op.result_axes)))  # of axes of the result: 0 images, 1 channels
    space = [axis for axis in roles if axis > 1]
    last = [0, *space, 1]
    axes: dict[str, Any] = {"x_axes": ints(op.x_axes), "kernel_axes": ints(op.kernel_axes)}
    if fill:
        sides = (0, 1)
    at = Inserter.before(op)
    values = [op.x, op.kernel]
    for side, name in ((0, "x_axes"), (1, "kernel_axes")):
        if side not in sides:
            continue
        own = in_order(range(rank), axes[name])
        groups = integer(op.groups) if side == 0 and fill else 1
        key = values[side], tuple(own[role] for role in last), fill, groups
        if key not in copies:
            copies[key] = _copy(Term(values[side], at), *key[1:]).value
        values[side], axes[name] = copies[key], [last.index(role) for role in range(rank)]
    new = op.changed(x=values[0], kernel=values[1], **axes)
    if not all(is_window_loadable(new, side) for side in (0, 1)) or run_of(new) < MIN_RUN:
        new.erase()
        return
    new.attributes |= op.attributes
    Rewriter.replace_op(op, new)


def _copy(array: Term, order: tuple[int, ...], zeros: int, parts: int) -> Term:
    """The array with its axes in this order, and zeros behind each part of the last one."""
    if parts == 1 or not zeros:
        permuted = array.permute(order)
        return permuted.pad([0] * len(order), [0] * (len(order) - 1) + [zeros]) if zeros else permuted
    inner = order[-1]
    extents = [*array.shape[:inner], parts, array.shape[inner] // parts, *array.shape[inner + 1 :]]
    divided = array.reshape(extents).permute([axis + (axis > inner) for axis in (*order[:-1], inner)] + [inner + 1])
    padded = divided.pad([0] * len(extents), [0] * (len(extents) - 1) + [zeros])
    return padded.reshape([*padded.shape[:-2], parts * padded.shape[-1]])
