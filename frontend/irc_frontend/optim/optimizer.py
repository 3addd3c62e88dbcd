"""What optimizers have in common: a count of steps, trees of what is remembered, and how they go over trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from irc_frontend.making_functions import zeros
from irc_frontend.optim.schedules import Rate, rate_at
from irc_frontend.pytrees import rebuilt, tree_leaves, tree_map
from irc_frontend.tensor import Tensor, node_of

State: TypeAlias = dict[str, Any]
"""`step`, i64[]: how many updates there were; and trees like the parameters, by name."""


@dataclass(frozen=True)
class Optimizer:
    """`init(params)` makes a state, `update(params, gradients, state)` gives the next parameters and state.

    rate: the step size, a number or a schedule. Trees of gradients have the shape of the parameters. What is remembered
    and computed is f32, f64 for parameters of f64; the new parameters are rounded to their element type once.
    """

    rate: Rate

    @abstractmethod
    def init(self, params: Any) -> State: ...

    @abstractmethod
    def update(self, params: Any, gradients: Any, state: State) -> tuple[Any, State]: ...

    def rate_after(self, step: Tensor) -> Tensor:
        """The rate of the update after `step` others, f32[]."""
        return rate_at(self.rate, step)


def first_step() -> Tensor:
    return zeros([], "i64")


def zeros_of(params: Any) -> Any:
    """A tree like the parameters, of zeros in the element type in which an optimizer computes."""
    return tree_map(lambda p: zeros(node_of(p).shape, wide(p).element), params)


def wide(x: Any) -> Tensor:
    """In f32, f64 as it is."""
    tensor = Tensor(x)
    return tensor if tensor.element == "f64" else tensor.astype("f32")


def updated(step: Callable[..., tuple[Tensor, ...]], params: Any, *trees: Any) -> list[Any]:
    """Several trees like the parameters, of what `step` gives for each parameter and the leaves of the trees beside it,
    all wide; the first tree has the parameters' element types."""
    rows = tree_leaves(tree_map(lambda *leaves: _Row(leaves), params, *trees))
    results = [step(*map(wide, row.leaves)) for row in rows]
    first = [r[0].astype(Tensor(p).element) for r, p in zip(results, tree_leaves(params), strict=True)]
    others = zip(*(r[1:] for r in results), strict=True)
    return [rebuilt(params, iter(column)) for column in (first, *others)]


@dataclass(frozen=True)
class _Row:
    """The leaves of several trees at one place."""

    leaves: tuple[Any, ...]
