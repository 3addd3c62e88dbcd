"""Rules of pools: over the places of a window, each a slice of the padded array with the pool's strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.indexing import added
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten


class Along(Protocol):
    """The windows along one axis, of `size` places each."""

    @property
    def axis(self) -> int: ...
    @property
    def extent(self) -> int: ...
    @property
    def size(self) -> int: ...

    def padded(self, x: Tensor, fill: float) -> Tensor:
        """x with all that the windows cover along the axis."""
        ...

    def element(self, padded: Tensor, number: int) -> Tensor:
        """What each window has at a place."""
        ...

    def position(self, number: Tensor) -> Tensor:
        """Where on the axis each window has a place, whose number is given for each; not before its first element."""
        ...


@dataclass(frozen=True)
class Regular:
    """Windows `step` apart, of places `apart` apart, on an axis that is padded by `pad` on both sides."""

    axis: int
    extent: int
    size: int
    step: int
    pad: int
    apart: int
    count: int

    def padded(self, x: Tensor, fill: float) -> Tensor:
        """In ceil mode they may need more than the padding; where some elements are left, less."""
        covered = (self.count - 1) * self.step + self.apart * (self.size - 1) + 1 - self.pad
        kept = x[_at(self.axis, slice(0, min(self.extent, covered)))]
        return _padded(kept, self.axis, self.pad, max(0, covered - self.extent), fill)

    def element(self, padded: Tensor, number: int) -> Tensor:
        first = number * self.apart
        return padded[_at(self.axis, slice(first, first + (self.count - 1) * self.step + 1, self.step))]

    def position(self, number: Tensor) -> Tensor:
        starts = _along(ir.arange(self.count) * self.step - self.pad, self.axis, number.ndim)
        first = starts + (ir.maximum(-starts, 0) + (self.apart - 1)) // self.apart * self.apart if self.pad else starts
        return ir.maximum(starts + number * self.apart, first) if self.pad else starts + number * self.apart

    def lengths(self, with_padding: bool) -> Tensor:
        """How many elements each window has; what ceil mode adds behind the padding is none."""
        starts = ir.arange(self.count) * self.step - self.pad
        ends = ir.minimum(starts + self.size, self.extent + self.pad)
        return ends - starts if with_padding else ir.minimum(ends, self.extent) - ir.maximum(starts, 0)

    @property
    def around(self) -> int:
        """The most windows that begin so near to an element that they may have it."""
        return (self.apart * (self.size - 1)) // self.step + 1

    @property
    def behind(self) -> int:
        """Places that the last window needs behind the elements."""
        return max(0, (self.count - 1) * self.step + self.apart * (self.size - 1) + 1 - self.pad - self.extent)


@dataclass(frozen=True)
class Adaptive:
    """`count` windows that divide the axis as evenly as they can, as many places each as the longest has: a shorter one
    has its last element several times."""

    axis: int
    extent: int
    count: int

    @property
    def starts(self) -> Tensor:
        return ir.arange(self.count) * self.extent // self.count

    @property
    def ends(self) -> Tensor:
        return ((ir.arange(self.count) + 1) * self.extent + (self.count - 1)) // self.count

    @property
    def size(self) -> int:
        counts = range(self.count)
        return max(-(-(n + 1) * self.extent // self.count) - n * self.extent // self.count for n in counts)

    def padded(self, x: Tensor, fill: float) -> Tensor:
        return x

    def element(self, padded: Tensor, number: int) -> Tensor:
        return ir.take(padded, ir.minimum(self.starts + number, self.ends - 1), self.axis, mode="clip")

    def position(self, number: Tensor) -> Tensor:
        starts, ends = (_along(each, self.axis, number.ndim) for each in (self.starts, self.ends))
        return ir.minimum(starts + number, ends - 1)

    @property
    def lengths(self) -> Tensor:
        return self.ends - self.starts

    def sum(self, x: Tensor) -> Tensor:
        """A reduction over the places of each window, which are gathered side by side."""
        places = self.starts.reshape(-1, 1) + ir.arange(self.size)
        return summed(x, self.axis, places, places < self.ends.reshape(-1, 1))

    @property
    def transposed(self) -> Adaptive:
        """The windows of the places that have an element in their windows, by element."""
        return Adaptive(self.axis, self.count, self.extent)


def summed(x: Tensor, axis: int, places: Tensor, is_inside: Tensor, weights: Tensor | None = None) -> Tensor:
    """Sums along an axis of the elements at places[count, size] that are inside, each times its weight[count, size]. No
    other counts: it may be no number."""
    shape = (*places.shape, *[1] * (x.ndim - axis - 1))
    found = ir.take(x, places, axis, mode="clip")
    found = found if weights is None else found * weights.reshape(*shape)
    return ir.where(is_inside.reshape(*shape), found, 0.0).sum(axis + 1)


def _at(axis: int, key: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, key)


def _along(x: Tensor, axis: int, rank: int) -> Tensor:
    """What belongs to the places of one axis, to be broadcast."""
    return x.reshape(*[-1 if each == axis else 1 for each in range(rank)])


def _padded(x: Tensor, axis: int, before: int, behind: int, fill: float) -> Tensor:
    return ir.pad(x, [(before, behind) if each == axis else (0, 0) for each in range(x.ndim)], constant_values=fill)


def _regular(
    x: Tensor,
    rank: int,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[Regular]:
    """Along the last axes; a single number is for all of them."""
    found: list[Regular] = []
    for number, axis in enumerate(range(x.ndim - rank, x.ndim)):
        size, step, pad, apart = (
            each[number] if len(each) > 1 else each[0] for each in (window, stride or window, padding, dilation)
        )
        room = x.shape[axis] + 2 * pad - apart * (size - 1) - 1
        count = -(-room // step) + 1 if ceil_mode else room // step + 1
        if ceil_mode and (count - 1) * step >= x.shape[axis] + pad:  # the last would begin behind the elements
            count -= 1
        found.append(Regular(axis, x.shape[axis], size, step, pad, apart, count))
    return found


def _adaptive(x: Tensor, counts: Sequence[int]) -> list[Adaptive]:
    axes = range(x.ndim - len(counts), x.ndim)
    return [Adaptive(axis, x.shape[axis], count) for axis, count in zip(axes, counts, strict=True)]


def _largest(x: Tensor, windows: Sequence[Along]) -> tuple[Tensor, Tensor]:
    """The largest of each window, NaN first, and where among the last axes it lies, the first of equal ones."""
    if not x.size:
        raise Left("a pool of nothing")
    fill = -math.inf if x.node.is_float else int(np.iinfo(x.dtype).min)
    padded = x
    for along in windows:
        padded = along.padded(padded, fill)
    best: Any = None
    taken: Any = None
    sizes = [along.size for along in windows]
    for number, numbers in enumerate(product(*map(range, sizes))):
        value = padded
        for along, each in zip(windows, numbers, strict=True):
            value = along.element(value, each)
        if best is None:
            best, taken = value, ir.zeros(value.shape, "i64")
            continue
        is_larger = value > best
        taken = ir.where(is_larger | ir.isnan(value) if x.node.is_float else is_larger, number, taken)
        best = ir.maximum(best, value)
    place: Any = 0
    for position, along in enumerate(windows):
        inner = math.prod(sizes[position + 1 :])
        place = place * along.extent + along.position(taken // inner % along.size)
    return best, place


def _reduced(x: Tensor, windows: Sequence[Regular], monoid: str) -> Tensor:
    """What each window has, joined."""
    numbers: dict[str, list[int]] = {"window": [], "strides": [], "low": [], "high": [], "dilation": []}
    along = {each.axis: each for each in windows}
    for axis in range(x.ndim):
        own = along.get(axis)
        values = (1, 1, 0, 0, 1) if own is None else (own.size, own.step, own.pad, own.behind, own.apart)
        for each, value in zip(numbers.values(), values, strict=True):
            each.append(value)
    return ir.reduce_window(x, numbers.pop("window"), monoid, **numbers)


def _register_max(rank: int, op: Any) -> None:
    @rule(op)
    def record(
        x: Tensor,
        window: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        windows = _regular(x, rank, window, stride, padding, dilation, ceil_mode)
        _, places = _largest(x, windows)
        return _reduced(x, windows, "max"), places


_register_max(2, aten.max_pool2d_with_indices.default)
_register_max(3, aten.max_pool3d_with_indices.default)


@rule(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def _adaptive_max_pool(x: Tensor, counts: Sequence[int]) -> tuple[Tensor, Tensor]:
    return _largest(x, _adaptive(x, counts))


def _register_scattered(rank: int, *ops: Any) -> None:
    @rule(*ops)
    def record(grad: Tensor, x: Tensor, *rest: Any) -> Tensor:
        """Each window's gradient at the element that it took; the places are the last argument."""
        return _scattered(grad, x, rest[-1], rank)


def _scattered(grad: Tensor, x: Tensor, places: Tensor, rank: int) -> Tensor:
    planes, size = math.prod(x.shape[: x.ndim - rank]), math.prod(x.shape[x.ndim - rank :])
    flat = [each.reshape(planes, math.prod(grad.shape[x.ndim - rank :])) for each in (places, grad)]
    return added(ir.zeros((planes, size), grad.element), 1, flat[0], flat[1]).reshape(x.shape)


_register_scattered(
    2,
    aten.adaptive_max_pool2d_backward.default,
    aten.fractional_max_pool2d_backward.default,
)
_register_scattered(
    3,
    aten.adaptive_max_pool3d_backward.default,
    aten.fractional_max_pool3d_backward.default,
)

MAX_TAPS = 32
"""Places of a window that gradients are gathered from; those of larger windows are added to their places."""


def _register_max_backward(rank: int, op: Any) -> None:
    @rule(op)
    def record(
        grad: Tensor,
        x: Tensor,
        window: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        places: Tensor,
    ) -> Tensor:
        """For each element, the gradients of the windows around it that took it."""
        windows = _regular(x, rank, window, stride, padding, dilation, ceil_mode)
        if math.prod(along.around for along in windows) > MAX_TAPS or not x.size or not grad.size:
            return _scattered(grad, x, places, rank)
        element = "i32" if math.prod(along.extent for along in windows) < 2**31 - 1 else "i64"
        narrow, own = places.astype(element), ir.zeros((), element)
        for along in windows:
            own = own * along.extent + _along(ir.arange(along.extent, dtype=element), along.axis, x.ndim)
        total: Any = None
        for numbers in product(*(range(along.around) for along in windows)):
            taken = _of_windows_around(narrow + 1, windows, numbers)  # 0 where there is no window
            part = ir.where(taken == own + 1, wide(_of_windows_around(grad, windows, numbers)), 0.0)
            total = part if total is None else total + part
        return total


def _of_windows_around(x: Tensor, windows: Sequence[Regular], numbers: Sequence[int]) -> Tensor:
    """For each element what the last window has that begins before it, or the one so many before that along each axis;
    0 where there is none."""
    lists: dict[str, list[int]] = {"window": [], "input_dilation": [], "low": [], "high": []}
    along = {each.axis: (each, number) for each, number in zip(windows, numbers, strict=True)}
    cuts: list[slice] = []
    for axis in range(x.ndim):
        if axis not in along:
            values, cut = (1, 1, 0, 0), slice(None)
        else:
            each, number = along[axis]
            first = (number + 1) * each.step - 1 - each.pad
            behind = each.extent + each.step - 2 - first - (each.count - 1) * each.step
            values = each.step, each.step, max(0, first), max(0, behind)
            cut = slice(max(0, -first), max(0, -first) + each.extent)
        cuts.append(cut)
        for held, value in zip(lists.values(), values, strict=True):
            held.append(value)
    return ir.reduce_window(x, lists.pop("window"), "sum", **lists)[tuple(cuts)]


_register_max_backward(2, aten.max_pool2d_with_indices_backward.default)
_register_max_backward(3, aten.max_pool3d_with_indices_backward.default)


def _divided(x: Tensor, windows: Sequence[Regular], with_padding: bool, divisor: int | None) -> Tensor:
    """Sums of windows by the number of their elements."""
    if divisor is not None:
        return x / float(divisor)
    for along in windows:
        x = x / _along(along.lengths(with_padding), along.axis, x.ndim).astype(x.element)
    return x


def _expect_float(x: Tensor) -> None:
    if not x.node.is_float:
        raise Left("a mean of integers")


def _transposed(grad: Tensor, windows: Sequence[Regular]) -> Tensor:
    """The transpose of sums over windows: for every element the sum over those that have it, which are windows of the
    gradient, with places between its elements."""
    ones, along = [1] * grad.ndim, {each.axis: each for each in windows}
    window = [along[axis].size if axis in along else 1 for axis in range(grad.ndim)]
    apart = [along[axis].step if axis in along else 1 for axis in range(grad.ndim)]
    before = [max(0, along[axis].size - 1 - along[axis].pad) if axis in along else 0 for axis in range(grad.ndim)]
    behind, cut = [0] * grad.ndim, [slice(None)] * grad.ndim
    for axis, each in along.items():
        skipped = max(0, each.pad - each.size + 1)
        reach = before[axis] + (each.count - 1) * each.step + 1
        behind[axis] = max(0, skipped + each.extent + each.size - 1 - reach)
        cut[axis] = slice(skipped, skipped + each.extent)
    total = ir.reduce_window(grad, window, strides=ones, low=before, high=behind, input_dilation=apart)
    return total[tuple(cut)]


def _register_mean(rank: int, forward: Any, backward: Any) -> None:
    @rule(forward)
    def record(
        x: Tensor,
        window: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        _expect_float(x)
        windows = _regular(x, rank, window, stride, padding, (1,), ceil_mode)
        return _divided(_reduced(wide(x), windows, "sum"), windows, count_include_pad, divisor_override)

    @rule(backward)
    def record_backward(
        grad: Tensor,
        x: Tensor,
        window: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        windows = _regular(x, rank, window, stride, padding, (1,), ceil_mode)
        return _transposed(_divided(wide(grad), windows, count_include_pad, divisor_override), windows)


_register_mean(2, aten.avg_pool2d.default, aten.avg_pool2d_backward.default)
_register_mean(3, aten.avg_pool3d.default, aten.avg_pool3d_backward.default)


@rule(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
def _adaptive_mean(x: Tensor, counts: Sequence[int]) -> Tensor:
    """Along one axis after another, where windows are not all of one size."""
    _expect_float(x)
    x, windows, rank = wide(x), _adaptive(x, counts), len(counts)
    if all(along.extent % along.count == 0 for along in windows):
        parts = [size for along in windows for size in (along.count, along.extent // along.count)]
        return x.reshape(*x.shape[:-rank], *parts).mean(tuple(range(1 - 2 * rank, 0, 2)))
    for along in windows:
        x = _divided_by(along.sum(x), along)
    return x


def _divided_by(x: Tensor, along: Adaptive) -> Tensor:
    """What each window has, divided by its length."""
    return x / _along(along.lengths, along.axis, x.ndim).astype(x.element)


def _register_adaptive_mean_backward(rank: int, op: Any) -> None:
    @rule(op)
    def record(grad: Tensor, x: Tensor) -> Tensor:
        total = wide(grad)
        for along in _adaptive(x, grad.shape[grad.ndim - rank :]):
            total = along.transposed.sum(_divided_by(total, along))
        return total


_register_adaptive_mean_backward(2, aten._adaptive_avg_pool2d_backward.default)
_register_adaptive_mean_backward(3, aten._adaptive_avg_pool3d_backward.default)
