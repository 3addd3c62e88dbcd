"""Seeds made of a seed: each layer, and each step, draws its own numbers."""

from __future__ import annotations

from typing import TypeVar, cast

from irc_frontend.tensor import Tensor

SeedT = TypeVar("SeedT", int, Tensor, "int | Tensor")

_STEP = 0x9E3779B97F4A7C15
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST = 31


def fold(seed: SeedT, number: int) -> SeedT:
    """The seed of the `number`-th part (0 or more) of something that has a seed: an int, or an i64 Tensor.

    SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): parts of parts have
    seeds of their own too, in whichever order the numbers are folded.
    """
    mixed = _wrapped(seed + _signed((number + 1) * _STEP))
    for shift, factor in _ROUNDS:
        mixed = _wrapped((mixed ^ _shifted(mixed, shift)) * _signed(factor))
    return mixed ^ _shifted(mixed, _LAST)


def _shifted(x: SeedT, count: int) -> SeedT:
    """A logical shift to the right: the sign does not come in."""
    return (x >> count) & (2 ** (64 - count) - 1)


def _wrapped(x: SeedT) -> SeedT:
    """Within 64 bits; i64 Tensors wrap by themselves."""
    return cast(SeedT, _signed(x)) if isinstance(x, int) else x


def _signed(x: int) -> int:
    """The i64 with the lowest 64 bits of `x`."""
    return (x + 2**63) % 2**64 - 2**63
