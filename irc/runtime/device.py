"""A GPU, typed: what the runtime needs of cuda.core, with addresses as ints. cuda.core is imported here alone.

Of cuda.bindings come the few calls that cuda.core 1.2 lacks: the limits of a memory pool, how much memory is free, and
a kernel's permission to use much shared memory. The context is the device's primary one, which torch, cupy and jax
share; `Device.use` makes it current in the calling thread. A call that fails is a `DriverError`.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ParamSpec, Protocol, TypeVar

from irc.artifact import DTYPES
from irc.runtime.driver import DriverError, out_of_memory
from irc.runtime.plan import Launch, TensorMap
from irc.runtime.tensor_map import L2_PROMOTION, data_type, swizzle_code

core: Any = importlib.import_module("cuda.core")
core_views: Any = importlib.import_module("cuda.core.utils")
core_maps: Any = importlib.import_module("cuda.core._tensor_map")
"""The class of tensor maps is public, the enumerations that its options take are not."""
driver: Any = importlib.import_module("cuda.bindings.driver")

_FAILURES: tuple[type[Exception], ...] = (
    importlib.import_module("cuda.core._utils.cuda_utils").CUDAError,
    RuntimeError,
    ValueError,
)
"""What cuda.core raises where the driver refuses, or where it foresees that."""

KEPT_BYTES = 1 << 30
"""Of freed memory that the pool keeps for later calls; more is given back to the driver when it synchronises."""

LARGEST_DEFAULT_SHARED = 48 * 1024
"""Bytes of dynamic shared memory that a kernel may have without opting in (CUDA C++ Programming Guide, Shared
Memory)."""

MOST_BORROWED_STREAMS = 64
"""Streams of callers whose cuda.core object is kept."""

P = ParamSpec("P")
R = TypeVar("R")


class Stream(Protocol):
    """A stream of cuda.core, made here or borrowed from a caller."""

    def sync(self) -> None: ...
    def record(self, event: Event) -> Event: ...
    def wait(self, event_or_stream: Event) -> None: ...


class Event(Protocol):
    """An event of cuda.core."""

    @property
    def is_done(self) -> bool: ...
    def __sub__(self, other: Event) -> float: ...


class Memory:
    """Device memory of the pool: its address (256-byte aligned; 0 where it has no bytes). It is freed by `free`, or on
    the stream of its allocation when it dies."""

    __slots__ = ("_buffer", "address")

    def __init__(self, buffer: Any | None):
        self._buffer = buffer
        self.address = 0 if buffer is None else int(buffer.handle)

    def free(self, stream: Stream) -> None:
        """Frees it when the stream comes to this point."""
        if self._buffer is not None:
            self._buffer.close(stream)


NO_MEMORY = Memory(None)


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


class Device:
    """A device, its primary context, its memory pool and its spare streams."""

    def __init__(self, ordinal: int):
        self.ordinal = ordinal
        self._is_only = len(core.Device.get_all_devices()) == 1
        self._thread = threading.local()
        # Append and pop are atomic: threads share the list without a lock.
        self._spare_streams: list[Stream] = []
        self._borrowed: dict[int, Stream] = {1: core.LEGACY_DEFAULT_STREAM, 2: core.PER_THREAD_DEFAULT_STREAM}
        self._launch = core.launch
        self.use()

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
        pool = _checked(core.DeviceMemoryResource, self.ordinal, core.DeviceMemoryResourceOptions())
        threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        _call("cuMemPoolSetAttribute", pool.handle, threshold, driver.cuuint64_t(KEPT_BYTES))
        return pool

    def allocate(self, size: int, stream: Stream) -> Memory:
        """`size` bytes, usable on the stream from here on. IrcError where the device has not as much."""
        if size == 0:
            return NO_MEMORY
        try:
            return Memory(_checked(self._pool.allocate, size, stream=stream))
        except DriverError as error:
            if not error.out_of_memory:
                raise
        # What earlier calls freed may lie in pieces: give it back and ask again.
        self.synchronise(stream)
        _call("cuMemPoolTrimTo", self._pool.handle, 0)
        try:
            return Memory(_checked(self._pool.allocate, size, stream=stream))
        except DriverError as error:
            if not error.out_of_memory:
                raise
            raise out_of_memory(size, self.free_memory(), self.total_memory) from error

    def copy(self, destination: int, source: int, size: int, stream: Stream) -> None:
        """Copies bytes between two addresses, each of the device or of the host."""
        if size:
            target, origin = core.Buffer.from_handle(destination, size), core.Buffer.from_handle(source, size)
            _checked(target.copy_from, origin, stream=stream)

    def fill(self, address: int, value: int, size: int, stream: Stream) -> None:
        """Sets every byte."""
        if size:
            _checked(core.Buffer.from_handle(address, size).fill, value, stream=stream)

    def stream(self, handle: int) -> Stream:
        """A caller's stream, by the driver's handle. It is not owned: the caller keeps it."""
        if (known := self._borrowed.get(handle)) is not None:
            return known
        if len(self._borrowed) >= MOST_BORROWED_STREAMS:
            self._borrowed = {number: self._borrowed[number] for number in (1, 2)}
        return self._borrowed.setdefault(handle, core.Stream.from_handle(handle))

    def take_stream(self) -> Stream:
        """A non-blocking stream, from the spare ones if there is one; give it back by `give_stream`."""
        try:
            return self._spare_streams.pop()
        except IndexError:
            return _checked(self._core.create_stream, options=core.StreamOptions(nonblocking=True))

    def give_stream(self, stream: Stream) -> None:
        self._spare_streams.append(stream)

    def event(self, *, timed: bool = False) -> Event:
        """A new event, which notes when it is reached if it is `timed`; it is destroyed when it dies."""
        return _checked(self._core.create_event, core.EventOptions(timing_enabled=timed))

    def record(self, event: Event, stream: Stream) -> None:
        _checked(stream.record, event)

    def wait(self, event: Event, stream: Stream) -> None:
        """Later work of the stream starts after what the event was recorded behind."""
        _checked(stream.wait, event)

    def seconds_between(self, begin: Event, end: Event) -> float:
        """The time between two timed events that have been reached, with a resolution of half a microsecond."""
        return _checked(lambda: end - begin) * 1e-3

    def synchronise(self, stream: Stream) -> None:
        """Blocks until the work of the stream is done; errors of kernels surface here."""
        _checked(stream.sync)

    def load(self, cubin: bytes, kernel: str, shared: int) -> Any:
        """The kernel of that name from machine code, allowed `shared` bytes of dynamic shared memory."""
        loaded = _checked(core.ObjectCode.from_cubin(cubin).get_kernel, kernel)
        if shared > LARGEST_DEFAULT_SHARED:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _call("cuKernelSetAttribute", attribute, shared, loaded.handle, _call("cuDeviceGet", self.ordinal))
        return loaded

    @staticmethod
    def launch_config(step: Launch) -> Any:
        """Grid, block, cluster and shared memory of a launch. cuda.core counts a grid in clusters where it has any."""
        cluster = None if step.cluster == (1, 1, 1) else step.cluster
        grid = tuple(blocks // size for blocks, size in zip(step.grid, step.cluster, strict=True))
        return core.LaunchConfig(grid=grid, cluster=cluster, block=step.block, shmem_size=step.shared)

    def launch(self, stream: Stream, config: Any, kernel: Any, arguments: Sequence[Any]) -> None:
        """Enqueues a kernel. Arguments are addresses as ints, numpy scalars of the parameter's size, and tensor maps;
        they are copied now."""
        try:
            self._launch(stream, config, kernel, *arguments)
        except _FAILURES as error:
            raise DriverError(str(error)) from error

    def tensor_map(self, map: TensorMap, address: int) -> Any:
        """The tensor map of the array at the address, which has to be a multiple of 16."""
        memory = core.Buffer.from_handle(address, map.buffer.size)
        return _checked(_encode, memory, map)


def _encode(memory: Any, map: TensorMap) -> Any:
    itemsize = DTYPES[map.element].itemsize
    view = core_views.StridedMemoryView.from_buffer(memory, map.extents, map.strides, itemsize=itemsize)
    return view.as_tensor_map(
        map.box,
        data_type=core_maps.TensorMapDataType(data_type(map.element)),
        swizzle=core_maps.TensorMapSwizzle(swizzle_code(map.swizzle)),
        l2_promotion=core_maps.TensorMapL2Promotion(L2_PROMOTION),
    )
