"""`vmap` and `jacobian`: functions made of functions of Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from irc_frontend.batching import batched, check_size
from irc_frontend.gradients import grad
from irc_frontend.graph import ARGUMENT, Node, fail
from irc_frontend.making_functions import eye
from irc_frontend.pytrees import rebuilt, tree_leaves, tree_map
from irc_frontend.shapes import axis_of
from irc_frontend.structure import permute
from irc_frontend.tensor import Tensor, node_of

__all__ = ["jacobian", "vmap"]

Axis = int | None


def vmap(function: Callable[..., Any], in_axes: Axis | Sequence[Axis] = 0, out_axes: int = 0) -> Callable[..., Any]:
    """The function for each element of a batch, as one graph.

    in_axes: which axis of the arrays in each argument (or in all) is the batch, None for arguments that all elements
    share. out_axes: which axis of the results it is. An op that cannot work on a batch is repeated for each element:
    kernels, and random numbers whose seeds differ.
    """

    @functools.wraps(function)
    def mapped(*args: Any) -> Any:
        axes = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else list(in_axes)
        if len(axes) != len(args):
            raise fail(f"vmap: in_axes has {len(axes)} axes for {len(args)} arguments")
        values = [
            _first(node_of(leaf), axis)
            for arg, axis in zip(args, axes, strict=True)
            for leaf in tree_leaves(arg)
            if axis is not None
        ]
        size = check_size([node.shape[0] for node in values])
        inputs = [Node(ARGUMENT, (), node.shape[1:], node.element) for node in values]
        remaining = iter(inputs)
        given = [
            arg if axis is None else tree_map(lambda leaf: Tensor.of(next(remaining)), arg)
            for arg, axis in zip(args, axes, strict=True)
        ]
        results = function(*given)
        leaves = tree_leaves(results)
        found = batched([node_of(leaf) for leaf in leaves], inputs, values, size)
        return rebuilt(results, (Tensor.of(_placed(node, out_axes)) for node in found))

    return mapped


def _first(node: Node, axis: int) -> Node:
    """The array with an axis in front of the others."""
    at = axis_of(axis, node.rank)
    return permute(node, [at, *(each for each in range(node.rank) if each != at)])


def _placed(node: Node, axis: int) -> Node:
    order = list(range(1, node.rank))
    order.insert(axis_of(axis, node.rank), 0)
    return permute(node, order)


def _tensor(leaf: Any) -> Tensor:
    return Tensor.of(node_of(leaf))


def jacobian(function: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """The derivatives of every element of the array that the function gives with respect to an argument, a tree of
    float arrays: a tree of arrays of the result's shape, then the argument's.

    It is a gradient for each element of the result, all of them in one graph; `jacobian(grad(f))` is the Hessian."""

    @functools.wraps(function)
    def derivatives(*args: Any, **options: Any) -> Any:
        given = [tree_map(_tensor, arg) if number == wrt else arg for number, arg in enumerate(args)]
        result = function(*given, **options)
        if not isinstance(result, Tensor) or not result.node.is_float:
            raise fail("jacobian is of a function that gives a Tensor of floats")
        shape, identity = result.shape, eye(result.size, dtype=result.element)

        def one(weights: Tensor) -> Any:
            def weighted(*given: Any) -> Tensor:
                return (function(*given, **options) * weights).sum()

            return grad(weighted, wrt)(*args)

        rows = vmap(one)(identity.reshape(result.size, *shape))
        return tree_map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), rows)

    return derivatives
