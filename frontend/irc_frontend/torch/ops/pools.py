"""Rules of pools: elementwise over the window's places, each a slice of the padded array with the pool's strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten


@rule(aten.max_pool2d_with_indices.default)
def _max_pool(
    x: Tensor,
    window: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest of each window, NaN first, and where in its plane it lies, the first of equal ones."""
    if ceil_mode:
        raise Left("a pool whose windows reach beyond the padding")
    size, step, pad, apart = (_pair(each) for each in (window, stride or window, padding, dilation))
    rows, columns = x.shape[-2:]
    fill = -math.inf if x.node.is_float else int(np.iinfo(x.dtype).min)
    padded = ir.pad(x, [(0, 0)] * (x.ndim - 2) + [(pad[0], pad[0]), (pad[1], pad[1])], fill)
    counts = [
        (extent + 2 * p - d * (k - 1) - 1) // s + 1
        for extent, p, d, k, s in zip((rows, columns), pad, apart, size, step, strict=True)
    ]
    first_row = (ir.arange(counts[0]) * step[0] - pad[0]).reshape(-1, 1)
    first_column = (ir.arange(counts[1]) * step[1] - pad[1]).reshape(1, -1)
    best: Any = None
    place: Any = None
    for dy, dx in product(range(size[0]), range(size[1])):
        top, left = dy * apart[0], dx * apart[1]
        bottom, right = top + (counts[0] - 1) * step[0] + 1, left + (counts[1] - 1) * step[1] + 1
        value = padded[..., top : bottom : step[0], left : right : step[1]]
        at = ir.broadcast_to((first_row + top) * columns + first_column + left, value.shape)
        if best is None:
            best, place = value, at
            continue
        is_larger = value > best
        place = ir.where(is_larger | ir.isnan(value) if x.node.is_float else is_larger, at, place)
        best = ir.maximum(best, value)
    return best, place


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return (values[0], values[-1])
