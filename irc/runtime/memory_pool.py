"""The memory pool of a GPU: how much of it there may be, and what is in use.

Results, arenas of plans, constants and copies of the host's arrays come from it. Arrays that another library makes
(a result of a call on torch's tensors is one of torch's) come from the pool of that library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irc.runtime import driver
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.runtime.device import Device

MIB = 1 << 20


class MemoryPool:
    """The pool of one device, as `memory_pool` gives it. Its numbers are bytes, asked of the driver each time."""

    def __init__(self, on: Device):
        self._device = on

    @property
    def used(self) -> int:
        """Allocated now."""
        return self._device.pool_bytes("USED_MEM_CURRENT")

    @property
    def reserved(self) -> int:
        """Taken from the device now, used or not."""
        return self._device.pool_bytes("RESERVED_MEM_CURRENT")

    @property
    def most_used(self) -> int:
        """The largest `used` since the pool was made, or since `forget_most`."""
        return self._device.pool_bytes("USED_MEM_HIGH")

    @property
    def most_reserved(self) -> int:
        """The largest `reserved` since then."""
        return self._device.pool_bytes("RESERVED_MEM_HIGH")

    @property
    def kept(self) -> int:
        """What stays reserved when nothing uses it. More is given back when a stream is waited for."""
        return self._device.pool_bytes("RELEASE_THRESHOLD")

    @property
    def maximum(self) -> int | None:
        """What may be reserved at most; None where only the device limits it."""
        return self._device.pool_maximum

    def trim(self, kept: int = 0) -> None:
        """Gives what is reserved and not used back to the device, but for `kept` bytes."""
        _check("kept", kept)
        self._device.use()
        self._device.trim_pool(kept)

    def forget_most(self) -> None:
        """Begins `most_used` and `most_reserved` anew."""
        self._device.use()
        for attribute in ("USED_MEM_HIGH", "RESERVED_MEM_HIGH"):
            self._device.set_pool_bytes(attribute, 0)

    def resize(self, initial: int | None, maximum: int | None, kept: int | None) -> None:
        """Sets what is given, as `memory_pool` has it."""
        _check_sizes(initial, maximum, kept)
        self._device.use()
        if maximum is not None and maximum != self.maximum:
            self._limit(maximum)
        if kept is None and initial is not None:
            kept = max(initial, self.kept)
        if kept is not None:
            self._device.set_pool_bytes("RELEASE_THRESHOLD", kept)
        if initial is not None:
            self._reserve(initial)

    def _limit(self, maximum: int) -> None:
        """A new pool, since the driver takes the maximum of one when it makes it."""
        if used := self.used:
            raise IrcError(
                f"the memory pool of device {self._device.ordinal} has {used} bytes in use, and its maximum is fixed",
                hint="call irc.memory_pool(maximum=...) before anything runs on the device",
            )
        kept = self.kept
        self._device.limit_pool(maximum)
        try:
            self._device.set_pool_bytes("RELEASE_THRESHOLD", kept)
        except driver.DriverError as error:
            self._device.limit_pool(None)
            message = f"the driver makes no memory pool of at most {maximum} bytes: {error}"
            raise IrcError(message, hint="a maximum needs a driver of CUDA 12.2 or later") from error

    def _reserve(self, size: int) -> None:
        """Reserves at least so many bytes, which the pool keeps."""
        missing = size - self.used
        if missing <= 0:
            return
        stream = self._device.take_stream()
        try:
            self._device.allocate(missing, stream).free(stream)
            self._device.synchronize(stream)
        finally:
            self._device.give_stream(stream)

    def __repr__(self) -> str:
        limit = "" if self.maximum is None else f", at most {self.maximum / MIB:.1f} MiB"
        reserved = f"{self.used / MIB:.1f} MiB used of {self.reserved / MIB:.1f} MiB reserved"
        return f"<irc.MemoryPool of device {self._device.ordinal}: {reserved}{limit}>"


def memory_pool(
    initial: int | None = None, maximum: int | None = None, *, kept: int | None = None, device: int = 0
) -> MemoryPool:
    """The memory pool of a GPU, with the sizes that are given (bytes); what is not given stays.

    initial: reserved at once, so that first calls need not ask the device for it. maximum: reserved at most; a call
    that needs more is an IrcError. It can be set while nothing of the pool is in use. kept: stays reserved when nothing
    uses it, a quarter of the device's memory or `initial` where that is more. IrcError where there is no GPU, for sizes
    that contradict each other, and where the device has not as much.
    """
    pool = MemoryPool(driver.device(device))
    pool.resize(initial, maximum, kept)
    return pool


def _check_sizes(initial: int | None, maximum: int | None, kept: int | None) -> None:
    """IrcError for sizes that are none, or that contradict each other."""
    for name, size in (("initial", initial), ("maximum", maximum), ("kept", kept)):
        if size is not None:
            _check(name, size)
    if maximum == 0:
        raise IrcError("the maximum of a memory pool is 0 bytes", hint="leave it out for what the device has")
    if initial is not None and maximum is not None and initial > maximum:
        raise IrcError(f"a memory pool begins with {initial} bytes and has at most {maximum}: expected no more")
    if initial is not None and kept is not None and kept < initial:
        hint = "give kept as much as initial, or leave it out"
        raise IrcError(f"a memory pool begins with {initial} bytes and keeps {kept}", hint=hint)


def _check(name: str, size: int) -> None:
    if type(size) is not int or size < 0:
        raise IrcError(f"{name} of a memory pool: expected a number of bytes, found {size!r}")
