"""Graphs of torch as CUDA graphs: one launch by the host in the place of all that a call makes.

A CUDA graph has addresses. Parameters, buffers, and arguments that a call writes to are read where they are: where one
has moved, the graph is captured again. Other arguments are copied into arrays of the graph before each replay. The
first call of a kind is an ordinary one: it loads kernels, and makes what they keep.

What a graph in inference gives is copied out behind it, so that results are the caller's own. Graphs in training lend
their results instead: what a forward graph keeps for its backward graph is gigabytes, and gradients are read once. The
next graph reads what was lent where it is. Before a replay the graph looks whether anybody still has what it lent: then
the call is an ordinary one, whose results are its own, and what the caller kept is copied out from then on. So a second
forward pass before the first one's backward pass, gradients that add up, and a loss that is kept have right numbers.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakValueDictionary

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

MAX_RECORDINGS = 4
"""Captures of a graph that are kept: copies of a model call one graph, each with its own parameters."""

MIN_LENT = 1 << 16
"""Bytes of a result of a forward graph that is lent: a loss is often looked at after the next call."""

Run = Callable[[list[Any]], Any]


class NotCaptured(UserWarning):
    """A graph of torch that was to be a CUDA graph, and is none."""


class Captured(Protocol):
    """A graph: it does anew what was captured."""

    def is_replayable(self) -> bool:
        """Whether a call may replay it where it is made."""
        ...

    def replay(self) -> None: ...


Capture = Callable[[Callable[[], Sequence[Any]]], tuple[Captured, Sequence[Any]]]
"""Captures what a function enqueues, with what it gives."""


_capturing = threading.Lock()


class CudaGraph:
    """What a function enqueues on the current stream, as a CUDA graph of torch's for that stream."""

    def __init__(self, work: Callable[[], Sequence[Any]]):
        self._stream = torch.cuda.current_stream()
        self._graph = torch.cuda.CUDAGraph()
        # Graphs do not share memory: what one lends may be in use while another one works.
        with _capturing, torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self.results = work()

    def is_replayable(self) -> bool:
        return torch.cuda.current_stream() == self._stream

    def replay(self) -> None:
        self._graph.replay()


def captured(work: Callable[[], Sequence[Any]]) -> tuple[Captured, Sequence[Any]]:
    """A CUDA graph, whose results are in memory of its own."""
    graph = CudaGraph(work)
    results, graph.results = graph.results, ()
    return graph, results


def why_not_captured(module: GraphModule) -> str | None:
    """Why a graph cannot be a CUDA graph; None where it can."""
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


class _Lender:
    """Of one capture, what keeps the addresses of its results among those that are lent."""


_lent: WeakValueDictionary[int, _Lender] = WeakValueDictionary()
"""Addresses of results that graphs in training lend, as long as there is a graph that makes them."""


class _Lent:
    """A result in the memory of a graph, which whoever gets it has until the next replay. is_kept: it is for the
    backward graph alone."""

    def __init__(self, array: Tensor, is_kept: bool):
        self._array, self.is_kept = array, is_kept
        self._storage = array.untyped_storage()
        self._unused = 0

    def holders(self) -> int:
        return torch._C._storage_Use_Count(self._storage._cdata)  # pyright: ignore[reportPrivateUsage]

    def begin(self, lender: _Lender) -> None:
        """From now on it is lent; nobody has it yet."""
        self._unused = self.holders()
        _lent[self._array.data_ptr()] = lender

    def is_in_use(self) -> bool:
        return self.holders() > self._unused

    def given(self, _: Sequence[Any]) -> Tensor:
        return self._array.detach()


@dataclass(frozen=True)
class _Copied:
    """A result in the memory of a graph, which is copied out."""

    array: Tensor

    def given(self, _: Sequence[Any]) -> Tensor:
        return _copy(self.array)


@dataclass(frozen=True)
class _View:
    """A result that is an argument, or a view of one."""

    number: int
    shape: torch.Size
    stride: tuple[int, ...]
    offset: int

    def given(self, arguments: Sequence[Any]) -> Tensor:
        x: Tensor = arguments[self.number]
        is_whole = (x.shape, x.stride(), x.storage_offset()) == (self.shape, self.stride, self.offset)
        return x if is_whole else x.as_strided(self.shape, self.stride, self.offset)


class _Recording:
    """One capture: a graph for arguments that lie where they lay."""

    def __init__(self, in_place: Sequence[int], borrowed: set[int], arguments: Sequence[Any]):
        """in_place: the numbers of the arguments that are read where they are. borrowed: of those that are lent."""
        self.in_place, self.borrowed = in_place, borrowed
        self.addresses = self.addresses_of(arguments)
        self._copied = [number for number in range(len(arguments)) if number not in in_place]
        self._inputs = [_copy(arguments[number]) for number in self._copied]
        self.results: list[_Lent | _Copied | _View | None] = []
        self._lender = _Lender()
        self._graph: Captured | None = None

    def addresses_of(self, arguments: Sequence[Any]) -> list[int]:
        return [arguments[number].data_ptr() for number in self.in_place]

    def capture(self, capture: Capture, run: Run, arguments: Sequence[Any]) -> Sequence[Any]:
        """What the run gives in the memory of the graph."""
        given = list(arguments)
        for number, x in zip(self._copied, self._inputs, strict=True):
            given[number] = x
        self._graph, made = capture(lambda: run(list(given)))
        return made

    def begin(self, results: Sequence[_Lent | _Copied | _View | None]) -> None:
        self.results = list(results)
        for x in results:
            if isinstance(x, _Lent):
                x.begin(self._lender)

    def is_replayable(self) -> bool:
        return self._graph is not None and self._graph.is_replayable()

    def in_use(self) -> dict[int, _Lent]:
        """The results that somebody has, by number."""
        return {number: x for number, x in enumerate(self.results) if isinstance(x, _Lent) and x.is_in_use()}

    def replay(self, arguments: Sequence[Any]) -> list[Any]:
        assert self._graph is not None
        if self._copied:
            torch.ops.aten._foreach_copy_.default(self._inputs, [arguments[number] for number in self._copied])
        self._graph.replay()
        return [None if x is None else x.given(arguments) for x in self.results]


class Replays:
    """A graph as it is called: its list of arguments is emptied, and results are given in a list. `fixed`: the numbers
    of arguments that are read where they are."""

    def __init__(
        self,
        module: GraphModule,
        run: Run,
        static: Collection[int],
        capture: Capture = captured,
        kind: str = "inference",
        visible: int | None = None,
    ):
        """static: the numbers of parameters and buffers. kind: `inference`, `forward` or `backward`. visible: how many
        of a forward graph's results are not for its backward graph alone."""
        self._run, self._capture, self._kind, self._visible = run, capture, kind, visible
        places: list[FxNode] = module.graph.find_nodes(op="placeholder")
        written = {places.index(node.all_input_nodes[0]) for node in writes_of(module.graph)}
        # A backward graph takes what its forward graph kept, or parameters and buffers, and the gradients of results.
        self._kept = {number for number, node in enumerate(places) if not node.name.startswith("tangents")}
        self.fixed = sorted({*static, *written, *(self._kept if kind == "backward" else ())})
        self._written = written
        self._names = [node.name for node in places]
        self._recordings: list[_Recording] = []
        """One for each place where a model's parameters lie; the one used last is the first."""
        self._own: set[int] = set()
        """The numbers of the results that are copied out because somebody kept what was lent."""
        self._was_called = False
        self._captures = 0
        self._why = ""
        self._lock = threading.Lock()

    def __call__(self, arguments: list[Any]) -> Any:
        with self._lock:
            recording = None if self._why else self._recording_for(arguments)
            if recording is None:
                return self._run(arguments)
            results = recording.replay(arguments)
            arguments.clear()
            return results

    def _recording_for(self, arguments: Sequence[Any]) -> _Recording | None:
        """That of arguments that lie so, made where a call was before; None where the call is an ordinary one."""
        if not self._was_called:
            self._was_called = True
            return None
        found = next((each for each in self._recordings if each.addresses_of(arguments) == each.addresses), None)
        if found is not None:
            in_use = found.in_use()
            if any(x.is_kept for x in in_use.values()) or not found.is_replayable():
                return None
            self._recordings.remove(found)
            if not in_use:
                self._recordings.insert(0, found)
                return found
            self._own.update(in_use)
        lent = {number for number, x in enumerate(arguments) if number not in self._written and x.data_ptr() in _lent}
        is_expected = not self._recordings or self._recordings[0].borrowed <= lent
        if not is_expected or (self._kind == "backward" and self._kept.isdisjoint(lent)):
            return None  # the graph before this one was an ordinary call
        if self._captures == MAX_CAPTURES:
            self._give_up(f"{self._moved(arguments)} moved, and it was captured {MAX_CAPTURES} times before")
            return None
        self._captures += 1
        try:
            return self._recorded(arguments, lent)
        except RuntimeError as error:
            self._give_up(str(error).splitlines()[0])
            return None

    def _recorded(self, arguments: Sequence[Any], lent: set[int]) -> _Recording:
        del self._recordings[MAX_RECORDINGS - 1 :]
        parameters = {number for number, x in enumerate(arguments) if isinstance(x, torch.nn.Parameter)}
        recording = _Recording(sorted({*self.fixed, *parameters, *lent}), lent, arguments)
        made = recording.capture(self._capture, self._run, arguments)
        storages = {} if self._kind == "inference" else {_storage(arguments[i]): i for i in recording.in_place}
        recording.begin(
            [self._result(number, x, storages) if isinstance(x, Tensor) else None for number, x in enumerate(made)]
        )
        self._recordings.insert(0, recording)
        return recording

    def _result(self, number: int, x: Tensor, storages: Mapping[int, int]) -> _Lent | _Copied | _View:
        """storages: the numbers of the arguments in place by where their memory begins."""
        if (argument := storages.get(_storage(x))) is not None:
            return _View(argument, x.shape, x.stride(), int(x.storage_offset()))
        is_kept = self._visible is not None and number >= self._visible
        is_copied = self._kind == "inference" or number in self._own
        if is_copied or (self._kind == "forward" and not is_kept and x.nbytes < MIN_LENT):
            return _Copied(x)
        return _Lent(x, is_kept)

    def _moved(self, arguments: Sequence[Any]) -> str:
        """What lies elsewhere than it did."""
        if not self._recordings:
            return "results that were kept"
        last = self._recordings[0]
        pairs = zip(last.in_place, last.addresses, last.addresses_of(arguments), strict=True)
        names = [self._names[number] for number, before, now in pairs if before != now]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

    def _give_up(self, why: str) -> None:
        self._why, self._recordings = why, []
        warnings.warn(f"irc runs a graph without a CUDA graph from now on: {why}", NotCaptured, stacklevel=2)


def _storage(x: Tensor) -> int:
    """Where the memory of a tensor begins."""
    return x.untyped_storage().data_ptr()


def _copy(x: Tensor) -> Tensor:
    """A copy that lies as the tensor does."""
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
