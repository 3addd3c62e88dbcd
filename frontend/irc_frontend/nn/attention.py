"""Attention with several heads."""

from __future__ import annotations

from dataclasses import dataclass, field

from irc_frontend.attention_functions import attention
from irc_frontend.functions import split
from irc_frontend.graph import fail
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.nn.linear import Linear
from irc_frontend.tensor import Like, Tensor, node_of


@dataclass(frozen=True)
class MultiHeadAttention(Layer):
    """Self-attention over the last axis but one: f[..., positions, width] -> the same shape.

    `inputs` makes queries, keys and values by one product, side by side, each with the heads side by side; `outputs`
    mixes the heads. causal: a position sees itself and those before it.
    """

    width: int
    heads: int
    causal: bool = True
    bias: bool = True
    dtype: str = "f32"
    inputs: Linear = field(init=False)
    outputs: Linear = field(init=False)

    def __post_init__(self) -> None:
        if self.heads < 1 or self.width % self.heads:
            raise fail(f"{self.heads} heads do not divide a width of {self.width}")
        object.__setattr__(self, "inputs", Linear(self.width, 3 * self.width, self.bias, self.dtype))
        object.__setattr__(self, "outputs", Linear(self.width, self.width, self.bias, self.dtype))

    def __call__(self, params: Params, x: Like) -> Tensor:
        shape = node_of(x).shape
        q, k, v = (self._heads(part) for part in split(self.inputs(params["inputs"], x), 3, axis=-1))
        mixed = attention(q, k, v, causal=self.causal)
        return self.outputs(params["outputs"], mixed.swapaxes(-3, -2).reshape(*shape))

    def _heads(self, x: Tensor) -> Tensor:
        """[..., positions, width] -> [..., heads, positions, width / heads]"""
        return x.reshape(*x.shape[:-1], self.heads, self.width // self.heads).swapaxes(-3, -2)
