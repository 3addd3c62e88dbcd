"""A device without a GPU, for tests of the runtime: it notes what is asked of it."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

from irc.runtime.artifact import DTYPES
from irc.runtime.driver import DriverError
from irc.runtime.plan import Launch, Parameter, Scalar, TensorMap
from irc.support.parameters import layout_of_set


class NotingDevice:
    """Notes what is asked of it. Streams are 100, 101, ..., events 200, ..., memory 1 << 20, ..."""

    ordinal = 0
    arch = "sm_90a"
    largest_shared = 1000
    total_memory = 1 << 40

    def __init__(self, failing: str | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.streams, self.events, self.memory = 99, 199, 1 << 20
        self.spare: list[int] = []
        self.failing = failing
        self.refuses_maps = self.refuses_updates = False
        self.map_word: int | None = None
        self.capturing = -1

    def take_stream(self) -> int:
        self.streams += 1
        return self.streams

    def give_stream(self, stream: int) -> None:
        self.spare.append(stream)

    def event(self, *, timed: bool = False) -> int:
        self.events += 1
        return self.events

    def seconds_between(self, begin: int, end: int) -> float:
        """A microsecond for each event made between them."""
        return (end - begin) * 1e-6

    def allocate(self, size: int, stream: int) -> NotedMemory:
        if size == 0:
            return NotedMemory(0, self.calls)
        self.memory += 4096
        self.calls.append(("allocate", size, stream))
        return NotedMemory(self.memory, self.calls)

    def load(self, cubin: bytes, kernel: str, shared: int) -> Any:
        if cubin == b"broken":
            raise DriverError("CUDA_ERROR_INVALID_IMAGE: no kernel image")
        return kernel

    def map_encoder(self, map: TensorMap) -> Any:
        return NotedEncoder(map, self)

    def kernel_call(self, launch: Launch, kernel: str, parameters: int) -> NotedCall:
        return NotedCall(self, launch, kernel, parameters)

    def is_capturing(self, stream: int) -> bool:
        return stream == self.capturing

    def captured_node(self, stream: int) -> int:
        """Nodes are numbered by the calls before them."""
        return len(self.calls)

    def end_capture(self, stream: int) -> NotedGraph:
        self.calls.append(("end_capture", stream))
        return NotedGraph(len(self.calls), self.calls)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


class NotedMemory:
    def __init__(self, address: int, calls: list[tuple[Any, ...]]) -> None:
        self.address = address
        self._calls = calls

    def free(self, stream: int) -> None:
        if self.address:
            self._calls.append(("free", self.address, stream))


class NotedEncoder:
    """A tensor map of it is the address alone."""

    def __init__(self, map: TensorMap, device: NotingDevice) -> None:
        self._map, self._device = map, device

    def prepare(self, cell: int) -> int | None:
        return self._device.map_word

    def write(self, cell: int, address: int) -> None:
        assert cell % 64 == 0
        if self._device.refuses_maps:
            raise DriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        self._device.calls.append(("encode", self._map, address))
        ctypes.c_uint64.from_address(cell).value = address


class NotedCall:
    """Notes the parameters as they are in memory when it is enqueued."""

    def __init__(self, device: NotingDevice, launch: Launch, kernel: str, parameters: int) -> None:
        self._device, self._launch, self._kernel, self._parameters = device, launch, kernel, parameters

    def values(self) -> list[Any]:
        """The addresses, and the bytes of numbers; of all sets where the kernel takes them."""
        if self._launch.max_sets > 1:
            (array,) = (ctypes.c_void_p * 1).from_address(self._parameters)
            sets = self._launch.parameters_of_sets
            offsets, size = layout_of_set([isinstance(p, TensorMap) for p in sets[0]])
            starts = [(array or 0) + number * size for number in range(len(sets))]
            return [
                _value(p, start + offset)
                for start, each in zip(starts, sets, strict=True)
                for p, offset in zip(each, offsets, strict=True)
            ]
        count = len(self._launch.parameters)
        cells = (ctypes.c_void_p * count).from_address(self._parameters)
        return [_value(p, cell or 0) for p, cell in zip(self._launch.parameters, cells, strict=True)]

    def enqueue(self, stream: int) -> None:
        if self._kernel == self._device.failing:
            raise DriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        self._device.calls.append(("launch", self._kernel, self.values(), stream))

    def updater(self, graph: int, node: int) -> Any:
        return partial(self._update, graph, node)

    def _update(self, graph: int, node: int) -> None:
        if self._device.refuses_updates:
            raise DriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        self._device.calls.append(("update", graph, node, self.values()))


class NotedGraph:
    def __init__(self, handle: int, calls: list[tuple[Any, ...]]) -> None:
        self.handle, self._calls = handle, calls

    def enqueue(self, stream: int) -> None:
        self._calls.append(("replay", self.handle, stream))

    def copy_updater(self, node: int) -> Any:
        return lambda source: self._calls.append(("copy from", source))


def _value(parameter: Parameter, cell: int) -> int | bytes:
    if isinstance(parameter, Scalar):
        return ctypes.string_at(cell, DTYPES[parameter.element].itemsize)
    return ctypes.c_uint64.from_address(cell).value
