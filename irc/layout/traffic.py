"""What moving a tile costs: the requests of all warps, by the analyses of `irc/layout/requests.py`.

Three questions about a fragment and an access to memory: how wide the vectors can be, how many sectors of global memory
or wavefronts of shared memory the requests take, and how few would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from irc.layout.access import Access
from irc.layout.fragment import Fragment
from irc.layout.requests import WARP, WIDEST, Addresses, fewest_wavefronts, lines, sectors, wavefronts
from irc.layout.shared import SharedLayout

MOST_COUNTED = 64
"""Requests to global memory that are looked at; the others are like them. Rows of odd pitch differ in how they meet
sectors, and 64 rows show it."""
MOST_COUNTED_SHARED = 8


@dataclass(frozen=True)
class Traffic:
    """Moving one tile, by all warps of a block. vector: elements that a thread moves at a time. requests: memory
    instructions of warps. units: sectors of global memory or wavefronts of shared memory that they take; ideal: the
    fewest that could hold the same elements. lines: of 128 bytes, that the requests to global memory touch."""

    vector: int
    requests: float
    units: float
    ideal: float
    lines: float = 0.0


def global_vector(fragment: Fragment, access: Access) -> int:
    """The widest legal vector, in elements: contiguous in a thread's registers and in memory, aligned, 16 bytes at
    most."""
    dim, run = fragment.vector
    return access.vector(dim, run)


def shared_vector(fragment: Fragment, layout: SharedLayout, element_bytes: int) -> int:
    """The widest vector, in elements, between a thread's registers and shared memory."""
    dim, run = fragment.vector
    longest = min(run, layout.run(dim), max(1, WIDEST // element_bytes))
    return 1 << (longest.bit_length() - 1)


@cache
def global_traffic(fragment: Fragment, access: Access) -> Traffic:
    """The requests of a load or store of a tile in a fragment."""
    vector = global_vector(fragment, access)
    width = vector * access.element_bytes
    addresses = access.addresses(fragment.requests(vector, MOST_COUNTED))
    count = _requests(fragment, vector)
    return Traffic(
        vector,
        count,
        float(sectors(addresses, width).mean()) * count,
        ideal_sectors(access, fragment.shape),
        float(lines(addresses, width).mean()) * count,
    )


@cache
def ideal_sectors(access: Access, shape: tuple[int, ...]) -> float:
    """The sectors that hold the elements of a tile, each counted once."""
    axes = [np.arange(extent, dtype=np.int64) for extent in shape]
    addresses = access.addresses(np.meshgrid(*axes, indexing="ij", sparse=False)) if shape else np.zeros(1, np.int64)
    return float(sectors(addresses.reshape(-1), access.element_bytes))


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
    offsets = layout.offsets(fragment.requests(vector, 1 if linear else MOST_COUNTED_SHARED))
    return layout.swizzle.of(offsets) * element_bytes


def _requests(fragment: Fragment, vector: int) -> float:
    return max(1, fragment.thread_count // WARP) * (fragment.value_count // vector)


def copies(fragment: Fragment) -> int:
    """How many threads hold each element."""
    return fragment.thread_count * fragment.value_count // max(1, prod(fragment.shape))
