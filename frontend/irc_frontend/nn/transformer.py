"""The block that transformers repeat."""

from __future__ import annotations

from dataclasses import dataclass, field

from irc_frontend.elementwise_functions import gelu
from irc_frontend.nn.attention import MultiHeadAttention
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.nn.linear import Linear
from irc_frontend.nn.norms import LayerNorm
from irc_frontend.tensor import Like, Tensor, node_of

EXPANSION = 4
"""Hidden values of the perceptron for each of a position."""


@dataclass(frozen=True)
class TransformerBlock(Layer):
    """What GPT-2 repeats: f[..., positions, width] -> the same shape. Attention and a perceptron of one hidden layer
    (gelu by tanh), each of normalized values and added to what it was computed from.

    causal: a position sees itself and those before it.
    """

    before: LayerNorm = field(init=False)
    attention: MultiHeadAttention = field(init=False)
    between: LayerNorm = field(init=False)
    up: Linear = field(init=False)
    down: Linear = field(init=False)
    width: int
    heads: int
    causal: bool = True
    dtype: str = "f32"

    def __post_init__(self) -> None:
        parts = {
            "before": LayerNorm(self.width, dtype=self.dtype),
            "attention": MultiHeadAttention(self.width, self.heads, self.causal, dtype=self.dtype),
            "between": LayerNorm(self.width, dtype=self.dtype),
            "up": Linear(self.width, EXPANSION * self.width, dtype=self.dtype),
            "down": Linear(EXPANSION * self.width, self.width, dtype=self.dtype),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def __call__(self, params: Params, x: Like) -> Tensor:
        given = Tensor.of(node_of(x))
        y = given + self.attention(params["attention"], self.before(params["before"], given))
        hidden = gelu(self.up(params["up"], self.between(params["between"], y)), "tanh")
        return y + self.down(params["down"], hidden)
