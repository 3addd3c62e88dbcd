"""Sorting with the places that elements come from."""

from __future__ import annotations

import irc_frontend as ir
from irc_frontend.tensor import Tensor


def sorted_with_indices(x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """x in order along the axis, NaN as the greatest, and the i64 indices in x; equals stay in order. `topk` of all has
    the first of equals first; ascending order is that of the reversed array, reversed."""
    if not x.ndim:
        return x, ir.zeros((), "i64")
    if x.element == "bool":
        values, indices = sorted_with_indices(x.astype("u8"), axis, descending)
        return values != 0, indices
    axis = axis % x.ndim
    extent = x.shape[axis]
    if descending:
        return ir.topk(x, extent, axis)
    values, indices = ir.topk(ir.flip(x, axis), extent, axis)
    return ir.flip(values, axis), extent - 1 - ir.flip(indices, axis)
