"""Graphs of torch in inference as CUDA graphs: one launch by the host in the place of all that a call makes.

A CUDA graph has addresses. Parameters, buffers, and arguments that a call writes to are read where they are: where one
has moved, the graph is captured again. Other arguments are copied into arrays of the graph before each replay, and what
it gives is copied out behind it, so that results are the caller's own. The first call of a kind is an ordinary one: it
loads kernels, and makes what they keep.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.utils._pytree import tree_leaves

from irc_frontend.torch.collectives import is_issue
from irc_frontend.torch.division import writes_of
from irc_frontend.torch.rules import value_of

MAX_CAPTURES = 8
"""Times that a graph is captured; after so many its arguments are taken to move at every call."""

Run = Callable[[list[Any]], Any]


class NotCaptured(UserWarning):
    """A graph of torch that was to be a CUDA graph, and is none."""


class Captured(Protocol):
    """A graph: it does anew what was captured."""

    def replay(self) -> None: ...


Capture = Callable[[Callable[[], Sequence[Any]]], tuple[Captured, Sequence[Any]]]
"""Captures what a function enqueues, with what it gives."""


def captured(work: Callable[[], Sequence[Any]]) -> tuple[Captured, Sequence[Any]]:
    """A CUDA graph of torch's, whose arrays are in memory of its own."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        results = work()
    return graph, results


def why_not_captured(module: GraphModule) -> str | None:
    """Why a graph in inference cannot be a CUDA graph; None where it can."""
    if any(map(is_issue, module.graph.nodes)):
        return "it has collectives, and its ranks might capture at different calls"
    for node in module.graph.nodes:
        if node.op == "output" or (node.op == "call_function" and not isinstance(value_of(node), Tensor)):
            continue  # numbers, and several arrays, of which each has a node
        for value in tree_leaves(value_of(node)):
            if not isinstance(value, Tensor):
                return f"{node.name} is a number"
            if value.device.type != "cuda":
                return f"{node.name} is on the {value.device.type}"
        if torch.Tag.dynamic_output_shape in getattr(node.target, "tags", ()):
            return f"the shape of {node.name} depends on values"
    devices = {value_of(node).device for node in module.graph.find_nodes(op="placeholder")}
    if len(devices) != 1:
        return f"its arguments are on {len(devices)} devices"
    return None


class Replays:
    """A graph in inference as it is called: its list of arguments is emptied, and results are given in a list. `fixed`:
    the numbers of arguments that are read where they are."""

    def __init__(self, module: GraphModule, run: Run, static: Collection[int], capture: Capture = captured):
        """static: the numbers of parameters and buffers."""
        self._run, self._capture = run, capture
        places: list[FxNode] = module.graph.find_nodes(op="placeholder")
        written = {places.index(node.all_input_nodes[0]) for node in writes_of(module.graph)}
        self.fixed = sorted({*static, *written})
        self._copied = [number for number in range(len(places)) if number not in self.fixed]
        self._addresses: list[int] | None = None
        """Those of the fixed arguments that the graph knows; before there is a graph, of the first call."""
        self._graph: Captured | None = None
        self._inputs: list[Tensor] = []
        self._outputs: Sequence[Any] = ()
        self._kept: list[Tensor] = []
        """The fixed arguments, whose memory the graph uses."""
        self._captures = 0
        self._why = ""
        self._lock = threading.Lock()

    def __call__(self, arguments: list[Any]) -> Any:
        with self._lock:
            if self._why or not self._is_ready(arguments):
                return self._run(arguments)
            graph = self._graph
            assert graph is not None
            if self._copied:
                torch.ops.aten._foreach_copy_.default(self._inputs, [arguments[number] for number in self._copied])
            graph.replay()
            arguments.clear()
            return [_copy(x) if isinstance(x, Tensor) else x for x in self._outputs]

    def _is_ready(self, arguments: Sequence[Any]) -> bool:
        """Whether there is a graph for the arguments; makes one where a call was before."""
        addresses = [arguments[number].data_ptr() for number in self.fixed]
        is_first, self._addresses, known = self._addresses is None, addresses, self._addresses
        if is_first or (self._graph is not None and known == addresses):
            return not is_first
        if self._captures == MAX_CAPTURES:
            self._give_up(f"parameters, buffers, or arguments that it writes to moved {MAX_CAPTURES} times")
            return False
        self._captures += 1
        self._graph, self._outputs = None, ()
        self._kept = [arguments[number] for number in self.fixed]
        self._inputs = [_copy(arguments[number]) for number in self._copied]
        given = dict(zip((*self.fixed, *self._copied), (*self._kept, *self._inputs), strict=True))
        try:
            self._graph, self._outputs = self._capture(lambda: self._run([given[n] for n in range(len(given))]))
        except RuntimeError as error:
            self._give_up(str(error).splitlines()[0])
            return False
        return True

    def _give_up(self, why: str) -> None:
        self._why, self._graph, self._outputs, self._inputs, self._kept = why, None, (), [], []
        warnings.warn(f"irc runs a graph without a CUDA graph from now on: {why}", NotCaptured, stacklevel=2)


def _copy(x: Tensor) -> Tensor:
    """A copy that lies as the tensor does."""
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
