"""Layouts of shared memory: CuTe layouts with a swizzle, and the bank conflicts of an access.

Shared memory has 32 banks of 4 bytes; a warp's access is served in as many passes as the busiest bank has distinct
words (CUDA C++ Programming Guide, "Shared Memory"). 8-byte accesses are served by half warps and 16-byte ones by
quarter warps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from irc.layout.fragment import Fragment

BANKS = 32
BANK_BYTES = 4


@dataclass(frozen=True)
class Swizzle:
    """CuTe's Swizzle<b, m, s>: XORs bits [m + s, m + s + b) of an index into bits [m, m + b)."""

    bits: int = 0
    base: int = 0
    shift: int = 0

    def __call__(self, index: int) -> int:
        mask = (1 << self.bits) - 1
        return index ^ (((index >> (self.base + self.shift)) & mask) << self.base)

    @property
    def is_identity(self) -> bool:
        return self.bits == 0


IDENTITY = Swizzle()


@dataclass(frozen=True)
class SharedLayout:
    """Element offset of a tile coordinate. `modes[d]` lists the (size, stride) pairs of dimension d, innermost
    first."""

    modes: tuple[tuple[tuple[int, int], ...], ...]
    swizzle: Swizzle = IDENTITY

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(prod(size for size, _ in modes) for modes in self.modes)

    @property
    def size(self) -> int:
        """Elements from the first to one past the last."""
        return 1 + sum((size - 1) * stride for modes in self.modes for size, stride in modes)

    def __call__(self, coordinate: Sequence[int]) -> int:
        offset = 0
        for at, modes in zip(coordinate, self.modes, strict=True):
            for size, stride in modes:
                at, component = divmod(at, size)
                offset += component * stride
        return self.swizzle(offset)

    def run(self, dim: int) -> int:
        """How many elements along `dim`, from a multiple of the result on, lie one after another."""
        size, stride = self.modes[dim][0]
        if stride != 1:
            return 1
        return size if self.swizzle.is_identity else min(size, 1 << self.swizzle.base)


def plain(shape: Sequence[int], order: Sequence[int], swizzle: Swizzle = IDENTITY) -> SharedLayout:
    """Dense strides along the dimensions of `order`, fastest first."""
    modes: list[tuple[tuple[int, int], ...]] = [()] * len(shape)
    stride = 1
    for dim in order:
        modes[dim] = ((shape[dim], stride),)
        stride *= shape[dim]
    return SharedLayout(tuple(modes), swizzle)


def panels(shape: Sequence[int], dim: int, width: int, swizzle: Swizzle) -> SharedLayout:
    """A 2-d tile cut into panels of `width` elements along `dim`, each panel dense with `dim` fastest: what one TMA
    box of a hardware swizzle writes and wgmma's descriptors read (PTX ISA, "Shared Memory Matrix Layout")."""
    other = 1 - dim
    rows = shape[other]
    split = ((width, 1),) if shape[dim] == width else ((width, 1), (shape[dim] // width, rows * width))
    across = ((rows, width),)
    return SharedLayout((split, across) if dim == 0 else (across, split), swizzle)


def conflicts(layout: SharedLayout, fragment: Fragment, vector: int, element_bytes: int) -> float:
    """Passes per request, relative to the fewest possible, when the first warp accesses register 0 to vector - 1: 1.0
    is free of conflicts."""
    width = vector * element_bytes
    lanes = min(32, fragment.thread_count)
    group = lanes if width <= 4 else max(1, min(lanes, 128 // width))
    passes = ideal = 0
    for first in range(0, lanes, group):
        words: set[int] = set()
        for lane in range(first, first + group):
            start = layout(fragment.coordinate(lane, 0)) * element_bytes
            words.update(range(start // BANK_BYTES, (start + max(width, 1) - 1) // BANK_BYTES + 1))
        passes += max(Counter(word % BANKS for word in words).values())
        ideal += -(-len(words) // BANKS)
    return passes / ideal


def best_swizzle(
    shape: Sequence[int], order: Sequence[int], accesses: Iterable[tuple[Fragment, int]], element_bytes: int
) -> tuple[SharedLayout, float]:
    """The swizzle of a dense layout with the fewest conflicts, summed over accesses (fragment, vector length); with
    the cost.

    The swizzle's base keeps the longest vector whole; b and s run over all that fit. Ties go to the fewest bits.
    """
    accesses = list(accesses)
    widest = max((vector for _, vector in accesses), default=1)
    base = widest.bit_length() - 1
    index_bits = (prod(shape) - 1).bit_length()
    candidates = [IDENTITY]
    for bits in range(1, 6):
        for shift in range(bits, index_bits - base - bits + 1):
            candidates.append(Swizzle(bits, base, shift))
    best: tuple[float, int, SharedLayout] | None = None
    for swizzle in candidates:
        layout = plain(shape, order, swizzle=swizzle)
        cost = sum(conflicts(layout, fragment, vector, element_bytes) for fragment, vector in accesses)
        if best is None or (cost, swizzle.bits) < best[:2]:
            best = (cost, swizzle.bits, layout)
    assert best is not None
    return best[2], best[0]
