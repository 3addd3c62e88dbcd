"""Gradients that are not longer than a limit."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from irc_frontend.elementwise_functions import minimum, sqrt
from irc_frontend.making_functions import zeros
from irc_frontend.optim.optimizer import wide
from irc_frontend.pytrees import tree_leaves, tree_map
from irc_frontend.tensor import Tensor

_MIN_NORM = 1e-6
"""Added to the norm that is divided by, as torch's clip_grad_norm_ does."""


def global_norm(tree: Any) -> Tensor:
    """The square root of the sum of the squares of all elements of all arrays, f32[]."""
    squares = ((wide(leaf) ** 2).sum().astype("f32") for leaf in tree_leaves(tree))
    return sqrt(reduce(add, squares, zeros([])))


def clip_by_global_norm(gradients: Any, limit: float) -> tuple[Any, Tensor]:
    """The gradients, all scaled alike so that their norm is at most the limit, and the norm that they had."""
    norm = global_norm(gradients)
    scale = minimum(limit / (norm + _MIN_NORM), 1.0)
    return tree_map(lambda g: _scaled(Tensor(g), scale), gradients), norm


def _scaled(g: Tensor, scale: Tensor) -> Tensor:
    return (wide(g) * scale.astype(wide(g).element)).astype(g.element)
