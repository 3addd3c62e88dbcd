"""Kernels written in Python (docs/kernels.md) as an op of torch's, `torch.ops.irc.kernel`, which its compiler keeps
whole with any backend, and which irc's backend records as any graph does.

The op takes the arrays of a call, and the name of a call: the kernel, with the arguments that are no arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType, CodeType
from typing import Any

import torch
from torch import Tensor

from irc.support.diagnostics import IrcError
from irc_frontend.evaluation import evaluate
from irc_frontend.graph import Node
from irc_frontend.jit import is_array
from irc_frontend.kernels.called import CalledKernel, follow
from irc_frontend.kernels.gradients import zeros
from irc_frontend.leaves import as_given
from irc_frontend.pytrees import rebuilt, shape_of_tree, tree_leaves
from irc_frontend.tensor import Tensor as Recorded
from irc_frontend.tensor import node_of
from irc_frontend.torch.rules import argument, rule


@dataclass(frozen=True)
class Call:
    """A kind of call: the arguments of a kernel in a tree, whose arrays are left open."""

    kernel: CalledKernel
    tree: Any
    leaves: Sequence[Any]

    @property
    def name(self) -> str:
        """The same in every process that has the same program: torch keeps compiled graphs that have it."""
        kernel = self.kernel
        functions = [_told(each) for each in (*kernel.functions, kernel.own_gradient) if each is not None]
        constants = [None if is_array(leaf) else _text_of(leaf) for leaf in self.leaves]
        known = repr((functions, kernel.constants, shape_of_tree(self.tree), constants))
        return f"{kernel.called_as} {hashlib.blake2b(known.encode(), digest_size=8).hexdigest()}"

    def given(self, arrays: Sequence[Any]) -> Any:
        """The arguments by place and by name, with these arrays."""
        remaining = iter(arrays)
        return rebuilt(self.tree, (next(remaining) if is_array(leaf) else leaf for leaf in self.leaves))

    def nodes(self, arrays: Sequence[Any]) -> tuple[Any, list[Node]]:
        """The tree of results, and the nodes of the Tensors in it."""
        return self.kernel.nodes(*self.given(arrays))

    def gradients(
        self,
        cotangents: Sequence[Any],
        results: Sequence[Any],
        arrays: Sequence[Any],
        wanted: Sequence[int],
    ) -> list[Node]:
        """The gradients of the arrays of these numbers."""
        found, nodes = self.kernel.recorded(*self.given(arrays))
        given = [None if each is None else node_of(each) for each in cotangents]
        gradients = found.gradients(given, list(map(node_of, results)), nodes)
        return [gradients[number] or zeros(nodes[number]) for number in wanted]


def _known(arrays: Sequence[Tensor | None]) -> list[Any]:
    """Arrays whose shapes alone are known."""
    return [None if x is None else argument([int(extent) for extent in x.shape], x.dtype) for x in arrays]


def _told(function: Callable[..., Any]) -> Any:
    """What tells a function from others: where it is, what it does, and what it has from around it."""
    code: CodeType = function.__code__  # pyright: ignore[reportFunctionMemberAccess]
    cells: Sequence[CellType] = function.__closure__ or ()  # pyright: ignore[reportFunctionMemberAccess]
    values = [*code.co_consts, *(cell.cell_contents for cell in cells)]
    return function.__module__, function.__qualname__, code.co_firstlineno, code.co_code, list(map(_text_of, values))


def _text_of(value: Any) -> str:
    """What tells a constant from others."""
    if isinstance(value, bool | int | float | str | bytes | None):
        return repr(value)
    return f"{type(value).__name__} {id(value)}"


_calls: dict[str, Call] = {}

_OPEN = torch.empty(0)
"""In the place of an array."""


def _call_of(name: str) -> Call:
    try:
        return _calls[name]
    except KeyError:
        raise IrcError(f"a graph calls the kernel {name}, which this process has not called") from None


def call(kernel: CalledKernel, args: Any, options: Any) -> Any:
    """The results of a kernel that is called with tensors of torch."""
    leaves = tree_leaves((args, options))
    if any(isinstance(leaf, Recorded) for leaf in leaves):
        return kernel.called(args, options)
    arrays = [leaf for leaf in leaves if is_array(leaf)]
    device = next(x.device for x in arrays if isinstance(x, Tensor))
    arrays = [x if isinstance(x, Tensor) else torch.as_tensor(x, device=device) for x in arrays]
    name = call_name(kernel, args, options)
    tree, _ = _call_of(name).nodes(_known(arrays))
    results = iter(run(arrays, name))
    return rebuilt(tree, (next(results) if isinstance(leaf, Recorded) else leaf for leaf in tree_leaves(tree)))


def call_name(kernel: CalledKernel, args: Any, options: Any) -> str:
    """The name of a kind of call, which is known from now on."""
    leaves = [_OPEN if is_array(leaf) else _constant(leaf) for leaf in tree_leaves((args, options))]
    made = Call(kernel, rebuilt((args, options), iter(leaves)), leaves)
    name = made.name
    _calls.setdefault(name, made)
    return name


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
    _, nodes = _call_of(call).nodes(_known(arrays))
    return _empty(nodes, arrays)


def _empty(nodes: Sequence[Node], arrays: Sequence[Tensor]) -> list[Tensor]:
    return [arrays[0].new_empty(node.shape, dtype=getattr(torch, Recorded.of(node).dtype.name)) for node in nodes]


@rule(torch.ops.irc.kernel.default, is_own=True)
def _kernel(arrays: Sequence[Recorded], call: str) -> tuple[Recorded, ...]:
    _, nodes = _call_of(call).nodes(arrays)
    return tuple(map(Recorded.of, nodes))


@torch.library.custom_op("irc::kernel_gradients", mutates_args=())
def gradients(
    cotangents: Sequence[Tensor | None],
    results: Sequence[Tensor],
    arrays: Sequence[Tensor],
    call: str,
    wanted: Sequence[int],
) -> list[Tensor]:
    """The gradients of those arrays of a call whose numbers are wanted. Results are for a gradient that the user gave,
    else there are none."""
    dense = [None if x is None else x.contiguous() for x in cotangents]
    nodes = _call_of(call).gradients(dense, results, arrays, wanted)
    return [as_given(value, arrays) for value in evaluate(nodes)]


@gradients.register_fake
def _(cotangents: Any, results: Any, arrays: Sequence[Tensor], call: str, wanted: Sequence[int]) -> list[Tensor]:
    return [torch.empty_like(arrays[number], memory_format=torch.contiguous_format) for number in wanted]


@rule(torch.ops.irc.kernel_gradients.default, is_own=True)
def _kernel_gradients(
    cotangents: Sequence[Recorded | None],
    results: Sequence[Recorded],
    arrays: Sequence[Recorded],
    call: str,
    wanted: Sequence[int],
) -> tuple[Recorded, ...]:
    return tuple(map(Recorded.of, _call_of(call).gradients(cotangents, results, arrays, wanted)))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Sequence[Tensor]) -> None:
    arrays, ctx.call = inputs
    ctx.count = len(arrays)
    ctx.wanted = [number for number, x in enumerate(arrays) if x.requires_grad]
    ctx.floats = [x.is_floating_point() for x in output]
    ctx.save_for_backward(*arrays, *(output if _call_of(ctx.call).kernel.own_gradient else ()))


def _backward(ctx: Any, cotangents: Sequence[Tensor | None]) -> tuple[Any, ...]:
    saved = ctx.saved_tensors
    arrays, results = saved[: ctx.count], saved[ctx.count :]
    given = [g if is_float else None for g, is_float in zip(cotangents, ctx.floats, strict=True)]
    found = dict(zip(ctx.wanted, gradients(given, results, arrays, ctx.call, ctx.wanted), strict=True))
    return [found.get(number) for number in range(ctx.count)], None


run.register_autograd(_backward, setup_context=_keep)


follow(lambda kernel: torch.compiler.allow_in_graph(kernel.of_torch))
