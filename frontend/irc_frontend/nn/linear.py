"""Products with parameters, and tables of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from irc_frontend.functions import check_indices, take
from irc_frontend.making_functions import random_normal, random_uniform, zeros
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.tensor import Like, Tensor, node_of


@dataclass(frozen=True)
class Linear(Layer):
    """x @ weight + bias over the last axis of x: f[..., inputs] -> f[..., outputs].

    The parameters are `weight`, f[inputs, outputs], uniform within 1 / sqrt(inputs) of 0, and `bias`, zeros.
    """

    inputs: int
    outputs: int
    bias: bool = True
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        bound = 1 / sqrt(max(self.inputs, 1))
        drawn = random_uniform([self.inputs, self.outputs], seed) * (2 * bound) - bound
        params: Params = {"weight": drawn.astype(self.dtype)}
        return {**params, "bias": zeros([self.outputs], self.dtype)} if self.bias else params

    def __call__(self, params: Params, x: Like) -> Tensor:
        rows = Tensor.of(node_of(x))
        shape = rows.shape
        if rows.ndim > 2:  # one product of all rows, not a batch of products with copies of the weight
            rows = rows.reshape(-1, shape[-1])
        y = rows @ params["weight"]
        y = y + params["bias"] if self.bias else y
        return y.reshape(*shape[:-1], self.outputs)


@dataclass(frozen=True)
class Embedding(Layer):
    """Rows of a table at integer indices, which are 0 to count - 1: i[...] -> f[..., width].

    The parameter is `table`, f[count, width], normal with the given standard deviation.
    """

    count: int
    width: int
    deviation: float = 0.02
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        return {"table": (random_normal([self.count, self.width], seed) * self.deviation).astype(self.dtype)}

    def __call__(self, params: Params, x: Like) -> Tensor:
        return take(params["table"], check_indices(x, self.count), 0, mode="clip")
