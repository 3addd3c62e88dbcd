"""A GPU, typed: what the runtime needs of the driver, with streams and addresses as ints. cuda.core is imported here
alone.

Calls that a run of a plan makes go through `irc.runtime.calls`; loading, pools and graphs through cuda.core and
cuda.bindings. The context is the device's primary one, which torch, cupy and jax share; `Device.use` makes it current
in the calling thread. A call that fails is a `DriverError`.
"""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, ParamSpec, TypeAlias, TypeVar

from irc.runtime.calls import KernelCall, MapEncoder, check, copy_updater, library
from irc.runtime.dlpack import LEGACY_STREAM
from irc.runtime.driver import DriverError, out_of_memory, pool_is_full, present_arch
from irc.runtime.plan import Launch, TensorMap
from irc.runtime.spare_streams import SpareStreams
from irc.support.cuda_wheels import cuda_module

core: Any = cuda_module("cuda.core", "target cuda")
driver: Any = cuda_module("cuda.bindings.driver", "target cuda")

_FAILURES: tuple[type[Exception], ...] = (
    importlib.import_module("cuda.core._utils.cuda_utils").CUDAError,
    RuntimeError,
    ValueError,
)
"""What cuda.core raises where the driver refuses, or where it foresees that."""

KEPT_SHARE = 4
"""The pool keeps freed memory for later calls, up to this part (1 / KEPT_SHARE) of the device's: more is given back to
the driver when it synchronizes, for other libraries to have. A step of training whose arena was given back waits for it
to be mapped again."""

LARGEST_DEFAULT_SHARED = 48 * 1024
"""Bytes of dynamic shared memory that a kernel may have without opting in (CUDA C++ Programming Guide, Shared
Memory)."""

_NON_BLOCKING, _TIMED, _UNTIMED = 1, 0, 2
"""CU_STREAM_NON_BLOCKING, CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING."""

_NOT_READY, _OUT_OF_MEMORY = 600, 2
"""CUDA_ERROR_NOT_READY, CUDA_ERROR_OUT_OF_MEMORY."""

Stream: TypeAlias = int
"""The handle of a stream, made here or a caller's."""

P = ParamSpec("P")
R = TypeVar("R")


class Event:
    """An event; it is destroyed when it dies."""

    __slots__ = ("handle",)

    def __init__(self, *, timed: bool):
        made = ctypes.c_void_p()
        check(library().cuEventCreate(made, _TIMED if timed else _UNTIMED), "cuEventCreate")
        self.handle = made.value or 0

    @property
    def is_done(self) -> bool:
        """Whether what it was recorded behind is done."""
        status = library().cuEventQuery(self.handle)
        if status != _NOT_READY:
            check(status, "cuEventQuery")
        return status == 0

    def __del__(self) -> None:
        if library is not None:  # pyright: ignore[reportUnnecessaryComparison]: None while Python ends
            library().cuEventDestroy_v2(self.handle)


class Memory:
    """Device memory of the pool: its address (256-byte aligned; 0 where it has no bytes). It is freed by `free`, or on
    the legacy stream when it dies."""

    __slots__ = ("address",)

    def __init__(self, address: int):
        self.address = address

    def free(self, stream: Stream) -> None:
        """Frees it when the stream comes to this point."""
        if address := self.address:
            self.address = 0
            check(library().cuMemFreeAsync(address, stream), "cuMemFreeAsync")

    def __del__(self) -> None:
        if self.address and library is not None:  # pyright: ignore[reportUnnecessaryComparison]: None while Python ends
            library().cuMemFreeAsync(self.address, LEGACY_STREAM)


class Pinned:
    """Host memory that the device reads at full speed while the host goes on; freed when it dies."""

    __slots__ = ("address", "size")

    def __init__(self, size: int):
        found = ctypes.c_void_p()
        check(library().cuMemHostAlloc(found, max(1, size), 0), "cuMemHostAlloc")
        self.address, self.size = found.value or 0, size

    def __del__(self) -> None:
        if library is not None:  # pyright: ignore[reportUnnecessaryComparison]: None while Python ends
            library().cuMemFreeHost(self.address)


def _checked(function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
    """Calls cuda.core. DriverError where it fails."""
    try:
        return function(*arguments, **options)
    except _FAILURES as error:
        raise DriverError(str(error)) from error


def _call(function: str, *arguments: Any) -> Any:
    """Calls cuda.bindings; the value, a tuple of several, or None. DriverError where it fails."""
    status, *values = getattr(driver, function)(*arguments)
    if status == 0:
        return values[0] if len(values) == 1 else tuple(values) or None
    name, text = driver.cuGetErrorName(status)[1], driver.cuGetErrorString(status)[1]
    raise DriverError(f"{function}: {(name or b'?').decode()}: {(text or b'?').decode()}")


def _pool_attribute(name: str) -> Any:
    """An attribute of memory pools."""
    return getattr(driver.CUmemPool_attribute, f"CU_MEMPOOL_ATTR_{name}")


class Device:
    """A device, its primary context, its memory pool and its spare streams."""

    pool_maximum: int | None = None
    """Bytes that the pool may have; None where only the device limits it."""

    def __init__(self, ordinal: int):
        self.ordinal = ordinal
        self._is_only = len(core.Device.get_all_devices()) == 1
        self._thread = threading.local()
        self._spare_streams = SpareStreams(self._new_stream)
        self.use()

    @property
    def arch(self) -> str:
        """The architecture whose machine code it runs."""
        return present_arch()

    def use(self) -> None:
        """Makes its context current in this thread. On a machine with one device that is done once for each thread."""
        if self._is_only and hasattr(self._thread, "core"):
            return
        self._thread.core = core.Device(self.ordinal)
        _checked(self._thread.core.set_current)

    @property
    def _core(self) -> Any:
        """cuda.core's device, which belongs to a thread."""
        self.use()
        return self._thread.core

    @cached_property
    def total_memory(self) -> int:
        """Bytes."""
        return int(_call("cuMemGetInfo")[1])

    @cached_property
    def l2_bytes(self) -> int:
        """Bytes of the L2 cache."""
        return int(self._core.properties.l2_cache_size)

    @cached_property
    def processors(self) -> int:
        """Streaming multiprocessors."""
        return int(self._core.properties.multiprocessor_count)

    @cached_property
    def largest_shared(self) -> int:
        """Bytes of shared memory that a block may opt in to."""
        return int(self._core.properties.max_shared_memory_per_block_optin)

    def free_memory(self) -> int:
        """Bytes that are free now, apart from what the pool keeps."""
        return int(_call("cuMemGetInfo")[0])

    @cached_property
    def _pool(self) -> Any:
        options = core.DeviceMemoryResourceOptions(max_size=self.pool_maximum or 0)
        pool = _checked(core.DeviceMemoryResource, self.ordinal, options)
        kept = driver.cuuint64_t(self.total_memory // KEPT_SHARE)
        _call("cuMemPoolSetAttribute", pool.handle, _pool_attribute("RELEASE_THRESHOLD"), kept)
        return pool

    @cached_property
    def _pool_handle(self) -> int:
        return int(self._pool.handle)

    def limit_pool(self, maximum: int | None) -> None:
        """Takes a new pool of so many bytes at most. The driver keeps the one before until all its memory is freed."""
        self.pool_maximum = maximum
        for name in ("_pool", "_pool_handle"):
            self.__dict__.pop(name, None)

    def pool_bytes(self, attribute: str) -> int:
        """What the pool holds, by the name of an attribute after CU_MEMPOOL_ATTR_."""
        self.use()
        return int(_call("cuMemPoolGetAttribute", self._pool.handle, _pool_attribute(attribute)))

    def set_pool_bytes(self, attribute: str, size: int) -> None:
        """Sets it: the threshold of memory that is kept; 0 for a high water mark, which begins anew."""
        _call("cuMemPoolSetAttribute", self._pool.handle, _pool_attribute(attribute), driver.cuuint64_t(size))

    def trim_pool(self, kept: int) -> None:
        """Gives memory of the pool that nobody uses back to the driver, but for so many bytes."""
        _call("cuMemPoolTrimTo", self._pool.handle, kept)

    def allocate(self, size: int, stream: Stream) -> Memory:
        """`size` bytes, usable on the stream from here on. IrcError where the device has not as much."""
        if size == 0:
            return Memory(0)
        if (found := self._allocated(size, stream)) is not None:
            return found
        # What earlier calls freed may lie in pieces: give it back and ask again.
        self.synchronize(stream)
        self.trim_pool(0)
        if (found := self._allocated(size, stream)) is not None:
            return found
        if self.pool_maximum is not None:
            raise pool_is_full(size, self.pool_maximum - self.pool_bytes("USED_MEM_CURRENT"), self.pool_maximum)
        raise out_of_memory(size, self.free_memory(), self.total_memory)

    def _allocated(self, size: int, stream: Stream) -> Memory | None:
        """Memory of the pool; None where there is not as much."""
        address = ctypes.c_uint64()
        status = library().cuMemAllocFromPoolAsync(address, size, self._pool_handle, stream)
        if status == _OUT_OF_MEMORY:
            return None
        check(status, "cuMemAllocFromPoolAsync")
        return Memory(address.value)

    def copy(self, destination: int, source: int, size: int, stream: Stream) -> None:
        """Copies bytes between two addresses, each of the device or of the host."""
        if size:
            check(library().cuMemcpyAsync(destination, source, size, stream), "cuMemcpyAsync")

    def fill(self, address: int, value: int, size: int, stream: Stream) -> None:
        """Sets every byte."""
        if size:
            check(library().cuMemsetD8Async(address, value, size, stream), "cuMemsetD8Async")

    def pinned(self, size: int) -> Pinned:
        """Pinned host memory."""
        self.use()
        return Pinned(size)

    def take_stream(self) -> Stream:
        """A non-blocking stream, from the spare ones if there is one; give it back by `give_stream`."""
        return self._spare_streams.take()

    def give_stream(self, stream: Stream) -> None:
        self._spare_streams.give(stream)

    def _new_stream(self) -> Stream:
        self.use()
        made = ctypes.c_void_p()
        check(library().cuStreamCreate(made, _NON_BLOCKING), "cuStreamCreate")
        return made.value or 0

    def event(self, *, timed: bool = False) -> Event:
        """A new event, which notes when it is reached if it is `timed`."""
        self.use()
        return Event(timed=timed)

    def record(self, event: Event, stream: Stream) -> None:
        check(library().cuEventRecord(event.handle, stream), "cuEventRecord")

    def wait(self, event: Event, stream: Stream) -> None:
        """Later work of the stream starts after what the event was recorded behind."""
        check(library().cuStreamWaitEvent(stream, event.handle, 0), "cuStreamWaitEvent")

    def wait_here(self, event: Event) -> None:
        """Blocks until what the event was recorded behind is done."""
        check(library().cuEventSynchronize(event.handle), "cuEventSynchronize")

    def seconds_between(self, begin: Event, end: Event) -> float:
        """The time between two timed events that have been reached, with a resolution of half a microsecond."""
        found = ctypes.c_float()
        check(library().cuEventElapsedTime(found, begin.handle, end.handle), "cuEventElapsedTime")
        return found.value * 1e-3

    def synchronize(self, stream: Stream) -> None:
        """Blocks until the work of the stream is done; errors of kernels surface here."""
        check(library().cuStreamSynchronize(stream), "cuStreamSynchronize")

    def load(self, cubin: bytes, kernel: str, shared: int) -> Any:
        """The kernel of that name from machine code or PTX, allowed `shared` bytes of dynamic shared memory."""
        read = core.ObjectCode.from_cubin if cubin.startswith(b"\x7fELF") else core.ObjectCode.from_ptx
        loaded = _checked(read(cubin).get_kernel, kernel)
        if shared > LARGEST_DEFAULT_SHARED:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _call("cuKernelSetAttribute", attribute, shared, loaded.handle, _call("cuDeviceGet", self.ordinal))
        return loaded

    def kernel_call(self, launch: Launch, kernel: Any, parameters: int) -> KernelCall:
        """The launch of a loaded kernel whose array of pointers to parameters is at an address of the host."""
        return KernelCall(launch, int(kernel.handle), parameters)

    def map_encoder(self, map: TensorMap) -> MapEncoder:
        """What makes tensor maps for addresses."""
        return MapEncoder(map)

    def is_capturing(self, stream: Stream) -> bool:
        """Whether what is enqueued on the stream becomes a graph."""
        found = ctypes.c_int()
        check(library().cuStreamIsCapturing(stream, found), "cuStreamIsCapturing")
        return found.value != 0

    def begin_capture(self, stream: Stream) -> None:
        """What is enqueued on the stream, and what waits for that on others, becomes a graph instead of being run."""
        _call("cuStreamBeginCapture", stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        self._spare_streams.begin_capture()

    def captured_node(self, stream: Stream) -> int:
        """The node that was captured last on a stream."""
        _, _, _, nodes, _, _ = _call("cuStreamGetCaptureInfo", stream)
        return int(nodes[0])

    def end_capture(self, stream: Stream) -> Graph:
        """The graph of what was enqueued since `begin_capture`."""
        captured = int(_call("cuStreamEndCapture", stream))
        self._spare_streams.end_capture()
        return Graph(captured)

    def drop_capture(self, stream: Stream) -> None:
        """Ends a capture that failed."""
        _, graph = driver.cuStreamEndCapture(stream)
        self._spare_streams.end_capture()
        if int(graph):
            library().cuGraphDestroy(int(graph))


class Graph:
    """An executable graph, with the graph whose nodes name its own."""

    def __init__(self, graph: int):
        self._graph = graph
        self.handle = 0
        self.handle = int(_call("cuGraphInstantiate", graph, 0))
        self._launch = library().cuGraphLaunch

    def copy_updater(self, node: int) -> Callable[[int], None]:
        """What gives the executable graph's node of a copy another source, of the same bytes."""
        return copy_updater(self.handle, node)

    def enqueue(self, stream: Stream) -> None:
        """Launches it. The driver orders it behind its earlier launches."""
        status = self._launch(self.handle, stream)
        if status:
            check(status, "cuGraphLaunch")

    def __del__(self) -> None:
        if library is None:  # pyright: ignore[reportUnnecessaryComparison]: None while Python ends
            return
        if self.handle:
            library().cuGraphExecDestroy(self.handle)
        library().cuGraphDestroy(self._graph)
