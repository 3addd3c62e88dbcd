"""What is called as a kernel is, with arrays of any kind: an op of graphs, of irc's and of torch's."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from irc_frontend.evaluation import current_target, evaluate
from irc_frontend.graph import Node, fail, sorted_nodes
from irc_frontend.jit import is_array
from irc_frontend.kernels.choices import open_choices
from irc_frontend.kernels.own import Gradient, Own
from irc_frontend.leaves import as_given
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves
from irc_frontend.structure import as_it_lies
from irc_frontend.tensor import Tensor, node_of
from irc_frontend.tile_indices import open_trace

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc_frontend.kernels.gradients import Recorded

_made: WeakSet[CalledKernel] = WeakSet()
_followers: list[Callable[[CalledKernel], None]] = []


def follow(follower: Callable[[CalledKernel], None]) -> None:
    """Tells of every kernel, of those that are there and of those to come."""
    _followers.append(follower)
    for each in [*_made]:
        follower(each)


class CalledKernel(ABC):
    """Called with Tensors it gives Tensors, recorded as other ops are; called with arrays of numpy or of a device it
    gives such arrays. Other values, such as numbers, are constants of a kind of call."""

    def __init__(self, own: Own | None = None):
        self._own = own or Own()
        self._lock = threading.Lock()
        self._recorded: dict[Hashable, Recorded] = {}

        def of_torch(*args: Any, **options: Any) -> Any:
            from irc_frontend.torch.kernels import call

            return call(self, args, options)

        self.of_torch = of_torch
        """The call with tensors of torch: a function, which torch's compiler takes whole."""
        _made.add(self)
        for follower in _followers:
            follower(self)

    @property
    @abstractmethod
    def called_as(self) -> str:
        """Its name."""

    @property
    @abstractmethod
    def functions(self) -> Sequence[Callable[..., Any]]:
        """The functions of Python that say what it does, but for its gradient."""

    @property
    @abstractmethod
    def constants(self) -> Any:
        """What else says what it does."""

    @abstractmethod
    def record(self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Recorded:
        """A call: its leaves, and the nodes of the arrays among these."""

    def in_loop(self, args: Any, options: Any) -> Any:
        """A call in a loop over tiles."""
        raise fail(f"{self.called_as} is called in a loop over tiles", "it is a launch of its own: call it outside")

    def gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Says what the kernel's gradient is, as a decorator: a function of the gradients of the results, the results,
        and the arguments of the call, that gives the gradients of the arrays among these, in order, None for one that
        has none. Without one, it is that of what the kernel computes."""
        if not isinstance(function, FunctionType):
            raise fail("a gradient is a function that `def` makes")
        self._own.gradient = function
        return function

    @property
    def own_gradient(self) -> Gradient | None:
        """What the user says that the gradient is."""
        return self._own.gradient

    def __call__(self, *args: Any, **options: Any) -> Any:
        if _holds_torch((args, options)):
            # Tells torch's compiler of `of_torch`, while it traces this very line.
            import irc_frontend.torch.kernels  # noqa: F401  # pyright: ignore[reportUnusedImport]

            return self.of_torch(*args, **options)
        return self.called(args, options)

    def called(self, args: Any, options: Any) -> Any:
        """A call that torch does not see."""
        if open_trace() is not None:
            return self.in_loop(args, options)
        tree, nodes = self.nodes(args, options)
        leaves = tree_leaves((args, options))
        lazy = any(isinstance(leaf, Tensor) for leaf in leaves)
        values = map(Tensor.of, nodes) if lazy else (as_given(value, leaves) for value in evaluate(nodes))
        return rebuilt(tree, (next(values) if isinstance(leaf, Tensor) else leaf for leaf in tree_leaves(tree)))

    def nodes(self, args: Any, options: Any) -> tuple[Any, list[Node]]:
        """The tree of results, and the nodes of the Tensors in it."""
        found, arrays = self.recorded(args, options)
        return found.tree, found.of(arrays)

    def recorded(self, args: Any, options: Any) -> tuple[Recorded, list[Node]]:
        """The traced call, and the nodes of its arrays."""
        leaves = tree_leaves((args, options))
        nodes = [node_of(leaf) for leaf in leaves if is_array(leaf)]
        if open_choices() is not None:
            return self.record(args, options, leaves, nodes), nodes
        key = self._key((args, options), leaves, nodes)
        with self._lock:
            found = self._recorded.get(key)
        if found is None:
            found = self.record(args, options, leaves, nodes)
            with self._lock:
                found = self._recorded.setdefault(key, found)
        return found, nodes

    @staticmethod
    def _key(tree: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Hashable:
        others = tuple((type(leaf), leaf) for leaf in leaves if not is_array(leaf))
        places = tuple(map(is_array, leaves))
        kinds = tuple((node.shape, node.element, as_it_lies(node)[1]) for node in nodes)
        key = current_target(), shape_of_tree(tree), places, others, kinds
        try:
            hash(key)
        except TypeError as error:
            raise fail(f"an argument of a kernel is neither an array nor constant: {error}") from error
        return key

    def module(self, *args: Any, **options: Any) -> ModuleOp:
        """The IR of a call: its tile programs, and the function of the arrays, in order, that launches them. An array
        that the call sees permuted is an argument as it lies."""
        from irc_frontend.build import build_module

        found, _ = self.recorded(args, options)
        return build_module(sorted_nodes([*found.inputs, *found.roots]), found.roots, found.inputs)


def _holds_torch(tree: Any) -> bool:
    """Whether an array of torch is among the leaves. torch's compiler traces this function."""
    if isinstance(tree, dict):
        return _holds_torch(tuple(tree.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if isinstance(tree, list | tuple):
        return any(_holds_torch(each) for each in tree)  # pyright: ignore[reportUnknownVariableType]
    return hasattr(tree, "__torch_function__")
