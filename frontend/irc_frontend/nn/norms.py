"""Normalizations with a learned scale: over the last axis, over groups of channels, over a batch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, cast

from irc_frontend.elementwise_functions import rsqrt
from irc_frontend.functions import layer_norm, rms_norm
from irc_frontend.graph import fail
from irc_frontend.making_functions import ones, zeros
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.tensor import Like, Tensor, node_of


@dataclass(frozen=True)
class LayerNorm(Layer):
    """(x - mean(x)) / sqrt(var(x) + eps) * scale + shift over the last axis: f[..., width] -> f[..., width]."""

    width: int
    eps: float = 1e-5
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        return {"scale": ones([self.width], self.dtype), "shift": zeros([self.width], self.dtype)}

    def __call__(self, params: Params, x: Like) -> Tensor:
        return layer_norm(x, eps=self.eps) * params["scale"] + params["shift"]


@dataclass(frozen=True)
class RMSNorm(Layer):
    """x / sqrt(mean(x * x) + eps) * scale over the last axis: f[..., width] -> f[..., width]."""

    width: int
    eps: float = 1e-6
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        return {"scale": ones([self.width], self.dtype)}

    def __call__(self, params: Params, x: Like) -> Tensor:
        return rms_norm(x, eps=self.eps) * params["scale"]


@dataclass(frozen=True)
class GroupNorm(Layer):
    """(x - mean(x)) / sqrt(var(x) + eps) * scale + shift over all places and the channels of a group of each example:
    f[N, space..., width] -> f[N, space..., width]. With a group for each channel it is an instance norm."""

    width: int
    groups: int
    eps: float = 1e-5
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        if self.groups < 1 or self.width % self.groups:
            raise fail(f"a group norm takes a number of groups that divides {self.width} channels, found {self.groups}")
        return {"scale": ones([self.width], self.dtype), "shift": zeros([self.width], self.dtype)}

    def __call__(self, params: Params, x: Like) -> Tensor:
        tensor = _with_channels(x, self.width, "group")
        grouped = tensor.reshape(tensor.shape[0], -1, self.groups, self.width // self.groups)
        centered = grouped - grouped.mean((1, 3), keepdims=True)
        normal = centered * rsqrt(grouped.var((1, 3), keepdims=True) + self.eps)
        return normal.reshape(*tensor.shape) * params["scale"] + params["shift"]


class Batch:
    """What batch norms find of a batch in training: pass one to a model, and take the averages from it that its
    parameters have next.

        def loss(params):
            batch = nn.Batch()
            scores = model(params, x, batch)
            return nn.cross_entropy(scores, labels), batch.averaged(params)

        (value, params), gradients = ir.value_and_grad(loss, has_aux=True)(params)
        params, state = optimizer.update(params, gradients, state)

    Optimizers leave averages as they are: gradients of them are 0.
    """

    def __init__(self) -> None:
        self._found: list[tuple[Params, Params]] = []

    def note(self, params: Params, mean: Tensor, var: Tensor) -> None:
        """The mean and the variance of a batch, f[width] each, beside the parameters of the norm that found them."""
        self._found.append((params, {"mean": mean, "var": var}))

    def averaged(self, params: Params, rate: float = 0.1) -> Params:
        """These parameters, a tree that a model was called with, with averages that have moved by `rate` to what was
        found."""
        return cast("Params", self._averaged(params, rate))

    def _averaged(self, tree: Any, rate: float) -> Any:
        if isinstance(tree, list):
            return [self._averaged(each, rate) for each in cast("list[Any]", tree)]
        if not isinstance(tree, dict):
            return tree
        params = cast("Params", tree)
        moved = {name: self._averaged(each, rate) for name, each in params.items()}
        for found in [found for of, found in self._found if of is params]:
            moved |= {
                name: moved[name] + (found[name].astype(moved[name].dtype) - moved[name]) * rate for name in found
            }
        return moved


@dataclass(frozen=True)
class BatchNorm(Layer):
    """(x - mean) / sqrt(var + eps) * scale + shift for each channel: f[N, ..., width] -> f[N, ..., width].

    With a `Batch`, in training, mean and variance are those of x over all axes but the last, and are noted there; those
    of the next averages, which the parameters have as `mean` and `var`, take the variance with n - 1 (as torch's do).
    Without one they are the averages.
    """

    width: int
    eps: float = 1e-5
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        of_ones = {name: ones([self.width], self.dtype) for name in ("scale", "var")}
        return of_ones | {name: zeros([self.width], self.dtype) for name in ("shift", "mean")}

    def __call__(self, params: Params, x: Like, batch: Batch | None = None) -> Tensor:
        tensor = _with_channels(x, self.width, "batch")
        mean, var = params["mean"], params["var"]
        if batch is not None:
            axes, count = tuple(range(tensor.ndim - 1)), prod(tensor.shape[:-1])
            mean, var = tensor.mean(axes), tensor.var(axes)
            batch.note(params, mean, var * (count / max(count - 1, 1)))
        return (tensor - mean) * (rsqrt(var + self.eps) * params["scale"]) + params["shift"]


def _with_channels(x: Like, width: int, kind: str) -> Tensor:
    tensor = Tensor.of(node_of(x))
    if tensor.ndim < 2 or tensor.shape[-1] != width:
        raise fail(
            f"a {kind} norm of {width} channels takes them as the last of two axes or more, found {tensor.node.type}"
        )
    return tensor
