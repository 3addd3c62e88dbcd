"""What a tensor map says, in the driver's numbers (driver API, 6.30)."""

from __future__ import annotations

from irc.runtime.artifact import DTYPES

_TYPES = {"i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
"""CUtensorMapDataType of the elements that have one; bytes and 16-bit integers are moved as unsigned ones."""

_UNSIGNED = {1: 0, 2: 1}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}

L2_PROMOTION = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B: a miss of the L2 fetches 128 bytes."""


def data_type(element: str) -> int:
    """The CUtensorMapDataType of an element name of irc."""
    if (found := _TYPES.get(element)) is not None:
        return found
    return _UNSIGNED[DTYPES[element].itemsize]


def swizzle_code(size: int) -> int:
    """The CUtensorMapSwizzle of a swizzle of that many bytes."""
    return _SWIZZLES[size]
