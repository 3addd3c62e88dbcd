"""Functions whose gradients are not those of what they compute: `stop_gradient` and `custom_vjp`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from irc_frontend.elementwise import astype, constant
from irc_frontend.graph import CALL, Node, fail
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves, tree_map
from irc_frontend.tensor import Tensor, node_of

__all__ = ["custom_vjp", "stop_gradient"]


class _Stop:
    """The gradient of nothing."""

    def gradients(
        self, cotangents: Sequence[Node | None], results: Sequence[Node], arrays: Sequence[Node]
    ) -> Sequence[Node | None]:
        return [None] * len(arrays)


_STOP = _Stop()


def stop_gradient(tree: Any) -> Any:
    """The same values, which gradients take as constants."""

    def stopped(leaf: Any) -> Tensor:
        node = node_of(leaf)
        return Tensor.of(_call(_STOP, [node], [node])[0])

    return tree_map(stopped, tree)


def _call(call: Any, arrays: Sequence[Node], results: Sequence[Node]) -> list[Node]:
    """The results, whose gradients `call` gives."""
    operands, attributes = (*arrays, *results), (("call", call), ("results", len(results)))
    return [Node(CALL, operands, x.shape, x.element, attributes, result=i) for i, x in enumerate(results)]


class custom_vjp:
    """A function with a gradient of its own:

        @ir.custom_vjp
        def clipped(x):
            return x

        def forward(x):
            return x, None                      # the result, and what the gradient needs

        def backward(kept, g):
            return (ir.clip(g, -1.0, 1.0),)     # a gradient for each argument, None where there is none

        clipped.defvjp(forward, backward)

    Arguments and results are trees of Tensors. Gradients have the shapes of the arguments.
    """

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        functools.update_wrapper(self, function)

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """forward: the function that gives (the result, what is kept); backward: the gradients of the arguments, of
        what was kept and a tree of gradients like the result."""
        self._rules = forward, backward

    def __call__(self, *args: Any) -> Any:
        if self._rules is None:
            raise fail(
                f"{self._function.__name__} has no gradient of its own yet", "defvjp(forward, backward) gives it"
            )
        arrays = [node_of(leaf) for leaf in tree_leaves(args)]
        given = rebuilt(args, map(Tensor.of, arrays))
        result = self._function(*given)
        roots = [node_of(leaf) for leaf in tree_leaves(result)]
        return rebuilt(result, map(Tensor.of, _call(_Own(self._rules, args, result), arrays, roots)))


class _Own:
    """What the user says that gradients are. args, result: trees like those of the call."""

    def __init__(self, rules: tuple[Callable[..., Any], Callable[..., Any]], args: Any, result: Any):
        self._forward, self._backward = rules
        self._args, self._result = args, result

    def gradients(
        self, cotangents: Sequence[Node | None], results: Sequence[Node], arrays: Sequence[Node]
    ) -> Sequence[Node | None]:
        kept = self._forward(*rebuilt(self._args, map(Tensor.of, arrays)))
        if not isinstance(kept, tuple) or len(kept) != 2:  # pyright: ignore[reportUnknownArgumentType]
            raise fail("the forward function of defvjp gives a pair: the result, and what the gradient needs")
        given = [constant(0, x.shape, x.element) if g is None else g for g, x in zip(cotangents, results, strict=True)]
        found = self._backward(kept[1], rebuilt(self._result, map(Tensor.of, given)))
        if not isinstance(found, tuple) or len(found) != len(self._args):  # pyright: ignore[reportUnknownArgumentType]
            raise fail(f"the backward function of defvjp gives a tuple of {len(self._args)} gradients")
        nodes = [
            gradient
            for arg, tree in zip(self._args, found, strict=True)  # pyright: ignore[reportUnknownArgumentType]
            for gradient in _leaves_like(arg, tree)
        ]
        return [_checked(node, array) for node, array in zip(nodes, arrays, strict=True)]


def _leaves_like(arg: Any, tree: Any) -> list[Any]:
    if tree is None:
        return [None] * len(tree_leaves(arg))
    if shape_of_tree(tree) != shape_of_tree(arg):
        raise fail(f"the gradient of an argument is a tree like it: {shape_of_tree(arg)}, found {shape_of_tree(tree)}")
    return tree_leaves(tree)


def _checked(gradient: Any, array: Node) -> Node | None:
    if gradient is None or not array.is_float:
        return None
    node = node_of(gradient)
    if node.shape != array.shape or not node.is_float:
        raise fail(f"the gradient of an argument {array.type} has its shape, found {node.type}")
    return astype(node, array.element)
