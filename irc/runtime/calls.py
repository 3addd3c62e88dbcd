"""The driver's calls that a run of a plan makes, through ctypes: with prepared structs one costs less than a
microsecond of Python. Structs are those of cuda.h (CUDA 12.4 and later)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint32, c_uint64, c_void_p
from functools import cache, partial
from typing import Any

from irc.runtime.artifact import DTYPES
from irc.runtime.driver import DriverError
from irc.runtime.plan import Launch, TensorMap
from irc.support.parameters import MAP_BYTES

_CLUSTER, _PROGRAMMATIC = 4, 6
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION and _PROGRAMMATIC_STREAM_SERIALIZATION."""

_PROBES = (0x1555_5555_5500, 0x6AAA_AAAA_AA00)
"""Two addresses that share no bit."""

_MAP_TYPES = {"i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
"""CUtensorMapDataType of the elements that have one; bytes and 16-bit integers are moved as unsigned ones
(driver API, 6.30)."""

_MAP_UNSIGNED = {1: 0, 2: 1}
_MAP_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}

L2_PROMOTION = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B: a miss of the L2 fetches 128 bytes."""


class _Attribute(ctypes.Structure):
    _fields_ = (("id", c_uint32), ("padding", c_uint32), ("value", c_uint32 * 16))


class _Config(ctypes.Structure):
    _fields_ = (
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared", c_uint32),
        ("stream", c_void_p),
        ("attributes", POINTER(_Attribute)),
        ("count", c_uint32),
    )


class _NodeParameters(ctypes.Structure):
    _fields_ = (
        ("function", c_void_p),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared", c_uint32),
        ("parameters", c_void_p),
        ("extra", c_void_p),
        ("kernel", c_void_p),
        ("context", c_void_p),
    )


class _CopyEnd(ctypes.Structure):
    """One side of a copy: an offset in three axes and a level, then what it is in."""

    _fields_ = (
        ("offset", c_size_t * 4),
        ("memory_type", c_uint32),
        ("host", c_void_p),
        ("device", c_uint64),
        ("array", c_void_p),
        ("reserved", c_void_p),
        ("pitch", c_size_t),
        ("height", c_size_t),
    )


class _CopyParameters(ctypes.Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = (("source", _CopyEnd), ("destination", _CopyEnd), ("extents", c_size_t * 3))


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuTensorMapEncodeTiled": (c_void_p, c_int, c_uint32, *[c_void_p] * 5, c_int, c_int, c_int, c_int),
    "cuTensorMapEncodeIm2col": (
        *(c_void_p, c_int, c_uint32, *[c_void_p] * 5),
        *(c_uint32, c_uint32, c_void_p, c_int, c_int, c_int, c_int),
    ),
    "cuMemcpyAsync": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuMemsetD8Async": (c_uint64, c_ubyte, c_size_t, c_void_p),
    "cuMemAllocFromPoolAsync": (POINTER(c_uint64), c_size_t, c_void_p, c_void_p),
    "cuMemFreeAsync": (c_uint64, c_void_p),
    "cuMemHostAlloc": (POINTER(c_void_p), c_size_t, c_uint32),
    "cuMemFreeHost": (c_void_p,),
    "cuStreamCreate": (POINTER(c_void_p), c_uint32),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamIsCapturing": (c_void_p, POINTER(c_int)),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint32),
    "cuEventCreate": (POINTER(c_void_p), c_uint32),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphExecDestroy": (c_void_p,),
    "cuGraphDestroy": (c_void_p,),
}
"""Of what is called with Python's numbers. What is called with prepared values of ctypes alone is not here: that saves
the look at each of them."""


@cache
def library() -> Any:
    """The driver's library with the types of the calls above."""
    loaded = ctypes.CDLL("libcuda.so.1")
    for name, types in _SIGNATURES.items():
        getattr(loaded, name).argtypes = types
    return loaded


def check(status: int, function: str) -> None:
    """DriverError unless the call went well."""
    if status == 0:
        return
    name, text = c_char_p(), c_char_p()
    library().cuGetErrorName(status, ctypes.byref(name))
    library().cuGetErrorString(status, ctypes.byref(text))
    raise DriverError(f"{function}: {(name.value or b'?').decode()}: {(text.value or b'?').decode()}")


class KernelCall:
    """A launch in the driver's form. `parameters` is the address of the array of pointers to the kernel's parameters,
    `kernel` the handle of the kernel; the caller keeps both alive."""

    __slots__ = ("_attributes", "_config", "_launch", "_node", "_stream")

    def __init__(self, launch: Launch, kernel: int, parameters: int):
        attributes: list[_Attribute] = []
        if launch.cluster != (1, 1, 1):
            attributes.append(_Attribute(_CLUSTER, 0, (c_uint32 * 16)(*launch.cluster)))
        if launch.overlaps:
            attributes.append(_Attribute(_PROGRAMMATIC, 0, (c_uint32 * 16)(1)))
        self._attributes = (_Attribute * len(attributes))(*attributes)
        grid, block = (c_uint32 * 3)(*launch.grid), (c_uint32 * 3)(launch.block, 1, 1)
        self._config = _Config(grid, block, launch.shared, None, self._attributes, len(attributes))
        self._node = byref(_NodeParameters(None, grid, block, launch.shared, parameters, None, kernel, None))
        self._stream = 0
        launch_kernel = library().cuLaunchKernelEx
        self._launch = partial(launch_kernel, byref(self._config), c_void_p(kernel), c_void_p(parameters), None)

    def enqueue(self, stream: int) -> None:
        """Launches it with what the parameters are now: they are copied."""
        if stream != self._stream:
            self._config.stream = self._stream = stream
        if status := self._launch():
            check(status, "cuLaunchKernelEx")

    def updater(self, graph: int, node: int) -> Callable[[], None]:
        """What gives the node of an executable graph what the parameters are then."""
        set_parameters = library().cuGraphExecKernelNodeSetParams_v2
        update = partial(set_parameters, c_void_p(graph), c_void_p(node), self._node)

        def updated() -> None:
            if status := update():
                check(status, "cuGraphExecKernelNodeSetParams")

        return updated


def copy_updater(executable: int, node: int) -> Callable[[int], None]:
    """What gives a copy between two addresses, a node of a graph, another source in the executable graph made of it."""
    parameters, context = _CopyParameters(), c_void_p()
    of_driver = library()
    found = of_driver.cuGraphMemcpyNodeGetParams(c_void_p(node), byref(parameters))
    check(found, "cuGraphMemcpyNodeGetParams")
    check(of_driver.cuCtxGetCurrent(byref(context)), "cuCtxGetCurrent")
    set_parameters = of_driver.cuGraphExecMemcpyNodeSetParams
    update = partial(set_parameters, c_void_p(executable), c_void_p(node), byref(parameters), context)
    source = parameters.source

    def updated(address: int) -> None:
        source.device = address
        if status := update():
            check(status, "cuGraphExecMemcpyNodeSetParams")

    return updated


def data_type(element: str) -> int:
    """The CUtensorMapDataType of an element name of irc."""
    if (found := _MAP_TYPES.get(element)) is not None:
        return found
    return _MAP_UNSIGNED[DTYPES[element].itemsize]


def swizzle_code(size: int) -> int:
    """The CUtensorMapSwizzle of a swizzle of that many bytes."""
    return _MAP_SWIZZLES[size]


class MapEncoder:
    """Makes the CUtensorMap of a `TensorMap` for an array at any address, a multiple of 16."""

    def __init__(self, map: TensorMap):
        rank, itemsize = len(map.extents), DTYPES[map.element].itemsize
        strides = [stride * itemsize for stride in map.strides[:-1]]
        self._encode, self._name = library().cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled"
        box: tuple[Any, ...] = ((c_uint32 * rank)(*reversed(map.box)),)
        if map.steps:
            self._encode, self._name = library().cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col"
            corners = ((c_int * len(map.steps))(*reversed(corner)) for corner in (map.lower, map.upper))
            pixels, channels = map.box
            box = (*corners, channels, pixels)
        steps = [1, *map.steps, 1] if map.steps else [1] * rank
        self._lists = (_wide(map.extents), _wide(strides), *box, (c_uint32 * rank)(*reversed(steps)))
        self._first = (data_type(map.element), rank)
        self._last = (0, swizzle_code(map.swizzle), L2_PROMOTION, 0)

    def prepare(self, cell: int) -> int | None:
        """Writes a map to `cell`, a multiple of 64, such that to write an address to one word of it gives the map of
        that address: the number of the word, or None where `write` has to make each map.

        Maps are opaque. That is so where the maps of two addresses that share no bit differ in one word, which is the
        address. The driver takes several microseconds for a map."""
        words = (c_uint64 * (MAP_BYTES // 8)).from_address(cell)
        maps: list[list[int]] = []
        for address in _PROBES:
            try:
                self.write(cell, address)
            except DriverError:
                return None
            maps.append(list(words))
        places = [place for place, (a, b) in enumerate(zip(*maps, strict=True)) if a != b]
        if len(places) != 1 or tuple(each[places[0]] for each in maps) != _PROBES:
            return None
        return places[0]

    def write(self, cell: int, address: int) -> None:
        """Writes the map of an address to `cell`; DriverError where the driver refuses."""
        status = self._encode(cell, *self._first, address, *self._lists, *self._last)
        check(status, self._name)


def _wide(values: Sequence[int]) -> Any:
    """64-bit numbers, innermost first."""
    return (c_uint64 * max(1, len(values)))(*reversed(values))
