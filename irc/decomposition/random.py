"""Decompositions of random numbers into Philox4x32-10 in i64 arithmetic, each element for itself.

`irc/ir/philox.py` says which words an element takes; uniform numbers are the same to the bit, normal ones up to the
rounding of the functions in them. Words of 32 bits are held in i64: products wrap, and a mask after each shift makes
it a logical one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod

from irc.dialects import nd
from irc.dialects.nd.base import element_of, shape_of
from irc.dialects.nd.terms import Decomposition, Term, iota, narrowed, splat
from irc.ir.dtypes import accumulator, element_named
from irc.ir.philox import MASK, MULTIPLIERS, ROUNDS, WEYL, key_of
from irc.ir.rewriting import Inserter


def philox(counter: Term, seed: Term | int) -> list[Term]:
    """The four words of the block of each counter (less than 2^63)."""
    c0, c1 = counter & MASK, high_word(counter)
    c2 = c3 = counter.filled(0)
    k0, k1 = key_of(seed)
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = high_word(p1) ^ c1 ^ k0, p1 & MASK, high_word(p0) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return [c0, c1, c2, c3]


def high_word(x: Term) -> Term:
    """The upper 32 bits."""
    return (x >> 32) & MASK


def singles(words: Sequence[Term], lane: Term) -> Term:
    """The 24-bit uniform f32 of the word that `lane` (0 to 3) says."""
    chosen = words[0]
    for number in range(1, 4):
        chosen = lane.equal(number).where(words[number], chosen)
    return (chosen >> 8).cast(element_named("f32")) * 2.0**-24


def double(words: Sequence[Term], pair: int) -> Term:
    """The 53-bit uniform f64 of two words."""
    bits = (words[2 * pair] >> 5) * 2**26 + (words[2 * pair + 1] >> 6)
    return bits.cast(element_named("f64")) * 2.0**-53


def uniform_of(index: Term, seed: Term | int, is_double: bool) -> Term:
    """The uniform numbers of these row-major indices."""
    if not is_double:
        return singles(philox(index >> 2, seed), index & 3)
    words = philox(index >> 1, seed)
    return (index & 1).equal(0).where(double(words, 0), double(words, 1))


def normal_of(index: Term, seed: Term | int, is_double: bool) -> Term:
    """The normal numbers of these row-major indices (Box and Muller): cosines at even ones, sines at odd ones."""
    if is_double:
        words = philox(index >> 1, seed)
        u, v = double(words, 0), double(words, 1)
    else:
        words = philox(index >> 2, seed)
        u, v = singles(words, index & 2), singles(words, (index & 2) | 1)
    angle = v * (2 * pi)
    direction = (index & 1).equal(0).where(angle.cos(), angle.sin())
    return ((-u).log1p() * -2.0).sqrt() * direction


def random(op: nd.RandomOp, at: Inserter) -> Term:
    """Drawn in f32 for narrower types."""
    shape, element = shape_of(op.result), element_of(op.result)
    if 0 in shape:
        return splat(at, 0.0, shape, element)
    index = iota(at, [prod(shape)], 0, element_named("i64"))
    seed = _seed(op, at, index.shape)
    draw = normal_of if isinstance(op, nd.RandomNormalOp) else uniform_of
    return narrowed(draw(index, seed, accumulator(element).size == 8).reshape(shape), op)


def _seed(op: nd.RandomOp, at: Inserter, shape: Sequence[int]) -> Term | int:
    """The number where it is known, else a term of the shape."""
    owner = op.seed.owner
    if isinstance(owner, nd.ConstantOp):
        return int(owner.array())
    return Term(op.seed, at).broadcast(shape, [])


RANDOM: dict[type[nd.NdOp], Decomposition] = {nd.RandomNormalOp: random, nd.RandomUniformOp: random}
