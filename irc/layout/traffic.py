"""What moving a tile costs: the requests of all warps, by the analyses of `irc/layout/requests.py`.

Three questions about a fragment and an access to memory: how wide the vectors can be, how many sectors of global memory
or wavefronts of shared memory the requests take, and how few would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import gcd

import numpy as np

from irc.layout.access import MemoryAccess
from irc.layout.fragment import Fragment
from irc.layout.requests import (
    LINE_BYTES,
    SECTOR_BYTES,
    WARP,
    WIDEST,
    Addresses,
    fewest_wavefronts,
    lines,
    sectors,
    wavefronts,
)
from irc.layout.shared import SharedLayout

MAX_COUNTED = 32
"""Requests that are looked at where they are not all alike: rows of odd pitch differ in how they meet sectors."""


@dataclass(frozen=True)
class Traffic:
    """Moving one tile, by all warps of a block. vector: elements that a thread moves at a time. requests: memory
    instructions of warps. units: sectors of global memory or wavefronts of shared memory that they take; ideal: the
    fewest that could hold the same elements. lines: of 128 bytes, that the requests to global memory touch, and the
    fewest. is_across: each vector of a load is put together from the two aligned words that it is in."""

    vector: int
    requests: float
    units: float
    ideal: float
    lines: float = 0.0
    ideal_lines: float = 0.0
    is_across: bool = False


def global_vector(fragment: Fragment, access: MemoryAccess) -> int:
    """The widest legal vector, in elements: contiguous in a thread's registers and in memory, aligned, 16 bytes at
    most."""
    dim, run = fragment.vector
    return access.vector(dim, run)


def shared_vector(fragment: Fragment, layout: SharedLayout, element_bytes: int) -> int:
    """The widest vector, in elements, between a thread's registers and shared memory: aligned, whole in both."""
    dim, run = fragment.vector
    strides = [stride for d, modes in enumerate(layout.modes) for _, stride in modes[d == dim :]]
    return gcd(run, layout.run(dim), max(1, WIDEST // element_bytes), *strides)


def across_vector(fragment: Fragment, access: MemoryAccess) -> int:
    """The elements of 16 bytes that a thread loads from anywhere in memory, by the two words that they are in; 0 where
    the accesses of the fragment are as wide, or its runs along rows of the view are not."""
    dim, run = fragment.vector
    vector = WIDEST // access.element_bytes
    is_whole = run % vector == 0 and access.is_row(dim) and access.begins_inside(dim)
    return vector if is_whole and access.vector(dim, run) < vector else 0


@cache
def global_traffic(fragment: Fragment, access: MemoryAccess) -> Traffic:
    """The requests of a load or store of a tile in a fragment."""
    vector = global_vector(fragment, access)
    alike = fragment.is_linear and access.has_whole_lines(LINE_BYTES)
    addresses = access.addresses(fragment.requests(vector, 1 if alike else MAX_COUNTED))
    return _global_traffic(fragment, access, vector, [addresses], vector * access.element_bytes)


@cache
def across_traffic(fragment: Fragment, access: MemoryAccess) -> Traffic:
    """The requests of a load of vectors that begin anywhere, two for each."""
    vector = across_vector(fragment, access)
    low = access.addresses(fragment.requests(vector, MAX_COUNTED)) // WIDEST * WIDEST
    return replace(_global_traffic(fragment, access, vector, [low, low + WIDEST], WIDEST), is_across=True)


def _global_traffic(
    fragment: Fragment, access: MemoryAccess, vector: int, addresses: Sequence[Addresses], width: int
) -> Traffic:
    """The requests of all warps, each `addresses` one for a vector, of `width` bytes."""
    count = _requests(fragment, vector)
    units, touched = (sum(float(counted(at, width).mean()) for at in addresses) * count for counted in (sectors, lines))
    ideal, ideal_lines = ideal_units(access, fragment.shape)
    return Traffic(vector, len(addresses) * count, units, ideal, touched, ideal_lines)


@cache
def ideal_units(access: MemoryAccess, shape: tuple[int, ...]) -> tuple[float, float]:
    """The sectors and the lines that hold the elements of a tile, each counted once."""
    axes = [np.arange(extent, dtype=np.int64) for extent in shape]
    addresses = access.addresses(np.meshgrid(*axes, indexing="ij")).reshape(-1) if shape else np.zeros(1, np.int64)
    touched = np.unique(addresses // SECTOR_BYTES)
    return float(len(touched)), float(len(np.unique(touched * SECTOR_BYTES // LINE_BYTES)))


def shared_traffic(fragment: Fragment, layout: SharedLayout, vector: int, element_bytes: int) -> Traffic:
    """The requests of a read or write of shared memory in a layout, `vector` elements at a time."""
    width = vector * element_bytes
    addresses = shared_addresses(fragment, layout, vector, element_bytes)
    count = _requests(fragment, vector)
    return Traffic(
        vector,
        count,
        float(wavefronts(addresses, width).mean()) * count,
        float(fewest_wavefronts(addresses, width).mean()) * count,
    )


def shared_addresses(fragment: Fragment, layout: SharedLayout, vector: int, element_bytes: int) -> Addresses:
    """Byte offsets of (request, lane). One request stands for all where fragment and layout are linear over bits."""
    linear = fragment.is_linear and all(s & (s - 1) == 0 for modes in layout.modes for _, s in modes)
    offsets = layout.offsets(fragment.requests(vector, 1 if linear else MAX_COUNTED))
    return layout.swizzle(offsets) * element_bytes


def _requests(fragment: Fragment, vector: int) -> float:
    return max(1, fragment.thread_count // WARP) * (fragment.value_count // vector)
