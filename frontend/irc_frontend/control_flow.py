"""`scan`, `cond` and `while_loop`. nd has no loops and no branches.

A scan is written out when it is recorded. A branch or a loop on values that are known is one of Python, between
programs; a branch on values that are not known yet computes both sides, and chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irc_frontend.elementwise_functions import where
from irc_frontend.evaluation import evaluate
from irc_frontend.functions import flip, stack
from irc_frontend.graph import fail
from irc_frontend.pytrees import shape_of_tree, tree_leaves, tree_map
from irc_frontend.tensor import Tensor, node_of

__all__ = ["cond", "scan", "while_loop"]

MAX_STEPS = 512
"""Steps of a scan, each of which is recorded and compiled."""


def scan(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """`carry, y = function(carry, x)` for each x along the first axis of the arrays of the tree `xs`: the last carry,
    and a tree of all y, stacked. Without `xs`, `length` times with None.

    The steps are written out: compilation takes as long as that many copies of the function, and there are at most 512.
    """
    extents = {node_of(leaf).shape[:1] for leaf in tree_leaves(xs)}
    if length is not None:
        extents.add((length,))
    if len(extents) != 1 or () in extents:
        raise fail(f"scan: all arrays have one first extent, which is the length, found {sorted(extents)}")
    ((count,),) = extents
    if count > MAX_STEPS:
        hint = "a Python loop over a function under jit has any number of steps"
        raise fail(f"scan writes out each step, {MAX_STEPS} at most, found {count}", hint)
    xs = tree_map(lambda leaf: Tensor.of(node_of(leaf)), xs)
    carry, rows = init, list[Any]()
    for step in reversed(range(count)) if reverse else range(count):
        given = function(carry, tree_map(lambda leaf, step=step: leaf[step], xs))
        if not isinstance(given, tuple | list) or len(given) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise fail("scan: the function gives the next carry and a result", "return carry, None where there is none")
        made, row = given
        if shape_of_tree(made) != shape_of_tree(carry):
            raise fail(f"scan: the carry is a tree like the first, {shape_of_tree(carry)}, found {shape_of_tree(made)}")
        carry = made
        rows.append(row)
    if not rows:
        return carry, None
    ys = tree_map(lambda *leaves: stack(leaves), *rows)
    return carry, tree_map(lambda leaf: flip(leaf, 0), ys) if reverse else ys


def cond(condition: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], *operands: Any) -> Any:
    """`on_true(*operands)` where the condition holds, a bool without axes, else `on_false(*operands)`: trees of arrays
    of the same shapes and element types.

    A condition whose value can be known is computed now, and one side alone is. In a function that is recorded both
    sides are computed, and elements chosen: errors and NaN of the gradient of the other side count.
    """
    node = node_of(condition)
    if not node.is_bool or node.shape:
        raise fail(
            f"cond: the condition is a bool without axes, found {node.type}", "compare it: x > 0, or (x > 0).all()"
        )
    chosen = Tensor.of(node)
    if not node.is_recorded:
        return on_true(*operands) if bool(chosen) else on_false(*operands)
    one, other = on_true(*operands), on_false(*operands)
    types = [[node_of(leaf).type for leaf in tree_leaves(side)] for side in (one, other)]
    if shape_of_tree(one) != shape_of_tree(other) or types[0] != types[1]:
        raise fail(f"cond: both sides give trees of the same types, found {types[0]} and {types[1]}")
    return tree_map(lambda x, y: where(chosen, Tensor.of(node_of(x)), Tensor.of(node_of(y))), one, other)


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`value = body(value)` as long as `condition(value)` holds: a tree of arrays.

    It is a loop of the host: each step is a program, the same for all steps after the first few, and its condition is
    read. So it is none in a function that is recorded, and has no gradient.
    """
    value = tree_map(lambda leaf: Tensor.of(node_of(leaf)), init)
    while True:
        decision = Tensor.of(node_of(condition(value)))
        leaves = [leaf.node for leaf in tree_leaves(value)]
        if any(node.is_recorded for node in (decision.node, *leaves)):
            hint = "scan has a number of steps that is known; call while_loop outside of jit and grad"
            raise fail(
                "while_loop has a number of steps that depends on values, which a recorded function has not", hint
            )
        evaluate([decision.node, *leaves])
        if not decision:
            return value
        made = body(value)
        if shape_of_tree(made) != shape_of_tree(value):
            raise fail(f"while_loop: the body gives a tree like its argument, found {shape_of_tree(made)}")
        value = tree_map(lambda leaf: Tensor.of(node_of(leaf)), made)
