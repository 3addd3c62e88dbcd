"""Philox4x32-10 and how `nd.random_uniform` and `nd.random_normal` take numbers from it: the same on every target.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

Element `i` (its row-major index) of an array with `seed`, an i64 read as unsigned:

- key = (seed mod 2^32, seed / 2^32); the block of counter n is `block((n mod 2^32, n / 2^32, 0, 0), key)`: four words
  w0..w3.
- For f32 and narrower, n = i / 4 and the lane is i mod 4. uniform: (w[lane] >> 8) * 2^-24. normal: lanes 2p and 2p + 1
  with p = lane / 2 are a pair of uniforms u, v.
- For f64, n = i / 2 and there are two uniforms to a block: ((w[2j] >> 5) * 2^26 + (w[2j + 1] >> 6)) * 2^-53 with j =
  0, 1. uniform: that of j = i mod 2. normal: u is that of j = 0 and v that of j = 1.
- normal (Box and Muller, 1958): sqrt(-2 log(1 - u)) * cos(2 pi v) where i is even, sin(2 pi v) where it is odd.

Numbers of a narrower type are f32's, rounded, so that a uniform one can be 1.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np

Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
"""32-bit words, held in 64 bits so that products need no care."""

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]

SeedT = TypeVar("SeedT", bound=Any)

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
MASK = 0xFFFFFFFF


def key_of(seed: SeedT) -> tuple[SeedT, SeedT]:
    """The two words of the key for a 64-bit seed: a number, or whatever has its operators."""
    return seed & MASK, (seed >> 32) & MASK


def block(counter: tuple[Words, Words, Words, Words], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """The four words that Philox gives for a counter of four words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            p1 & np.uint64(MASK),
            (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            p0 & np.uint64(MASK),
        )
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3


def words(seed: int, blocks: int) -> Words:
    """The words of counters 0..blocks-1: a (blocks, 4) array."""
    n = np.arange(blocks, dtype=np.uint64)
    zero = np.zeros_like(n)
    return np.stack(block((n & np.uint64(MASK), n >> np.uint64(32), zero, zero), key_of(seed)), axis=1)


def uniform(seed: int, count: int, double: bool) -> Floats:
    """`count` uniform numbers of [0, 1) as float64: with 53 bits if `double`, else with 24, exact in f32."""
    if double:
        return _doubles(seed, count)[:count]
    return _singles(seed, count)[:count]


def normal(seed: int, count: int, double: bool) -> Floats:
    """`count` normal numbers, computed in float64 from uniforms with 53 bits if `double`, else with 24."""
    pairs = (_doubles if double else _singles)(seed, count).reshape(-1, 2)
    radius, angle = np.sqrt(-2.0 * np.log1p(-pairs[:, 0])), 2.0 * np.pi * pairs[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:count]


def _singles(seed: int, count: int) -> Floats:
    return (words(seed, -(-count // 4)) >> np.uint64(8)).reshape(-1) * 2.0**-24


def _doubles(seed: int, count: int) -> Floats:
    w = words(seed, -(-count // 2)).reshape(-1, 2)
    return ((w[:, 0] >> np.uint64(5)) * 2.0**26 + (w[:, 1] >> np.uint64(6))) * 2.0**-53
