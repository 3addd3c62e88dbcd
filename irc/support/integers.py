"""Integers that extents are rounded to."""

from __future__ import annotations


def power_of_two(n: int) -> int:
    """The least power of two that is not below n, and 1 for n < 1."""
    return 1 << max(n - 1, 0).bit_length()


def ceil_div(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def round_up(value: int, multiple: int) -> int:
    """The least multiple that is not below the value."""
    return ceil_div(value, multiple) * multiple
