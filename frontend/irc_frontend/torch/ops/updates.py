"""Stores at one place along an axis, as a cache of keys gets the next ones: a kernel that writes these elements alone,
where the array's own memory is free for the result."""

from __future__ import annotations

from math import prod

import irc_frontend as ir
from irc_frontend.tensor import Tensor


@ir.kernel
def _update(x: Tensor, place: Tensor, row: Tensor) -> Tensor:
    out = ir.copy_of(x)
    outer, _, inner = x.shape
    for o, i in ir.tiles(outer, inner):
        out[o, place[0:1], i] = row[o, :, i]
    return out


def updated(x: Tensor, place: Tensor, row: Tensor, axis: int) -> Tensor:
    """x with a row in place of its elements at one place along the axis. place: one integer in range; row: of the shape
    of x with an extent of 1 there."""
    outer, extent, inner = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    flat = x.reshape(outer, extent, inner)
    return _update(flat, place.reshape(1).astype("i32"), row.reshape(outer, 1, inner)).reshape(*x.shape)


def is_updated_by_row(x: Tensor, count: int) -> bool:
    """Whether a store at so many places is such a kernel."""
    return count == 1 and x.element not in ("bool", "u8")
