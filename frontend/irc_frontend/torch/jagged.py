"""torch's attention of jagged nested tensors in a graph of torch's functions, and what graphs of AOTAutograd take for
such tensors.

A jagged tensor is an array of the words of all sequences, and the offsets at which these begin: its attention is that
of packed sequences (`packed.py`), which reads and writes the arrays of words as they are. AOTAutograd takes each tensor
apart: graphs have the array and the offsets as arguments, and beside them a number that stands for the lengths, and
arrays without elements whose shapes say the shortest and the longest. No op computes with these: graphs are compiled
without them, so that one program is for tensors of any lengths.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import SymInt, Tensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.experimental.symbolic_shapes import is_nested_int
from torch.fx.traceback import annotate
from torch.nested._internal.nested_tensor import (
    NestedTensor,
    _nt_view_dummy,  # pyright: ignore[reportPrivateUsage]
)

from irc_frontend.torch.graphs import Run, boxed
from irc_frontend.torch.ops.packed import why_slow_packed
from irc_frontend.torch.preparation import results_of
from irc_frontend.torch.retargeting import retarget
from irc_frontend.torch.rules import REASON, Left
from irc_frontend.torch.scaled_dot_product import expect_known_type

# Attention


def with_jagged_attention(module: GraphModule) -> GraphModule:
    """A graph of torch's functions in which attention of jagged tensors calls irc's; also in graphs that it holds."""
    return retarget(module, jagged_attention, F.scaled_dot_product_attention, chosen=_is_jagged)


def _is_jagged(node: FxNode) -> bool:
    return isinstance(node.meta.get("example_value"), NestedTensor)


def jagged_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch's, of the same arguments."""
    try:
        return own_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)
    except Left as reason:
        with annotate({REASON: reason.message}):
            return F.scaled_dot_product_attention(
                query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
            )


def own_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Of query[sequences, heads, words, size], and keys and values of other lengths; `Left` where it is torch's."""
    if mask is not None or dropout:
        raise Left(f"attention of jagged tensors with {'a mask' if dropout == 0.0 else 'dropout'}")
    jagged = [_words_first(x) for x in (query, key, value)]
    offsets, key_offsets, value_offsets = (x.shape[1] for x in jagged)
    if key_offsets != value_offsets or (is_causal and offsets != key_offsets):
        raise Left("attention of jagged tensors whose lengths differ")
    q, k, v = (_as_autocast(x.values()) for x in jagged)
    is_one = offsets == key_offsets
    if k.shape[0] != v.shape[0] or (
        is_one and q.shape[0] != k.shape[0]
    ):  # torch has a symbol for each until it is asked
        raise Left("attention of jagged tensors with other words than those of their sequences")
    starts = jagged[0].offsets().to(torch.int32)
    key_starts = starts if is_one else jagged[1].offsets().to(torch.int32)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    _expect_quick(q, k, v, starts.shape[0] - 1, is_causal, scale)
    right = 0 if is_causal else None
    y, _ = torch.ops.irc.packed_attention(q, k, v, starts, key_starts, None, None, right, scale)
    found = _with_lengths_of(jagged[0], y)
    return found.transpose(1, 2)


def _words_first(x: Tensor) -> NestedTensor:
    """x[sequences, heads, words, size] as [sequences, words, heads, size], whose array has an axis for all words."""
    if not isinstance(x, NestedTensor) or x.dim() != 4 or x._ragged_idx != 2:  # pyright: ignore[reportPrivateUsage]
        raise Left("attention of jagged tensors that are not of sequences, heads, words and elements")
    if x.lengths() is not None:
        raise Left("attention of jagged tensors with room between their sequences")
    found = x.transpose(1, 2)
    assert isinstance(found, NestedTensor)
    return found


def _with_lengths_of(x: NestedTensor, words: Tensor) -> Tensor:
    """The words as sequences that are as long as those of x."""
    shortest, longest = x._min_seqlen_tensor, x._max_seqlen_tensor  # pyright: ignore[reportPrivateUsage]
    view: Any = getattr(torch, "_nested_view_from_jagged")  # noqa: B009
    return view(words, x.offsets(), _nt_view_dummy(), None, 1, shortest, longest)


def _as_autocast(x: Tensor) -> Tensor:
    """In the type in which torch's attention is computed here."""
    device = x.device.type
    if not torch.is_autocast_enabled(device) or x.dtype == torch.float64:
        return x
    return x.to(torch.get_autocast_dtype(device))


def _expect_quick(q: Tensor, k: Tensor, v: Tensor, sequences: Any, is_causal: bool, scale: float) -> None:
    """`Left` where irc has no such attention, or is slower than torch for as many words as the first call has."""
    expect_known_type(q)
    if q.device.type != "cuda":
        return
    is_trained = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
    shapes = [(_hint(x.shape[0]), x.shape[1], x.shape[2]) for x in (q, k, v)]
    right = 0 if is_causal else None
    reason = why_slow_packed(*shapes, q.dtype, _hint(sequences), False, None, right, scale, is_trained)
    if reason is not None:
        raise Left(reason)


def _hint(extent: Any) -> int:
    """The size that a symbol has in the call for which torch traces."""
    return int(extent.node.hint) if isinstance(extent, SymInt) else int(extent)


# Graphs


def is_read(node: FxNode) -> bool:
    """Whether an argument of a graph is more than given back."""
    return any(user.op != "output" for user in node.users)


def says_lengths(node: FxNode) -> bool:
    """Whether an argument that a graph does not read stands for the lengths of a jagged tensor."""
    value: Any = node.meta.get("val")
    if is_read(node):
        return False
    if not isinstance(value, Tensor):
        return is_nested_int(value)
    is_empty = any(type(extent) is int and extent == 0 for extent in value.shape)
    return is_empty and any(isinstance(extent, SymInt) for extent in value.shape)


def without_lengths(module: GraphModule, compiled: Callable[[GraphModule], Run]) -> Run:
    """The run of a graph that is compiled without the arguments that say lengths; it may give them back."""
    graph = copy.deepcopy(module.graph)
    results, given = results_of(graph), dict[int, int]()
    kept = list[int]()
    for number, node in enumerate(graph.find_nodes(op="placeholder")):
        if not says_lengths(node):
            kept.append(number)
            continue
        given |= {place: number for place, result in enumerate(results) if result is node}
        results = [None if result is node else result for result in results]
        graph.output_node().args = (results,)
        graph.erase_node(node)
    run = compiled(GraphModule(module, graph))

    def whole(arguments: list[Any]) -> list[Any]:
        back = {place: arguments[number] for place, number in given.items()}
        read = [arguments[number] for number in kept]
        arguments.clear()
        found = list(run(read))
        for place, argument in back.items():
            found[place] = argument
        return found

    return boxed(whole)
