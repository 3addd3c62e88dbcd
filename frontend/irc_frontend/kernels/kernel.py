"""`kernel`: a function with loops over tiles, traced for each kind of its arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from irc_frontend.graph import EMPTY, Node, element_named, fail
from irc_frontend.jit import is_array
from irc_frontend.kernels.called import CalledKernel
from irc_frontend.kernels.own import NO_CONFIG, Config, Configs, Own
from irc_frontend.linear import matmul
from irc_frontend.place import here
from irc_frontend.pytrees import tree_leaves
from irc_frontend.shapes import shape_of
from irc_frontend.tensor import Like, Tensor, node_of
from irc_frontend.tile_indices import open_trace

if TYPE_CHECKING:
    from irc.tuning.session import Subject
    from irc_frontend.kernels.gradients import Recorded
    from irc_frontend.kernels.recording import Recorder

LAMBDA = (lambda: None).__name__
"""What Python calls a function without `def`."""

__all__ = ["Kernel", "addmm", "atomic_add", "copy_of", "empty", "empty_like", "kernel"]


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


class Kernel(CalledKernel):
    """A function of arrays, whose loops over tiles are launches."""

    def __init__(self, function: Callable[..., Any], configs: Configs = NO_CONFIG, own: Own | None = None):
        if not isinstance(function, FunctionType) or function.__name__ == LAMBDA:
            raise fail("a kernel is a function that `def` makes", "@kernel stands before a def")
        functools.update_wrapper(self, function)
        self.function = function
        if any(configs.given):
            from irc_frontend.kernels.sizes import config_of

            for each in configs.given:
                config_of(each)
        self.configs = configs
        super().__init__(own)

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

    @property
    def called_as(self) -> str:
        return self.function.__name__

    @property
    def functions(self) -> Sequence[Callable[..., Any]]:
        return (self.function,)

    @property
    def constants(self) -> Any:
        return self.configs.given

    def record(self, args: Any, options: Any, leaves: Sequence[Any], nodes: Sequence[Node]) -> Recorded:
        return self._recorder.record(args, options, leaves, nodes)

    def in_loop(self, args: Any, options: Any) -> Any:
        return self._recorder.function(*args, **options)

    def subject(self, *args: Any, **options: Any) -> Subject:
        """What a tuner is given for a call."""
        leaves = tree_leaves((args, options))
        return self._recorder.subject(args, options, leaves, [node_of(leaf) for leaf in leaves if is_array(leaf)])


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
