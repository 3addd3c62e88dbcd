"""Wavefronts of a box in shared memory: those of the words that are written there, and of the elements that threads
take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from irc.layout.access import MemoryAccess
from irc.layout.box import Box
from irc.layout.fragment import Coordinates, Fragment
from irc.layout.lane_swizzles import LaneSwizzle, xored
from irc.layout.requests import WARP, WIDEST, Addresses, fewest_wavefronts, phase_lanes, wavefronts
from irc.layout.shared import SharedLayout
from irc.layout.traffic import Traffic, global_vector
from irc.support.integers import round_up

MAX_COUNTED, PER_TILE = 16, 4
"""Requests whose bank conflicts are counted for each layout, and how many of them are those of one tile: where a run
begins in memory differs from tile to tile."""

SMALL = 2
"""Bytes of elements that are many for what memory takes."""

Units = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """The wavefronts that so many requests take in each of some layouts, and the fewest that they could."""

    requests: float
    units: Units
    ideal: Units

    @staticmethod
    def of(requests: float, addresses: Addresses, width: int) -> Side:
        """addresses: of (layout, request, lane), for some of the requests, each of `width` bytes a lane."""
        units, ideal = (count(addresses, width).mean(axis=-1) for count in (wavefronts, fewest_wavefronts))
        return Side(requests, units * requests, ideal * requests)

    def traffic(self, layout: int, vector: int) -> Traffic:
        return Traffic(vector, self.requests, float(self.units[layout]), float(self.ideal[layout]))


@dataclass(frozen=True)
class Reads:
    """Threads that take the elements of a tile. offsets: of (layout, request, lane, position), the elements of the run
    that a lane is in; is_taken: which of them are; taken: of (request, lane), the positions that lanes take in order.

    What is outside the view is not taken where elements are small (irc/lowering/row_ends.py), else another element of
    the box is."""

    offsets: Addresses
    is_taken: npt.NDArray[np.bool_]
    taken: Addresses
    size: int
    vector: int
    run: int
    requests: float

    @staticmethod
    def of(fragment: Fragment, access: MemoryAccess, box: Box, layouts: Sequence[SharedLayout]) -> Reads:
        vector = global_vector(fragment, access)
        dim, run = fragment.vector
        # Lanes of whole warps can take their runs in other orders.
        has_runs = vector == 1 and run & (run - 1) == 0 and fragment.thread_count % WARP == 0
        run = run if has_runs else 1
        starts = fragment.requests(max(run, vector), MAX_COUNTED)
        chosen = np.arange(MAX_COUNTED, dtype=np.int64) % len(starts[0])
        coordinates = [at[chosen][..., None] for at in starts]
        coordinates[dim] = coordinates[dim] + np.arange(run)
        offsets = [each[..., None] for each in _offsets(access)]
        at, skips = inside(coordinates, access, box, offsets), _skips(access, box, offsets)
        is_taken = np.ones(1, dtype=np.bool_)
        if access.element_bytes <= SMALL:
            is_taken = _is_there(access, [c + o for c, o in zip(coordinates, offsets, strict=True)])
        lanes = starts[0].shape[1]
        shape = MAX_COUNTED, lanes, run
        found = np.stack([np.broadcast_to(skips + layout.offsets(at), shape) for layout in layouts])
        taken = np.broadcast_to((np.arange(MAX_COUNTED, dtype=np.int64) % run)[:, None], (MAX_COUNTED, lanes))
        requests = max(1, fragment.thread_count // WARP) * (fragment.value_count // vector)
        return Reads(found, np.broadcast_to(is_taken, shape), taken, access.element_bytes, vector, run, requests)

    @property
    def has_runs(self) -> bool:
        return self.run > 1

    @property
    def word(self) -> int:
        """Elements of a word."""
        return WIDEST // self.size

    def side(self, swizzle: LaneSwizzle = (), among: Addresses | None = None) -> Side:
        """What they cost in all layouts, or in those with these numbers."""
        offsets = self.offsets if among is None else self.offsets[among]
        at = (self.taken ^ xored(np.arange(self.taken.shape[1]), swizzle))[..., None]
        taken = np.take_along_axis(offsets, at[None], axis=-1)[..., 0]
        # A lane that takes nothing meets no bank that another one of its request does not.
        is_taken = np.take_along_axis(self.is_taken, at, axis=-1)[..., 0]
        first = np.take_along_axis(taken, is_taken.argmax(axis=-1)[None, :, None], axis=-1)
        taken = np.where(is_taken, taken, first)
        return Side.of(self.requests, taken * self.size, self.vector * self.size)


def box_writes(box: Box, layouts: Sequence[SharedLayout], size: int) -> Side:
    """What writing the words of a box costs: lanes have words that follow each other, those of a row and then those of
    the next one."""
    word, words = WIDEST // size, box.row_count * box.words
    warps = max(1, words // WARP)
    chosen = np.arange(min(warps, MAX_COUNTED), dtype=np.int64) * max(1, warps // MAX_COUNTED)
    lanes = min(WARP, round_up(words, phase_lanes(WIDEST)))
    number = np.minimum(chosen[:, None] * WARP + np.arange(lanes), words - 1)
    at, row = number % box.words, number // box.words
    coordinates = [0 * row] * len(box.counts)
    for dim in box.rows:
        coordinates[dim], row = row % box.counts[dim], row // box.counts[dim]
    offsets = np.stack([layout.offsets(coordinates) // word + at for layout in layouts])
    return Side.of(words / WARP, offsets * WIDEST, WIDEST)


def inside(
    coordinates: Coordinates, access: MemoryAccess, box: Box, offsets: Sequence[Addresses] | None = None
) -> list[Addresses]:
    """The coordinates in the box of elements of a tile: of the first, or of those with these offsets."""
    origin = np.zeros(1, np.int64)
    starts = offsets or [origin] * len(coordinates)
    dims = [at + start for at, start in zip(coordinates, starts, strict=True)]
    found = zip(_places(access, dims), _origins(access, box, starts), box.counts, strict=True)
    return [np.clip(at - first, 0, n - 1) for at, first, n in found]


def _origins(access: MemoryAccess, box: Box, offsets: Sequence[Addresses]) -> list[Addresses]:
    """Where tiles with these offsets begin in the view."""
    dims: Any = list(offsets)
    zero = np.zeros(1, np.int64)
    return [origin.eval(dims, [0] * access.map.num_symbols) + zero for origin in box.origins]


def _places(access: MemoryAccess, coordinates: Coordinates) -> list[Addresses]:
    """Where elements lie in the view, for symbols of 0."""
    dims: Any = list(coordinates)
    zero: Addresses = 0 * dims[0]
    return [expr.eval(dims, [0] * access.map.num_symbols) + zero for expr in access.map.results]


def _skips(access: MemoryAccess, box: Box, offsets: Sequence[Addresses]) -> Addresses:
    """Where the first rows of tiles begin in their words of memory."""
    begin = np.zeros(1, np.int64)
    if not box.is_misaligned:
        return begin
    for at, stride in zip(_origins(access, box, offsets), access.strides, strict=True):
        begin = begin + at * stride
    return begin % (WIDEST // access.element_bytes)


def _offsets(access: MemoryAccess) -> list[Addresses]:
    """The offsets of the tiles that requests are of: of the first ones along each dimension that begin in the view."""
    number = np.arange(MAX_COUNTED, dtype=np.int64)[:, None] // PER_TILE
    return [number % _tiles(access, dim) * step for dim, step in enumerate(access.offsets)]


def _tiles(access: MemoryAccess, dim: int) -> int:
    """How many tiles begin in the view along a dimension, up to as many as requests are counted of."""
    numbers = np.arange(MAX_COUNTED // PER_TILE, dtype=np.int64)
    dims = [numbers * (step if d == dim else 0) for d, step in enumerate(access.offsets)]
    begins = [at < n for at, n in zip(_places(access, dims), access.extents, strict=True)]
    return max(1, int(np.logical_and.reduce(begins).argmin()) or len(numbers))


def _is_there(access: MemoryAccess, coordinates: Coordinates) -> npt.NDArray[np.bool_]:
    """Whether elements are inside the view."""
    found = np.ones(1, dtype=np.bool_)
    for at, n in zip(_places(access, coordinates), access.extents, strict=True):
        found = found & (at >= 0) & (at < n)
    return found
