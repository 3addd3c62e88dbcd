"""Objects among the arguments of a recorded function: what they hold is a part of the arguments.

An object that is equal to itself alone may hold something else at the next call: `self` of a method. It is a tree of
its attributes. Objects that are compared by what they are (frozen dataclasses, as layers are), functions, classes, and
what belongs to Python or to irc are constants.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from types import FunctionType, MethodType, ModuleType
from typing import Any

from irc_frontend.graph import fail
from irc_frontend.pytrees import rebuilt, tree_leaves, with_paths

_CONSTANT = (FunctionType, MethodType, ModuleType, type, Enum)
_OURS = frozenset(["irc", "irc_frontend", "irc_tools"])


def is_state(leaf: Any) -> bool:
    """Whether it is an object whose attributes are arguments."""
    return _has_state(type(leaf)) and hasattr(leaf, "__dict__")


@cache
def _has_state(kind: type) -> bool:
    room = kind.__module__.partition(".")[0]
    if issubclass(kind, _CONSTANT) or room in _OURS or room in sys.stdlib_module_names or hasattr(kind, "__dlpack__"):
        return False
    return kind.__hash__ is None or kind.__eq__ is object.__eq__  # pyright: ignore[reportUnnecessaryComparison]


def opened(tree: Any, outer: tuple[Any, ...] = ()) -> Any:
    """The tree with dicts of their attributes in the place of objects."""
    return rebuilt(tree, (_opened(leaf, outer) for leaf in tree_leaves(tree)))


def _opened(leaf: Any, outer: tuple[Any, ...]) -> Any:
    if not is_state(leaf):
        return leaf
    if any(leaf is each for each in outer):
        raise fail(f"an argument of a jit function holds itself: {type(leaf).__name__}")
    return opened(vars(leaf), (*outer, leaf))


def parts_of(tree: Any) -> tuple[Any, list[Any], tuple[type, ...]]:
    """The tree opened, its leaves, and the classes of the objects that it had, in order."""
    leaves = tree_leaves(tree)
    if not any(map(is_state, leaves)):
        return tree, leaves, ()
    whole = opened(tree)
    return whole, tree_leaves(whole), tuple(_kinds(leaves))


def _kinds(leaves: Iterable[Any]) -> Iterator[type]:
    for leaf in leaves:
        if is_state(leaf):
            yield type(leaf)
            yield from _kinds(tree_leaves(vars(leaf)))


def closed(tree: Any, leaves: Iterator[Any]) -> Any:
    """A tree like the one that was opened, objects included, with other leaves."""
    return rebuilt(tree, (_closed(leaf, leaves) for leaf in tree_leaves(tree)))


def _closed(leaf: Any, leaves: Iterator[Any]) -> Any:
    if not is_state(leaf):
        return next(leaves)
    made = object.__new__(type(leaf))
    vars(made).update(closed(vars(leaf), leaves))
    return made


def check_unchanged(name: str, given: Any, then: Any) -> None:
    """IrcError where a function changed an object that it was given: it runs when it is recorded, and never again."""
    before = [dict(with_paths(opened(tree))) for tree in (given, then)]
    for path in dict.fromkeys([*before[0], *before[1]]):
        one, other = (each.get(path, path) for each in before)
        if one is not other:
            where = ".".join(map(str, path))
            hint = "give the new value back, and set it where the function is called"
            raise fail(
                f"{name} changes {where} of an argument, which a jit function does once, when it is recorded", hint
            )


def with_self(function: Callable[..., Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A bound method of an object with state as a function, and the object."""
    own = getattr(function, "__self__", None)
    if isinstance(function, MethodType) and is_state(own):
        return function.__func__, (own,)
    return function, ()
