"""`torch.compile(model, backend="irc")`: the backend on the graphs of AOTAutograd."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.convert_frame import compile_lock
from torch._functorch import config
from torch._guards import TracingContext
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule, Interpreter
from torch.fx.experimental.symbolic_shapes import is_nested_int

from irc.driver.begun import Begun
from irc.driver.compiler import preferred_target
from irc.driver.kernel_processes import sharing_processes
from irc.support.extents import Sizes
from irc.support.garbage import seldom_collecting
from irc.support.stack import with_room
from irc_frontend.dims import NotOne
from irc_frontend.evaluation import autotuned, current_autotune, current_target
from irc_frontend.torch.automatic import automatic_of
from irc_frontend.torch.collecting import collect_seldom
from irc_frontend.torch.decompositions import decompositions
from irc_frontend.torch.graphs import BegunGraph, Compiled, Run, boxed, compile_class
from irc_frontend.torch.jagged import is_read, says_lengths, with_jagged_attention, without_lengths
from irc_frontend.torch.kept_graphs import KeptGraph, kept_compiler, keyed, snapshot_of, why_not_kept
from irc_frontend.torch.multi_head import with_own_heads
from irc_frontend.torch.partition import partition
from irc_frontend.torch.preparation import traced
from irc_frontend.torch.replays import Replays, why_not_captured
from irc_frontend.torch.resampling import with_own_resampling
from irc_frontend.torch.scaled_dot_product import with_fast_attention
from irc_frontend.torch.sizes import SizeClass, Symbol, symbols_of
from irc_frontend.torch.varlen import with_own_varlen

MAX_CLASSES = 16
"""Classes of sizes that a graph is compiled for: those of several symbols are many together."""

MAX_KEPT = 256
"""Shapes of whose calls by programs for all sizes something is kept; the one used first goes first."""

MODES: Mapping[str, Mapping[str, bool]] = {
    "default": {},
    "reduce-overhead": {"graphs": True},
    "max-autotune": {"autotune": True},
    "max-autotune-no-cudagraphs": {"autotune": True, "graphs": False},
}
"""What the modes of torch.compile say of options."""

MAX_SHAPES = 8
"""For how many shapes a graph of dynamic shapes is compiled, unless the option `max_shapes` says otherwise."""


class ManyShapes(UserWarning):
    """A graph of dynamic shapes met more of them than it is compiled for."""


@with_room
def backend(
    module: GraphModule,
    inputs: Sequence[Any],
    options: Mapping[str, Any] | None = None,
    mode: str = "default",
    **others: Any,
) -> Callable[..., Any]:
    """The backend as torch's compiler calls it: a graph of torch's functions and example inputs, to a callable.

    Options: `max_shapes`, for how many shapes a graph of dynamic shapes is compiled; torch runs the others. `autotune`,
    True or seconds for each kernel: kernels are tuned that were not before (docs/tuning.md). `graphs`: with
    True, graphs whose shapes are static are CUDA graphs from their second call on; with False none is; without the
    option those are for which that pays (`irc_frontend.torch.automatic`). Modes:
    `default`, `reduce-overhead`, whose graphs is True, `max-autotune`, which tunes, and `max-autotune-no-cudagraphs`,
    which tunes and whose graphs is False."""
    if mode not in MODES:
        raise ValueError(f"the irc backend has the modes {', '.join(MODES)}, found {mode}")
    options = {**MODES[mode], **(options or {})}
    max_shapes, autotune = options.pop("max_shapes", MAX_SHAPES), options.pop("autotune", False)
    graphs = options.pop("graphs", None)
    if options or others:
        found = ", ".join({**options, **others})
        raise TypeError(f"the irc backend has the options max_shapes, autotune and graphs, found {found}")
    if not isinstance(graphs, bool | None):
        raise ValueError(f"graphs: expected True or False, found {graphs!r}")
    if type(max_shapes) is not int or max_shapes < 0:
        raise ValueError(f"max_shapes: expected a count of shapes, found {max_shapes!r}")
    if not isinstance(autotune, bool | int | float) or autotune < 0:
        raise ValueError(f"autotune: expected True, or the seconds for each kernel, found {autotune!r}")
    collect_seldom()
    at_once = config.patch(force_non_lazy_backward_lowering=True)  # not when the forward graph has been waited for
    with seldom_collecting(), sharing_processes(), at_once:
        module = _with_own_functions(module)
        if why_not_kept(module, inputs) is not None:
            return _aot(max_shapes, autotune, graphs)(module, inputs)
        with keyed(module, inputs, max_shapes, autotune, graphs):
            return _aot_kept(max_shapes, autotune, graphs)(module, inputs)


def _with_own_functions(module: GraphModule) -> GraphModule:
    """The graph of torch's functions with those of irc in their places."""
    return with_own_resampling(with_own_varlen(with_own_heads(with_fast_attention(with_jagged_attention(module)))))


def _compile(
    module: GraphModule,
    inputs: Sequence[Any],
    kind: str,
    max_shapes: int,
    autotune: bool | float = False,
    graphs: bool | None = None,
) -> Run:
    """One graph of AOTAutograd: forward, backward, or inference. Its machine code is waited for when it is called:
    threads make that of a forward graph while its backward graph is compiled."""
    return _compile_said(module, inputs, kind, max_shapes, autotune, graphs, *_said(kind))


def _compile_kept(
    module: GraphModule, inputs: Sequence[Any], kind: str, max_shapes: int, autotune: bool | float, graphs: bool | None
) -> KeptGraph:
    """One graph of AOTAutograd, as what torch's cache keeps."""
    snapshot, said = snapshot_of(module, inputs), _said(kind)
    copied = Graph()
    copied.output(copied.graph_copy(module.graph, {}))
    module = GraphModule(module, copied)  # torch takes away what the nodes of the other one say
    options = (kind, max_shapes, autotune, graphs, *said)
    return KeptGraph(_compile_said(module, inputs, *options), snapshot, _compile_said, *options)


def _said(kind: str) -> tuple[Sequence[int], int | None]:
    """What AOTAutograd says of a graph: the numbers of parameters and buffers among its arguments, and how many of its
    results are visible."""
    context = TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    if kind == "backward":
        if metadata is not None and metadata.bw_donated_idxs:
            metadata.bw_donated_idxs.clear()  # nothing that the forward graph saved is overwritten: it may be kept
        metadata = None
    return () if metadata is None else tuple(metadata.static_input_indices), _visible(kind)


def _compile_said(
    module: GraphModule,
    inputs: Sequence[Any],
    kind: str,
    max_shapes: int,
    autotune: bool | float,
    graphs: bool | None,
    static: Sequence[int],
    visible: int | None,
) -> Run:
    with autotuned(autotune), seldom_collecting():
        begun = _begun(module, inputs, kind, max_shapes, visible)
    finish = partial(_finished, module, begun, static, kind, visible, graphs)
    return _later(finish) if isinstance(begun, BegunGraph) and not begun.is_finished else finish()


def _later(finish: Callable[[], Run]) -> Run:
    """The run of a graph that is finished when it is first called. Threads may share it."""
    begun = Begun(finish)
    found: Run | None = None

    def run(arguments: list[Any]) -> Any:
        nonlocal found
        if found is None:
            found = begun()
        return found(arguments)

    run._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return run


@with_room
def _finished(
    module: GraphModule,
    begun: BegunGraph | Run,
    static: Sequence[int],
    kind: str,
    visible: int | None,
    graphs: bool | None,
) -> Run:
    """The run of a graph, as a CUDA graph where it is to be one. static: the numbers of parameters and buffers."""
    if not isinstance(begun, BegunGraph):
        return begun
    with seldom_collecting():
        compiled = begun.finish()
    if graphs is False or why_not_captured(module) is not None:
        return compiled.run
    automatic = None
    if graphs is None and (automatic := automatic_of(module, compiled, static, kind, visible)) is None:
        return compiled.run
    return boxed(Replays(module, compiled.run, static, kind=kind, visible=visible, automatic=automatic))


def _begun(
    module: GraphModule, inputs: Sequence[Any], kind: str, max_shapes: int, visible: int | None
) -> BegunGraph | Run:
    """A graph whose shapes are static, or the run of another one."""
    places = module.graph.find_nodes(op="placeholder")
    values = [node.meta.get("val") for node in places]
    if any(is_nested_int(node.meta.get("val")) and is_read(node) for node in places):
        return BegunGraph(module, kind, is_turned=False, why_left="of lengths of a jagged tensor").finish().run
    if any(says_lengths(node) for node in places):
        return without_lengths(module, lambda each: boxed(_Shapes(each, kind, max_shapes).run))
    if any(map(_is_symbolic, values)):
        return boxed(_Shapes(module, kind, max_shapes).run)
    begun = BegunGraph(module, kind, inputs, visible)
    context = TracingContext.try_get()
    if kind == "forward" and context is not None and context.output_strides is not None:
        context.output_strides.extend(begun.strides)  # AOTAutograd compiles the backward graph for them
    return begun


def _visible(kind: str) -> int | None:
    """How many results of a forward graph are for the user: the others are kept for its backward graph. None where
    all are, or where that is not known."""
    context = TracingContext.try_get()
    if kind != "forward" or context is None or context.fw_metadata is None:
        return None
    return context.fw_metadata.num_forward


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(isinstance(extent, torch.SymInt) for extent in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt)


def _is_compiled_by_size(arguments: Sequence[Any]) -> bool:
    """Whether programs of these arguments are machine code of a CPU, which is for one size."""
    on_gpu = any(isinstance(each, torch.Tensor) and each.is_cuda for each in arguments)
    return not on_gpu and (current_target() or preferred_target()) != "interpret"


class _Shapes:
    """A graph of dynamic shapes: compiled for classes of sizes (`irc_frontend.torch.sizes`) where it can be, else for
    each of the first `most` shapes that it is called with."""

    def __init__(self, module: GraphModule, kind: str, most: int):
        self._module, self._kind, self._most = module, kind, most
        self._autotune = current_autotune()
        self._classes: list[tuple[SizeClass, Callable[[Sizes], Run]]] = []
        self._of_class: OrderedDict[Any, Run] = OrderedDict()
        self._why = ""
        """Why it is not compiled for classes."""
        self._symbols: list[Symbol] = []
        try:
            self._symbols = symbols_of(module)
        except NotOne as error:
            self._why = str(error)
        self._is_warned = kind == "backward"  # which follows a forward graph that warns
        self._known: dict[Any, Compiled] = {}
        self._lock = compile_lock  # what traces in a call does not while Dynamo traces in another thread

    def run(self, arguments: list[Any]) -> Any:
        key = tuple(map(_kind, arguments))
        if (run := self._of_class.get(key) or self._sized(key, arguments)) is not None:
            return run(arguments)
        found = self._known.get(key)
        if found is None:
            with self._lock:
                found = self._known.get(key) or self._specialized(key, arguments)
        if found is None:
            return Interpreter(self._module).boxed_run(arguments)
        return found.run(arguments)

    def _sized(self, key: Any, arguments: Sequence[Any]) -> Run | None:
        """The run of these arguments by programs for all sizes of a class; None where there are none."""
        if self._why or not self._symbols or _is_compiled_by_size(arguments) or self._most == 0:
            return None
        with self._lock:
            found = next((each for each in self._classes if each[0].has(arguments)), None)
            if found is None:
                if len(self._classes) >= MAX_CLASSES or any(each.of(arguments) < each.least for each in self._symbols):
                    return None
                try:
                    found = self._new_class(arguments)
                except NotOne as error:
                    self._why = str(error)
                    return None
            sizes = found[0].sizes(arguments)
            if sizes is None:
                return None
            self._of_class[key] = found[1](sizes)
            while len(self._of_class) > MAX_KEPT:
                self._of_class.popitem(last=False)
            return self._of_class[key]

    def _new_class(self, arguments: Sequence[Any]) -> tuple[SizeClass, Callable[[Sizes], Run]]:
        of = SizeClass(self._module, self._symbols, arguments)
        self._classes.append((of, compile_class(of.traced(), of.traced_for_sizes(), self._kind, of.dims)))
        return self._classes[-1]

    def _specialized(self, key: Any, arguments: Sequence[Any]) -> Compiled | None:
        if len(self._known) >= self._most:
            self._warn()
            return None
        with autotuned(self._autotune):
            module, is_turned = specialized(self._module, arguments), self._kind == "inference"
            self._known[key] = BegunGraph(module, self._kind, is_turned=is_turned).finish()
        return self._known[key]

    def _warn(self) -> None:
        if self._is_warned:
            return
        self._is_warned = True
        message = (
            f"irc compiled a graph of dynamic shapes for {self._most} of them; torch runs it op by op for all others"
            f"{f' ({self._why})' if self._why else ''}. "
            "Pad the inputs to a few shapes, or let irc compile more: "
            f'torch.compile(..., backend="irc", options={{"max_shapes": {4 * max(1, self._most)}}})'
        )
        warnings.warn(message, ManyShapes, stacklevel=2)


def _kind(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.stride(), argument.dtype, argument.device
    return argument


def specialized(module: GraphModule, arguments: Sequence[Any]) -> GraphModule:
    """The graph with the shapes and numbers of these arguments."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    return traced(module, mode, [mode.from_tensor(x.detach()) if isinstance(x, torch.Tensor) else x for x in arguments])


@lru_cache(maxsize=None, typed=True)  # True is not one second
def _aot(max_shapes: int, autotune: bool | float, graphs: bool | None) -> Callable[..., Any]:
    return _aot_of(
        partial(_compile, max_shapes=max_shapes, autotune=autotune, graphs=graphs), lambda compiler: compiler
    )


def _aot_kept(max_shapes: int, autotune: bool | float, graphs: bool | None) -> Callable[..., Any]:
    """Torch's cache asks for compilers of a class of its own, which torch changes: they are made for each graph."""
    compiler = partial(_compile_kept, max_shapes=max_shapes, autotune=autotune, graphs=graphs)
    return _aot_of(compiler, kept_compiler)


def _aot_of(compiler: Callable[..., Any], spelled: Callable[[Callable[..., Any]], Any]) -> Callable[..., Any]:
    return aot_autograd(
        fw_compiler=spelled(partial(compiler, kind="forward")),
        bw_compiler=spelled(partial(compiler, kind="backward")),
        inference_compiler=spelled(partial(compiler, kind="inference")),
        partition_fn=partition,
        decompositions=_Decompositions(),
        keep_inference_input_mutations=True,
    )


class _Decompositions(Mapping[Any, Callable[..., Any]]):
    """The table of decompositions, which is made when somebody asks it: a kept graph needs none."""

    def __getitem__(self, op: Any) -> Callable[..., Any]:
        return _decompositions()[op]

    def __iter__(self) -> Iterator[Any]:
        return iter(_decompositions())

    def __len__(self) -> int:
        return len(_decompositions())


@cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    return decompositions()


collect_seldom()
