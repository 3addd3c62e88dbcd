"""Encoding of CUtensorMaps: the 128 bytes that tell the tensor memory accelerator about an array (driver API, 6.30).

The driver needs the storage aligned to 64 bytes, which cuda.bindings does not see to, so the call goes through ctypes
into storage of the caller.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from irc.artifact import DTYPES
from irc.runtime.driver import DriverError
from irc.runtime.plan import TensorMap

BYTES = 128
ALIGNMENT = 64

_TYPES = {"i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
"""CUtensorMapDataType of the elements that have one; bytes and 16-bit integers are moved as unsigned ones."""

_UNSIGNED = {1: 0, 2: 1}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_L2_PROMOTION_128 = 2


@cache
def _encoder() -> Any:
    encode = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    encode.argtypes = [pointer, integer, ctypes.c_uint32, *[pointer] * 5, *[integer] * 4]
    encode.restype = integer
    return encode


def data_type(element: str) -> int:
    """The CUtensorMapDataType of an element name of irc."""
    if (found := _TYPES.get(element)) is not None:
        return found
    return _UNSIGNED[DTYPES[element].itemsize]


def driver_lists(map: TensorMap) -> tuple[list[int], list[int], list[int]]:
    """Extents, strides in bytes without the innermost, and box: in the driver's order, innermost first."""
    size = DTYPES[map.element].itemsize
    strides = [stride * size for stride in reversed(map.strides[:-1])]
    return list(reversed(map.extents)), strides, list(reversed(map.box))


def encode(map: TensorMap, address: int, storage: int) -> None:
    """Writes the tensor map of the array at `address` (device) to `storage` (host, 64-byte aligned). DriverError where
    the
    driver refuses it: `address` has to be a multiple of 16."""
    extents, strides, box = driver_lists(map)
    rank = len(extents)
    status = _encoder()(
        storage,
        data_type(map.element),
        rank,
        address,
        (ctypes.c_uint64 * rank)(*extents),
        (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
        (ctypes.c_uint32 * rank)(*box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        0,
        _SWIZZLES[map.swizzle],
        _L2_PROMOTION_128,
        0,
    )
    if status:
        raise DriverError("cuTensorMapEncodeTiled", f"error {status}", f"{map} at {address:#x}")
