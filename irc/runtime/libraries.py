"""The array libraries whose device arrays a call takes and gives: torch by its own functions, the others by DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial, reduce
from operator import or_
from typing import Any, NamedTuple, Protocol

import numpy as np

from irc.runtime.arrays import check_array, check_tensor
from irc.runtime.artifact import DTYPES, ArraySpec
from irc.runtime.dlpack import LEGACY_STREAM, DeviceArray, borrow, is_on_device
from irc.support.diagnostics import IrcError
from irc.support.shapes import row_major

ALIGNMENT = 16
"""Bytes. Kernels are compiled for arrays that start at a multiple of it; others are copied first."""


def are_usable(addresses: Sequence[int]) -> bool:
    """Whether there is memory at all addresses, and kernels can take them as they are."""
    return 0 not in addresses and not reduce(or_, addresses, 0) & (ALIGNMENT - 1)


Allocate = Callable[[int], tuple[int, Callable[[], None]]]
"""From bytes to an address and what releases it."""


Make = Callable[[Allocate], tuple[Any, int]]
"""A new array, in memory of the library or from `Allocate`, and its address."""

Quick = Callable[[Sequence[Any], int], list[int] | None]
"""The addresses of a call's arrays, all of one library, on a device; None unless each is just what is expected, in
place."""


class Taken(NamedTuple):
    """An argument as kernels take it: its address and device; `owner` keeps it alive. `copied` says that it is not the
    caller's own memory."""

    address: int
    device: int
    owner: Any
    copied: bool = False


class Library(Protocol):
    """How arrays of one type come in and go out."""

    def is_on_device(self, array: Any) -> bool:
        """Whether the array is in device memory."""
        ...

    def device_of(self, array: Any) -> int:
        """The number of the device that an array is on."""
        ...

    def current_stream(self, device: int) -> int:
        """The handle of the stream on which the library works."""
        ...

    def on_stream(self, stream: int, device: int) -> AbstractContextManager[Any]:
        """While it is entered, the library's own work is on the stream."""
        ...

    def take(self, spec: ArraySpec, array: Any, stream: int, what: str = "argument") -> Taken:
        """An argument or an array for a result (`what`), checked and row-major."""
        ...

    def quick(self, specs: Sequence[ArraySpec]) -> Quick | None:
        """What takes all arguments at once where nothing has to be done to them; None where there is no such way."""
        ...

    def maker(self, spec: ArraySpec, device: int) -> Make:
        """What makes arrays for a result."""
        ...


_LIBRARIES: dict[type[Any], Library | None] = {np.ndarray: None}
"""The library of each type of array that was seen, so that a call does not ask what a type can do."""


def library_of(array: Any) -> Library | None:
    """The library of arrays of this type; None where they are on the host."""
    cls: type[Any] = type(array)
    try:
        return _LIBRARIES[cls]
    except KeyError:
        return _LIBRARIES.setdefault(cls, _library(array))


def _library(array: Any) -> Library | None:
    if isinstance(array, np.ndarray | np.generic) or not hasattr(array, "__dlpack__"):
        return None
    if isinstance(array, DeviceArray):
        return Own()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch(torch)
    return ByDlpack(array)


@cache
def _torch(torch: Any) -> Torch:
    """One for tensors and parameters."""
    return Torch(torch)


class ByDlpack:
    """Any library that has DLPack; results go through its `from_dlpack`, and stay a `DeviceArray` where it has none."""

    def __init__(self, example: Any):
        self._from_dlpack = _importer(example)
        self._cupy = sys.modules.get("cupy") if type(example).__module__.startswith("cupy") else None

    def is_on_device(self, array: Any) -> bool:
        return is_on_device(array)

    def device_of(self, array: Any) -> int:
        return int(array.__dlpack_device__()[1])

    def current_stream(self, device: int) -> int:
        if self._cupy is not None:
            return int(self._cupy.cuda.get_current_stream().ptr) or LEGACY_STREAM
        return LEGACY_STREAM

    def on_stream(self, stream: int, device: int) -> AbstractContextManager[Any]:
        if self._cupy is None or stream == self.current_stream(device):
            return nullcontext()
        return self._cupy.cuda.ExternalStream(stream)

    def take(self, spec: ArraySpec, array: Any, stream: int, what: str = "argument") -> Taken:
        try:
            found = borrow(array, stream)
        except (BufferError, TypeError, ValueError, RuntimeError) as error:
            raise IrcError(f"{what} {spec.name}: cannot take a {type(array).__name__}: {error}") from error
        check_array(spec, found.shape, found.element, what)
        if not found.is_contiguous:
            raise IrcError(
                f"{what} {spec.name}: expected a row-major array, found strides {found.strides}",
                hint="copy it first, so that its last axis is contiguous",
            )
        return Taken(found.address, found.device, found.owner)

    def quick(self, specs: Sequence[ArraySpec]) -> Quick | None:
        return None

    def maker(self, spec: ArraySpec, device: int) -> Make:
        def make(allocate: Allocate) -> tuple[Any, int]:
            address, release = allocate(spec.nbytes)
            array = DeviceArray(address, spec.shape, spec.element, device, release)
            return (array if self._from_dlpack is None else self._from_dlpack(array)), address

        return make


def _importer(example: Any) -> Callable[[Any], Any] | None:
    """The `from_dlpack` of an array's library: of its array API namespace, or of its root module."""
    if hasattr(example, "__array_namespace__"):
        return getattr(example.__array_namespace__(), "from_dlpack", None)
    root = sys.modules.get(type(example).__module__.partition(".")[0])
    return getattr(root, "from_dlpack", None)


class Own:
    """irc's own arrays, as calls give them where no other library is there."""

    def is_on_device(self, array: DeviceArray) -> bool:
        return True

    def device_of(self, array: DeviceArray) -> int:
        return array.device

    def current_stream(self, device: int) -> int:
        return LEGACY_STREAM

    def on_stream(self, stream: int, device: int) -> AbstractContextManager[Any]:
        return nullcontext()

    def take(self, spec: ArraySpec, array: DeviceArray, stream: int, what: str = "argument") -> Taken:
        check_array(spec, array.shape, array.element, what)
        return Taken(array.address, array.device, array)

    def quick(self, specs: Sequence[ArraySpec]) -> Quick | None:
        wanted = [(spec.shape, spec.element) for spec in specs]

        def addresses(arrays: Sequence[DeviceArray], device: int) -> list[int] | None:
            pairs = zip(arrays, wanted, strict=True)
            fits = all((x.shape, x.element) == want and x.device == device for x, want in pairs)
            return [x.address for x in arrays] if fits else None

        return addresses

    def maker(self, spec: ArraySpec, device: int) -> Make:
        def make(allocate: Allocate) -> tuple[Any, int]:
            address, release = allocate(spec.nbytes)
            return DeviceArray(address, spec.shape, spec.element, device, release), address

        return make


class Torch:
    """torch: its own stream and allocator, which cost less than DLPack and free memory in the order of the stream."""

    def __init__(self, torch: Any):
        self._torch = torch
        self._elements = {getattr(torch, dtype.name): name for name, dtype in DTYPES.items()}
        """The element name of each dtype that irc has; torch names its dtypes as numpy and ml_dtypes do."""
        self._dtypes = {name: dtype for dtype, name in self._elements.items()}
        self._raw_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", self._stream_by_object)
        """The handle of a device's current stream; the private function takes a tenth of the time."""

    def _stream_by_object(self, device: int) -> int:
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def is_on_device(self, array: Any) -> bool:
        return array.is_cuda

    def device_of(self, array: Any) -> int:
        return array.get_device()

    def current_stream(self, device: int) -> int:
        return self._raw_stream(device) or LEGACY_STREAM

    def on_stream(self, stream: int, device: int) -> AbstractContextManager[Any]:
        if stream == self.current_stream(device):
            return nullcontext()
        return self._torch.cuda.stream(self._torch.cuda.ExternalStream(stream, device=device))

    def take(self, spec: ArraySpec, array: Any, stream: int, what: str = "argument") -> Taken:
        dtype = array.dtype
        if dtype is not self._dtypes[spec.element] or array.shape != spec.shape:
            name = self._elements.get(dtype) or str(dtype).removeprefix("torch.")
            check_array(spec, tuple(array.shape), name, what)
        check_tensor(spec, array, what)
        copied = not array.is_contiguous() or array.is_neg()
        if copied:
            array = array.detach().resolve_neg().contiguous()
        return Taken(array.data_ptr(), array.get_device(), array, copied)

    def quick(self, specs: Sequence[ArraySpec]) -> Quick | None:
        wanted = [(self._dtypes[spec.element], self._torch.Size(spec.shape)) for spec in specs]
        torch, data_ptr = self._torch, self._torch.Tensor.data_ptr
        known: dict[int, tuple[Callable[..., bool], bool]] = {}
        """By device, a look at all arrays at once, and whether one of those that it knows requires a gradient."""

        def look(arrays: Sequence[Any], device: int) -> bool | None:
            """Whether one of the arrays requires a gradient; None unless all are as expected."""
            learns = False
            for array, (dtype, shape) in zip(arrays, wanted, strict=True):
                if array.dtype is not dtype or array.shape != shape or array.get_device() != device:
                    return None
                if not array.is_contiguous() or array.is_neg():
                    return None
                learns = learns or array.requires_grad
            return learns

        def addresses(arrays: Sequence[Any], device: int) -> list[int] | None:
            is_like, learns = known.get(device) or (None, False)
            if is_like is None or not is_like(*arrays):
                if (learns := look(arrays, device)) is None:
                    return None
                if is_like is None:
                    known[device] = likeness(torch, arrays), learns
            if learns and torch.is_grad_enabled():
                return None
            found: list[int] = list(map(data_ptr, arrays))
            return found if are_usable(found) else None

        return addresses

    def maker(self, spec: ArraySpec, device: int) -> Make:
        empty, failure = self._empty(spec, device), self._torch.OutOfMemoryError

        def make(allocate: Allocate) -> tuple[Any, int]:
            try:
                tensor = empty()
            except failure as error:
                raise IrcError(f"result {spec.name}: torch has not the memory for {spec.type}") from error
            return tensor, tensor.data_ptr()

        return make

    def _empty(self, spec: ArraySpec, device: int) -> Callable[[], Any]:
        """What makes a new tensor on the device, current or not."""
        torch, dtype = self._torch, self._dtypes[spec.element]
        if torch.cuda.device_count() == 1:
            return emptier(torch, spec.shape, row_major(spec.shape), dtype)
        return partial(torch.empty, spec.shape, dtype=dtype, device=device)


def likeness(torch: Any, tensors: Sequence[Any]) -> Callable[..., bool]:
    """A look at as many tensors at once: whether each is like the one of `tensors` in its place, by class, element
    type, device, shape, strides, negation and whether it requires a gradient. It knows no tensor twice.

    torch's own compiler looks so, in a third of the time of a loop; where it no longer does, nothing is alike."""
    guards = getattr(getattr(torch._C._dynamo, "guards", None), "TensorGuards", None)
    if guards is None or not tensors:
        return lambda *others: False
    sizes, strides = [list(x.shape) for x in tensors], [list(x.stride()) for x in tensors]
    return guards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check


def emptier(torch: Any, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> Callable[[], Any]:
    """What makes a new tensor on the current device. The private function, which torch's own compiler uses, takes half
    the time of `torch.empty`."""
    quick = getattr(getattr(torch._C._dynamo, "guards", None), "_empty_strided_cuda", None)
    if quick is None:
        return partial(torch.empty_strided, shape, strides, dtype=dtype, device="cuda")
    return partial(quick, tuple(shape), tuple(strides), dtype)  # torch.Size is no tuple to it


def stream_handle(stream: Any) -> int:
    """The handle of a stream: an int, or an object of cuda.core (`__cuda_stream__`), torch (`cuda_stream`) or cupy
    (`ptr`)."""
    if isinstance(stream, int):
        return stream or LEGACY_STREAM
    protocol: Any = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        pair: Any = protocol() if callable(protocol) else protocol
        return int(pair[1]) or LEGACY_STREAM
    for name in ("cuda_stream", "ptr"):
        if (handle := getattr(stream, name, None)) is not None:
            return int(handle) or LEGACY_STREAM
    raise IrcError(
        f"expected a CUDA stream, found {type(stream).__name__}",
        hint="pass a handle, or an object with __cuda_stream__, cuda_stream or ptr",
    )
