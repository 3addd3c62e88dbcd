"""DLPack, both ways, for arrays in device memory (https://dmlc.github.io/dlpack, version 0.8 of the struct).

`borrow` reads what another library exports; `DeviceArray` exports a result. Structs are read and made with ctypes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irc.runtime.artifact import DTYPES
from irc.support.shapes import row_major

CUDA = 2
"""kDLCUDA, the device type of memory on an NVIDIA GPU; pinned host memory (3) and managed memory (13) are not taken."""

LEGACY_STREAM = 1
"""What DLPack and the driver call the legacy default stream; DLPack forbids 0."""

_CODES = {
    (2, 64): "f64",
    (2, 32): "f32",
    (2, 16): "f16",
    (4, 16): "bf16",
    (10, 8): "f8e4m3",
    (12, 8): "f8e5m2",
    (0, 64): "i64",
    (0, 32): "i32",
    (0, 16): "i16",
    (0, 8): "i8",
    (1, 8): "u8",
    (6, 8): "bool",
}
"""DLDataTypeCode and bits of each element name."""

_CODE_OF = {name: code for code, name in _CODES.items()}


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", _Deleter)]

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_api.PyCapsule_IsValid.restype = ctypes.c_int
_api.PyCapsule_IsValid.argtypes = (ctypes.py_object, ctypes.c_char_p)

_NAME = b"dltensor"


@dataclass(frozen=True)
class Borrowed:
    """An array of another library: its address, extents, strides in elements, element name (the library's code where
    irc has none), and device number. `owner` keeps it alive."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    device: int
    owner: Any

    @property
    def is_contiguous(self) -> bool:
        """Whether it is row-major without gaps; strides of extents of one do not matter."""
        expected = row_major(self.shape)
        pairs = zip(self.shape, self.strides, expected, strict=True)
        return 0 in self.shape or all(extent == 1 or stride == want for extent, stride, want in pairs)


def is_on_device(array: Any) -> bool:
    """Whether it exports DLPack from CUDA memory."""
    kind = getattr(array, "__dlpack_device__", None)
    return kind is not None and hasattr(array, "__dlpack__") and int(kind()[0]) == CUDA


def borrow(array: Any, stream: int) -> Borrowed:
    """What the array exports, safe to use on the stream. BufferError or another error of the library where it
    refuses."""
    return read_capsule(array.__dlpack__(stream=stream or LEGACY_STREAM))


def read_capsule(capsule: Any) -> Borrowed:
    """What a capsule describes. It is not consumed: when it dies, it frees what it holds."""
    if not _api.PyCapsule_IsValid(capsule, _NAME):
        raise BufferError("expected a DLPack capsule that was not used yet")
    tensor = _Managed.from_address(_api.PyCapsule_GetPointer(capsule, _NAME)).tensor
    rank = tensor.ndim
    shape = tuple(tensor.shape[axis] for axis in range(rank))
    strides = tuple(tensor.strides[axis] for axis in range(rank)) if tensor.strides else row_major(shape)
    return Borrowed(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=strides,
        element=_element(tensor.dtype),
        device=tensor.device_id,
        owner=capsule,
    )


def _element(dtype: _DataType) -> str:
    if dtype.lanes == 1 and (found := _CODES.get((dtype.code, dtype.bits))) is not None:
        return found
    return f"dlpack({dtype.code}, {dtype.bits} bits, {dtype.lanes} lanes)"


_exported: dict[int, tuple[Any, ...]] = {}
"""What each exported struct needs, by its address, until its consumer deletes it."""


@_Deleter
def _delete(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


class DeviceArray:
    """An array in device memory: what a call gives where the caller's library is not known, and what that is imported
    from.

    `release` is called with no arguments when the array and all that share its memory are gone.
    """

    def __init__(self, address: int, shape: tuple[int, ...], element: str, device: int, release: Callable[[], None]):
        self.address = address
        self.shape = shape
        self.element = element
        self.device = device
        self._memory = _Memory(release)

    @property
    def dtype(self) -> Any:
        """As numpy and ml_dtypes have it."""
        return DTYPES[self.element]

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """A capsule. The caller's stream was the one that the array was made on, so there is nothing to wait for."""
        managed = _Managed()
        rank = len(self.shape)
        shape = (ctypes.c_int64 * max(rank, 1))(*self.shape)
        strides = (ctypes.c_int64 * max(rank, 1))(*row_major(self.shape))
        code, bits = _CODE_OF[self.element]
        tensor = managed.tensor
        tensor.data, tensor.device_type, tensor.device_id, tensor.ndim = self.address or None, CUDA, self.device, rank
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, 1
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        managed.deleter = _delete
        address = ctypes.addressof(managed)
        _exported[address] = (managed, shape, strides, self._memory)
        return _api.PyCapsule_New(address, _NAME, _capsule_destructor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A copy on the host, after all work of the device's default stream."""
        from irc.runtime.driver import device

        on, found = device(self.device), np.empty(self.shape, self.dtype)
        on.use()
        on.copy(int(found.ctypes.data), self.address, found.nbytes, LEGACY_STREAM)
        on.synchronize(LEGACY_STREAM)
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        return f"<irc device array {self.element}{list(self.shape)}>"


class _Memory:
    """Calls its function when it dies."""

    def __init__(self, release: Callable[[], None]):
        self._release = release

    def __del__(self) -> None:
        self._release()


_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_is_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@_Destructor
def _destroy(capsule: int) -> None:
    """A capsule that nobody consumed dies: frees the struct. A consumer renames it and calls the deleter itself.

    The capsule is dying, so it is passed on as an address: a reference to it may not be made."""
    if _is_valid_at(capsule, _NAME):
        _exported.pop(_pointer_at(capsule, _NAME), None)


_capsule_destructor = ctypes.cast(_destroy, ctypes.c_void_p)
