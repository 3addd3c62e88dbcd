"""Rules of batch normalization: `feature_index` is the axis of the features, all others are summed over."""

from __future__ import annotations

import irc_frontend as ir
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Op
from irc_frontend.tensor import Tensor


def _others(op: Op, x: Tensor) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis != int(op.attrs["feature_index"]))


def _along(op: Op, each: Tensor, x: Tensor) -> Tensor:
    """Numbers of the features beside x."""
    return ir.expand_dims(each, _others(op, x))


@rule("stablehlo.batch_norm_inference")
def _inference(op: Op, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    factor = scale / ir.sqrt(variance + float(op.attrs["epsilon"]))
    return (x - _along(op, mean, x)) * _along(op, factor, x) + _along(op, offset, x)


@rule("stablehlo.batch_norm_training")
def _training(op: Op, x: Tensor, scale: Tensor, offset: Tensor) -> list[Tensor]:
    """The result, the mean and the variance of the batch."""
    mean, variance = ir.mean(x, _others(op, x)), ir.var(x, _others(op, x))
    return [_inference(op, x, scale, offset, mean, variance), mean, variance]


@rule("stablehlo.batch_norm_grad")
def _grad(op: Op, x: Tensor, scale: Tensor, mean: Tensor, variance: Tensor, grad: Tensor) -> list[Tensor]:
    """The gradients of x, of the scale and of the offset, where mean and variance are those of x."""
    axes = _others(op, x)
    inverse = 1 / ir.sqrt(variance + float(op.attrs["epsilon"]))
    normal = (x - _along(op, mean, x)) * _along(op, inverse, x)
    of_offset, of_scale = ir.sum(grad, axes), ir.sum(grad * normal, axes)
    count = float(x.size // max(1, x.shape[int(op.attrs["feature_index"])]))
    shared = _along(op, of_offset / count, x) + normal * _along(op, of_scale / count, x)
    return [_along(op, scale * inverse, x) * (grad - shared), of_scale, of_offset]
