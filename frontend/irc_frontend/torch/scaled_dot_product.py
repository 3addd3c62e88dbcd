"""torch's attention in a graph of torch's functions: it becomes irc's where irc does it well (`attention.py`), and gets
its fast form where it stays with torch.

Masks that say by the places of queries and keys alone what is seen, the same at every call, go: irc and torch are told
that attention is causal, irc of a window. torch's fused kernels are fastest without a mask, and take only some as they
are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import SymInt, Tensor
from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode

from irc.support.shapes import is_grouped
from irc_frontend.torch.dropout import words_of
from irc_frontend.torch.masks import Seen, seen_by
from irc_frontend.torch.ops.attention import why_slow_attention
from irc_frontend.torch.preparation import order_of
from irc_frontend.torch.retargeting import transformed_in
from irc_frontend.torch.rules import REASON, Left

OWN = torch.ops.irc.attention.default
NAMES = "query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"
"""The arguments of torch's attention, in order."""


@dataclass(frozen=True)
class Call:
    """A call of torch's attention. seen: what its mask says, or its option, where that is a matter of places alone;
    None where the mask is needed."""

    node: FxNode
    arguments: dict[str, Any]
    seen: Seen | None

    def value(self, name: str) -> Any:
        """The example of an argument."""
        argument = self.arguments.get(name)
        return argument.meta.get("example_value") if isinstance(argument, FxNode) else argument


def with_fast_attention(module: GraphModule) -> GraphModule:
    """A graph of torch's functions in which attention is irc's, or has a mask only where it needs one; also in graphs
    that it holds, as of checkpoints."""
    for each in module.modules():
        if isinstance(each, GraphModule):
            _give_fast_attention(each)
    return module


def _give_fast_attention(module: GraphModule) -> None:
    known: dict[FxNode, Seen | None] = {}
    transformed = transformed_in(module.graph)
    for node in module.graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention):
        call = _call(node, known)
        try:
            if node in transformed:
                raise Left("attention within a transform of torch.func")
            _replace(module.graph, call)
        except Left as reason:
            node.meta["custom"] = {**node.meta.get("custom", {}), REASON: reason.message}
            _give_fast_form(module.graph, call)
    module.recompile()


def _call(node: FxNode, known: dict[FxNode, Seen | None]) -> Call:
    arguments = {**dict(zip(NAMES, node.args, strict=False)), **node.kwargs}
    mask = arguments.get("attn_mask")
    if mask is None:
        return Call(node, arguments, Seen(bool(arguments.get("is_causal")), None))
    if arguments.get("is_causal") or not isinstance(mask, FxNode):
        return Call(node, arguments, None)
    if mask not in known:
        known[mask] = seen_by(mask)
    call = Call(node, arguments, known[mask])
    return call if _is_whole(call, mask) else Call(node, arguments, None)


def _is_whole(call: Call, mask: FxNode) -> bool:
    """Whether a mask that is the same at every call has a row for each query and a column for each key, or is all
    true."""
    if call.seen in (None, Seen(causal=False, window=None)):
        return True
    q, k, value = call.value("query"), call.value("key"), _example(mask)
    return isinstance(q, Tensor) and isinstance(k, Tensor) and value.shape[-2:] == (q.shape[-2], k.shape[-2])


# Attention of irc


def _replace(graph: Graph, call: Call) -> None:
    """Makes it irc's; `Left` where it stays with torch."""
    dropout = call.arguments.get("dropout_p", 0.0)
    expect_known_dropout(dropout)
    if call.seen is None and (call.arguments.get("is_causal") or not isinstance(call.value("attn_mask"), Tensor)):
        raise Left("a mask beside is_causal")
    node, value = call.node, _example(call.node)
    bias = None if call.seen is not None else call.value("attn_mask")
    shared = _shared_batch(call)
    arrays = [call.value(name) for name in NAMES[:3]]
    arrays[0] = arrays[0] if shared is None else shared.beside_heads(arrays[0])
    expect_known(arrays, bias, value)
    q, k, v = (call.arguments[name] for name in NAMES[:3])
    k, v = (_unrepeated(x) for x in (k, v)) if _share(k, v) else (k, v)
    mask = None if call.seen is not None else call.arguments["attn_mask"]
    seen, scale = call.seen or Seen(causal=False, window=None), call.arguments.get("scale")
    if scale is None:
        scale = 1 / math.sqrt(_example(q).shape[-1])
    arrays = [arrays[0], _example(k), _example(v)]
    expect_quick(arrays, bias, value.dtype, seen, scale, dropout, value.requires_grad)
    with graph.inserting_before(node):
        if shared is not None:
            q = graph.call_function(shared.beside_heads, (q,))
        q, k, v = (graph.call_method("to", (x, value.dtype)) for x in (q, k, v))  # which autocast may ask for
        words = graph.call_function(words_of, (q,)) if dropout else None
        order = order_of(value, value.ndim - 1) if shared is None else (0, 1, 2)
        own = graph.call_function(OWN, (q, k, v, mask, words, seen.causal, seen.window, scale, dropout, order))
        result = graph.call_function(operator.getitem, (own, 0))
        if shared is not None:
            result = graph.call_function(shared.apart, (result,))
    for each in (own, *([] if words is None else [words])):
        each.meta = {name: node.meta[name] for name in node.meta if name != "example_value"}
    result.meta = dict(node.meta)
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def expect_known_dropout(rate: Any) -> None:
    """`Left` unless it is a number of those that leave something."""
    if not isinstance(rate, int | float) or not 0 <= rate < 1:
        raise Left(f"attention with a dropout of {rate}")


def expect_known(arrays: Sequence[Any], bias: Tensor | None, result: Tensor) -> None:
    """`Left` where irc has no such attention of q, k and v. result: torch's, or an array of its type and device."""
    if not all(isinstance(x, Tensor) and x.layout is torch.strided and not x.is_nested for x in arrays):
        raise Left("attention of arrays that are not dense")
    expect_known_type(result)
    q, k, v = (tuple(x.shape) for x in arrays)
    if any(isinstance(extent, SymInt) for extent in (*q, *k, *v)):
        raise Left("attention of shapes that are not known")
    if 0 in (*q, *k, *v):
        raise Left("attention of nothing")
    if len(q) == len(k) == len(v) not in (3, 4):
        raise Left(f"attention of arrays with {len(q)} axes")
    is_fit = len(q) == len(k) == len(v) and is_grouped(q[:-2], k[:-2]) and k[:-1] == v[:-1]
    if not is_fit:
        raise Left("attention whose batches broadcast")
    if bias is not None:
        _expect_known_mask(bias, len(q))


def expect_known_type(result: Tensor) -> None:
    """`Left` where irc has no attention with a result of this type and device."""
    device, dtype = result.device.type, result.dtype
    if device not in ("cpu", "cuda"):
        raise Left(f"attention on a {device}")
    if device == "cuda" and dtype not in (torch.bfloat16, torch.float16):
        raise Left(f"attention of {str(dtype).removeprefix('torch.')}")


def _expect_known_mask(mask: Tensor, rank: int) -> None:
    if not (mask.dtype == torch.bool or mask.is_floating_point()) or mask.ndim > rank:
        raise Left(f"a mask of {str(mask.dtype).removeprefix('torch.')} with {mask.ndim} axes")


def expect_quick(
    arrays: Sequence[Tensor],
    bias: Tensor | None,
    dtype: torch.dtype,
    seen: Seen,
    scale: float,
    dropout: float,
    is_trained: bool,
) -> None:
    """`Left` where irc is slower than torch at attention of q, k and v."""
    if arrays[0].device.type != "cuda":
        return
    q, k, v = (tuple(x.shape) for x in arrays)
    mask = None if bias is None else (tuple(bias.shape), bias.dtype)
    if (reason := why_slow_attention(q, k, v, dtype, mask, seen, scale, dropout, is_trained)) is not None:
        raise Left(reason)


def _example(node: Any) -> Tensor:
    return node.meta["example_value"]


# Batches and heads that share keys


@dataclass(frozen=True)
class _SharedBatch:
    """Queries of so many batches that share all keys, and their heads: each head of keys is for all of them."""

    batch: int
    heads: int

    def beside_heads(self, q: Tensor) -> Tensor:
        """q[batch, heads, ...] as one batch, of the heads of the keys for each of the batches."""
        return q.transpose(0, 1).flatten(0, 1).unsqueeze(0)

    def apart(self, y: Tensor) -> Tensor:
        return y.squeeze(0).unflatten(0, (self.heads, self.batch)).transpose(0, 1).contiguous()


def _shared_batch(call: Call) -> _SharedBatch | None:
    """How keys and values of one batch are shared by several of queries; None where they are not, or a mask tells
    batches or heads apart."""
    q, k, v, mask = (call.value(name) for name in NAMES[:4])
    if not all(isinstance(x, Tensor) and x.ndim == 4 and not x.is_nested for x in (q, k, v)):
        return None
    if call.seen is None and any(extent != 1 for extent in mask.shape[:-2]):
        return None
    is_shared = q.shape[0] != 1 and k.shape[0] == v.shape[0] == 1
    return _SharedBatch(q.shape[0], q.shape[1]) if is_shared else None


def _share(k: FxNode, v: FxNode) -> bool:
    """Whether both are repeated alike."""
    sources = _repeated(k), _repeated(v)
    return None not in sources and len({_example(x).shape[-3] for x in sources}) == 1


def _unrepeated(x: FxNode) -> FxNode:
    source = _repeated(x)
    assert source is not None
    return source


def _repeated(x: FxNode) -> FxNode | None:
    """The array of which x has each head several times in a row: irc's attention shares it.

    x is `source[:, :, None].expand(batch, heads, times, length, size).reshape(batch, heads * times, length, size)`, as
    libraries of models write it, or `source.repeat_interleave(times, 1)`."""
    if x.op not in ("call_function", "call_method"):
        return None
    name, source = getattr(x.target, "__name__", x.target), x.args[0] if x.args else None
    if not isinstance(source, FxNode) or not isinstance(source.meta.get("example_value"), Tensor):
        return None
    if name == "repeat_interleave":
        given = [*x.args[1:], *x.kwargs.values()]
        return source if len(given) == 2 and given[1] in (1, -3) and isinstance(given[0], int) else None
    if name not in ("reshape", "view") or getattr(source.target, "__name__", source.target) != "expand":
        return None
    apart = source.args[0]
    if not isinstance(apart, FxNode) or apart.target is not operator.getitem:
        return None
    array, index = apart.args
    shape, whole = _example(x).shape, (slice(None), slice(None), None, slice(None), slice(None))
    if index not in (whole, whole[:3]) or not isinstance(array, FxNode) or len(shape) != 4:
        return None
    batch, heads, length, size = _example(array).shape
    return array if tuple(_example(source).shape) == (batch, heads, shape[1] // heads, length, size) else None


# Attention of torch


def _give_fast_form(graph: Graph, call: Call) -> None:
    """Takes out a mask that torch need not have, or makes it contiguous along the keys, where it is not, as one that is
    the same for all of them: with another one torch takes attention apart into products in f32."""
    mask, node = call.arguments.get("attn_mask"), call.node
    if not isinstance(mask, FxNode):
        return
    value = mask.meta.get("example_value")
    if _is_torchs(call):
        assert call.seen is not None
        _change(node, "attn_mask", None)
        _change(node, "is_causal", call.seen.causal)
    elif isinstance(value, Tensor) and value.ndim and value.stride(-1) != 1:
        with graph.inserting_before(node):
            dense = graph.call_method("contiguous", (mask,))
        dense.meta = {**mask.meta, "example_value": value.contiguous()}
        node.replace_input_with(mask, dense)


def _is_torchs(call: Call) -> bool:
    """Whether torch has an option in place of the mask: it is causal for as many queries as keys, and has no window."""
    if call.seen is None or call.seen.window is not None:
        return False
    shape = _example(call.arguments["attn_mask"]).shape
    return not call.seen.causal or shape[-1] == shape[-2]


def _change(node: FxNode, name: str, value: Any) -> None:
    place = NAMES.index(name)
    if len(node.args) > place:
        node.update_arg(place, value)
    else:
        node.update_kwarg(name, value)
