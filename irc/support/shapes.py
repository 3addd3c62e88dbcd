"""Shapes that go together, and strides of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def is_grouped(queries: Sequence[int], keys: Sequence[int]) -> bool:
    """Whether batches of keys go with batches of queries: they are the same, or the last extent divides theirs."""
    is_divided = len(queries) > 0 and len(keys) > 0 and min(queries[-1], keys[-1]) > 0 and queries[-1] % keys[-1] == 0
    return tuple(queries) == tuple(keys) or (is_divided and tuple(queries[:-1]) == tuple(keys[:-1]))


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous array whose last axis is innermost."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
