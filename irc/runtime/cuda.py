"""The cuda target's side of a call: arrays of the host or of the device in, the plan, arrays of the same kind out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from irc.artifact import ArraySpec, Artifact
from irc.diagnostics import IrcError
from irc.runtime.arrays import check_count, host_array
from irc.runtime.dlpack import LEGACY_STREAM, Borrowed, is_on_device
from irc.runtime.driver import Device, DriverError, device, out_of_memory
from irc.runtime.executor import Executor
from irc.runtime.libraries import library_of, stream_handle
from irc.runtime.plan import Plan

ALIGNMENT = 16
"""Bytes. Kernels are compiled for arrays that start at a multiple of it; others are copied first."""


class CudaProgram:
    """Runs an artifact. Kernels are loaded on a device when it is first used. Threads may share it."""

    def __init__(self, artifact: Artifact):
        self._artifact = artifact
        self._plan = Plan.from_json(artifact.plan)
        self._lock = threading.Lock()
        self._executors: dict[int, Executor] = {}

    def run(self, arrays: Sequence[Any], stream: Any | None) -> list[Any]:
        """One call. Arrays are all on the host, or all on one device; IrcError otherwise, and where they do not fit."""
        arguments = self._artifact.arguments
        check_count(arguments, arrays)
        on_device = [is_on_device(array) for array in arrays]
        if any(on_device) and not all(on_device):
            first = arguments[on_device.index(False)].name
            raise IrcError(f"argument {first} is on the host and others are on the device: pass all of one kind")
        handle = None if stream is None else stream_handle(stream)
        try:
            if arrays and all(on_device):
                return self._run_on_device(arrays, handle)
            return self._run_from_host(arrays, handle)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error

    def _executor(self, on: Device) -> Executor:
        with self._lock:
            if on.ordinal not in self._executors:
                self._executors[on.ordinal] = Executor(self._artifact, self._plan, on)
            return self._executors[on.ordinal]

    def _run_from_host(self, arrays: Sequence[Any], stream: int | None) -> list[Any]:
        specs, results = self._artifact.arguments, self._artifact.results
        checked = [host_array(spec, array) for spec, array in zip(specs, arrays, strict=True)]
        on = device()
        on.use()
        self._check_memory(on, sum(spec.nbytes for spec in (*specs, *results)))
        executor = self._executor(on)
        outputs = [np.empty(spec.shape, spec.dtype) for spec in results]
        with _stream(on, stream) as handle, _memory(on, handle) as allocate:
            inputs = [allocate(spec.nbytes) for spec in specs]
            for address, array in zip(inputs, checked, strict=True):
                on.copy_in(address, int(array.ctypes.data), array.nbytes, handle)
            made = [allocate(spec.nbytes) for spec in results]
            executor.enqueue(inputs, made, handle)
            try:
                for address, array in zip(made, outputs, strict=True):
                    on.copy_out(int(array.ctypes.data), address, array.nbytes, handle)
                on.synchronise(handle)
            except DriverError as error:
                raise executor.failure(error) from error
        return outputs

    def _run_on_device(self, arrays: Sequence[Any], stream: int | None) -> list[Any]:
        specs, results = self._artifact.arguments, self._artifact.results
        library = library_of(arrays[0])
        ordinal = int(arrays[0].__dlpack_device__()[1])
        on = device(ordinal)
        on.use()
        handle = library.current_stream(ordinal) if stream is None else stream
        with nullcontext() if stream is None else library.on_stream(handle, ordinal), _memory(on, handle) as allocate:
            taken = [library_of(a).take(spec, a, handle) for spec, a in zip(specs, arrays, strict=True)]
            _check_devices(specs, taken, ordinal)
            self._check_memory(on, sum(spec.nbytes for spec in results))
            inputs = [_aligned(on, spec, array, allocate, handle) for spec, array in zip(specs, taken, strict=True)]
            made = [library.make(spec, ordinal, lambda size: _lasting(on, size, handle)) for spec in results]
            self._executor(on).enqueue(inputs, [address for _, address in made], handle)
        return [array for array, _ in made]

    def _check_memory(self, on: Device, arrays: int) -> None:
        """IrcError where a call cannot fit at all, before anything is copied."""
        needed = arrays + self._plan.arena
        if needed > on.total_memory:
            raise out_of_memory(needed, on.free_memory(), on.total_memory)


@contextmanager
def _stream(on: Device, given: int | None) -> Generator[int]:
    """The given stream, or one of the device's own."""
    if given is not None:
        yield given
        return
    stream = on.take_stream()
    try:
        yield stream
    finally:
        on.give_stream(stream)


@contextmanager
def _memory(on: Device, stream: int) -> Generator[Callable[[int], int]]:
    """A function that allocates bytes, which are freed on the stream when the block ends."""
    addresses: list[int] = []

    def allocate(size: int) -> int:
        addresses.append(on.allocate(size, stream))
        return addresses[-1]

    try:
        yield allocate
    finally:
        for address in addresses:
            on.free(address, stream)


def _lasting(on: Device, size: int, stream: int) -> tuple[int, Callable[[], None]]:
    """Memory for a result, and what frees it: in any thread, and perhaps after the stream is gone, hence on the default
    one."""
    address = on.allocate(size, stream)

    def release() -> None:
        on.use()
        on.free(address, LEGACY_STREAM)

    return address, release


def _aligned(on: Device, spec: ArraySpec, array: Borrowed, allocate: Callable[[int], int], stream: int) -> int:
    """The array's address, or that of a copy where it is not aligned as kernels expect."""
    if array.address % ALIGNMENT == 0:
        return array.address
    copy = allocate(spec.nbytes)
    on.copy(copy, array.address, spec.nbytes, stream)
    return copy


def _check_devices(specs: Sequence[ArraySpec], arrays: Sequence[Borrowed], ordinal: int) -> None:
    for spec, array in zip(specs, arrays, strict=True):
        if array.device != ordinal:
            raise IrcError(f"argument {spec.name} is on device {array.device}, the first one on device {ordinal}")
