"""A device without a GPU, for tests of the runtime: it notes what is asked of it."""

from __future__ import annotations

from typing import Any

from irc.runtime.driver import DriverError
from irc.runtime.plan import Launch, TensorMap


class NotingDevice:
    """Notes what is asked of it. Streams are 100, 101, ..., events 200, ..., memory 1 << 20, ..."""

    ordinal = 0
    largest_shared = 1000
    total_memory = 1 << 40

    def __init__(self, failing: str | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.streams, self.events, self.memory = 99, 199, 1 << 20
        self.spare: list[int] = []
        self.failing = failing

    def stream(self, handle: int) -> int:
        return handle

    def take_stream(self) -> int:
        self.streams += 1
        return self.streams

    def give_stream(self, stream: int) -> None:
        self.spare.append(stream)

    def event(self) -> int:
        self.events += 1
        return self.events

    def allocate(self, size: int, stream: int) -> NotedMemory:
        self.memory += 4096
        self.calls.append(("allocate", size, stream))
        return NotedMemory(self.memory, self.calls)

    def load(self, cubin: bytes, kernel: str, shared: int) -> Any:
        if cubin == b"broken":
            raise DriverError("CUDA_ERROR_INVALID_IMAGE: no kernel image")
        return kernel

    def tensor_map(self, map: TensorMap, address: int) -> Any:
        return map, address

    def launch_config(self, step: Launch) -> Any:
        return step.grid, step.block, step.cluster, step.shared

    def launch(self, stream: int, config: Any, kernel: Any, arguments: Any) -> None:
        if kernel == self.failing:
            raise DriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        self.calls.append(("launch", kernel, config, list(arguments), stream))

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


class NotedMemory:
    def __init__(self, address: int, calls: list[tuple[Any, ...]]) -> None:
        self.address = address
        self._calls = calls

    def free(self, stream: int) -> None:
        self._calls.append(("free", self.address, stream))
