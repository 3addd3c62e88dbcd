"""Rules of normalizations, with what their backward passes need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import deferred, wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import rule

aten = torch.ops.aten


@rule(aten._softmax.default, aten.softmax.int)
def _softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    return ir.softmax(wide(x) if half_to_float else x, dim) if x.ndim else ir.ones_like(x)


@rule(aten.native_layer_norm.default)
def _layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalized array, its mean and the reciprocal of its standard deviation, over the last axes."""
    axes = list(range(x.ndim - len(shape), x.ndim))
    x = wide(x)
    mean = x.mean(axes, keepdims=True)
    scale = ir.rsqrt(x.var(axes, keepdims=True) + eps)
    return _affine((x - mean) * scale, weight, bias), mean, scale


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    scaled = x if weight is None else x * _like(weight, x)
    return scaled if bias is None else scaled + _like(bias, x)


def _like(x: Tensor, other: Tensor) -> Tensor:
    return deferred(x, "f32") if other.element == "f32" else x.astype(other.element)


@rule(aten.native_group_norm.default)
def _group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, n: int, c: int, size: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As a layer norm over the channels of a group and their elements: [n, c, ...]. Nothing but the channels is split,
    so that work on arrays with channels last stays in that order."""
    groups = _in_groups(x, group)
    mean, variance = _statistics(groups, range(2, groups.ndim))
    mean, scale = mean.reshape(n, group), ir.rsqrt(variance + eps).reshape(n, group)
    normal = (wide(groups) - _over_groups(mean, groups)) * _over_groups(scale, groups)
    whole = _affine(normal, _by_channel(weight, groups), _by_channel(bias, groups))
    return whole.reshape(x.shape), mean, scale


@rule(aten.native_group_norm_backward.default)
def _group_norm_gradient(
    gradient: Tensor,
    x: Tensor,
    mean: Tensor,
    scale: Tensor,
    weight: Tensor | None,
    n: int,
    c: int,
    size: int,
    group: int,
    wanted: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Of x, the weight and the bias, from two sums for each channel of each element of the batch: of dy, and of dy
    times the distance from the mean. What has all elements is computed from dy and x again, not kept for both uses."""
    dy, groups = wide(_in_groups(gradient, group)), wide(_in_groups(x, group))
    mean, scale = wide(mean), wide(scale)
    apart = groups - _over_groups(mean, groups)
    elements = range(3, groups.ndim)
    total, along = dy.sum(elements), (dy * apart).sum(elements) * scale.reshape(n, group, 1)
    factor = ir.ones((group, c // group), scale.element) if weight is None else wide(weight).reshape(group, c // group)
    count = max(1, c // group * size)
    outer, inner = ((sums * factor).sum(2) / count for sums in (total, along))
    of_dy = (factor * scale.reshape(n, group, 1)).reshape(n, group, c // group, *[1] * len(elements))
    of_x = dy * of_dy - apart * _over_groups(inner * scale * scale, groups) - _over_groups(outer * scale, groups)
    return (
        of_x.reshape(x.shape) if wanted[0] else None,
        along.sum(0).reshape(c) if wanted[1] else None,
        total.sum(0).reshape(c) if wanted[2] else None,
    )


def _in_groups(x: Tensor, group: int) -> Tensor:
    """[n, c, ...] as [n, group, c / group, ...]."""
    n, c, *rest = x.shape
    return x.reshape(n, group, c // group, *rest)


def _over_groups(x: Tensor, groups: Tensor) -> Tensor:
    """[n, group] along [n, group, ...]."""
    return x.reshape(*x.shape, *[1] * (groups.ndim - 2))


def _by_channel(x: Tensor | None, groups: Tensor) -> Tensor | None:
    """[c] along [n, group, c / group, ...]."""
    return _reshaped(x, (*groups.shape[1:3], *[1] * (groups.ndim - 3)))


def _reshaped(x: Tensor | None, shape: Sequence[int]) -> Tensor | None:
    return None if x is None else x.reshape(*shape)


@rule(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_inference(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    """[n, c, ...] by the running statistics of each channel."""
    along = (-1, *[1] * (x.ndim - 2))
    scale = ir.rsqrt(variance + eps)
    normal = (_like(x, mean) - mean.reshape(*along)) * scale.reshape(*along)
    empty = ir.zeros((0,), mean.element)
    return _affine(normal, _reshaped(weight, along), _reshaped(bias, along)), empty, empty


@rule(aten._native_batch_norm_legit_functional.default)
def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_variance: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """[n, c, ...] by the statistics of the batch: also they, and the new running ones."""
    if not training:
        same = _batch_norm_inference(x, weight, bias, running_mean, running_variance, momentum, eps)
        return (*same, running_mean, running_variance)
    axes = [axis for axis in range(x.ndim) if axis != 1]
    whole, mean, variance, scale = _normalized(x, axes, x.shape[1:2], weight, bias, eps)
    count = x.size // max(1, x.shape[1])
    unbiased = variance * (count / max(1, count - 1))
    return (
        whole,
        mean,
        scale,
        _moved(running_mean, mean, momentum),
        _moved(running_variance, unbiased, momentum),
    )


@rule(aten._native_batch_norm_legit.no_stats)
def _batch_norm_without_running(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """[n, c, ...] by the statistics of the batch."""
    instances = _instances(x)
    if instances is None:
        axes = [axis for axis in range(x.ndim) if axis != 1]
        whole, mean, _, scale = _normalized(x, axes, x.shape[1:2], weight, bias, eps)
        return whole, mean, scale
    axes = range(2, x.ndim)
    whole, mean, _, scale = _normalized(instances, axes, instances.shape[:2], weight, bias, eps)
    return whole.reshape(x.shape), mean, scale


def _instances(x: Tensor) -> Tensor | None:
    """The array [n, c, ...] that torch's instance norm views as x, [1, n c, ...]: with channels last, nothing lies in
    the order of that. None where x is a batch."""
    batch, _, *elements = x.shape
    viewed = next(iter(x.node.operands)) if x.node.op == "reshape" else x.node
    return Tensor.of(viewed) if batch == 1 and viewed.rank == x.ndim and [*viewed.shape[2:]] == elements else None


def _normalized(
    x: Tensor, axes: Sequence[int], shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x by its statistics over the axes, the mean, the variance, and the reciprocal of its root; these, the weight and
    the bias are of the shape `shape`, and given flat."""
    along = (*shape, *[1] * (x.ndim - 2))  # of a batch, of [c, ...]
    mean, variance = (value.reshape(-1) for value in _statistics(x, axes))
    scale = ir.rsqrt(variance + eps)
    normal = (wide(x) - mean.reshape(*along)) * scale.reshape(*along)
    return _affine(normal, _reshaped(weight, along), _reshaped(bias, along)), mean, variance, scale


def _statistics(x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The mean and the variance over the axes, which stay as axes of extent 1; of narrow floats in one pass. What is
    permuted is read in memory's order."""
    if x.node.op == "permute":
        order: Any = dict(x.node.attributes)["permutation"]
        memory = Tensor.of(next(iter(x.node.operands)))
        mean, variance = _statistics(memory, [order[axis] for axis in axes])
        return mean.permute(*order), variance.permute(*order)
    is_narrow = x.element in ("bf16", "f16") and x.size > 0
    x = wide(x)
    return _in_one_pass(x, axes) if is_narrow else (x.mean(axes, keepdims=True), x.var(axes, keepdims=True))


def _in_one_pass(x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The mean and the variance, reading x once: from the sums of its distances from one
    of its elements, and of their squares (shifted data: Chan, Golub and LeVeque, "Algorithms for computing the sample
    variance", 1983). An element that is d deviations from the mean costs the variance a relative error of d * d times
    that of the sums: f32 has enough for what was bf16 or f16."""
    some = x[tuple(slice(n // 2, n // 2 + 1) if axis in axes else slice(None) for axis, n in enumerate(x.shape))]
    apart = x - some
    first, second = apart.mean(axes, keepdims=True), (apart * apart).mean(axes, keepdims=True)
    return some + first, ir.maximum(second - first * first, 0)


def _moved(running: Tensor, found: Tensor, momentum: float) -> Tensor:
    return running.astype(found.element) * (1 - momentum) + found * momentum


@rule(aten._weight_norm_interface.default)
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    """v with the lengths g along the axis `dim`, [1, ..., n, ..., 1], and the lengths that it had."""
    x = wide(v)
    norm = ir.sqrt((x * x).sum(_all_but(dim, v), keepdims=True))
    return x * (wide(g) / norm), norm


@rule(aten._weight_norm_interface_backward.default)
def _weight_norm_gradient(gradient: Tensor, v: Tensor, g: Tensor, norm: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Of v, what stands upright on it, and of g (Salimans and Kingma, "Weight normalization", 2016, equation 3)."""
    dy, x, norm = wide(gradient), wide(v), wide(norm)
    along = (dy * x).sum(_all_but(dim, v), keepdims=True) / norm
    return (dy - x * (along / norm)) * (wide(g) / norm), along


def _all_but(dim: int, x: Tensor) -> list[int]:
    return [axis for axis in range(x.ndim) if axis != dim % x.ndim]
