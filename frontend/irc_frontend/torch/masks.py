"""The masks of attention in a graph of torch's functions: torch's fused kernels are fastest without one, and take only
some as they are."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_arg
from torch.utils._python_dispatch import TorchDispatchMode

MASK, CAUSAL = 3, 5
"""The places of `attn_mask` and `is_causal` among the arguments of torch's attention."""


def with_fast_masks(module: GraphModule) -> GraphModule:
    """A graph of torch's functions in which attention has masks only where it needs them.

    A mask that depends on no argument is the same at every call, and is computed here: where it hides nothing it goes,
    and where it hides what comes later attention is told that it is causal. Libraries of models make such masks when
    no padding is given. Other masks become contiguous along the keys."""
    kinds: dict[FxNode, str] = {}
    for node in module.graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention):
        mask = _argument(node, MASK, "attn_mask")
        if not isinstance(mask, FxNode) or _argument(node, CAUSAL, "is_causal"):
            continue
        if mask not in kinds:
            kinds[mask] = _kind(mask)
        if kinds[mask] == "other":
            _make_dense(module, node, mask)
        else:
            _change(node, MASK, "attn_mask", None)
            _change(node, CAUSAL, "is_causal", kinds[mask] == "causal")
    module.recompile()
    return module


def _argument(node: FxNode, place: int, name: str) -> Any:
    return node.args[place] if len(node.args) > place else node.kwargs.get(name)


def _change(node: FxNode, place: int, name: str, value: Any) -> None:
    if len(node.args) > place:
        node.update_arg(place, value)
    else:
        node.update_kwarg(name, value)


def _make_dense(module: GraphModule, node: FxNode, mask: FxNode) -> None:
    """Makes a mask contiguous along the keys, where it is not, as one that is the same for all of them: with another
    one torch takes attention apart into products in f32."""
    value = mask.meta.get("example_value")
    if isinstance(value, torch.Tensor) and value.ndim and value.stride(-1) != 1:
        with module.graph.inserting_before(node):
            dense = module.graph.call_method("contiguous", (mask,))
        dense.meta = {**mask.meta, "example_value": value.contiguous()}
        node.replace_input_with(mask, dense)


def _kind(mask: FxNode) -> str:
    """Which mask it is at every call: "empty", "causal", or "other"."""
    sources = _sources(mask)
    if sources is None:
        return "other"
    try:
        with unset_fake_temporarily(), torch.no_grad(), _SameAtEveryCall():
            return _kind_of(_evaluate(sources))
    except (RuntimeError, AssertionError):  # no such device here, no memory, or not the same at every call
        return "other"


def _sources(node: FxNode) -> list[FxNode] | None:
    """The node and all that it is computed from, in order; None where an argument of the graph, or something that is
    written into, is among them."""
    found: set[FxNode] = set()
    waiting = [node]
    while waiting:
        source = waiting.pop()
        if source.op not in ("call_function", "call_method") or _is_written(source):
            return None
        found.add(source)
        waiting += [each for each in source.all_input_nodes if each not in found]
    return [each for each in node.graph.nodes if each in found]


def _is_written(node: FxNode) -> bool:
    """Whether the array, or one that shares its memory, is changed in place anywhere in the graph: torch's tracer has
    done to this one what the graph does."""
    value = node.meta.get("example_value")
    return isinstance(value, torch.Tensor) and (value.is_inference() or value._version > 0)


def _evaluate(nodes: list[FxNode]) -> torch.Tensor:
    known: dict[FxNode, Any] = {}
    for node in nodes:
        arguments, options = map_arg((node.args, node.kwargs), known.__getitem__)
        target: Any = node.target if node.op == "call_function" else getattr(type(arguments[0]), str(node.target))
        known[node] = target(*arguments, **options)
    return known[nodes[-1]]


class _SameAtEveryCall(TorchDispatchMode):
    """Refuses random numbers, and ops that are not torch's own and may do anything."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace not in ("aten", "prims") or torch.Tag.nondeterministic_seeded in func.tags:
            raise RuntimeError(f"{func} may differ from call to call")
        return func(*args, **(kwargs or {}))


def _kind_of(mask: torch.Tensor) -> str:
    """The kind of a mask of [..., queries, keys]: true, or 0 and added, where a query sees a key."""
    seen = mask if mask.dtype == torch.bool else mask == 0
    if bool(seen.all()):
        return "empty"
    if mask.ndim < 2 or mask.shape[-1] != mask.shape[-2]:
        return "other"
    hidden = mask.dtype == torch.bool or bool((mask[~seen] <= torch.finfo(mask.dtype).min).all())
    return "causal" if hidden and bool((seen == torch.ones_like(seen).tril()).all()) else "other"
