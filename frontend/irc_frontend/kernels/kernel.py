"""`kernel`: a function with loops over tiles, traced for each kind of its arguments."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakSet

from irc_frontend.evaluation import current_target, evaluate
from irc_frontend.graph import EMPTY, Node, element_named, fail, sorted_nodes
from irc_frontend.jit import is_array
from irc_frontend.kernels.choices import open_choices
from irc_frontend.kernels.own import NO_CONFIG, Config, Configs, Gradient, Own
from irc_frontend.leaves import as_given
from irc_frontend.linear import matmul
from irc_frontend.place import here
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves
from irc_frontend.shapes import shape_of
from irc_frontend.structure import as_it_lies
from irc_frontend.tensor import Like, Tensor, node_of
from irc_frontend.tile_indices import open_trace

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.tuning.session import Subject
    from irc_frontend.kernels.gradients import Recorded
    from irc_frontend.kernels.recording import Recorder

__all__ = ["Kernel", "addmm", "atomic_add", "copy_of", "empty", "empty_like", "kernel"]

_made: WeakSet[Kernel] = WeakSet()
_followers: list[Callable[[Kernel], None]] = []


def follow(follower: Callable[[Kernel], None]) -> None:
    """Tells of every kernel, of those that are there and of those to come."""
    _followers.append(follower)
    for each in [*_made]:
        follower(each)


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...


@overload
def kernel(
    *, config: Config | None = None, configs: Sequence[Config] | None = None, autotune: bool | float = False
) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    config: Config | None = None,
    configs: Sequence[Config] | None = None,
    autotune: bool | float = False,
) -> Any:
    """The function, whose loops over tiles are launches of kernels (docs/kernels.md).

    `config` has any fields of `#kernel.config`, `tile` by the names of the loops: `{"tile": {"m": 128, "n": 256},
    "warps": 8}`. What it leaves open is chosen. Of several `configs` the fastest is taken, for each kind of arguments:
    they are timed on a GPU, or by the target `cpu`; elsewhere it is the first that compiles.
    `autotune` searches for what the config leaves open, for each kind of arguments, for so many seconds, 10 for True
    (docs/tuning.md).
    """
    if config is not None and configs is not None:
        raise fail("a kernel has a config or several configs, found both", "configs=[...] has all of them")
    if configs is not None and autotune:
        raise fail(
            "a kernel has several configs or is tuned, found both", "config={...} has what tuning does not change"
        )
    known = _said([config or {}] if configs is None else configs, autotune)
    return Kernel(function, known) if function is not None else lambda function: Kernel(function, known)  # pyright: ignore[reportUnknownLambdaType]


def _said(configs: Sequence[Config], autotune: bool | float = False) -> Configs:
    if not configs:
        raise fail("configs: expected one or more", "leave it out to have one chosen")
    return Configs(tuple(configs), here(), autotune)


class Kernel:
    """A function of arrays. Called with Tensors it gives Tensors, recorded as other ops are; called with arrays of
    numpy or of a device it gives such arrays. Other values, such as numbers, are constants of a kind of call."""

    def __init__(self, function: Callable[..., Any], configs: Configs = NO_CONFIG, own: Own | None = None):
        if not isinstance(function, FunctionType):
            raise fail("a kernel is a function that `def` makes", "@kernel stands before a def")
        functools.update_wrapper(self, function)
        self.function = function
        if any(configs.given):
            from irc_frontend.kernels.sizes import config_of

            for each in configs.given:
                config_of(each)
        self.configs = configs
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

    @functools.cached_property
    def _recorder(self) -> Recorder:
        from irc_frontend.kernels.recording import Recorder

        return Recorder(self.function, self.configs, self._own)

    def with_config(self, **config: Any) -> Kernel:
        """The same function with another config: `matmul.with_config(tile={"m": 128}, warps=8)`."""
        return self.with_configs([config])

    def with_configs(self, configs: Sequence[Config]) -> Kernel:
        """The same function with other configs, of which the fastest is taken."""
        return Kernel(self.function, _said(configs), self._own)

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
            return self._recorder.function(*args, **options)
        tree, nodes = self.nodes(args, options)
        leaves = tree_leaves((args, options))
        lazy = any(isinstance(leaf, Tensor) for leaf in leaves)
        values = map(Tensor.of, nodes) if lazy else (as_given(value, leaves) for value in evaluate(nodes))
        return rebuilt(tree, (next(values) if isinstance(leaf, Tensor) else leaf for leaf in tree_leaves(tree)))

    def module(self, *args: Any, **options: Any) -> ModuleOp:
        """The IR of a call: its tile programs, and the function of the arrays, in order, that launches them. An array
        that the call sees permuted is an argument as it lies."""
        from irc_frontend.build import build_module

        found, _ = self.recorded(args, options)
        return build_module(sorted_nodes([*found.inputs, *found.roots]), found.roots, found.inputs)

    def subject(self, *args: Any, **options: Any) -> Subject:
        """What a tuner is given for a call."""
        leaves = tree_leaves((args, options))
        return self._recorder.subject(args, options, leaves, [node_of(leaf) for leaf in leaves if is_array(leaf)])

    def nodes(self, args: Any, options: Any) -> tuple[Any, list[Node]]:
        """The tree of results, and the nodes of the Tensors in it."""
        found, arrays = self.recorded(args, options)
        return found.tree, found.of(arrays)

    def recorded(self, args: Any, options: Any) -> tuple[Recorded, list[Node]]:
        """The traced call, and the nodes of its arrays."""
        leaves = tree_leaves((args, options))
        nodes = [node_of(leaf) for leaf in leaves if is_array(leaf)]
        if open_choices() is not None:
            return self._recorder.record(args, options, leaves, nodes), nodes
        key = self._key((args, options), leaves, nodes)
        with self._lock:
            found = self._recorded.get(key)
        if found is None:
            found = self._recorder.record(args, options, leaves, nodes)
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


def _holds_torch(tree: Any) -> bool:
    """Whether an array of torch is among the leaves. torch's compiler traces this function."""
    if isinstance(tree, dict):
        return _holds_torch(tuple(tree.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if isinstance(tree, list | tuple):
        return any(_holds_torch(each) for each in tree)  # pyright: ignore[reportUnknownVariableType]
    return hasattr(tree, "__torch_function__")


def empty(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    """An array that a loop over tiles writes; what it does not write is undefined."""
    return Tensor.of(Node(EMPTY, (), shape_of(shape), element_named(dtype)))


def empty_like(x: Like, dtype: Any = None) -> Tensor:
    """`empty` of the shape of an array, and its element type unless one is given."""
    node = node_of(x)
    return empty(node.shape, node.element if dtype is None else dtype)


def copy_of(x: Like) -> Tensor:
    """An array that holds what another one does, but for what a loop over tiles writes, which may not read x. It costs
    no copy where the memory of x is free to be written to: where x is donated. A tile may be stored at a place that is
    computed, a tile of one integer: `out[m, at[0:1]] = tile`; one out of range stores nothing."""
    node = node_of(x)
    return Tensor.of(Node(EMPTY, (node,), node.shape, node.element))


def addmm(c: Like, a: Like, b: Like) -> Tensor:
    """c + a @ b, as torch has it: the product is summed in the element type of `c`, f32 for operands of 16 bits."""
    total = Tensor.of(node_of(c))
    return total + Tensor.of(matmul(node_of(a), node_of(b), total.element))


def atomic_add(out: Tensor, index: Any, value: Like) -> None:
    """Adds a tile to an array that `empty` made, at an index as `out[index] = value` has it. Tiles of several blocks
    may be added to one place, in any order: sums of f32, which differ in their last bits from run to run. The array is
    0 before."""
    trace = open_trace()
    if trace is None:
        raise fail("tiles are added to an array in a loop over tiles", "for m, n in tiles(M, N): atomic_add(...)")
    trace.store(out, index, value, add=True)
