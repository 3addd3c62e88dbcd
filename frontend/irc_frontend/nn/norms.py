"""Normalizations over the last axis, with a learned scale."""

from __future__ import annotations

from dataclasses import dataclass

from irc_frontend.functions import layer_norm, rms_norm
from irc_frontend.making_functions import ones, zeros
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.tensor import Like, Tensor


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
