"""`jit`: a function of Tensors that is recorded once for each kind of its arguments and runs as one program."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from irc_frontend.evaluation import autotuned, compile_nodes, current_target, evaluate
from irc_frontend.graph import ARGUMENT, LEAF, Donated, Node, fail, sorted_nodes
from irc_frontend.leaves import placed
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from irc.runtime.executable import Executable

__all__ = ["jit"]


@overload
def jit(function: Callable[..., Any]) -> Callable[..., Any]: ...


@overload
def jit(
    *, donate: int | Sequence[int] = (), autotune: bool | float = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def jit(
    function: Callable[..., Any] | None = None, *, donate: int | Sequence[int] = (), autotune: bool | float = False
) -> Callable[..., Any]:
    """The function, recorded at the first call with arguments of each kind, and one program from then on.

    Arguments are trees. Their arrays (Tensors, numpy's, those of other libraries) may have other values in each call; a
    new shape or element type, another tree, or another value of anything else (numbers, strings) is another kind, for
    which the function runs again. Tensors that it uses beside its arguments are computed when it is recorded and stay
    as they are. It gives a tree of Tensors. Called while another function is recorded, it is part of that.

    `@jit(donate=(0, 1))` donates positional arguments: the function returns arrays of their shapes and element types in
    the same order, which on a GPU are written over those of the arguments. Their Tensors cannot be used again.

    `@jit(autotune=True)` tunes kernels of the program that were not tuned before; a number is the seconds for each
    (docs/tuning.md).
    """
    given = (donate,) if isinstance(donate, int) else tuple(donate)
    if function is None:
        return functools.partial(_jit, donate=given, autotune=autotune)
    return _jit(function, given, autotune)


def _jit(
    function: Callable[..., Any], donate: Sequence[int] = (), autotune: bool | float = False
) -> Callable[..., Any]:
    programs: dict[Hashable, _Program] = {}
    lock = threading.Lock()

    @functools.wraps(function)
    def compiled(*args: Any, **options: Any) -> Any:
        leaves = tree_leaves((args, options))
        if any(isinstance(leaf, Tensor) and leaf.node.is_recorded for leaf in leaves):
            return function(*args, **options)
        nodes = [node_of(leaf) for leaf in leaves if is_array(leaf)]
        given = _donated(args, donate, nodes)
        key = _key((args, options), leaves, nodes)
        with lock:
            program = programs.get(key)
        if program is None:
            with autotuned(autotune) if autotune else nullcontext():
                program = _record(function, args, options, nodes, given)
            with lock:
                program = programs.setdefault(key, program)
        values = evaluate(nodes)
        results = program(values)
        for number in given:
            nodes[number].value = Donated(getattr(function, "__name__", "a function"))
        return results

    return compiled


def _donated(args: Sequence[Any], donate: Sequence[int], nodes: Sequence[Node]) -> list[int]:
    """The numbers of the nodes of donated arguments."""
    if not donate:
        return []
    ends = list(accumulate((sum(map(is_array, tree_leaves(each))) for each in args), initial=0))
    if beyond := [number for number in donate if not 0 <= number < len(args)]:
        raise fail(f"jit donates positional argument {beyond[0]}, and {len(args)} are given")
    given = [node for number in sorted(donate) for node in range(ends[number], ends[number + 1])]
    counts = Counter(nodes)
    if any(counts[nodes[number]] > 1 for number in given):
        raise fail("a donated Tensor is given twice in one call")
    return given


def is_array(leaf: Any) -> bool:
    return isinstance(leaf, Tensor | np.ndarray | np.generic) or hasattr(leaf, "__dlpack__")


def _key(tree: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Hashable:
    """The kind of the arguments."""
    others = tuple((type(leaf), leaf) for leaf in leaves if not is_array(leaf))
    places = tuple(map(is_array, leaves))
    key = (current_target(), shape_of_tree(tree), places, others, tuple((node.shape, node.element) for node in nodes))
    try:
        hash(key)
    except TypeError as error:
        raise fail(f"an argument of a jit function is neither an array nor constant: {error}") from error
    return key


@dataclass(frozen=True)
class _Program:
    """A recorded function. fixed: what it used beside its arguments, the program's first inputs. tree: what it
    gave; elements: those of the Tensors in it."""

    executable: Executable | None
    fixed: Sequence[Node]
    tree: Any
    elements: Sequence[str]

    def __call__(self, values: Sequence[Any]) -> Any:
        if self.executable is None:
            return self.tree
        inputs = [*(node.known for node in self.fixed), *values]
        results: Any = self.executable(*placed(inputs, self.executable.target))
        arrays = results if isinstance(results, tuple) else (results,)  # pyright: ignore[reportUnknownVariableType]
        found = iter(
            Tensor.of(Node(LEAF, (), x.shape, element, value=x))
            for x, element in zip(arrays, self.elements, strict=True)  # pyright: ignore[reportUnknownArgumentType]
        )
        leaves = tree_leaves(self.tree)
        return rebuilt(self.tree, (next(found) if isinstance(leaf, Tensor) else leaf for leaf in leaves))


def _record(
    function: Callable[..., Any], args: Any, options: Any, nodes: Sequence[Node], donate: Sequence[int]
) -> _Program:
    """`donate`: numbers of the nodes whose memory the program may write results to."""
    inputs = [Node(ARGUMENT, (), node.shape, node.element) for node in nodes]
    remaining = iter(inputs)
    leaves = (Tensor.of(next(remaining)) if is_array(leaf) else leaf for leaf in tree_leaves((args, options)))
    new_args, new_options = rebuilt((args, options), leaves)
    tree = function(*new_args, **new_options)
    roots = [leaf.node for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
    if not roots:
        return _Program(None, (), tree, ())
    fixed = _fixed(roots)
    evaluate(fixed)
    order = sorted_nodes([*fixed, *inputs, *roots])
    executable = compile_nodes(order, roots, [*fixed, *inputs], [len(fixed) + number for number in donate])
    return _Program(executable, fixed, tree, [root.element for root in roots])


def _fixed(roots: Sequence[Node]) -> list[Node]:
    """The nodes that have a value, or get one: they depend on no argument, but on something that has a value."""
    order = sorted_nodes(roots)
    open_nodes: set[Node] = set()
    valued: set[Node] = set()
    for node in order:
        if node.op == ARGUMENT or any(operand in open_nodes for operand in node.operands):
            open_nodes.add(node)
        elif node.op == LEAF or any(operand in valued for operand in node.operands):
            valued.add(node)
    used = {operand for node in open_nodes for operand in node.operands} | set(roots)
    return [node for node in order if node in valued and node in used]
