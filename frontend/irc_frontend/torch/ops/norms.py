"""Rules of normalizations, with what their backward passes need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import deferred, rule, wide

aten = torch.ops.aten


@rule(aten._softmax.default, aten.softmax.int)
def _softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    return ir.softmax(wide(x) if half_to_float else x, dim) if x.ndim else ir.ones_like(x)


@rule(aten._log_softmax.default, aten.log_softmax.int)
def _log_softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    return ir.log_softmax(wide(x) if half_to_float else x, dim) if x.ndim else ir.zeros_like(x)


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
    """As a layer norm over the channels of a group and their elements: [n, c, ...]."""
    groups = wide(x).reshape(n, group, c // group * size)
    mean = groups.mean(2, keepdims=True)
    scale = ir.rsqrt(groups.var(2, keepdims=True) + eps)
    normal = ((groups - mean) * scale).reshape(x.shape)
    along = (c, *[1] * (x.ndim - 2))
    whole = _affine(normal, _reshaped(weight, along), _reshaped(bias, along))
    return whole, mean.reshape(n, group), scale.reshape(n, group)


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
    along = (-1, *[1] * (x.ndim - 2))
    is_narrow = x.element in ("bf16", "f16") and x.size > 0
    x = wide(x)
    mean, variance = _in_one_pass(x, axes) if is_narrow else (x.mean(axes), x.var(axes))
    scale = ir.rsqrt(variance + eps)
    normal = (x - mean.reshape(*along)) * scale.reshape(*along)
    count = x.size // max(1, x.shape[1])
    unbiased = variance * (count / max(1, count - 1))
    return (
        _affine(normal, _reshaped(weight, along), _reshaped(bias, along)),
        mean,
        scale,
        _moved(running_mean, mean, momentum),
        _moved(running_variance, unbiased, momentum),
    )


def _in_one_pass(x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each channel of [n, c, ...], reading x once: from the sums of its distances from one
    of its elements, and of their squares (shifted data: Chan, Golub and LeVeque, "Algorithms for computing the sample
    variance", 1983). An element that is d deviations from the mean costs the variance a relative error of d * d times
    that of the sums: f32 has enough for what was bf16 or f16."""
    some = x[tuple(slice(None) if axis == 1 else slice(n // 2, n // 2 + 1) for axis, n in enumerate(x.shape))]
    apart = x - some
    first, second = apart.mean(axes), (apart * apart).mean(axes)
    return some.reshape(-1) + first, ir.maximum(second - first * first, 0)


def _moved(running: Tensor, found: Tensor, momentum: float) -> Tensor:
    return running.astype(found.element) * (1 - momentum) + found * momentum
