"""Whether there is a GPU and which one, asked of the driver through ctypes, so that nothing heavy is imported for it.

What runs on a GPU goes through `irc.runtime.device`, which `device` imports when it is first called.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.runtime.device import Device

SUPPORTED = {(8, 0): "sm_80", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100a"}
"""Compute capability to the architecture that kernels are compiled for."""


class DriverError(Exception):
    """A call of the driver that failed; the message has the driver's own name and text of the error."""

    @property
    def out_of_memory(self) -> bool:
        return "CUDA_ERROR_OUT_OF_MEMORY" in str(self)


@cache
def _library() -> ctypes.CDLL | None:
    """The driver's library, initialized; None where there is none or it has no device."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count = ctypes.c_int(0)
    if library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return None
    return library if count.value > 0 else None


def is_present() -> bool:
    """Whether there is a GPU."""
    return _library() is not None


def require_device() -> None:
    """IrcError where there is no GPU."""
    if not is_present():
        raise IrcError(
            "target cuda: no CUDA GPU is present (or its driver does not start)",
            hint="the target cpu needs none; irc-compile needs no GPU",
        )


def present_arch() -> str:
    """The architecture of device 0, `sm_90a`; IrcError where irc has no such target."""
    library = _library()
    assert library is not None
    handle, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(handle), 0)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of the driver API.
    library.cuDeviceGetAttribute(ctypes.byref(major), 75, handle)
    library.cuDeviceGetAttribute(ctypes.byref(minor), 76, handle)
    found = (major.value, minor.value)
    if found not in SUPPORTED:
        known = ", ".join(f"{a}.{b}" for a, b in SUPPORTED)
        raise IrcError(
            f"irc has no target for a GPU of compute capability {found[0]}.{found[1]}", hint=f"it has {known}"
        )
    return SUPPORTED[found]


def device(ordinal: int = 0) -> Device:
    """The device with this number, the same one at each call; IrcError where there is no GPU."""
    return device_of(ordinal)


@cache
def device_of(ordinal: int) -> Device:
    """As `device`; by a number alone, so that it is made once."""
    require_device()
    from irc.runtime.device import Device

    return Device(ordinal)


def out_of_memory(needed: int, free: int, total: int) -> IrcError:
    """The diagnostic of memory that is not there."""
    return IrcError(
        f"not enough device memory: {_gib(needed)} are needed, {_gib(free)} of {_gib(total)} are free",
        hint="smaller dims (-D NAME=INT) need less",
    )


def pool_is_full(needed: int, free: int, maximum: int) -> IrcError:
    """The diagnostic of memory that a pool may not have."""
    return IrcError(
        f"not enough memory in the pool: {_gib(needed)} are needed, {_gib(free)} of at most {_gib(maximum)} are free",
        hint="give irc.memory_pool a larger maximum before anything runs, or none",
    )


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"
