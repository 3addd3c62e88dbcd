"""`torch.compile(model, backend="irc")`: the backend on the graphs of AOTAutograd."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from irc_frontend.torch.decompositions import decompositions
from irc_frontend.torch.graphs import Compiled, Run, boxed, compile_graph
from irc_frontend.torch.masks import with_fast_masks

MOST_SHAPES = 8
"""For how many shapes a graph of dynamic shapes is compiled; torch runs the others."""


def backend(module: GraphModule, inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend as torch's compiler calls it: a graph of torch's functions and example inputs, to a callable."""
    if options:
        raise TypeError(f"the irc backend has no options, found {', '.join(options)}")
    return _AOT(with_fast_masks(module), inputs)


def _compile(module: GraphModule, inputs: Sequence[Any], kind: str) -> Run:
    """One graph of AOTAutograd: forward, backward, or inference."""
    values = [node.meta.get("val") for node in module.graph.find_nodes(op="placeholder")]
    if any(map(_is_symbolic, values)):
        return boxed(_Shapes(module, kind).run)
    compiled = compile_graph(module, kind, inputs, _visible(kind))
    context = TracingContext.try_get()
    if kind == "forward" and context is not None and context.output_strides is not None:
        context.output_strides.extend(compiled.strides)  # AOTAutograd compiles the backward graph for them
    return compiled.run


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


class _Shapes:
    """A graph of dynamic shapes: compiled for each of the first shapes that it is called with."""

    def __init__(self, module: GraphModule, kind: str):
        self._module, self._kind = module, kind
        self._known: dict[Any, Compiled] = {}
        self._lock = threading.Lock()

    def run(self, arguments: list[Any]) -> Any:
        key = tuple(map(_kind, arguments))
        found = self._known.get(key)
        if found is None:
            with self._lock:
                found = self._known.get(key) or self._specialised(key, arguments)
        if found is None:
            return Interpreter(self._module).boxed_run(arguments)
        return found.run(arguments)

    def _specialised(self, key: Any, arguments: Sequence[Any]) -> Compiled | None:
        if len(self._known) == MOST_SHAPES:
            return None
        self._known[key] = compile_graph(
            specialised(self._module, arguments), self._kind, is_turned=self._kind == "inference"
        )
        return self._known[key]


def _kind(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.stride(), argument.dtype, argument.device
    return argument


def specialised(module: GraphModule, arguments: Sequence[Any]) -> GraphModule:
    """The graph with the shapes and numbers of these arguments."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    fakes = [mode.from_tensor(x.detach()) if isinstance(x, torch.Tensor) else x for x in arguments]
    with mode, torch.no_grad(), preserve_node_meta():
        return make_fx(Interpreter(module).run)(*fakes)


_AOT = aot_autograd(
    fw_compiler=partial(_compile, kind="forward"),
    bw_compiler=partial(_compile, kind="backward"),
    inference_compiler=partial(_compile, kind="inference"),
    partition_fn=min_cut_rematerialization_partition,
    decompositions=decompositions,
    keep_inference_input_mutations=True,
)
