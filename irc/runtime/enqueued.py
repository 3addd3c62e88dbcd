"""A call that is not waited for: its results are there once it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.dlpack import LEGACY_STREAM
from irc.runtime.driver import DriverError, device
from irc.runtime.executable import Executable
from irc.runtime.libraries import library_of, stream_handle
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.runtime.device import Device, Event


class Enqueued:
    """A call of an executable. On a GPU it is on its stream, its arguments are kept until then, and those of the host
    were copied to the device; elsewhere it is done."""

    def __init__(
        self, executable: Executable, arrays: Sequence[Any], out: Sequence[Any] = (), stream: Any | None = None
    ):
        """`out` is empty, or has for each result the array of the arguments' kind that it is written to, or None."""
        self._kept: Sequence[Any] = arrays
        self._on: Device | None = None
        self._event: Event | None = None
        self._out = out
        self._is_of_host = all(isinstance(array, np.ndarray) for array in arrays)
        if executable.target != "cuda":
            self.results = executable.run(arrays, stream, out)
            return
        handle = None if stream is None else stream_handle(stream)
        if self._is_of_host:
            arrays = self._kept = _sent(arrays, handle)
            out = ()
        self.results = executable.run(arrays, handle, out)
        library = library_of(arrays[0])
        assert library is not None
        self._on = on = device(library.device_of(arrays[0]))
        self._event = on.event()
        on.record(self._event, library.current_stream(on.ordinal) if handle is None else handle)
        if self._is_of_host and handle is not None:
            # Memory of the copies is freed on the default stream.
            on.wait(self._event, LEGACY_STREAM)

    @property
    def is_done(self) -> bool:
        """Whether the device is through with it."""
        return self._event is None or self._event.is_done

    def wait(self) -> Sequence[Any]:
        """The results, once they are there: numpy's where the arguments were."""
        if self._on is None or self._event is None:
            return self.results
        try:
            self._on.use()
            self._on.wait_here(self._event)
        except DriverError as error:
            raise IrcError(f"the call failed: {error}", hint="IRC_SYNC=1 shows which kernel did") from error
        self._event, self._kept = None, ()
        if self._is_of_host:
            self.results = self._fetched()
        return self.results

    def _fetched(self) -> Sequence[Any]:
        """The results on the host, in the caller's arrays where there are such."""
        found: list[Any] = []
        for result, given in zip(self.results, self._out or [None] * len(self.results), strict=True):
            array = np.asarray(result)
            if given is not None:
                np.copyto(given, array)
            found.append(array if given is None else given)
        return found


def _sent(arrays: Sequence[Any], handle: int | None) -> Sequence[Any]:
    """Copies on device 0, which work of the stream comes behind."""
    from irc.runtime.transfer import to_device

    sent = [to_device(array) for array in arrays]
    if handle is not None and handle != LEGACY_STREAM:
        on = device()
        copied = on.event()
        on.record(copied, LEGACY_STREAM)
        on.wait(copied, handle)
    return sent
