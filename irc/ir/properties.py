"""Short spellings of properties and effects of ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect


def effects() -> tuple[MemoryReadEffect, MemoryWriteEffect]:
    """Traits of an op that reads and writes memory or orders accesses: it is neither removed, merged nor moved over
    another."""
    return MemoryReadEffect(), MemoryWriteEffect()


def number(value: int) -> IntegerAttr:
    """The property of an integer."""
    return IntegerAttr(value, i64)


def flag(value: bool) -> BoolAttr:
    """The property of a truth value."""
    return BoolAttr.from_bool(value)


def numbers(values: Sequence[int] | None) -> DenseArrayBase | None:
    """The property of a list of integers, or none."""
    return None if values is None else DenseArrayBase.from_list(i64, values)


def values_of(array: DenseArrayBase | None) -> tuple[int, ...]:
    """The integers of such a property; () of none."""
    return () if array is None else tuple(cast(DenseArrayBase[IntegerType], array).get_values())
