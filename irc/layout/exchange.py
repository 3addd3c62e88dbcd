"""Exchanges: a tile on its way through shared memory from one fragment to another.

Either side writes or reads vectors along the dimension that is contiguous in the buffer. A fragment with several values
in two dimensions can have a vector along either: it *leads* with the mode that walks along it, which is a renaming of
registers (and packing, where elements are narrower than a register). That is how both sides of a transpose can make
16-byte accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np

from irc.ir.target_costs import ACCESSES
from irc.layout.fragment import Fragment
from irc.layout.requests import BANK_BYTES, WARP, WAVEFRONT_BYTES, Addresses, wavefronts
from irc.layout.shared import IDENTITY, SharedLayout, Swizzle, plain
from irc.layout.traffic import Traffic, shared_addresses, shared_traffic, shared_vector


@dataclass(frozen=True)
class Exchange:
    """`write` and `read` are the two fragments as they lead: the same threads, the values in the order of the accesses.
    `writes` and `reads` are what those cost in `layout`; `moves` are the cycles for moving elements between registers
    for it."""

    layout: SharedLayout
    write: Fragment
    read: Fragment
    writes: Traffic
    reads: Traffic
    moves: float

    @property
    def cycles(self) -> float:
        """Cycles of a multiprocessor for both sides: one a wavefront, the instructions, the moves."""
        return self.moves + side_cycles(self.writes) + side_cycles(self.reads)


def side_cycles(side: Traffic) -> float:
    """Cycles for the requests to shared memory of one side."""
    return side.units + side.requests * ACCESSES.shared_request + (side.units - side.ideal) * ACCESSES.replay


def led_by(fragment: Fragment, dim: int) -> Fragment:
    """The fragment with its values reordered so that a run along `dim` comes first, where it has one."""
    for at, mode in enumerate(fragment.values):
        if mode.dim == dim and mode.step == 1:
            rest = (*fragment.values[:at], *fragment.values[at + 1 :])
            return Fragment(fragment.shape, fragment.threads, (mode, *rest))
    return fragment


@cache
def exchange(source: Fragment, target: Fragment, size: int, word: int = 0) -> Exchange:
    """The cheapest exchange of elements of `size` bytes: of the dense layouts with any dimension the fastest, each with
    every swizzle that keeps the vectors whole. `word`: as many elements of the target's runs have to stay together."""
    orders = _orders(source, target)
    if word:
        orders = [order for order in orders if order[0] == target.vector[0]]
    return min((_swizzled(source, target, order, size, word) for order in orders), key=lambda e: e.cycles)


def _orders(source: Fragment, target: Fragment) -> list[tuple[int, ...]]:
    """Orders of the dimensions, fastest first, that begin with one along which a side has a run (any where none
    has)."""
    rank = len(source.shape)
    runs = {m.dim for f in (source, target) for m in f.values if m.step == 1}
    starts = runs or {f.vector[0] for f in (source, target)}
    orders = permutations(reversed(range(rank)))
    return [order for order in orders if order[0] in starts] if rank else [()]


def move_cycles(elements: int, in_order: bool, vector: int, size: int) -> float:
    """Cycles for the registers of one side, which hold `elements` of `size` bytes over all threads. Elements narrower
    than a register lie in it in the order of the fragment: an access along another dimension gathers each register
    from several, one of less than a register takes elements out, or puts them in, one by one."""
    if size >= BANK_BYTES or (in_order and vector * size >= BANK_BYTES):
        return 0.0
    each = 1.0 if vector * size < BANK_BYTES else (BANK_BYTES - size) / BANK_BYTES
    return elements / WARP * each * ACCESSES.move


def _swizzled(source: Fragment, target: Fragment, order: Sequence[int], size: int, word: int) -> Exchange:
    """The best swizzle of one dense layout. Shorter vectors leave a swizzle more to choose from, and are tried where
    the longest meet conflicts."""
    bare = plain(source.shape, order)
    led = [led_by(f, dim) for f in (source, target) for dim in order[:1]] or [source, target]
    longest = max(shared_vector(f, bare, size) for f in led)
    best: Exchange | None = None
    for base in reversed(range(max(word, 1).bit_length() - 1, longest.bit_length())):
        layout = best_swizzle(led, bare, base, size)
        sides = [shared_traffic(f, layout, shared_vector(f, layout, size), size) for f in led]
        moves = sum(
            move_cycles(f.thread_count * f.value_count, own == f, side.vector, size)
            for own, f, side in zip((source, target), led, sides, strict=True)
        )
        found = Exchange(layout, led[0], led[1], sides[0], sides[1], moves)
        if best is None or found.cycles < best.cycles:
            best = found
        if all(side.units == side.ideal for side in sides):
            break
    assert best is not None
    return best


def best_swizzle(led: Sequence[Fragment], bare: SharedLayout, base: int, size: int) -> SharedLayout:
    """Of the swizzles with this base or a higher one, that with the fewest wavefronts; all are counted at once."""
    candidates = swizzles(base, bare.size, size)
    total = np.zeros(len(candidates))
    bits, low, shift = np.array([(c.bits, c.base, c.shift) for c in candidates]).T[:, :, None, None]
    for fragment in led:
        vector = min(shared_vector(fragment, bare, size), 1 << base)
        offsets, times = _kinds(shared_addresses(fragment, bare, vector, 1))
        swizzled = offsets ^ (((offsets >> (low + shift)) & ((1 << bits) - 1)) << low)
        counted = np.average(wavefronts(swizzled * size, vector * size), axis=-1, weights=times)
        total += counted * fragment.value_count / vector
    return SharedLayout(bare.layout, candidates[int(total.argmin())])


def _kinds(offsets: Addresses) -> tuple[Addresses, Addresses]:
    """Requests, and how many each stands for: those whose offsets differ by the same bits in all lanes take as many
    wavefronts in every swizzle, in which these are other bits, the same in all lanes, and exchange banks."""
    moved = offsets ^ offsets[:, :1]
    if (moved == moved[:1]).all():
        return moved[:1], np.ones(1, np.int64)
    found, times = np.unique(moved, axis=0, return_counts=True)
    return found, times


@cache
def swizzles(base: int, elements: int, size: int) -> tuple[Swizzle, ...]:
    """The swizzles of a buffer of `elements` of `size` bytes that keep runs of 2**base together, stay inside and change
    banks, the identity and then the fewest bits first. The bits that they move are those below 128 bytes: higher ones
    do not tell banks apart."""
    index_bits = (elements - 1).bit_length()
    top = (WAVEFRONT_BYTES // size).bit_length() - 1
    found = [
        Swizzle(bits, at, shift)
        for at in range(base, top)
        for bits in range(1, top - at + 1)
        if elements % (1 << (at + bits)) == 0
        for shift in range(bits, index_bits - at - bits + 1)
    ]
    return (IDENTITY, *sorted(found, key=lambda s: (s.bits, s.base, s.shift)))
