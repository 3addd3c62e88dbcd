"""Lane swizzles: the order in which each lane of a warp takes the elements of its run from shared memory.

Lanes that store 16 bytes each have runs that begin 16 bytes apart in memory. Where rows keep their place within words,
their first elements lie 4 banks apart, whatever the pitch of the rows is, and so do all others that lanes take at a
time: 8 banks are busy, and 24 are not. So lanes begin at different elements. Bit b of a lane's number XORs `swizzle[b]`
into the position that the lane takes at a time, and selections put the run in order afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irc.layout.requests import WARP, Addresses

LaneSwizzle = tuple[int, ...]
"""For each bit of a lane's number, the lowest first, what it XORs into positions of the run; empty: nothing."""

LANE_BITS = WARP.bit_length() - 1

MOST_LANE_BITS = 3
"""Bits of a lane's number that change positions: 8 lanes begin at different ones."""


def xored(lanes: Addresses, swizzle: LaneSwizzle) -> Addresses:
    """What lanes XOR into positions of a run."""
    moved = 0 * lanes
    for bit, by in enumerate(swizzle):
        moved = moved ^ (lanes >> bit & 1) * by
    return moved


def exchanged(swizzle: LaneSwizzle) -> Iterator[int]:
    """The distances at which elements of a run change places, for the run to be in order."""
    for bit in range(max(swizzle, default=0).bit_length()):
        if any(by >> bit & 1 for by in swizzle):
            yield 1 << bit


def best_lane_swizzle(run: int, cost: Callable[[LaneSwizzle], float], enough: float) -> LaneSwizzle:
    """The swizzle of a run of so many elements, a power of two, that costs little: the best one that moves one more bit
    of the lanes' numbers, as long as it costs less, and more than `enough`."""
    best: LaneSwizzle = ()
    least = cost(best)
    for _ in range(MOST_LANE_BITS):
        if least <= enough:
            break
        found = min((cost(each), each) for each in _more(best or (0,) * LANE_BITS, run))
        if found[0] >= least:
            break
        least, best = found
    return best


def _more(swizzle: LaneSwizzle, run: int) -> Iterator[LaneSwizzle]:
    """Swizzles by which one more bit moves positions: by a power of two, or by two that follow each other."""
    powers = [1 << at for at in range(run.bit_length() - 1)]
    moves = [*powers, *(3 * power for power in powers[:-1])]
    for bit in (bit for bit, by in enumerate(swizzle) if not by):
        for by in moves:
            yield (*swizzle[:bit], by, *swizzle[bit + 1 :])
