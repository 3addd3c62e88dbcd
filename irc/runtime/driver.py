"""The CUDA driver, typed: what the runtime needs of `cuda.bindings.driver`, with handles and addresses as plain ints.

Whether there is a GPU is asked through ctypes, so that a machine without one imports nothing. Every failing call is a
`DriverError` with the driver's own name and text of the error. The context is the device's primary one, which is shared
with torch, cupy and jax; `Device.use` makes it current in the calling thread.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache, cached_property
from typing import Any

from irc.diagnostics import IrcError

SUPPORTED = {(8, 0): "sm_80", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100a"}
"""Compute capability to the architecture that kernels are compiled for."""

KEPT_BYTES = 1 << 30
"""Of freed memory that the pool keeps for later calls; more is given back to the driver when it synchronises."""

LARGEST_DEFAULT_SHARED = 48 * 1024
"""Bytes of dynamic shared memory that a kernel may have without opting in (CUDA C++ Programming Guide, Shared
Memory)."""


class DriverError(Exception):
    """A call of the driver that failed."""

    def __init__(self, call: str, name: str, text: str):
        super().__init__(f"{call}: {name}: {text}")
        self.name = name

    @property
    def out_of_memory(self) -> bool:
        return self.name == "CUDA_ERROR_OUT_OF_MEMORY"


@cache
def _library() -> ctypes.CDLL | None:
    """The driver's library, initialised; None where there is none or it has no device."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int(0)
    if library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return None
    return library if count.value > 0 else None


def is_present() -> bool:
    """Whether there is a GPU."""
    return _library() is not None


def require_device() -> None:
    """IrcError where there is no GPU."""
    if not is_present():
        raise IrcError(
            "target cuda: no CUDA GPU is present (or its driver does not start)",
            hint="the cpu target runs everywhere; irc-compile needs no GPU",
        )


def present_arch() -> str:
    """The architecture of device 0, `sm_90a`; IrcError where irc has no such target."""
    library = _library()
    assert library is not None
    handle, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(handle), 0)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of the driver API.
    library.cuDeviceGetAttribute(ctypes.byref(major), 75, handle)
    library.cuDeviceGetAttribute(ctypes.byref(minor), 76, handle)
    found = (major.value, minor.value)
    if found not in SUPPORTED:
        known = ", ".join(f"{a}.{b}" for a, b in SUPPORTED)
        raise IrcError(
            f"irc has no target for a GPU of compute capability {found[0]}.{found[1]}", hint=f"it has {known}"
        )
    return SUPPORTED[found]


@cache
def _driver() -> Any:
    """cuda.bindings' driver module."""
    from cuda.bindings import driver  # pyright: ignore[reportAttributeAccessIssue]

    return driver


def _call(function: str, *arguments: Any) -> Any:
    """Calls the driver; the value, a tuple of several, or None. DriverError where it fails."""
    status, *values = getattr(_driver(), function)(*arguments)
    if status == 0:
        return values[0] if len(values) == 1 else tuple(values) or None
    name, text = _driver().cuGetErrorName(status)[1], _driver().cuGetErrorString(status)[1]
    raise DriverError(function, (name or b"?").decode(), (text or b"?").decode())


@cache
def device(ordinal: int = 0) -> Device:
    """The device with this number."""
    require_device()
    return Device(ordinal)


class Device:
    """A device, its primary context, its memory pool and its spare streams and events."""

    def __init__(self, ordinal: int):
        self.ordinal = ordinal
        _call("cuInit", 0)
        self._handle = _call("cuDeviceGet", ordinal)
        self._context = _call("cuDevicePrimaryCtxRetain", self._handle)
        self._is_only = int(_call("cuDeviceGetCount")) == 1
        self._used = threading.local()
        self._lock = threading.Lock()
        self._streams: list[int] = []
        self._events: list[int] = []
        self.use()

    def use(self) -> None:
        """Makes its context current in this thread. On a machine with one device that is done once for each thread."""
        if self._is_only and getattr(self._used, "here", False):
            return
        _call("cuCtxSetCurrent", self._context)
        self._used.here = True

    @cached_property
    def total_memory(self) -> int:
        """Bytes."""
        return int(_call("cuDeviceTotalMem", self._handle))

    @cached_property
    def largest_shared(self) -> int:
        """Bytes of shared memory that a block may opt in to."""
        attribute = _driver().CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        return int(_call("cuDeviceGetAttribute", attribute, self._handle))

    def free_memory(self) -> int:
        """Bytes that are free now, apart from what the pool keeps."""
        return int(_call("cuMemGetInfo")[0])

    @cached_property
    def _pool(self) -> Any:
        properties = _driver().CUmemPoolProps()
        properties.allocType = _driver().CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.handleTypes = _driver().CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
        properties.location.type = _driver().CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = self.ordinal
        pool = _call("cuMemPoolCreate", properties)
        threshold = _driver().CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        _call("cuMemPoolSetAttribute", pool, threshold, _driver().cuuint64_t(KEPT_BYTES))
        return pool

    def allocate(self, size: int, stream: int) -> int:
        """The address of `size` bytes, usable on the stream from here on; 256-byte aligned. 0 for no bytes.

        IrcError where the device has not as much."""
        if size == 0:
            return 0
        try:
            return int(_call("cuMemAllocFromPoolAsync", size, self._pool, stream))
        except DriverError as error:
            if not error.out_of_memory:
                raise
        # What earlier calls freed may lie in pieces: give it back and ask again.
        self.synchronise(stream)
        _call("cuMemPoolTrimTo", self._pool, 0)
        try:
            return int(_call("cuMemAllocFromPoolAsync", size, self._pool, stream))
        except DriverError as error:
            if not error.out_of_memory:
                raise
            raise out_of_memory(size, self.free_memory(), self.total_memory) from error

    def free(self, address: int, stream: int) -> None:
        """Frees it when the stream comes to this point."""
        if address:
            _call("cuMemFreeAsync", address, stream)

    def copy_in(self, destination: int, source: int, size: int, stream: int) -> None:
        """From the host's memory."""
        if size:
            _call("cuMemcpyHtoDAsync", destination, source, size, stream)

    def copy_out(self, destination: int, source: int, size: int, stream: int) -> None:
        """To the host's memory."""
        if size:
            _call("cuMemcpyDtoHAsync", destination, source, size, stream)

    def copy(self, destination: int, source: int, size: int, stream: int) -> None:
        """Within the device's memory."""
        if size:
            _call("cuMemcpyDtoDAsync", destination, source, size, stream)

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        """Sets every byte."""
        if size:
            _call("cuMemsetD8Async", address, value, size, stream)

    def take_stream(self) -> int:
        """A non-blocking stream, from the spare ones if there is one; give it back by `give_stream`."""
        with self._lock:
            if self._streams:
                return self._streams.pop()
        return int(_call("cuStreamCreate", 1))

    def give_stream(self, stream: int) -> None:
        with self._lock:
            self._streams.append(stream)

    def take_event(self) -> int:
        """An event without timing, from the spare ones if there is one; give it back by `give_event`."""
        with self._lock:
            if self._events:
                return self._events.pop()
        return int(_call("cuEventCreate", 2))

    def give_event(self, event: int) -> None:
        with self._lock:
            self._events.append(event)

    def record(self, event: int, stream: int) -> None:
        _call("cuEventRecord", event, stream)

    def wait(self, event: int, stream: int) -> None:
        """Later work of the stream starts after what the event was recorded behind."""
        _call("cuStreamWaitEvent", stream, event, 0)

    def timing_event(self) -> int:
        """A new event that notes when it is reached; destroy it by `destroy_event`."""
        return int(_call("cuEventCreate", 0))

    def destroy_event(self, event: int) -> None:
        _call("cuEventDestroy", event)

    def seconds_between(self, begin: int, end: int) -> float:
        """The time between two timing events that have been reached, with a resolution of half a microsecond."""
        return float(_call("cuEventElapsedTime", begin, end)) * 1e-3

    def synchronise(self, stream: int) -> None:
        """Blocks until the work of the stream is done; errors of kernels surface here."""
        _call("cuStreamSynchronize", stream)

    def load(self, cubin: bytes, kernel: str, shared: int) -> Kernel:
        """The kernel of that name from machine code, allowed `shared` bytes of dynamic shared memory."""
        library = _call("cuLibraryLoadData", cubin, [], [], 0, [], [], 0)
        handle = _call("cuLibraryGetKernel", library, kernel.encode())
        if shared > LARGEST_DEFAULT_SHARED:
            attribute = _driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _call("cuKernelSetAttribute", attribute, shared, handle, self._handle)
        return Kernel(int(handle), library)


class Kernel:
    """A loaded kernel; its library is kept as long as it."""

    def __init__(self, handle: int, library: Any):
        self.handle = handle
        self._library = library


class LaunchConfig:
    """Grid, block, cluster and shared memory of a launch, in the driver's form."""

    def __init__(
        self, grid: tuple[int, int, int], block: int, cluster: tuple[int, int, int] = (1, 1, 1), shared: int = 0
    ):
        config = _driver().CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block, 1, 1
        config.sharedMemBytes = shared
        attributes: list[Any] = []
        if cluster != (1, 1, 1):
            attribute = _driver().CUlaunchAttribute()
            attribute.id = _driver().CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = cluster
            attributes.append(attribute)
        config.attrs = attributes
        config.numAttrs = len(attributes)
        self._config = config

    def launch(self, kernel: Kernel, parameters: int, stream: int) -> None:
        """Enqueues it. `parameters` is the address of an array of pointers to the arguments, which are copied now."""
        self._config.hStream = stream
        _call("cuLaunchKernelEx", self._config, kernel.handle, parameters, 0)


def out_of_memory(needed: int, free: int, total: int) -> IrcError:
    """The diagnostic of memory that is not there."""
    return IrcError(
        f"not enough device memory: {_gib(needed)} are needed, {_gib(free)} of {_gib(total)} are free",
        hint="smaller dims (-D NAME=INT) need less",
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"
