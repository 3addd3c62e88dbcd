"""Rules of searches in sorted arrays, by bisection: each step is a gather of what lies in the middle."""

from __future__ import annotations

import torch

import irc_frontend as ir
from irc_frontend.elementwise import Number
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import Like, common_element
from irc_frontend.torch.ops.indexing import inside
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten


@rule(aten.searchsorted.Tensor, aten.searchsorted.Scalar)
def _searchsorted(
    ordered: Tensor,
    wanted: Like,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """For each wanted number how many of its row are less, or with `right` not greater."""
    if sorter is not None:
        ordered = ir.take_along_axis(ordered, inside(ordered, -1, sorter), ordered.ndim - 1, mode="clip")
    return bisected(ordered, _as_tensor(wanted, ordered), right or side == "right")


@rule(aten.bucketize.Tensor, aten.bucketize.Scalar)
def _bucketize(wanted: Like, ordered: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return bisected(ordered, _as_tensor(wanted, ordered), right)


def _as_tensor(x: Like, other: Tensor) -> Tensor:
    return x if isinstance(x, Tensor) else ir.full((), _number(x, other), other.element)


def _number(x: Number, other: Tensor) -> Number:
    if isinstance(x, float) and not other.node.is_float:
        raise Left("a float among integers")
    return x


def bisected(ordered: Tensor, wanted: Tensor, right: bool) -> Tensor:
    """NaN is greater than all numbers."""
    extent = ordered.shape[-1]
    low = ir.zeros(wanted.shape, "i64")
    if not extent or not wanted.size:
        return low
    common = common_element(ordered, wanted)
    ordered, wanted = ordered.astype(common), wanted.astype(common)
    high = ir.full(wanted.shape, extent, "i64")
    for _ in range(extent.bit_length()):
        middle = (low + high) // 2
        at = ir.minimum(middle, extent - 1)
        found = (
            ir.take(ordered, at, 0, mode="clip")
            if ordered.ndim == 1
            else ir.take_along_axis(ordered, at, ordered.ndim - 1, mode="clip")
        )
        is_before = ~(found > wanted if right else found >= wanted) & (low < high)
        low, high = ir.where(is_before, middle + 1, low), ir.where(is_before, high, middle)
    return low
