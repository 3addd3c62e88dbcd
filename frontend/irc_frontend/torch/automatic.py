"""Graphs of torch that become CUDA graphs by themselves: where the host takes longer to enqueue a call than the GPU to
do it, and nobody can tell but by the time.

What a graph does has to be known for that: programs of irc, and of torch the ops in `SAFE` and those that work element
by element. Nothing draws random numbers, waits for the device or talks to other processes. Whether it pays follows from
launches and bytes alone, so that it is the same in every run.
"""

from __future__ import annotations

import operator
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode

from irc.ir.targets import Target
from irc.ir.targets import target as target_named
from irc.runtime.trace import active
from irc_frontend.torch.captures import is_capturing
from irc_frontend.torch.division import nbytes_of, writes_of
from irc_frontend.torch.graphs import Compiled
from irc_frontend.torch.ops import EMPTY, VIEWS
from irc_frontend.torch.preparation import results_of
from irc_frontend.torch.rules import value_of

CALLS = 8
"""Ordinary calls, with parameters and buffers where they are, before a graph is captured."""

MAX_PLACES = 4
"""Places of a model's parameters of which calls are counted at a time: copies of a model call one graph."""

MAX_MOVES = 64
"""New places after which the arguments of a graph are taken to move at every call."""

HOST_SECONDS = 6.5e-6
"""Of one launch: of an op of torch, and that of a launch of irc's with what a program makes for it. On the host of an
H200 a BERT took 6.5 us for each, decoding of 16 sequences 6.4."""

MIN_GAIN = 2
"""How many times what a replay takes of the host a call has to take."""

SHARE = 10
"""The part (1 / SHARE) of a device's free memory that these graphs hold together at most."""

SEGMENTS = 22 << 20
"""Bytes that torch's allocator may hold beyond what it is asked for: it takes memory in segments of 2 and 20 MiB."""

aten = torch.ops.aten

_C: Any = torch._C  # pyright: ignore[reportPrivateUsage]

_CONVOLUTIONS = frozenset([aten.convolution.default, aten.convolution_backward.default])

SAFE = _CONVOLUTIONS | frozenset(
    [
        aten._to_copy.default,
        aten.clone.default,
        aten.copy.default,
        aten.arange.default,
        aten.arange.start,
        aten.arange.start_step,
        aten.full.default,
        aten.ones.default,
        aten.zeros.default,
        aten.max_pool2d_with_indices.default,
        aten.max_pool2d_with_indices_backward.default,
    ]
)
"""Ops of torch that a capture takes as they are. Products are not among them: graphs that are captured on one stream
share cuBLAS's memory."""


def is_off() -> bool:
    """Whether nothing is captured but where it is asked for: the environment says so, or every launch is waited for."""
    is_waited = "1" in (os.environ.get("IRC_SYNC"), os.environ.get("CUDA_LAUNCH_BLOCKING"))
    return is_waited or os.environ.get("IRC_GRAPHS") == "off"


@dataclass(frozen=True)
class Estimate:
    """launches: of a call, by irc and torch. seconds: that the device takes at least. taken, given: bytes of arguments
    and of results that a replay copies. replay: what it takes of the host, in launches. held: bytes of memory that a
    graph has, beside the copies of its arguments."""

    launches: int
    seconds: float
    taken: int
    given: int
    replay: int
    held: int

    def why_not_quicker(self, machine: Target) -> str | None:
        """Why a replay would not be quicker than a call; None where it would."""
        if self.launches < MIN_GAIN * self.replay:
            return f"{self.launches} launches take the host little longer than the {self.replay} of a replay"
        host, device = self.launches * HOST_SECONDS, self.seconds + 2 * (self.taken + self.given) / machine.bandwidth
        if host <= device:
            return f"the GPU takes {device * 1e6:.0f} us of a call, the host {host * 1e6:.0f}"
        return None

    def most_taken(self, machine: Target) -> int:
        """Bytes of arguments that can be copied before the GPU takes longer than the host."""
        spare = self.launches * HOST_SECONDS - self.seconds
        return int(spare * machine.bandwidth / 2) - self.given


def estimate_of(
    module: GraphModule, compiled: Compiled, static: Collection[int], kind: str, visible: int | None
) -> Estimate:
    """static: the numbers of parameters and buffers."""
    machine = machine_of(compiled)
    kernels = [each for program in compiled.programs for each in program.executable.kernels]
    left = [node for node in _left(compiled) if _is_launched(node)]
    written_types = {value_of(node).dtype for node in compiled.division.writes}  # torch copies those of one at once
    launches = sum(each["launches"] for each in kernels) + len(left) + len(written_types)
    seconds = sum(_seconds_of_kernel(each, machine) for each in kernels)
    seconds += sum(_seconds_of_op(node, machine) for node in left) + launches * machine.launch_time
    places = module.graph.find_nodes(op="placeholder")
    written = {node.all_input_nodes[0] for node in writes_of(module.graph)}
    taken = [x for number, x in enumerate(places) if number not in static and x not in written]
    if kind == "backward":  # the others are parameters, or lent but for results
        taken = [x for x in taken if x.name.startswith("tangents")]
    results = [x for x in results_of(module.graph)[:visible] if isinstance(x, FxNode)]
    into, out = sum(map(nbytes_of, taken)), sum(map(nbytes_of, results))
    made = [node for level in compiled.division.subgraphs for each in level for node in each.results]
    arena = max((program.executable.manifest["arena"] for program in compiled.programs), default=0)
    held = arena + sum(map(nbytes_of, (*made, *left))) + SEGMENTS
    return Estimate(launches, seconds, into, out, 1 + bool(taken) + bool(results), held)


def machine_of(compiled: Compiled) -> Target:
    return target_named(compiled.programs[0].executable.manifest["arch"])


def _left(compiled: Compiled) -> Iterable[FxNode]:
    division = compiled.division
    return [*division.first, *(node for level in division.left for node in level)]


def _is_launched(node: FxNode) -> bool:
    return node.op == "call_function" and node.target not in VIEWS | EMPTY and node.target is not operator.getitem


def _seconds_of_kernel(kernel: dict[str, Any], machine: Target) -> float:
    """All launches of a kernel, but for what a launch takes however little it does."""
    rate = machine.flops.get(kernel["element"], machine.flops["f32"])
    moved = (kernel["bytes_read"] + kernel["bytes_written"]) / machine.bandwidth
    return kernel["sets"] * max(kernel["flops"] / rate, moved)


def _seconds_of_op(node: FxNode, machine: Target) -> float:
    moved = (sum(map(nbytes_of, node.all_input_nodes)) + nbytes_of(node)) / machine.bandwidth
    if node.target not in _CONVOLUTIONS:
        return moved
    is_gradient = node.target is aten.convolution_backward.default
    arguments: Any = node.args[1:] if is_gradient else node.args
    x, weight = value_of(arguments[0]), value_of(arguments[1])
    stepped: Any = node.args[0] if is_gradient else node
    places = x if arguments[6] else value_of(stepped)
    flops = 2 * places.numel() * prod(weight.shape[1:]) * (sum(arguments[9][:2]) if is_gradient else 1)
    return max(moved, flops / machine.flops["f32" if x.itemsize > 2 else "f16"])


def why_not_automatic(
    module: GraphModule, compiled: Compiled, static: Collection[int], kind: str, visible: int | None
) -> str | None:
    """Why a graph that can be captured is none unless it is asked for; None where it may be one."""
    if is_off():
        return "it is switched off"
    if not compiled.programs:
        return "it has no program of irc's"
    for node in _left(compiled):
        if _is_launched(node) and not _is_safe(node):
            return f"torch does {node.target}"
    estimate = estimate_of(module, compiled, static, kind, visible)
    return estimate.why_not_quicker(machine_of(compiled))


def _is_safe(node: FxNode) -> bool:
    tags = getattr(node.target, "tags", ())
    return node.target in SAFE or (torch.Tag.pointwise in tags and torch.Tag.nondeterministic_seeded not in tags)


class Room:
    """The memory that graphs may hold, by device."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._lock = threading.RLock()  # what held memory may be collected while this thread has the lock

    def take(self, device: int, size: int) -> bool:
        """Takes as much memory, if there is room for it."""
        with self._lock:
            held = self._held.get(device, 0)
            if SHARE * (held + size) > free_memory(device) + held:
                return False
            self._held[device] = held + size
            return True

    def give(self, device: int, size: int) -> None:
        with self._lock:
            self._held[device] -= size


room = Room()


def free_memory(device: int) -> int:
    """Bytes that nobody uses: of the device, and of what torch's allocator keeps."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


class Automatic:
    """When a graph is captured that nobody asked for, and when a call of it may be a replay."""

    def __init__(self, kind: str, held: int, most_taken: int, convolves: bool):
        """held: bytes of a capture's memory, beside the copies of its arguments. most_taken: bytes of these at most.
        convolves: whether it has convolutions of torch's, which follow settings that nobody else looks at."""
        self.held, self.most_taken, self._kind, self._convolves = held, most_taken, kind, convolves
        self.flags: Callable[[], Any] = _flags if convolves else tuple
        self._calls: OrderedDict[Any, int] = OrderedDict()
        self._moves = 0

    def is_plain(self) -> bool:
        """Whether a call may be a replay: nobody captures it or traces it, sees its ops, or takes for himself what is
        kept for the backward graph."""
        if is_capturing() or active() is not None or _C._len_torch_dispatch_stack():
            return False
        return self._kind != "forward" or _C._autograd._top_saved_tensors_default_hooks(True) is None

    def is_due(self, places: Callable[[], Sequence[int]], device: int) -> bool:
        """Whether an ordinary call, with parameters and buffers at these places, is one to be captured."""
        if not self._may_be_captured(device):
            return False
        key = tuple(places())
        if key not in self._calls:
            self._moves += 1
            while len(self._calls) >= MAX_PLACES:
                self._calls.popitem(last=False)
        self._calls[key] = self._calls.get(key, 0) + 1
        self._calls.move_to_end(key)
        return self._calls[key] > CALLS

    def _may_be_captured(self, device: int) -> bool:
        """Whether no other processes take part, memory is torch's own allocator's, the device is the one where work
        goes, and cuDNN does not measure."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return False
        if self._convolves and torch.backends.cudnn.benchmark:
            return False
        return torch.cuda.current_device() == device and torch.cuda.get_allocator_backend() == "native"

    @property
    def is_hopeless(self) -> bool:
        return self._moves > MAX_MOVES


def _flags() -> Any:
    """Settings that convolutions of torch follow."""
    return (
        _C._get_cudnn_enabled(),
        _C._get_cudnn_benchmark(),
        _C._get_cudnn_deterministic(),
        _C._get_deterministic_algorithms(),
        _C._get_fp32_precision_getter("cuda", "conv"),
    )


def automatic_of(
    module: GraphModule, compiled: Compiled, static: Collection[int], kind: str, visible: int | None
) -> Automatic | None:
    """None where a graph is none unless it is asked for."""
    if why_not_automatic(module, compiled, static, kind, visible) is not None:
        return None
    estimate = estimate_of(module, compiled, static, kind, visible)
    convolves = any(node.target in _CONVOLUTIONS for node in _left(compiled))
    return Automatic(kind, estimate.held, estimate.most_taken(machine_of(compiled)), convolves)
