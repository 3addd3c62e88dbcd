"""The cuda target's side of a call: arrays of the host or of the device in, the plan, arrays of the same kind out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.artifact import ArraySpec, Artifact
from irc.diagnostics import IrcError
from irc.runtime.arrays import check_count, host_array
from irc.runtime.dlpack import LEGACY_STREAM
from irc.runtime.driver import DriverError, device, out_of_memory
from irc.runtime.executor import Executor
from irc.runtime.libraries import Library, Taken, library_of, stream_handle
from irc.runtime.placement import placed
from irc.runtime.plan import Plan

if TYPE_CHECKING:
    from irc.runtime.device import Device, Memory, Stream

ALIGNMENT = 16
"""Bytes. Kernels are compiled for arrays that start at a multiple of it; others are copied first."""


class CudaProgram:
    """Runs an artifact. Kernels are loaded on a device when it is first used. Threads may share it."""

    def __init__(self, artifact: Artifact):
        self._artifact = artifact
        self._arguments = artifact.arguments
        self._results = artifact.results
        self._plan = Plan.from_json(artifact.plan)
        self._lock = threading.Lock()
        self._executors: dict[int, Executor] = {}
        self._made_bytes = sum(spec.nbytes for spec in artifact.results) + self._plan.arena
        """What a call allocates at least."""
        self._taken_bytes = sum(spec.nbytes for spec in artifact.arguments)

    def run(self, arrays: Sequence[Any], stream: Any | None) -> list[Any]:
        """One call. Arrays are all on the host, or all on one device; IrcError otherwise, and where they do not fit."""
        check_count(self._arguments, arrays)
        handle = None if stream is None else stream_handle(stream)
        libraries = [library for array in arrays if (library := library_of(array)) and library.is_on_device(array)]
        try:
            if not libraries:
                return self._run_from_host(arrays, handle)
            if len(libraries) < len(arrays):
                raise self._mixed(arrays)
            return self._run_on_device(arrays, libraries, handle)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error

    def _mixed(self, arrays: Sequence[Any]) -> IrcError:
        """The diagnostic of arrays on both sides: it names the first on the host."""
        owners = [library_of(array) for array in arrays]
        on_host = (
            n for n, (lib, a) in enumerate(zip(owners, arrays, strict=True)) if not (lib and lib.is_on_device(a))
        )
        name = self._arguments[next(on_host)].name
        return IrcError(f"argument {name} is on the host and others are on the device: pass all of one kind")

    def _executor(self, on: Device) -> Executor:
        if (known := self._executors.get(on.ordinal)) is not None:
            return known
        with self._lock:
            if on.ordinal not in self._executors:
                self._executors[on.ordinal] = Executor(self._artifact, self._plan, on)
            return self._executors[on.ordinal]

    def _run_from_host(self, arrays: Sequence[Any], handle: int | None) -> list[Any]:
        checked = [host_array(spec, array) for spec, array in zip(self._arguments, arrays, strict=True)]
        on = device()
        on.use()
        self._check_memory(on, self._taken_bytes + self._made_bytes)
        if handle is not None:
            return self._through_copies(checked, on, on.stream(handle))
        stream = on.take_stream()
        try:
            return self._through_copies(checked, on, stream)
        finally:
            on.give_stream(stream)

    def _through_copies(self, arrays: Sequence[np.ndarray[Any, Any]], on: Device, stream: Stream) -> list[Any]:
        """Copies to the device, runs, copies back and waits for it."""
        executor = self._executor(on)
        outputs = [np.empty(spec.shape, spec.dtype) for spec in self._results]
        with placed(on, arrays, [output.nbytes for output in outputs], stream) as (inputs, made):
            executor.enqueue(inputs, made, stream)
            try:
                for address, output in zip(made, outputs, strict=True):
                    on.copy(int(output.ctypes.data), address, output.nbytes, stream)
                on.synchronise(stream)
            except DriverError as error:
                raise executor.failure(error) from error
        return outputs

    def _run_on_device(self, arrays: Sequence[Any], libraries: Sequence[Library], handle: int | None) -> list[Any]:
        ordinal = libraries[0].device_of(arrays[0])
        on = device(ordinal)
        on.use()
        self._check_memory(on, self._made_bytes)
        if handle is None:
            return self._in_place(arrays, libraries, on, libraries[0].current_stream(ordinal))
        with libraries[0].on_stream(handle, ordinal):
            return self._in_place(arrays, libraries, on, handle)

    def _in_place(self, arrays: Sequence[Any], libraries: Sequence[Library], on: Device, handle: int) -> list[Any]:
        """Enqueues the run on the caller's arrays and stream, and does not wait."""
        stream, ordinal = on.stream(handle), on.ordinal
        inputs: list[int] = []
        # What is taken stays referenced until the run is enqueued: a library may free it on its own stream then.
        kept: list[Taken] = []
        temporary: list[Memory] = []
        try:
            for library, spec, array in zip(libraries, self._arguments, arrays, strict=True):
                taken = library.take(spec, array, handle)
                kept.append(taken)
                if taken.device != ordinal or taken.address % ALIGNMENT:
                    inputs.append(self._moved(spec, taken, on, stream, temporary))
                else:
                    inputs.append(taken.address)
            make, allocate = libraries[0].make, _lasting(on, stream)
            made = [make(spec, ordinal, allocate) for spec in self._results]
            self._executor(on).enqueue(inputs, [address for _, address in made], stream)
        finally:
            for part in temporary:
                part.free(stream)
        return [array for array, _ in made]

    def _moved(self, spec: ArraySpec, array: Taken, on: Device, stream: Stream, temporary: list[Memory]) -> int:
        """The address of a copy that is aligned as kernels expect. IrcError where the array is on another device."""
        if array.device != on.ordinal:
            raise IrcError(f"argument {spec.name} is on device {array.device}, the first one on device {on.ordinal}")
        temporary.append(on.allocate(spec.nbytes, stream))
        on.copy(temporary[-1].address, array.address, spec.nbytes, stream)
        return temporary[-1].address

    def _check_memory(self, on: Device, needed: int) -> None:
        """IrcError where a call cannot fit at all, before anything is copied."""
        if needed > on.total_memory:
            raise out_of_memory(needed, on.free_memory(), on.total_memory)


def _lasting(on: Device, stream: Stream) -> Callable[[int], tuple[int, Callable[[], None]]]:
    """Allocates memory of results, with what frees it: in any thread, and perhaps after the stream is gone, hence on
    the default one."""

    def allocate(size: int) -> tuple[int, Callable[[], None]]:
        memory = on.allocate(size, stream)

        def release() -> None:
            on.use()
            memory.free(on.stream(LEGACY_STREAM))

        return memory.address, release

    return allocate
