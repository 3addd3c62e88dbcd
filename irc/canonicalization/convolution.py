"""Moves around `nd.conv` absorbed into it, and convolutions that are products.

Canonical forms:

- no operand of a convolution is a permute, and no permute alone uses its result: its axes are in another order;
- what a convolution makes for another one alone has its channels last;
- no kernel is flipped along all spatial axes before;
- x is not padded with zeros along its spatial axes: that is padding of the convolution;
- a convolution of one group whose windows have one place along an axis, or cover it, is a matmul;
- so is a transposed one whose windows do not meet, of a few output channels: these are columns at each of its phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table, defined_by, is_splat
from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, shape_of
from irc.dialects.nd.terms import Term
from irc.ir.rewriting import Inserter
from irc.support.windows import in_order, placed


def _through(permute: nd.PermuteOp, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes of what is permuted that the axes of the result are."""
    return tuple(in_order(ints(permute.permutation), axes))


def permuted_x(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    permute = defined_by(op.x, nd.PermuteOp)
    return None if permute is None else at.value(op.changed(x=permute.x, x_axes=_through(permute, ints(op.x_axes))))


def permuted_kernel(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    permute = defined_by(op.kernel, nd.PermuteOp)
    if permute is None:
        return None
    return at.value(op.changed(kernel=permute.x, kernel_axes=_through(permute, ints(op.kernel_axes))))


def flipped_kernel(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    flip = defined_by(op.kernel, nd.FlipOp)
    if flip is None:
        return None
    shape, spatial = shape_of(op.kernel), in_order(range(len(op.kernel_shape)), ints(op.kernel_axes))[2:]
    axes = {axis for axis in ints(flip.axes) if shape[axis] != 1}
    if axes != {axis for axis in spatial if shape[axis] != 1}:
        return None
    return at.value(op.changed(kernel=flip.x, flipped=not op.is_flipped))


def permuted_result(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    conv = defined_by(op.x, nd.ConvOp)
    if conv is None or ints(conv.parts) or not conv.result.has_one_use():
        return None
    return with_result(conv, ints(op.permutation), at)


def with_result(op: nd.ConvOp, order: Sequence[int], at: Inserter) -> SSAValue:
    """The permuted result of a convolution, as one of its own."""
    axes = in_order(range(len(order)), ints(op.result_axes))
    return at.value(op.changed(result_axes=[order.index(axis) for axis in axes]))


def made_for_another(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    conv, rank = defined_by(op.x, nd.ConvOp), len(op.x_shape)
    if conv is None or ints(conv.parts) or not conv.result.has_one_use() or rank < 3:
        return None
    axes = in_order(range(rank), ints(conv.result_axes))
    if axes[1] == rank - 1:
        return None
    order = [axes[0], *axes[2:], axes[1]]
    made = with_result(conv, order, at)
    x_axes = in_order(range(rank), ints(op.x_axes))
    return at.value(op.changed(x=made, x_axes=[order.index(axis) for axis in x_axes]))


def padded_x(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    pad = defined_by(op.x, nd.PadOp)
    if pad is None or not is_splat(pad.value, 0) or any(step != 1 for step in ints(op.input_dilation)):
        return None
    low, high = (in_order(ints(side), ints(op.x_axes)) for side in (pad.low, pad.high))
    if any((*low[:2], *high[:2])) or 0 in shape_of(pad.x):
        return None
    sides = {"low": (low, op.low), "high": (high, op.high)}
    wider = {name: [a + b for a, b in zip(more[2:], ints(own), strict=True)] for name, (more, own) in sides.items()}
    return at.value(op.changed(x=pad.x, **wider))


def product(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    """A matmul over the channels, and over the axes that the window covers."""
    x, kernel, places = op.x_shape, op.kernel_shape, op.result_shape[2:]
    if (
        max(integer(op.groups), integer(op.batch_groups)) != 1
        or ints(op.parts)
        or 0 in (*shape_of(op.x), *shape_of(op.kernel), *places)
    ):
        return None
    if any((*ints(op.low), *ints(op.high))) or any(step != 1 for step in ints(op.input_dilation)):
        return None
    if op.is_flipped and any(taps != 1 for taps in kernel[2:]):
        return None
    numbers = zip(x[2:], kernel[2:], places, ints(op.strides), ints(op.dilation), strict=True)
    covered: list[int] = []
    for axis, (extent, taps, count, stride, dilation) in enumerate(numbers, start=2):
        if taps == 1 and stride == 1:
            continue
        if taps != extent or dilation != 1 or count != 1:
            return None
        covered.append(axis)
    contracted = [1, *covered]
    x_axes, kernel_axes = (in_order(range(len(x)), ints(axes)) for axes in (op.x_axes, op.kernel_axes))
    window = [axis for axis in kernel_axes[2:] if kernel_axes.index(axis) not in covered]
    weights = op.kernel
    if window:
        kept_extents = [n for axis, n in enumerate(shape_of(op.kernel)) if axis not in window]
        weights = at.value(nd.ReshapeOp(op.kernel, kept_extents))
    kept = [axis for axis in range(len(x)) if axis not in window]
    pairs = sorted((x_axes[axis], kept.index(kernel_axes[axis])) for axis in contracted)
    found = nd.MatmulOp(
        op.x,
        weights,
        lhs_contract=[axis for axis, _ in pairs],
        rhs_contract=[axis for _, axis in pairs],
        element=nd.element_of(op.result),
    )
    # The product has the axes of x that are left, then the channels.
    left = [x_axes.index(axis) for axis in range(len(x)) if x_axes.index(axis) not in contracted]
    return _in_order_of_result(op, at, at.value(found), left)


FEW_COLUMNS = 16
"""Output channels up to which phases are columns together: fewer leave most of a matrix instruction empty, and each
phase reads x. With more, phases by themselves have the work that follows in their kernel."""


def product_of_phases(op: nd.ConvOp, at: Inserter) -> SSAValue | None:
    """A matmul over the channels, whose columns are the output channels at each tap, moved to where its place is."""
    kernel, rank = op.kernel_shape, len(op.x_shape)
    apart, whole = ints(op.input_dilation), [taps - 1 for taps in kernel[2:]]
    if max(integer(op.groups), integer(op.batch_groups)) != 1 or ints(op.parts) or kernel[0] >= FEW_COLUMNS:
        return None
    if 0 in (*shape_of(op.x), *shape_of(op.kernel)) or prod(apart) == 1 or ints(op.taps) or tuple(kernel[2:]) != apart:
        return None
    if {*ints(op.strides), *ints(op.dilation)} != {1} or [*ints(op.low), *ints(op.high)] != [*whole, *whole]:
        return None
    x_axes, kernel_axes = (in_order(range(rank), ints(axes)) for axes in (op.x_axes, op.kernel_axes))
    weights, space = Term(op.kernel, at), [kernel_axes[axis] for axis in range(2, rank)]
    weights = weights if op.is_flipped else weights.flip(space)
    found = nd.MatmulOp(
        op.x,
        weights.value,
        lhs_contract=[x_axes[1]],
        rhs_contract=[kernel_axes[1]],
        element=nd.element_of(op.result),
    )
    # (whether it is a tap, its role) of each axis of the product, and those of the result's axes.
    made = [(False, x_axes.index(axis)) for axis in range(rank) if axis != x_axes[1]]
    made += [(True, kernel_axes.index(axis)) for axis in range(rank) if axis != kernel_axes[1]]
    order: list[int] = []
    for role in placed(range(rank), ints(op.result_axes)):
        if role != 1:
            order.append(made.index((False, role)))
        if role != 0:
            order.append(made.index((True, role if role > 1 else 0)))
    return Term(at.value(found), at).permute(order).reshape(shape_of(op.result)).value


def _in_order_of_result(op: nd.ConvOp, at: Inserter, product: SSAValue, left: Sequence[int]) -> SSAValue:
    """A product with the axes `left` of N, C, spatial, then the channels, as the result of the convolution."""
    roles = placed(range(len(shape_of(op.result))), ints(op.result_axes))
    made = [1 if axis == len(left) else left[axis] for axis in range(len(left) + 1)]
    order = [made.index(role) for role in roles if role in made]
    moved = at.value(nd.PermuteOp(product, order)) if order != sorted(order) else product
    return at.value(nd.ReshapeOp(moved, shape_of(op.result))) if len(made) < len(roles) else moved


CONVOLUTION: Table = {
    nd.ConvOp: [permuted_x, permuted_kernel, flipped_kernel, made_for_another, padded_x, product, product_of_phases],
    nd.PermuteOp: [permuted_result],
}
