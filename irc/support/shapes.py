"""Shapes that go together, and strides of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any


def is_grouped(queries: Sequence[int], keys: Sequence[int]) -> bool:
    """Whether batches of keys go with batches of queries: they are the same, or the last extent divides theirs."""
    is_divided = len(queries) > 0 and len(keys) > 0 and min(queries[-1], keys[-1]) > 0 and queries[-1] % keys[-1] == 0
    return tuple(queries) == tuple(keys) or (is_divided and tuple(queries[:-1]) == tuple(keys[:-1]))


def inverse(order: Sequence[Any]) -> tuple[int, ...]:
    """The order of axes that undoes one; of any numbers, the order in which they grow."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous array whose last axis is innermost."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def reshaped_strides(
    shape_before: Sequence[int], strides_before: Sequence[int], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides of an array in another shape; None where its elements are not evenly apart along the new axes."""
    if 0 in shape:
        return row_major(shape)
    runs: list[tuple[int, int]] = []
    """Axes that are evenly apart together: how many elements, and how far apart."""
    for extent, stride in zip(shape_before, strides_before, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == stride * extent:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    strides: list[int] = []
    left, stride = 1, 1
    for extent in reversed(shape):
        if left == 1 and extent != 1:
            left, stride = runs.pop()
        if left % extent:
            return None
        strides.append(stride)
        left, stride = left // extent, stride * extent
    return tuple(reversed(strides))
