"""Rules of ops that number the places where a mask holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

import irc_frontend as ir
from irc_frontend.elementwise import Number
from irc_frontend.shapes import broadcast_shapes
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import truth
from irc_frontend.torch.rules import rule

aten = torch.ops.aten


def _numbers(mask: Tensor) -> Tensor:
    """For each place of a mask of one axis how many hold before it; -1 or the last number where it does not hold."""
    return mask.astype("i64").cumsum(0) - 1


@rule(aten.masked_scatter.default)
def _masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """x with the elements of the source, in order, where the mask holds."""
    shape = broadcast_shapes(x.shape, mask.shape)
    x, mask = ir.broadcast_to(x, shape), ir.broadcast_to(mask, shape)
    if not x.size or not source.size:
        return x
    numbers = ir.maximum(_numbers(mask.flatten()), 0)
    return ir.where(mask, ir.take(source.flatten(), numbers, 0, mode="clip").reshape(shape), x)


@rule(aten.masked_scatter_backward.default)
def _masked_scatter_backward(grad: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The elements where the mask holds, in order, and zeros behind them."""
    count = math.prod(sizes)
    if not count or not grad.size:
        return ir.zeros(tuple(sizes), grad.element)
    mask = ir.broadcast_to(mask, grad.shape).flatten()
    taken = ir.where(mask, grad.flatten(), 0.0)
    numbers = ir.maximum(_numbers(mask), 0)
    return ir.scatter_add(ir.zeros((count,), grad.element), numbers, taken, 0, mode="clip").reshape(tuple(sizes))


@rule(aten.nonzero_static.default)
def _nonzero_static(x: Tensor, *, size: int, fill_value: Number = -1) -> Tensor:
    """The coordinates of the first elements that are not 0, a row each."""
    if not x.ndim or not size:
        return ir.zeros((size, x.ndim), "i64")
    if not x.size:
        return ir.full((size, x.ndim), fill_value, "i64")
    mask = truth(x).flatten()
    numbers = _numbers(mask)
    slots = ir.where(mask & (numbers < size), numbers, size)
    places = ir.scatter_add(ir.zeros((size + 1,), "i64"), slots, ir.arange(x.size), 0, mode="clip")[:size]
    is_found = ir.arange(size) < mask.astype("i64").sum()
    coordinates = [places // math.prod(x.shape[axis + 1 :]) % extent for axis, extent in enumerate(x.shape)]
    return ir.stack([ir.where(is_found, each, fill_value) for each in coordinates], 1)
