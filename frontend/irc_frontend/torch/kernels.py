"""Kernels written in Python (docs/kernels.md) as an op of torch's, `torch.ops.irc.kernel`, which its compiler keeps
whole with any backend, and which irc's backend records as any graph does.

The op takes the arrays of a call, and the name of a call: the kernel, with the arguments that are no arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from irc.support.diagnostics import IrcError
from irc_frontend.graph import Node
from irc_frontend.jit import is_array
from irc_frontend.kernels.kernel import Kernel, follow
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves
from irc_frontend.tensor import Tensor as Recorded
from irc_frontend.torch.rules import argument, rule


@dataclass(frozen=True)
class Call:
    """A kind of call: the arguments of a kernel in a tree, whose arrays are left open."""

    kernel: Kernel
    tree: Any
    leaves: Sequence[Any]

    @property
    def name(self) -> str:
        """The same in every process that has the same program: torch keeps compiled graphs that have it."""
        function = self.kernel.function
        constants = [None if is_array(leaf) else _text_of(leaf) for leaf in self.leaves]
        cells = [_text_of(cell.cell_contents) for cell in function.__closure__ or ()]
        code = function.__code__
        known = (
            function.__module__,
            function.__qualname__,
            code.co_firstlineno,
            code.co_code,
            [_text_of(each) for each in code.co_consts],
            cells,
            self.kernel.config,
            shape_of_tree(self.tree),
            constants,
        )
        return f"{function.__name__} {hashlib.blake2b(repr(known).encode(), digest_size=8).hexdigest()}"

    def given(self, arrays: Sequence[Any]) -> Any:
        """The arguments by place and by name, with these arrays."""
        remaining = iter(arrays)
        return rebuilt(self.tree, (next(remaining) if is_array(leaf) else leaf for leaf in self.leaves))

    def recorded(self, arrays: Sequence[Recorded]) -> tuple[Any, list[Node]]:
        """The tree of results, and the nodes of the Tensors in it."""
        return self.kernel.nodes(*self.given(arrays))

    def of_shapes(self, arrays: Sequence[Tensor]) -> tuple[Any, list[Node]]:
        """The same of arrays whose values are not known."""
        return self.recorded([argument([int(extent) for extent in x.shape], x.dtype) for x in arrays])


def _text_of(value: Any) -> str:
    """What tells a constant from others."""
    if isinstance(value, bool | int | float | str | bytes | None):
        return repr(value)
    return f"{type(value).__name__} {id(value)}"


_calls: dict[str, Call] = {}


def _call_of(name: str) -> Call:
    try:
        return _calls[name]
    except KeyError:
        raise IrcError(f"a graph calls the kernel {name}, which this process has not called") from None


def call(kernel: Kernel, args: Any, options: Any) -> Any:
    """The results of a kernel that is called with tensors of torch."""
    leaves = tree_leaves((args, options))
    if any(isinstance(leaf, Recorded) for leaf in leaves):
        return kernel.called(args, options)
    leaves = [_constant(leaf) for leaf in leaves]
    arrays = [leaf for leaf in leaves if is_array(leaf)]
    device = next(x.device for x in arrays if isinstance(x, Tensor))
    arrays = [x if isinstance(x, Tensor) else torch.as_tensor(x, device=device) for x in arrays]
    made = Call(kernel, (args, options), [torch.empty(0) if is_array(leaf) else leaf for leaf in leaves])
    name = made.name
    found = _calls.setdefault(name, made)
    tree, _ = found.of_shapes(arrays)
    results = iter(run(arrays, name))
    return rebuilt(tree, (next(results) if isinstance(leaf, Recorded) else leaf for leaf in tree_leaves(tree)))


def _constant(leaf: Any) -> Any:
    """The number of one that torch's compiler would leave open."""
    if isinstance(leaf, torch.SymInt):
        return int(leaf)
    return float(leaf) if isinstance(leaf, torch.SymFloat) else leaf


@torch.library.custom_op("irc::kernel", mutates_args=())
def run(arrays: Sequence[Tensor], call: str) -> list[Tensor]:
    """The results of a call."""
    found = _call_of(call)
    given = [x.detach() for x in arrays]
    results = tree_leaves(found.kernel.called(*found.given(given)))
    own = {x.data_ptr() for x in given}
    return [x.clone() if x.data_ptr() in own else x for x in results if isinstance(x, Tensor)]


@run.register_fake
def _(arrays: Sequence[Tensor], call: str) -> list[Tensor]:
    _, nodes = _call_of(call).of_shapes(arrays)
    return [_empty(node, arrays) for node in nodes]


def _empty(node: Node, arrays: Sequence[Tensor]) -> Tensor:
    return arrays[0].new_empty(node.shape, dtype=getattr(torch, Recorded.of(node).dtype.name))


@rule(torch.ops.irc.kernel.default)
def _kernel(arrays: Sequence[Recorded], call: str) -> tuple[Recorded, ...]:
    _, nodes = _call_of(call).recorded(arrays)
    return tuple(map(Recorded.of, nodes))


follow(lambda kernel: torch.compiler.allow_in_graph(kernel.of_torch))
