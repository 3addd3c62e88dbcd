"""Arrays moved between the host and a device, and kept there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.artifact import ELEMENT_NAMES, ArraySpec
from irc.runtime.dlpack import LEGACY_STREAM, DeviceArray
from irc.runtime.driver import device

if TYPE_CHECKING:
    from irc.runtime.device import Device, Stream


def to_device(array: np.ndarray[Any, Any], ordinal: int = 0) -> DeviceArray:
    """A copy on a device, row-major; the array may be changed at once. IrcError where there is no such device, or not
    the memory."""
    on, array = device(ordinal), np.asarray(array, order="C")
    on.use()
    address, release = lasting(on, LEGACY_STREAM)(array.nbytes)
    on.copy(address, int(array.ctypes.data), array.nbytes, LEGACY_STREAM)
    return DeviceArray(address, array.shape, ELEMENT_NAMES[array.dtype], ordinal, release)


def on_one_side(arrays: Sequence[Any]) -> Sequence[Any]:
    """The arrays as they are where all are on the host or all on a device; else those of the host copied to the device,
    as arrays of the library that the first one there is of. The copies are on that library's current stream."""
    from irc.runtime.libraries import library_of

    libraries = [library_of(array) for array in arrays]
    there = [lib is not None and lib.is_on_device(array) for lib, array in zip(libraries, arrays, strict=True)]
    if all(there) or not any(there):
        return arrays
    first = there.index(True)
    library = libraries[first]
    assert library is not None
    on = device(library.device_of(arrays[first]))
    on.use()
    stream = library.current_stream(on.ordinal)

    def moved(array: Any) -> Any:
        array = np.asarray(array, order="C")
        spec = ArraySpec("", array.shape, ELEMENT_NAMES[array.dtype])
        made, address = library.maker(spec, on.ordinal)(lasting(on, stream))
        on.copy(address, int(array.ctypes.data), array.nbytes, stream)
        return made

    return [array if is_there else moved(array) for array, is_there in zip(arrays, there, strict=True)]


def lasting(on: Device, stream: Stream) -> Callable[[int], tuple[int, Callable[[], None]]]:
    """Allocates memory of arrays that stay, with what frees it: in any thread, and perhaps after the stream is gone,
    hence on the default one."""

    def allocate(size: int) -> tuple[int, Callable[[], None]]:
        memory = on.allocate(size, stream)

        def release() -> None:
            on.use()
            memory.free(LEGACY_STREAM)

        return memory.address, release

    return allocate
