"""Perceptrons of which each position takes a few: a mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from irc_frontend.elementwise_functions import silu, where
from irc_frontend.functions import broadcast_to, reorder, scatter_add, softmax, stack
from irc_frontend.graph import fail
from irc_frontend.linear_functions import grouped_matmul
from irc_frontend.making_functions import arange, random_uniform, zeros
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.nn.seeds import fold
from irc_frontend.reduction_functions import argmax, cumsum
from irc_frontend.tensor import Like, Tensor, node_of


@dataclass(frozen=True)
class MixtureOfExperts(Layer):
    """f[..., width] -> f[..., width]: each position goes through the `chosen` experts of the highest scores, and gets
    their sum, weighted by the softmax of these scores. An expert is `(silu(x @ gate) * (x @ up)) @ down`.

    The rows of all positions are put in the order of their experts, so that each is a group of a `grouped_matmul`. No
    expert has a limit of rows. The parameters are `router`, f32[width, experts], `gate` and `up`, f[experts, width,
    hidden], and `down`, f[experts, hidden, width], uniform within 1 / sqrt(inputs) of 0.
    """

    width: int
    hidden: int
    experts: int
    chosen: int = 2
    dtype: str = "f32"

    def __post_init__(self) -> None:
        if not 1 <= self.chosen <= self.experts:
            raise fail(f"a position takes 1 to {self.experts} of as many experts, found chosen = {self.chosen}")

    def init(self, seed: int) -> Params:
        shapes = {
            "router": (self.width, self.experts),
            "gate": (self.experts, self.width, self.hidden),
            "up": (self.experts, self.width, self.hidden),
            "down": (self.experts, self.hidden, self.width),
        }
        params: Params = {}
        for number, (name, shape) in enumerate(shapes.items()):
            bound = 1 / sqrt(max(shape[-2], 1))
            drawn = random_uniform(shape, fold(seed, number)) * (2 * bound) - bound
            params[name] = drawn.astype("f32" if name == "router" else self.dtype)
        return params

    def __call__(self, params: Params, x: Like) -> Tensor:
        shape = node_of(x).shape
        rows = Tensor.of(node_of(x)).reshape(-1, shape[-1])
        experts, weights = self.routes(params, rows)
        order, inverse, ends = sorted_by_expert(experts.reshape(-1), self.experts)
        count = rows.shape[0]
        copies = broadcast_to(rows.reshape(count, 1, -1), (count, self.chosen, rows.shape[1]))
        given = reorder(copies.reshape(count * self.chosen, -1), order, inverse)
        hidden = silu(grouped_matmul(given, params["gate"], ends)) * grouped_matmul(given, params["up"], ends)
        share = reorder(weights.reshape(-1), order, inverse).astype(rows.element)
        made = grouped_matmul(hidden, params["down"], ends) * share.reshape(-1, 1)
        return reorder(made, inverse, order).reshape(count, self.chosen, -1).sum(1).reshape(*shape)

    def routes(self, params: Params, x: Like) -> tuple[Tensor, Tensor]:
        """For each of the rows x its experts, i64[rows, chosen], the one of the highest score first, and their weights,
        of the router's element type."""
        router = Tensor.of(node_of(params["router"]))
        scores = Tensor.of(node_of(x)).astype(router.element) @ router
        numbers, left = arange(self.experts), scores
        experts: list[Tensor] = []
        best: list[Tensor] = []
        for _ in range(self.chosen):
            expert = argmax(left, -1)
            is_it = numbers == expert.reshape(-1, 1)
            best.append(where(is_it, scores, 0.0).sum(-1))
            experts.append(expert)
            left = where(is_it, -float("inf"), left)
        return stack(experts, 1), softmax(stack(best, 1), -1)


def sorted_by_expert(experts: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The order that puts rows of one expert, i64[rows], beside each other, in the order that they have; its inverse;
    and before which row each expert's end, i32[count]. The sort counts: an array of rows x experts is summed up."""
    is_its = (experts.reshape(-1, 1) == arange(count)).astype("i32")
    numbers = cumsum(is_its, 0)
    ends = cumsum(is_its.sum(0), 0)
    before = ends - is_its.sum(0)
    inverse = (is_its * (numbers + before - 1)).sum(1)
    rows = arange(experts.shape[0]).astype("i32")
    return scatter_add(zeros(experts.shape, "i32"), inverse, rows, mode="clip"), inverse, ends
