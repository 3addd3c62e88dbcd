"""The cuda target's side of a call: arrays of the host or of the device in, the plan, arrays of the same kind out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.arrays import check_count, host_array, host_result
from irc.runtime.artifact import ArraySpec, Artifact
from irc.runtime.bound import Bound, Graph, InPlace
from irc.runtime.driver import DriverError, device, out_of_memory
from irc.runtime.executable import Executable
from irc.runtime.executor import Executor
from irc.runtime.libraries import ALIGNMENT, Library, Quick, Taken, library_of, stream_handle
from irc.runtime.outputs import Outputs
from irc.runtime.placement import placed
from irc.runtime.plan import Plan
from irc.runtime.sized import SizedExecutable
from irc.runtime.sizes import SizedPlan, at_sizes, manifest_at
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, Sizes

if TYPE_CHECKING:
    from irc.runtime.device import Device, Memory, Stream


class CudaProgram:
    """Runs an artifact. Kernels are loaded on a device when it is first used. Threads may share it."""

    def __init__(self, artifact: Artifact, plan: Plan | None = None, like: CudaProgram | None = None):
        """`plan` is the artifact's, where it has been read. like: a program of the same kernels and constants, which
        are loaded once for both."""
        self._artifact = artifact
        self._like = like
        self.arguments = artifact.arguments
        self.results = artifact.results
        self._plan = Plan.from_json(artifact.plan) if plan is None else plan
        self._lock = threading.Lock()
        self._executors: dict[int, Executor] = {}
        self._uniform: dict[tuple[type[Any], ...], tuple[Library, Quick | None] | None] = {}
        """The one library of arrays of these types, and what takes them at once; None where there is none."""
        self.outputs = Outputs(artifact.arguments, artifact.results, dict(self._plan.donated))
        made = [spec.nbytes for result, spec in enumerate(artifact.results) if result not in self.outputs.donated]
        self._made_bytes = sum(made) + self._plan.arena
        """What a call allocates at least."""
        self._taken_bytes = sum(spec.nbytes for spec in artifact.arguments)

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call. Arrays are all on the host, or all on one device; IrcError otherwise, and where they do not fit.
        `out` is empty, or has for each result the array that it is written to, or None."""
        handle = None if stream is None else stream_handle(stream)
        try:
            if (found := self._quickly(arrays)) is not None:
                return self._on_device(*found, arrays, out, handle)
            check_count(self.arguments, arrays)
            libraries = [library_of(array) for array in arrays]
            on_device = [lib for lib, array in zip(libraries, arrays, strict=True) if lib and lib.is_on_device(array)]
            if not on_device:
                return self._run_from_host(arrays, out, handle)
            if len(on_device) < len(arrays):
                raise self._mixed(arrays)
            return self._run_on_device(arrays, on_device, out, handle)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error

    def at(self, sizes: Sizes) -> Executable:
        """The executable for a size of each of the plan's dims, with the kernels of this program."""
        plan, dims = self._sized_plan.at(sizes), self._plan.dims
        arguments, results = at_sizes(self.arguments, dims, sizes), at_sizes(self.results, dims, sizes)
        artifact = replace(self._artifact, arguments=arguments, results=results)
        manifest = manifest_at(self._artifact.manifest, plan, (*arguments, *results), dims, sizes)
        program = CudaProgram(artifact, plan, self)
        return Executable(plan.name, "cuda", arguments, results, program, artifact, manifest)

    @cached_property
    def _sized_plan(self) -> SizedPlan:
        return SizedPlan(self._plan)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The run-time extents of the plan."""
        return self._plan.dims

    @property
    def arena_bytes(self) -> int:
        """What a run needs beside its arguments and results."""
        return self._plan.arena

    def launcher(self, ordinal: int) -> Callable[..., None]:
        """What enqueues a run on the device: from the addresses of the arguments, those of the results, the handle of a
        stream and, if it is to be the caller's, the address of an arena. Nothing is checked: each address is that of a
        row-major array at a multiple of 16 bytes, and the device is current in the calling thread."""
        on = device(ordinal)
        on.use()
        return self._executor(on).enqueue

    def bind(self, arrays: Sequence[Any], *, as_graph: bool) -> Bound:
        """A call whose arrays are fixed, or a graph. IrcError where the arrays do not fit or cannot be used in
        place."""
        try:
            library, on, addresses, _ = arguments = self.in_place(arrays)
            made = self.outputs.make(library, on, arrays, addresses, (), library.current_stream(on.ordinal))
            kind = Graph if as_graph else Bound
            return kind(self, self._executor(on), arguments, made)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error

    def in_place(self, arrays: Sequence[Any]) -> InPlace:
        """Arrays that kernels can use as they are. IrcError otherwise."""
        if (found := self._quickly(arrays)) is not None:
            return (*found, arrays)
        check_count(self.arguments, arrays)
        libraries = [library_of(array) for array in arrays]
        addresses, owners = list[int](), list[Any]()
        for spec, library, array in zip(self.arguments, libraries, arrays, strict=True):
            if library is None or not library.is_on_device(array):
                raise IrcError(f"argument {spec.name} is on the host", hint="a bound call takes arrays on the device")
            taken = library.take(spec, array, library.current_stream(library.device_of(array)))
            if taken.copied or taken.address % spec.align:
                hint = f"a bound call takes row-major arrays that start at a multiple of {spec.align} bytes"
                raise IrcError(f"argument {spec.name} cannot be used in place", hint=hint)
            if taken.device != libraries[0].device_of(arrays[0]):  # pyright: ignore[reportOptionalMemberAccess]
                raise IrcError(f"argument {spec.name} is on device {taken.device}, and the first one is not")
            addresses.append(taken.address)
            owners.append(taken.owner)
        if not libraries or libraries[0] is None:
            raise IrcError("a program without arguments cannot be bound: nothing says whose arrays it makes")
        on = device(libraries[0].device_of(arrays[0]))
        on.use()
        return libraries[0], on, addresses, owners

    def quick(self, kinds: tuple[type[Any], ...]) -> Quick | None:
        """What takes arrays of these types at once, where a call had such; None where nothing does."""
        found = self._uniform.get(kinds)
        return None if found is None else found[1]

    def _quickly(self, arrays: Sequence[Any]) -> tuple[Library, Device, list[int]] | None:
        """The library, the device and the addresses of arrays of one library that need no more than a look; None where
        they do."""
        kinds = tuple(map(type, arrays))
        try:
            found = self._uniform[kinds]
        except KeyError:
            found = self._uniform[kinds] = self._library_of_all(arrays)
        if found is None or (quick := found[1]) is None or (ordinal := found[0].device_of(arrays[0])) < 0:
            return None
        addresses = quick(arrays, ordinal)
        if addresses is None:
            return None
        on = device(ordinal)
        on.use()
        return found[0], on, addresses

    def _library_of_all(self, arrays: Sequence[Any]) -> tuple[Library, Quick | None] | None:
        libraries = {library_of(array) for array in arrays}
        first = libraries.pop() if len(libraries) == 1 and len(arrays) == len(self.arguments) else None
        return None if first is None else (first, first.quick(self.arguments))

    def _mixed(self, arrays: Sequence[Any]) -> IrcError:
        """The diagnostic of arrays on both sides: it names the first on the host."""
        owners = [library_of(array) for array in arrays]
        on_host = (
            n for n, (lib, a) in enumerate(zip(owners, arrays, strict=True)) if not (lib and lib.is_on_device(a))
        )
        name = self.arguments[next(on_host)].name
        return IrcError(f"argument {name} is on the host and others are on the device: pass all of one kind")

    def _executor(self, on: Device) -> Executor:
        if (known := self._executors.get(on.ordinal)) is not None:
            return known
        like = None if self._like is None else self._like._executor(on)
        with self._lock:
            if on.ordinal not in self._executors:
                self._executors[on.ordinal] = Executor(loadable(self._artifact, on.arch), self._plan, on, like)
            return self._executors[on.ordinal]

    def _run_from_host(self, arrays: Sequence[Any], out: Sequence[Any], handle: int | None) -> list[Any]:
        checked = [host_array(spec, array) for spec, array in zip(self.arguments, arrays, strict=True)]
        outputs = [host_result(spec, array) for spec, array in zip(self.results, out or self._none, strict=True)]
        on = device()
        on.use()
        self._check_memory(on, self._taken_bytes + self._made_bytes)
        if handle is not None:
            return self._through_copies(checked, outputs, on, handle)
        stream = on.take_stream()
        try:
            return self._through_copies(checked, outputs, on, stream)
        finally:
            on.give_stream(stream)

    @property
    def _none(self) -> Sequence[None]:
        """No arrays for the results."""
        return (None,) * len(self.results)

    def _through_copies(
        self, arrays: Sequence[np.ndarray[Any, Any]], outputs: list[np.ndarray[Any, Any]], on: Device, stream: Stream
    ) -> list[Any]:
        """Copies to the device, runs, copies back and waits for it."""
        executor = self._executor(on)
        donated = self.outputs.donated
        sizes = [0 if result in donated else output.nbytes for result, output in enumerate(outputs)]
        with placed(on, arrays, sizes, stream) as (inputs, made):
            executor.enqueue(inputs, made, stream)
            made = [inputs[donated[result]] if result in donated else at for result, at in enumerate(made)]
            try:
                for address, output in zip(made, outputs, strict=True):
                    on.copy(int(output.ctypes.data), address, output.nbytes, stream)
                on.synchronize(stream)
            except DriverError as error:
                raise executor.failure(error) from error
        return outputs

    def _on_device(
        self,
        library: Library,
        on: Device,
        inputs: Sequence[int],
        arrays: Sequence[Any],
        out: Sequence[Any],
        handle: int | None,
    ) -> list[Any]:
        """Enqueues the run on arrays at these addresses, and does not wait."""
        stream = library.current_stream(on.ordinal)
        if handle is None or handle == stream:
            return self._enqueue(library, on, inputs, arrays, out, stream)
        with library.on_stream(handle, on.ordinal):
            return self._enqueue(library, on, inputs, arrays, out, handle)

    def _enqueue(
        self,
        library: Library,
        on: Device,
        inputs: Sequence[int],
        arrays: Sequence[Any],
        out: Sequence[Any],
        stream: Stream,
    ) -> list[Any]:
        self._check_memory(on, self._made_bytes)
        made = self.outputs.make(library, on, arrays, inputs, out, stream)
        self._executor(on).enqueue(inputs, [address for _, address in made], stream)
        return [array for array, _ in made]

    def _run_on_device(
        self, arrays: Sequence[Any], libraries: Sequence[Library], out: Sequence[Any], handle: int | None
    ) -> list[Any]:
        """A run on arrays of which some may have to be copied first."""
        on = device(libraries[0].device_of(arrays[0]))
        on.use()
        stream = libraries[0].current_stream(on.ordinal) if handle is None else handle
        inputs: list[int] = []
        # What is taken stays referenced until the run is enqueued: a library may free it on its own stream then.
        kept: list[Taken] = []
        temporary: list[Memory] = []
        donated = set(self.outputs.donated.values())
        with libraries[0].on_stream(stream, on.ordinal):
            try:
                for number, (library, spec) in enumerate(zip(libraries, self.arguments, strict=True)):
                    taken = library.take(spec, arrays[number], stream)
                    kept.append(taken)
                    if number in donated and (taken.copied or taken.address % ALIGNMENT):
                        hint = f"it has to be row-major and start at a multiple of {ALIGNMENT} bytes"
                        raise IrcError(f"argument {spec.name} is donated, and cannot be used in place", hint=hint)
                    if taken.device != on.ordinal or taken.address % spec.align:
                        inputs.append(self._moved(spec, taken, on, stream, temporary))
                    else:
                        inputs.append(taken.address)
                return self._enqueue(libraries[0], on, inputs, arrays, out, stream)
            finally:
                for part in temporary:
                    part.free(stream)

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


def executable_of(artifact: Artifact, program: CudaProgram) -> Executable:
    """The executable of an artifact, for all sizes of its run-time extents."""
    name, dims = artifact.plan["name"], program.dims
    if not dims:
        return Executable(name, "cuda", artifact.arguments, artifact.results, program, artifact)
    return SizedExecutable(name, "cuda", artifact.arguments, artifact.results, dims, program.at, artifact)


def loadable(artifact: Artifact, arch: str) -> Artifact:
    """The artifact for a GPU of another architecture than it was compiled for: its PTX, which the driver compiles."""
    if artifact.arch == arch:
        return artifact
    kernels = tuple(replace(kernel, cubin=kernel.ptx.encode() + b"\0") for kernel in artifact.kernels)
    return replace(artifact, kernels=kernels)
