"""Gradients of convolutions are convolutions.

Along one axis, with s the strides, p the low padding, d the dilation and e the input dilation of the op: element i of
the result is the sum over k of kernel[k] * x[(i s - p + k d) / e], of the whole numbers among those places.

- Element j of x gets the sum over k of kernel[k] * g[(j e + p - k d) / s]: a convolution of g, dilated by s, with the
  kernel backwards, moved by e.
- Element k of the kernel gets the sum over i of g[i] * x[(k d - p + i s) / e]: a convolution of x, dilated by e, with g
  as a kernel of dilation s, moved by d; channels and batches change places. Groups of channels are groups of images
  then. Of a transposed convolution, where s is 1, it is the sum over j of x[j] * g[j e + p - k d], which multiplies no
  zeros: a convolution of g with x as a kernel of dilation e, moved by d, backwards in k.
"""

from __future__ import annotations

from collections.abc import Sequence

from irc.autodiff.gradients.products import factor_element
from irc.autodiff.gradients.shapes import dilated
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, shape_of
from irc.dialects.nd.terms import Gradient, Term, deferred_cast
from irc.ir.dtypes import accumulator
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError
from irc.support.windows import placed


def conv(op: nd.ConvOp, g: Term) -> list[Term | None]:
    if ints(op.parts):
        raise IrcError("nd.conv by parts has no gradient", location_of(op), "differentiate before split-reductions")
    if 0 in (*shape_of(op.x), *shape_of(op.kernel), *g.shape):
        return [None, None]
    element = factor_element(element_of(op.x))
    terms = (Term(op.x, g.at), op.x_axes), (Term(op.kernel, g.at), op.kernel_axes), (g, op.result_axes)
    x, kernel, g = (_permuted(deferred_cast(term, element), ints(axes)) for term, axes in terms)
    of_images = integer(op.batch_groups)
    groups = max(integer(op.groups), of_images)
    x = _with_groups(x, of_images, 0, 1)
    of_input = _with_groups(_of_input(op, kernel, g, groups), of_images, 1, 0)
    found = (of_input, op.x_axes), (_of_kernel(op, x, g, groups), op.kernel_axes)
    return [_permuted(term, placed(range(len(ints(axes))), ints(axes))) for term, axes in found]


def _permuted(x: Term, order: Sequence[int]) -> Term:
    """The axes in this order, as they are where it is empty."""
    return x.permute(order) if order else x


def _with_groups(x: Term, groups: int, outer: int, inner: int) -> Term:
    """The groups that one of the axes N and C has, as groups of the other."""
    if groups == 1:
        return x
    shape = list(x.shape)
    shape[outer : outer + 1] = [groups, shape[outer] // groups]
    apart = x.reshape(shape)
    at = inner + (inner > outer)
    order = [axis for axis in range(len(shape)) if axis != outer]
    order.insert(order.index(at), outer)
    extents = list(x.shape)
    extents[outer], extents[inner] = extents[outer] // groups, extents[inner] * groups
    return apart.permute(order).reshape(extents)


def _of_input(op: nd.ConvOp, kernel: Term, g: Term, groups: int) -> Term:
    extents, window = op.x_shape[2:], _window(op)
    outputs, inputs, *spatial = kernel.shape
    if groups == 1:
        swapped = kernel.permute([1, 0, *range(2, len(kernel.shape))])
    else:
        swapped = kernel.reshape([groups, outputs // groups, inputs, *spatial])
        swapped = swapped.permute([0, 2, 1, *range(3, len(swapped.shape))])
        swapped = swapped.reshape([groups * inputs, outputs // groups, *spatial])
    low = [w - 1 - padding for w, padding in zip(window, ints(op.low), strict=True)]
    return _cut(
        g,
        swapped,
        extents,
        low,
        strides=ints(op.input_dilation),
        dilation=ints(op.dilation),
        spread=ints(op.strides),
        groups=groups,
        flipped=not op.is_flipped,
    )


def _of_kernel(op: nd.ConvOp, x: Term, g: Term, groups: int) -> Term:
    swapped = [1, 0, *range(2, len(x.shape))]
    if groups == 1 and all(s == 1 for s in ints(op.strides)) and any(e != 1 for e in ints(op.input_dilation)):
        result = _cut(
            g.permute(swapped),
            x.permute(swapped),
            op.kernel_shape[2:],
            [w - 1 - padding for w, padding in zip(_window(op), ints(op.low), strict=True)],
            strides=ints(op.dilation),
            dilation=ints(op.input_dilation),
            spread=ints(op.strides),
            flipped=False,
        )
        return result if op.is_flipped else result.flip(range(2, len(g.shape)))
    result = _cut(
        x.permute(swapped),
        g.permute(swapped),
        op.kernel_shape[2:],
        ints(op.low),
        strides=ints(op.dilation),
        dilation=ints(op.strides),
        spread=ints(op.input_dilation),
        batch_groups=groups,
        flipped=False,
    )
    if op.is_flipped:
        result = result.flip(range(2, len(g.shape)))
    return result.permute(swapped)


def _window(op: nd.ConvOp) -> list[int]:
    """The extent that the kernel covers along each axis."""
    return [(k - 1) * d + 1 for k, d in zip(op.kernel_shape[2:], ints(op.dilation), strict=True)]


def _cut(
    x: Term,
    kernel: Term,
    extents: Sequence[int],
    low: Sequence[int],
    *,
    strides: Sequence[int],
    dilation: Sequence[int],
    spread: Sequence[int],
    groups: int = 1,
    batch_groups: int = 1,
    flipped: bool,
) -> Term:
    """The convolution with `low` padding before x and as much after it as gives a result of these extents; negative
    padding drops elements of the dilated x. Elements behind the last window stay where a further window does not fit,
    by the strides: one place has any."""
    window = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], dilation, strict=True)]
    wanted = [(n - 1) * s + w for n, s, w in zip(extents, strides, window, strict=True)]
    present = [(n - 1) * e + 1 for n, e in zip(x.shape[2:], spread, strict=True)]
    left = [max(0, before + n - total) for before, n, total in zip(low, present, wanted, strict=True)]
    strides = [max(s, 1 + more) if n == 1 else s for s, more, n in zip(strides, left, extents, strict=True)]
    wanted = [total + (more if more < s else 0) for total, more, s in zip(wanted, left, strides, strict=True)]
    if any(before < 0 or before + n > total for before, n, total in zip(low, present, wanted, strict=True)):
        x, spread = dilated(x, (1, 1, *spread)), [1] * len(spread)
        starts = [min(max(-before, 0), n) for before, n in zip(low, present, strict=True)]
        ends = [min(n, total - before) for before, n, total in zip(low, present, wanted, strict=True)]
        x = x.slice([0, 0, *starts], [*x.shape[:2], *map(max, starts, ends)])
        present = x.shape[2:]
        low = [min(max(before, 0), total) for before, total in zip(low, wanted, strict=True)]
    product = nd.ConvOp(
        x.value,
        kernel.value,
        strides=strides,
        low=low,
        high=[total - before - n for total, before, n in zip(wanted, low, present, strict=True)],
        dilation=dilation,
        input_dilation=spread,
        groups=groups,
        batch_groups=batch_groups,
        flipped=flipped,
        element=accumulator(x.element),
    )
    return Term(x.at.value(product), x.at)


CONVOLUTION: dict[type[nd.NdOp], Gradient] = {nd.ConvOp: conv}
