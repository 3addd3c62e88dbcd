"""Host arrays on the device for the length of one run."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from irc.runtime.device import Device, Memory, Stream


@contextmanager
def placed(
    on: Device, arrays: Sequence[np.ndarray[Any, Any]], results: Sequence[int], stream: Stream
) -> Generator[tuple[list[int], list[int]]]:
    """The addresses of copies of the arrays, and of room for results of these sizes in bytes. All of it is freed when
    the stream comes to the end."""
    memory: list[Memory] = []
    try:
        for array in arrays:
            memory.append(on.allocate(array.nbytes, stream))
            on.copy(memory[-1].address, int(array.ctypes.data), array.nbytes, stream)
        inputs = [part.address for part in memory]
        memory.extend(on.allocate(size, stream) for size in results)
        yield inputs, [part.address for part in memory[len(inputs) :]]
    finally:
        for part in memory:
            part.free(stream)
