"""Graphs of torch as CUDA graphs: one launch by the host in the place of all that a call makes.

A CUDA graph has addresses. Parameters, buffers, and arguments that a call writes to are read where they are: where one
has moved, the graph is captured again. Other arguments are copied into arrays of the graph before each replay. The
first call of a kind is an ordinary one: it loads kernels, and makes what they keep.

What a graph in inference gives is copied out behind it, so that results are the caller's own. Graphs in training lend
their results instead: what a forward graph keeps for its backward graph is gigabytes, and gradients are read once. The
next graph reads what was lent where it is. Before a replay the graph looks whether anybody still has what it lent: then
the call is an ordinary one, whose results are its own, and what the caller kept is copied out from then on. So a second
forward pass before the first one's backward pass, gradients that add up, and a loss that is kept have right numbers.

Where nobody asked for CUDA graphs (`irc_frontend.torch.automatic`) a caller has nothing that is lent: all that he gets
is copied out, and only what is kept for the backward graph stays where it is.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.utils._pytree import tree_leaves

from irc.runtime.arrays import is_freed
from irc.runtime.driver import DriverError
from irc.support.diagnostics import IrcError
from irc_frontend.torch.automatic import Automatic, room
from irc_frontend.torch.captures import Capture, Captured, captured, captured_unnoticed, is_capturing
from irc_frontend.torch.collectives import is_issue
from irc_frontend.torch.division import writes_of
from irc_frontend.torch.lending import (
    Copies,
    Lender,
    Lent,
    Result,
    View,
    copied_together,
    copy_each,
    given,
    lent,
    planned,
    storage_of,
)
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


class _Recording:
    """One capture: a graph for arguments that lie where they lay."""

    def __init__(
        self, in_place: Sequence[int], borrowed: set[int], written: Sequence[int], arguments: Sequence[Any], flags: Any
    ):
        """in_place: the numbers of the arguments that are read where they are. borrowed: of those that are lent.
        written: of those that the graph writes to. flags: settings that it follows. RuntimeError where an argument that
        is copied overlaps itself."""
        self.in_place, self.borrowed, self._written, self.flags = in_place, borrowed, written, flags
        self._placed = _picker(in_place)
        self.addresses = self.addresses_of(arguments)
        self._copied = [number for number in range(len(arguments)) if number not in in_place]
        self._read = list(arguments)
        # What is made in inference cannot be written to elsewhere.
        with torch.inference_mode(False), torch.no_grad():
            for number in self._copied:
                self._read[number] = _copy(arguments[number])
        self._inputs = [self._read[number] for number in self._copied]
        self._launches = copied_together(self._inputs)
        self._results: Sequence[Result] = ()
        self._lent: list[tuple[int, Lent]] = []
        self._copies = Copies()
        self._lender = Lender()
        self._graph: Captured | None = None

    def addresses_of(self, arguments: Sequence[Any]) -> list[int]:
        return list(map(Tensor.data_ptr, self._placed(arguments)))

    def has_freed(self, arguments: Sequence[Any]) -> bool:
        """Whether the memory of an argument that is copied was freed."""
        return any(map(is_freed, (arguments[number] for number in self._copied)))

    def capture(self, capture: Capture, run: Run) -> Sequence[Any]:
        """What the run gives in the memory of the graph."""
        self._graph, made = capture(lambda: run(list(self._read)))
        return made

    def read(self, *, in_place_alone: bool) -> dict[int, tuple[int, Tensor]]:
        """By where their memory begins, the numbers of the arguments with the arrays that the graph reads."""
        numbers = self.in_place if in_place_alone else range(len(self._read))
        return {storage_of(self._read[number]): (number, self._read[number]) for number in numbers}

    def begin(self, made: Sequence[Any], results: Sequence[Result], copies: Copies, kept: Collection[int]) -> None:
        """kept: the numbers of the results that are for the backward graph alone."""
        self._results, self._copies, self._read = results, copies, []
        self._lent = [(number, x) for number, x in enumerate(results) if isinstance(x, Lent)]
        for _, x in self._lent:
            x.begin(self._lender)
        for number in kept:
            if isinstance(x := results[number], View) and x.number in self.in_place:
                lent[made[number].data_ptr()] = self._lender

    def is_replayable(self) -> bool:
        return self._graph is not None and self._graph.is_replayable()

    def in_use(self) -> dict[int, Lent]:
        """The results that somebody has, by number."""
        return {number: x for number, x in self._lent if x.is_in_use()}

    def is_gone(self) -> bool:
        """Whether memory of the graph was freed by who had it."""
        return any(x.is_gone() for _, x in self._lent)

    def replay(self, arguments: Sequence[Any]) -> list[Any]:
        assert self._graph is not None
        copy_each(self._launches, self._inputs, [arguments[number] for number in self._copied])
        self._graph.replay()
        if self._written:  # as an op of torch that writes says it
            torch.autograd.graph.increment_version([arguments[number] for number in self._written])
        return given(self._results, arguments, self._copies.made())


class Replays:
    """A graph as it is called: its list of arguments is emptied, and results are given in a list. `fixed`: the numbers
    of arguments that are read where they are."""

    def __init__(
        self,
        module: GraphModule,
        run: Run,
        static: Collection[int],
        capture: Capture | None = None,
        kind: str = "inference",
        visible: int | None = None,
        automatic: Automatic | None = None,
    ):
        """static: the numbers of parameters and buffers. kind: `inference`, `forward` or `backward`. visible: how many
        of a forward graph's results are not for its backward graph alone. automatic: where nobody asked for it, what
        says when it is captured."""
        self._run, self._kind, self._visible, self._automatic = run, kind, visible, automatic
        self._capture = capture or (captured if automatic is None else captured_unnoticed)
        places: list[FxNode] = module.graph.find_nodes(op="placeholder")
        written = {places.index(node.all_input_nodes[0]) for node in writes_of(module.graph)}
        # A backward graph takes what its forward graph kept, or parameters and buffers, and the gradients of results.
        self._kept = {number for number, node in enumerate(places) if not node.name.startswith("tangents")}
        is_kept_fixed = kind == "backward" and automatic is None
        self.fixed = sorted({*static, *written, *(self._kept if is_kept_fixed else ())})
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
        if self._why or not self._may_replay():
            return self._run(arguments)
        with self._lock:
            recording = None if self._why else self._recording_for(arguments)
            if recording is not None:
                results = recording.replay(arguments)
                arguments.clear()
                return results
        return self._run(arguments)

    def _may_replay(self) -> bool:
        return not is_capturing() if self._automatic is None else self._automatic.is_plain()

    def _recording_for(self, arguments: Sequence[Any]) -> _Recording | None:
        """That of arguments that lie so, made where a call was before; None where the call is an ordinary one."""
        if self._automatic is None and not self._was_called:
            self._was_called = True
            return None
        flags = () if self._automatic is None else self._automatic.flags()
        found = next((each for each in self._recordings if each.addresses_of(arguments) == each.addresses), None)
        if found is not None and (found.is_gone() or found.flags != flags):
            self._recordings.remove(found)
            found = None
        if found is not None:
            in_use = found.in_use()
            if any(x.is_kept for x in in_use.values()) or not found.is_replayable() or found.has_freed(arguments):
                return None
            self._recordings.remove(found)
            if not in_use:
                self._recordings.insert(0, found)
                return found
            self._own.update(in_use)
        if self._automatic is not None and not self._is_due(self._automatic, arguments):
            return None
        lent_now = {n for n, x in enumerate(arguments) if n not in self._written and x.data_ptr() in lent}
        is_expected = not self._recordings or self._recordings[0].borrowed <= lent_now
        if not is_expected or not self._may_borrow(arguments, lent_now):
            return None  # the graph before this one was an ordinary call
        if any(map(is_freed, arguments)):
            return None
        if self._captures == MAX_CAPTURES:
            self._give_up(f"{self._moved(arguments)} moved, and it was captured {MAX_CAPTURES} times before")
            return None
        self._captures += 1
        try:
            return self._recorded(arguments, lent_now, flags)
        except (RuntimeError, DriverError, IrcError) as error:
            self._give_up(str(error).splitlines()[0])
            return None

    def _is_due(self, automatic: Automatic, arguments: Sequence[Any]) -> bool:
        """Whether the call is one to be captured, which nobody asked for."""

        def places() -> list[int]:
            return [arguments[number].data_ptr() for number in sorted({*self.fixed, *_parameters(arguments)})]

        is_due = automatic.is_due(places, _device_of(arguments))
        if automatic.is_hopeless:
            self._give_up("its parameters move at every call")
        return is_due and not self._why

    def _may_borrow(self, arguments: Sequence[Any], lent_now: set[int]) -> bool:
        """Whether what is not lent is parameters, buffers, or small enough to be copied where that is looked at."""
        if self._automatic is None:
            return self._kind != "backward" or not self._kept.isdisjoint(lent_now)
        in_place = {*self.fixed, *_parameters(arguments), *lent_now}
        return _taken(arguments, in_place) <= self._automatic.most_taken

    def _recorded(self, arguments: Sequence[Any], lent_now: set[int], flags: Any) -> _Recording:
        del self._recordings[MAX_RECORDINGS - 1 :]
        in_place, written = sorted({*self.fixed, *_parameters(arguments), *lent_now}), sorted(self._written)
        recording = _Recording(in_place, lent_now, written, arguments, flags)
        if self._automatic is not None:
            place = _device_of(arguments), self._automatic.held + _taken(arguments, in_place)
            if not room.take(*place):
                raise RuntimeError("there is little free memory")
            weakref.finalize(recording, room.give, *place)
        made = recording.capture(self._capture, self._run)
        is_asked = self._automatic is None
        read = {} if is_asked and self._kind == "inference" else recording.read(in_place_alone=is_asked)
        results, copies = planned(made, read, self._lends, self._visible)
        kept = () if self._visible is None else range(self._visible, len(made))
        recording.begin(made, results, copies, kept)
        self._recordings.insert(0, recording)
        return recording

    def _lends(self, number: int, x: Tensor, is_seen: bool) -> bool:
        """Whether a result is lent. is_seen: it shares memory with one that is not for the backward graph alone."""
        if self._automatic is not None:
            return not is_seen
        is_kept = self._visible is not None and number >= self._visible
        is_copied = self._kind == "inference" or number in self._own
        return not is_copied and (self._kind != "forward" or is_kept or x.nbytes >= MIN_LENT)

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
        if self._automatic is None:
            said = f"irc runs a graph without a CUDA graph from now on: {why}"
            warnings.warn(said, NotCaptured, stacklevel=2)


def _picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What takes the arguments with these numbers, of a model's parameters in a fraction of the time of a loop."""
    return itemgetter(*numbers) if len(numbers) > 1 else lambda arguments: [arguments[number] for number in numbers]


def _parameters(arguments: Sequence[Any]) -> list[int]:
    return [number for number, x in enumerate(arguments) if isinstance(x, torch.nn.Parameter)]


def _taken(arguments: Sequence[Any], in_place: Collection[int]) -> int:
    """Bytes of the arguments that are copied."""
    return sum(x.nbytes for number, x in enumerate(arguments) if number not in in_place)


def _device_of(arguments: Sequence[Any]) -> int:
    return arguments[0].get_device()


def _copy(x: Tensor) -> Tensor:
    """A copy that lies as the tensor does. RuntimeError where the tensor overlaps itself."""
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
