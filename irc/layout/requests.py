"""What the requests of a warp cost: sectors and lines of global memory, wavefronts of shared memory.

A request is one memory instruction of one warp. Addresses are arrays whose last axis is the lanes; the other axes are
requests, counted all at once.

Global memory moves in sectors of 32 bytes, four to a line of 128: a request costs as many sectors as its lanes touch
(CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"). Shared memory has 32 banks of 4 bytes and returns
at most 128 bytes a cycle. Lanes that read one word share it; different words of one bank take turns, each turn a
wavefront (CUDA C++ Programming Guide, "Shared Memory" of the compute capabilities 5.x and later). Accesses of 8 bytes
are served by half warps and those of 16 bytes by quarter warps, each of which can fill the 128 bytes by itself, and
conflicts arise only within one (NVIDIA's answers in its developer forum; Nsight Compute counts the same wavefronts).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.int64]
"""Byte addresses, or offsets; the last axis is the lanes of a warp."""

WARP = 32
"""Lanes of a warp."""

SECTOR_BYTES = 32
LINE_BYTES = 128
BANKS = 32
BANK_BYTES = 4
WAVEFRONT_BYTES = BANKS * BANK_BYTES
REGISTER_BYTES = 4
WIDEST = 16
"""Bytes of the widest access of a thread (PTX ISA, ld.v4.b32)."""


def phase_lanes(width: int) -> int:
    """How many lanes shared memory serves together, by the bytes of each: 32 up to 4 bytes, 16 of 8, 8 of 16."""
    return WARP if width <= BANK_BYTES else WAVEFRONT_BYTES // width


def sectors(addresses: Addresses, width: int) -> Addresses:
    """The sectors that each request of `width` bytes a lane touches. Addresses are multiples of the width."""
    return _distinct(_units(addresses, width, SECTOR_BYTES))


def lines(addresses: Addresses, width: int) -> Addresses:
    """The lines that each request touches."""
    return _distinct(_units(addresses, width, LINE_BYTES))


def wavefronts(addresses: Addresses, width: int) -> Addresses:
    """The wavefronts that each request to shared memory takes. Addresses are multiples of the width."""
    lanes = addresses.shape[-1]
    together = min(phase_lanes(width), lanes)
    phases = addresses.reshape(*addresses.shape[:-1], lanes // together, together)
    words = np.sort(_units(phases, width, BANK_BYTES), axis=-1)
    rows = words.reshape(-1, words.shape[-1])
    counted = np.ones(rows.shape, dtype=bool)
    counted[:, 1:] = rows[:, 1:] != rows[:, :-1]
    slots = np.arange(len(rows))[:, None] * BANKS + rows % BANKS
    busy = np.bincount(slots[counted], minlength=len(rows) * BANKS).reshape(-1, BANKS).max(axis=1)
    return busy.reshape(words.shape[:-1]).sum(axis=-1)


def fewest_wavefronts(addresses: Addresses, width: int) -> Addresses:
    """The wavefronts that each request would take if no two words met in a bank."""
    lanes = addresses.shape[-1]
    together = min(phase_lanes(width), lanes)
    phases = addresses.reshape(*addresses.shape[:-1], lanes // together, together)
    words = _distinct(_units(phases, width, BANK_BYTES))
    return (-(-words // BANKS)).sum(axis=-1)


def _units(addresses: Addresses, width: int, unit: int) -> Addresses:
    """The numbers of the units of `unit` bytes that the lanes touch, those of one lane side by side."""
    first = addresses // unit
    if width <= unit:
        return first
    return (first[..., None] + np.arange(width // unit)).reshape(*addresses.shape[:-1], -1)


def _distinct(units: Addresses) -> Addresses:
    units = np.sort(units, axis=-1)
    return 1 + np.count_nonzero(units[..., 1:] != units[..., :-1], axis=-1)
