"""A subgraph as a program that is called with torch's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.fx import Node as FxNode

from irc.driver.compiler import preferred_target
from irc.runtime.arrays import is_freed
from irc.runtime.artifact import DTYPES
from irc.runtime.executable import Executable
from irc.runtime.libraries import ALIGNMENT, are_usable, emptier, library_of, likeness
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, Sizes, sized_all
from irc.support.shapes import row_major
from irc_frontend.evaluation import begin_nodes, current_target, target
from irc_frontend.graph import Node, sorted_nodes
from irc_frontend.tensor import Tensor
from irc_frontend.torch.division import Subgraph
from irc_frontend.torch.preparation import is_row_major, order_of
from irc_frontend.torch.rules import argument, record, value_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class Layout:
    """How a tensor lies in memory: dense, in some order of its axes, as torch's graph says (channels last, a transposed
    matrix); row-major where it is not dense. The program sees a row-major array of the axes in that order."""

    def __init__(self, value: torch.Tensor):
        self.shape, self.dtype, self.device = tuple(value.shape), value.dtype, value.device
        order, stride = order_of(value), tuple(value.stride())
        ordered = tuple(self.shape[axis] for axis in order)
        is_dense = 0 not in self.shape and is_row_major(ordered, [stride[axis] for axis in order])
        is_turned = is_dense and not is_row_major(self.shape, stride)
        self.order = tuple(order) if is_turned else None
        self.stride = stride if is_turned else row_major([max(1, extent) for extent in self.shape])  # as torch has it
        self.extents = ordered if is_turned else self.shape

    def at(self, dims: Sequence[Dim], sizes: Sizes) -> Layout:
        """With sizes in the place of numbers that stand for them."""
        found = copy(self)
        found.shape, found.stride, found.extents = (
            sized_all(each, dims, sizes) for each in (self.shape, self.stride, self.extents)
        )
        return found

    def fits(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor of this shape and type lies so."""
        if self.order is None:
            return tensor.is_contiguous() and not tensor.is_neg()
        return tensor.stride() == self.stride and not tensor.is_neg()

    def empty(self) -> torch.Tensor:
        """A new tensor."""
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=self.device)

    def placed(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy that lies so."""
        return self.empty().copy_(tensor)

    def view(self, memory: torch.Tensor) -> torch.Tensor:
        """The tensor of memory that the program made: no view of another where it is that already."""
        is_whole = memory.shape == self.shape and memory.stride() == self.stride
        return memory if is_whole else memory.as_strided(self.shape, self.stride)

    def from_memory(self, x: Tensor) -> Tensor:
        """The array whose memory the program sees as x."""
        return x if self.order is None else x.permute([self.order.index(axis) for axis in range(x.ndim)])

    def to_memory(self, x: Tensor) -> Tensor:
        """The memory that the program makes for the array x."""
        return x if self.order is None else x.permute(self.order)


class Layouts:
    """The layouts of a program's arguments, which are looked at together: there are as many as a model has parameters.
    Tensors like those of a call before are known by one look; `map` calls a method of torch in a third of the time that
    a loop takes."""

    def __init__(self, layouts: Sequence[Layout]):
        self._layouts = layouts
        self._is_known: Callable[..., bool] | None = None
        self._row_major = [i for i, layout in enumerate(layouts) if layout.order is None]
        self._others = [(i, layout.stride) for i, layout in enumerate(layouts) if layout.order is not None]

    def placed(self, tensors: Sequence[torch.Tensor]) -> tuple[Sequence[torch.Tensor], list[int]]:
        """The tensors, copies of those that lie otherwise than the program reads them, and where each begins."""
        addresses = list(map(torch.Tensor.data_ptr, tensors))
        if are_usable(addresses) and self._fit(tensors):
            return tensors, addresses
        _refuse_freed(tensors)
        placed = [
            x if layout.fits(x) and not x.data_ptr() & (ALIGNMENT - 1) else layout.placed(x)
            for x, layout in zip(tensors, self._layouts, strict=True)
        ]
        return placed, [x.data_ptr() for x in placed]

    def _fit(self, tensors: Sequence[torch.Tensor]) -> bool:
        if self._is_known is not None and self._is_known(*tensors):
            return True
        row_major = [tensors[i] for i in self._row_major] if self._others else tensors
        if not all(map(torch.Tensor.is_contiguous, row_major)) or any(map(torch.Tensor.is_neg, tensors)):
            return False
        if any(tensors[i].stride() != stride for i, stride in self._others):
            return False
        if self._is_known is None:
            self._is_known = likeness(torch, tensors)
        return True


class CompiledSubgraph:
    """Callable with the tensors of a subgraph's inputs, in order; gives those of its results, the only one as it is."""

    executable: Executable

    def __init__(self, subgraph: Subgraph, dims: Sequence[Dim] = ()):
        """The program is begun, and finished before it is called (`finish`). dims: of the numbers in shapes that stand
        for sizes; then it is called for some (`at`)."""
        self.subgraph, self._dims = subgraph, tuple(dims)
        self.__name__ = self.__qualname__ = f"irc_program_{subgraph.level}"
        self._taken, self._made = _layouts(subgraph.inputs), _layouts(subgraph.results)
        with target(_target_of(subgraph)):
            any_order = not torch.are_deterministic_algorithms_enabled()
            self._begun = begin_nodes(
                *_recorded(subgraph, self._taken, self._made),
                [subgraph.inputs.index(node) for node in subgraph.donated],
                any_order=any_order,
                dims=self._dims,
            )
        self._run = self._unsized

    @property
    def is_finished(self) -> bool:
        """Whether `finish` waits for nothing."""
        return self._begun.is_done

    def finish(self) -> CompiledSubgraph:
        """Waits for the machine code. IrcError where it cannot be made."""
        self.executable = self._begun()
        self._run = self._unsized if self._dims else self._runner()
        return self

    def _runner(self) -> Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]:
        device = self.subgraph.device
        return self._on_host if device.type == "cpu" else self._on_device(device)

    def _unsized(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        raise IrcError(f"{self.__name__} is for a class of sizes, and called for none")

    def at(self, sizes: Sizes) -> CompiledSubgraph:
        """The program for some sizes, with the same kernels."""
        found = copy(self)
        found.executable = self.executable.at(**sizes)
        found._taken = [layout.at(self._dims, sizes) for layout in self._taken]
        found._made = [layout.at(self._dims, sizes) for layout in self._made]
        found._run = found._runner()
        return found

    def module(self) -> ModuleOp:
        """The nd module that was compiled."""
        return module_of(self.subgraph, self._dims)

    def __call__(self, *tensors: torch.Tensor) -> Any:
        results = self._run(tensors)
        return results[0] if len(results) == 1 else results

    def _on_host(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        _refuse_freed(tensors)
        placed = (x if layout.fits(x) else layout.placed(x) for x, layout in zip(tensors, self._taken, strict=True))
        arrays = [
            host_array(x if layout.order is None else x.permute(layout.order))
            for x, layout in zip(placed, self._taken, strict=True)
        ]
        made = self.executable(*arrays)
        found = made if isinstance(made, tuple) else (made,)
        tensors = [host_tensor(x, spec.element) for x, spec in zip(found, self.executable.results, strict=True)]
        return [layout.view(x) for x, layout in zip(tensors, self._made, strict=True)]

    def _on_device(self, device: torch.device) -> Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]:
        """Enqueues a run on the current stream, in memory of torch's allocator alone."""
        ordinal = device.index
        launch, arena_bytes = self.executable.launcher(ordinal), self.executable.arena_bytes
        library = library_of(torch.empty(0))
        assert library is not None
        arena_of = emptier(torch, (arena_bytes,), (1,), torch.uint8)
        taken = Layouts(self._taken)
        donated = [self.subgraph.inputs.index(node) for node in self.subgraph.donated]
        made = self._made[len(donated) :]
        makers = [emptier(torch, layout.shape, layout.stride, layout.dtype) for layout in made]

        def run(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            if torch.cuda.current_device() != ordinal:
                with torch.cuda.device(ordinal):
                    return run(tensors)
            # What is copied has to stay until the run is enqueued; then its memory may go to who comes later.
            kept, addresses = taken.placed(tensors)
            results = [*(kept[number] for number in donated), *(make() for make in makers)]
            arena = arena_of() if arena_bytes else None
            launch(
                addresses,
                [x.data_ptr() for x in results],
                library.current_stream(ordinal),
                None if arena is None else arena.data_ptr(),
            )
            if donated:  # who kept one of them for a gradient finds that it has changed
                torch.autograd.graph.increment_version([tensors[number] for number in donated])
            for number in donated:
                if kept[number] is not tensors[number]:  # it did not lie as the program has it
                    tensors[number].copy_(kept[number])
            del kept
            return results

        return run


def module_of(subgraph: Subgraph, dims: Sequence[Dim] = ()) -> ModuleOp:
    """The nd module of a subgraph's program."""
    from irc.ir.extents import declare_dims  # imported late: both import xDSL
    from irc_frontend.build import build_module

    with target(_target_of(subgraph)):
        layouts = _layouts(subgraph.inputs), _layouts(subgraph.results)
        module = build_module(*_recorded(subgraph, *layouts))
    declare_dims(module, dims)
    return module


def _layouts(nodes: Sequence[FxNode]) -> list[Layout]:
    return [Layout(value_of(node)) for node in nodes]


def _recorded(
    subgraph: Subgraph, taken: Sequence[Layout], made: Sequence[Layout]
) -> tuple[list[Node], list[Node], list[Node]]:
    """The nodes of the program in order, its results and its arguments, which lie as `made` and `taken` say."""
    arguments = [argument(layout.extents, layout.dtype) for layout in taken]
    known: dict[FxNode, Any] = {
        node: layout.from_memory(x) for node, layout, x in zip(subgraph.inputs, taken, arguments, strict=True)
    }
    for node in subgraph.body:
        known[node] = record(node, known)
    results = [layout.to_memory(known[node]) for node, layout in zip(subgraph.results, made, strict=True)]
    roots, leaves = [x.node for x in results], [x.node for x in arguments]
    return sorted_nodes([*leaves, *roots]), roots, leaves


def _target_of(subgraph: Subgraph) -> str:
    """That of the tensors' device: on the CPU `interpret` where that is asked for, else `cpu`."""
    kind = subgraph.device.type
    return "interpret" if kind == "cpu" and (current_target() or preferred_target()) == "interpret" else kind


def _refuse_freed(tensors: Sequence[torch.Tensor]) -> None:
    """IrcError where a tensor has no memory any more."""
    for tensor in tensors:
        if is_freed(tensor):
            raise IrcError(f"a tensor of shape {tuple(tensor.shape)} has no memory: its storage was freed")


_BITS: dict[int, Any] = {1: torch.uint8, 2: torch.uint16}
"""The integers of torch that numpy knows, by the size of what numpy does not know."""


def host_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor's memory as a numpy array, by the bits where numpy's own dtypes do not have its type. The tensor stays
    one whose memory may be freed, as FSDP does it, which it would not by `Tensor.numpy`."""
    plain, unknown = tensor.detach(), _unknown(tensor.dtype)
    if unknown is None:
        return np.from_dlpack(_Lent(plain))
    return np.from_dlpack(_Lent(plain.view(_BITS[plain.itemsize]))).view(unknown)


class _Lent:
    """A tensor by numpy's protocol, in a quarter of the time that torch's own takes."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: torch.Tensor):
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return torch.to_dlpack(self._tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # memory of the host


@cache
def _unknown(dtype: torch.dtype) -> np.dtype[Any] | None:
    """The type of ml_dtypes, where numpy has none of its own."""
    name = str(dtype).removeprefix("torch.")
    return None if hasattr(np, name) or name == "bool" else np.dtype(name)


def host_tensor(array: np.ndarray[Any, Any], element: str) -> torch.Tensor:
    """The tensor of a numpy array's memory."""
    dtype, array = DTYPES[element], np.asarray(array)
    if any(stride < 0 for stride in array.strides):  # torch has none, not even of an axis with one element
        array = array.copy()
    if hasattr(np, dtype.name) or element == "bool":
        return torch.from_numpy(array)
    bits = array.view(np.uint16 if dtype.itemsize == 2 else np.uint8)
    return torch.from_numpy(bits).view(getattr(torch, dtype.name))
