"""`grad` and `value_and_grad`: functions made of functions of Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irc_frontend.graph import ARGUMENT, Node, fail
from irc_frontend.pytrees import rebuilt, tree_leaves, with_paths
from irc_frontend.tensor import Tensor, node_of

__all__ = ["grad", "value_and_grad"]


def grad(function: Callable[..., Any], wrt: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function of the same arguments that gives the gradients of `function`, which gives one float.

    wrt: the positions of the arguments that are differentiated, each a tree of float arrays. The result is a tree like
    the argument, or a tuple of trees where `wrt` is a sequence. has_aux: `function` gives a pair, of the float and of
    something else; the result is a pair too, of the gradients and of that.

    What the gradients are is in docs/autodiff.md. IrcErrors name the line that has none.
    """
    both = value_and_grad(function, wrt, has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **options: Any) -> Any:
        value, gradients = both(*args, **options)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def value_and_grad(
    function: Callable[..., Any], wrt: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`, but a pair of what `function` gives and the gradients; the float is computed once for both."""
    positions = [wrt] if isinstance(wrt, int) else list(wrt)

    @functools.wraps(function)
    def both(*args: Any, **options: Any) -> Any:
        from irc_frontend.reverse import reverse

        trees = _chosen(args, positions)
        values = [_float_node(path, leaf) for path, leaf in with_paths(trees)]
        inputs = [Node(ARGUMENT, (), node.shape, node.element) for node in values]
        result = function(*_with_inputs(args, positions, trees, inputs), **options)
        loss, others = _loss(result, has_aux)
        (value, *rest), gradients = reverse([loss, *others], inputs, values)
        found = _tensors(trees, gradients)
        return (
            (Tensor.of(value), _replaced(result[1], others, rest)) if has_aux else Tensor.of(value),
            found[positions[0]] if isinstance(wrt, int) else tuple(found[position] for position in positions),
        )

    return both


def _chosen(args: Sequence[Any], positions: Sequence[int]) -> dict[int, Any]:
    """The arguments that are differentiated, by position."""
    for position in positions:
        if not 0 <= position < len(args):
            raise fail(f"wrt names argument {position}, found {len(args)}", "arguments by name are not differentiated")
    return {position: args[position] for position in positions}


def _float_node(path: Sequence[Any], leaf: Any) -> Node:
    node = node_of(leaf)
    if not node.is_float:
        where = "".join(f"[{key!r}]" for key in path)
        raise fail(
            f"cannot differentiate with respect to {node.type}, argument {where}",
            "gradients are with respect to floats; cast it, or leave it out of wrt",
        )
    return node


def _with_inputs(
    args: Sequence[Any], positions: Sequence[int], trees: dict[int, Any], inputs: Sequence[Node]
) -> Iterator[Any]:
    """The arguments, those that are differentiated made of the inputs."""
    made = _tensors(trees, inputs)
    return (made[i] if i in positions else arg for i, arg in enumerate(args))


def _tensors(tree: Any, nodes: Sequence[Node]) -> Any:
    return rebuilt(tree, (Tensor.of(node) for node in nodes))


def _loss(result: Any, has_aux: bool) -> tuple[Node, list[Node]]:
    """The node of the float that a function gave, and those of the Tensors beside it."""
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):  # pyright: ignore[reportUnknownArgumentType]
        raise fail("a function with has_aux gives a pair, of a float and of something else")
    loss: Any = result[0] if has_aux else result
    if not isinstance(loss, Tensor):
        raise fail(f"a function that is differentiated gives a Tensor, found {type(loss).__name__}")
    node = loss.node
    if node.shape or not node.is_float:
        raise fail(f"a gradient is of one float, found {node.type}", "sum it, or take its mean")
    return node, [leaf.node for leaf in tree_leaves(result[1]) if isinstance(leaf, Tensor)] if has_aux else []


def _replaced(tree: Any, old: Sequence[Node], new: Sequence[Node]) -> Any:
    """The tree with the Tensors of `new` in place of those of `old`; other leaves stay."""
    nodes = dict(zip(old, new, strict=True))
    leaves = tree_leaves(tree)
    return rebuilt(tree, (Tensor.of(nodes[leaf.node]) if isinstance(leaf, Tensor) else leaf for leaf in leaves))
