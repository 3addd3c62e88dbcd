"""The masks of attention in a graph of torch's functions that are the same at every call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Node as FxNode
from torch.fx.node import map_arg
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Seen:
    """The keys that a query sees by their places: those up to its own where it is causal, and those less than a window
    away."""

    causal: bool
    window: int | None

    def mask(self, rows: int, columns: int) -> torch.Tensor:
        """True where the query of a row sees the key of a column."""
        away = torch.arange(columns) - torch.arange(rows)[:, None]
        seen = away <= 0 if self.causal else torch.ones(rows, columns, dtype=torch.bool)
        return seen if self.window is None else seen & (away.abs() < self.window)


def seen_by(mask: FxNode) -> Seen | None:
    """What a mask says at every call, where it says no more than that; None where it does, or depends on an argument.

    Libraries of models make such masks when no padding is given. They are computed here."""
    sources = _sources(mask)
    if sources is None:
        return None
    try:
        with unset_fake_temporarily(), torch.no_grad(), _SameAtEveryCall():
            return seen_in(_evaluate(sources))
    except (RuntimeError, AssertionError):  # no such device here, no memory, or not the same at every call
        return None


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


def seen_in(mask: torch.Tensor) -> Seen | None:
    """What a mask of [..., queries, keys] says: true, or 0 and added, where a query sees a key. None where it is not
    the same for all batches, or no band along the diagonal."""
    seen = mask if mask.dtype == torch.bool else mask == 0
    if bool(seen.all()):
        return Seen(causal=False, window=None)
    if mask.ndim < 2 or not (mask.dtype == torch.bool or bool((mask[~seen] <= torch.finfo(mask.dtype).min).all())):
        return None
    first = seen[(0,) * (mask.ndim - 2)]
    if not bool(first.any()):
        return None
    rows, columns = first.nonzero(as_tuple=True)
    away = columns - rows
    causal, widest = not bool((away > 0).any()), int(away.abs().max())
    most = max(mask.shape[-2] - 1, 0 if causal else mask.shape[-1] - 1)
    found = Seen(causal, None if widest >= most else widest + 1)
    return found if bool((seen == found.mask(*mask.shape[-2:]).to(seen.device)).all()) else None
