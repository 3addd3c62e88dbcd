"""Histograms on a CPU as sums at computed places: the bins that numbers fall into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

HISTOGRAMS: dict[Any, Callable[..., Any]] = {}
"""By op."""


def _decomposition(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def decomposed(x: Tensor, *args: Any, **options: Any) -> Any:
            is_left = x.is_cuda or any(isinstance(extent, torch.SymInt) for extent in x.shape)
            return NotImplemented if is_left else function(x, *args, **options)

        HISTOGRAMS.update(dict.fromkeys(ops, decomposed))
        return function

    return register


def _outer(x: Tensor, low: float, high: float, is_given: bool, margin: float) -> tuple[Tensor, Tensor]:
    """The outer edges: those that are given, else the extremes of x, a margin apart where they are one number."""
    if is_given:
        first, last = x.new_full((), low), x.new_full((), high)
    elif x.numel():
        first, last = x.amin(), x.amax()
    else:
        first, last = x.new_full((), 0), x.new_full((), 1)
    is_one = first == last
    return torch.where(is_one, first - margin, first), torch.where(is_one, last + margin, last)


def _edges(first: Tensor, last: Tensor, bins: int) -> Tensor:
    """As torch spaces them, from both ends."""
    at, step = torch.arange(bins + 1, device=first.device), (last - first) / bins
    return torch.where(at < (bins + 1) // 2, first + step * at, last - step * (bins - at))


def _bin_of(x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The bin of each number, and whether it is in one; the last bin has its upper edge."""
    is_inside = (x >= edges[0]) & (x <= edges[-1])
    bins = edges.shape[0] - 1
    return (torch.searchsorted(edges, x.contiguous(), right=True) - 1).clamp(0, bins - 1), is_inside


def _sums(places: Tensor, is_inside: Tensor, weight: Tensor | None, count: int, dtype: torch.dtype) -> Tensor:
    wide = torch.promote_types(dtype, torch.float32)
    numbers = torch.ones_like(places, dtype=wide) if weight is None else weight.to(wide)
    numbers = torch.where(is_inside, numbers, 0)
    return numbers.new_zeros(count).index_add(0, places.reshape(-1), numbers.reshape(-1)).to(dtype)


@_decomposition(aten.histc.default)
def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    first, last = _outer(x, min, max, min != max, 1)
    places = ((x - first) * bins / (last - first)).nan_to_num(0).clamp(0, bins - 1).long()
    return _sums(places, (x >= first) & (x <= last), None, bins, x.dtype)


@_decomposition(aten.histogram.bin_ct)
def _histogram(
    x: Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    low, high = range or (0.0, 0.0)
    edges = _edges(*_outer(x, low, high, range is not None, 0.5), bins)
    return _counted(x.reshape(-1, 1), [edges], weight, density), edges


@_decomposition(aten.histogram.bins_tensor)
def _histogram_of(
    x: Tensor, edges: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    return _counted(x.reshape(-1, 1), [edges], weight, density), edges.clone()


def _counted(x: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """The histogram of points x[N, D] over D axes; with `density`, by volume and in all 1."""
    found = [_bin_of(column, each) for column, each in zip(x.unbind(1), edges, strict=True)]
    places, is_inside, shape = found[0][0], found[0][1], [each.shape[0] - 1 for each in edges]
    for (place, is_within), extent in zip(found[1:], shape[1:], strict=True):
        places, is_inside = places * extent + place, is_inside & is_within
    weights = None if weight is None else weight.reshape(-1)
    sums = _sums(places, is_inside, weights, prod(shape), x.dtype).reshape(shape)
    if not density:
        return sums
    sums = sums / sums.sum()
    for axis, each in enumerate(edges):
        sums = sums / (each[1:] - each[:-1]).reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return sums


def _points(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1])


@_decomposition(aten._histogramdd_bin_edges.default)
def _bin_edges(
    x: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:
    pairs = [(0.0, 0.0)] * len(bins) if range is None else list(zip(range[::2], range[1::2], strict=True))
    columns = zip(_points(x).unbind(1), bins, pairs, strict=True)
    return [_edges(*_outer(column, *pair, range is not None, 0.5), count) for column, count, pair in columns]


@_decomposition(aten._histogramdd_from_bin_cts.default)
def _histogram_from_counts(
    x: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    return _counted(_points(x), _bin_edges(x, bins, range=range), weight, density)


@_decomposition(aten._histogramdd_from_bin_tensors.default)
def _histogram_from_edges(
    x: Tensor, bins: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    return _counted(_points(x), bins, weight, density)
