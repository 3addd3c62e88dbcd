"""Trees of dicts, lists and tuples, with arrays at their leaves: how parameters are passed around.

None is a tree without leaves. Everything else is a leaf. Dicts keep the order of their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

__all__ = ["tree_leaves", "tree_map"]


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves, from the first to the last."""
    return [leaf for _, leaf in with_paths(tree)]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree with `function(leaf, ...)` in place of each leaf; further trees give further arguments.

    ValueError where the trees have not the same shape.
    """
    for other in others:
        if shape_of_tree(other) != shape_of_tree(tree):
            raise ValueError(f"trees of different shapes: {shape_of_tree(tree)} and {shape_of_tree(other)}")
    rows = zip(*(tree_leaves(each) for each in (tree, *others)), strict=True)
    return rebuilt(tree, (function(*row) for row in rows))


def with_paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each leaf, with the keys and positions by which it is reached: `('w', 0)`."""
    match tree:
        case None:
            return
        case dict():
            for key, value in cast("dict[Any, Any]", tree).items():
                yield from with_paths(value, (*path, key))
        case list() | tuple():
            for index, value in enumerate(cast("list[Any]", tree)):
                yield from with_paths(value, (*path, index))
        case _:
            yield path, tree


def rebuilt(tree: Any, leaves: Iterator[Any]) -> Any:
    """A tree of the same shape, with these leaves."""
    match tree:
        case None:
            return None
        case dict():
            return {key: rebuilt(value, leaves) for key, value in cast("dict[Any, Any]", tree).items()}
        case list():
            return [rebuilt(value, leaves) for value in cast("list[Any]", tree)]
        case tuple() if hasattr(tree, "_fields"):
            return type(tree)(*(rebuilt(value, leaves) for value in cast("tuple[Any, ...]", tree)))
        case tuple():
            return tuple(rebuilt(value, leaves) for value in cast("tuple[Any, ...]", tree))
        case _:
            return next(leaves)


def shape_of_tree(tree: Any) -> Any:
    """What trees that differ in their leaves alone have in common: nested tuples, `*` for a leaf."""
    match tree:
        case None:
            return None
        case dict():
            items = cast("dict[Any, Any]", tree).items()
            return ("dict", tuple((key, shape_of_tree(value)) for key, value in items))
        case list() | tuple():
            return (type(tree).__name__, tuple(shape_of_tree(value) for value in cast("list[Any]", tree)))
        case _:
            return "*"
