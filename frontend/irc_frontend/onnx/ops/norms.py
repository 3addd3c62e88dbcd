"""Rules of normalizations."""

from __future__ import annotations

import math
from typing import Any

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import in_range, rule
from irc_frontend.tensor import Tensor


@rule("BatchNormalization")
def _batch_norm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Any:
    """One product and one sum an element: what of them depends on weights alone is computed at import."""
    if not training_mode:
        return _scaled(x, scale, bias, mean, var, epsilon)
    axes = (0, *range(2, x.ndim))
    now, spread = ir.mean(x, axes), ir.var(x, axes)
    kept = [(old * momentum + new * (1 - momentum)) for old, new in ((mean, now), (var, spread))]
    return _scaled(x, scale, bias, now, spread, epsilon), *kept


def _scaled(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, epsilon: float) -> Tensor:
    def along(each: Tensor) -> Tensor:
        return each.astype(x.element).reshape(1, -1, *[1] * (x.ndim - 2))

    factor = scale.astype(var.element) / ir.sqrt(var + epsilon)
    return x * along(factor) + along(bias.astype(var.element) - mean * factor)


@rule("LayerNormalization")
def _layer_norm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    outputs: int = 1,
) -> Any:
    """Over the axes from `axis` on."""
    axis = in_range(axis, x.ndim)
    lead, rest = x.shape[:axis], x.shape[axis:]
    rows = x if len(rest) == 1 else x.reshape(*lead, math.prod(rest))
    y = ir.layer_norm(rows, -1, epsilon).reshape(x.shape) * scale
    y = y if bias is None else y + bias
    if outputs == 1:
        return y
    wide = rows.astype("f32") if stash_type == 1 else rows
    mean, spread = ir.mean(wide, -1), ir.var(wide, -1)
    shape = (*lead, *[1] * len(rest))
    return y, mean.reshape(shape), (1.0 / ir.sqrt(spread + epsilon)).reshape(shape)


@rule("RMSNormalization", "SimplifiedLayerNormalization")
def _rms_norm(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Tensor:
    axis = in_range(axis, x.ndim)
    rows = x.reshape(*x.shape[:axis], math.prod(x.shape[axis:]))
    return ir.rms_norm(rows, -1, epsilon).reshape(x.shape) * scale


@rule("InstanceNormalization")
def _instance_norm(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    rows = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    ones = [1] * (x.ndim - 2)
    return ir.layer_norm(rows, -1, epsilon).reshape(x.shape) * scale.reshape(-1, *ones) + bias.reshape(-1, *ones)


@rule("GroupNormalization")
def _group_norm(
    x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    """Weights are those of channels; before opset 21 of groups."""
    if x.shape[1] % num_groups:
        raise IrcError(f"{x.shape[1]} channels are not {num_groups} groups")
    rows = x.reshape(x.shape[0], num_groups, x.size // (x.shape[0] * num_groups))
    channels, ones = x.shape[1], [1] * (x.ndim - 2)

    def along(each: Tensor) -> Tensor:
        wide = each if each.shape == (channels,) else ir.repeat(each, channels // num_groups, 0)
        return wide.reshape(-1, *ones)

    return ir.layer_norm(rows, -1, epsilon).reshape(x.shape) * along(scale) + along(bias)


@rule("MeanVarianceNormalization")
def _mean_variance(x: Tensor, *, axes: list[int] | None = None) -> Tensor:
    found = tuple(in_range(axis, x.ndim) for axis in axes or (0, 2, 3))
    return (x - ir.mean(x, found, keepdims=True)) / (ir.std(x, found, keepdims=True) + 1e-9)


@rule("LRN")
def _lrn(x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Tensor:
    before = (size - 1) // 2
    ones, zeros = [1] * (x.ndim - 2), [0] * (x.ndim - 2)
    total = ir.reduce_window(x * x, [1, size, *ones], low=[0, before, *zeros], high=[0, size - 1 - before, *zeros])
    return x / (total * (alpha / size) + bias) ** beta


@rule("LpNormalization")
def _lp_norm(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """0 where the norm is."""
    size = ir.sum(ir.abs(x), axis, keepdims=True) if p == 1 else ir.sqrt(ir.sum(x * x, axis, keepdims=True))
    return ir.where(size == 0, 0.0, x / size)
