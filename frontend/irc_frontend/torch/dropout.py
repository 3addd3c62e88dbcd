"""The weights of attention that dropout keeps, drawn anew wherever it is asked for: no array of them is stored.

torch draws a word of 32 bits for each row by its own generator (Philox on a GPU), as it draws all random numbers: so
the seed, CUDA graphs and checkpoints mean what they mean to its ops. The words of a row's elements are hashed from that
one and the column. From the row's word on, steps of 2^32 times the golden ratio (a Weyl sequence, as of SplitMix:
Steele, Lea, Flood, OOPSLA 2014) are mixed by the shifts and products of MurmurHash3's finalizer (Appleby), all but its
last shift. The row's word enters again between the products: rows whose sequences overlap differ.

On a GPU an element takes nine instructions. Philox's ten rounds give four words in forty and more, of which neighbors
would have to make one call together; but what a thread has as neighbors in a tile is along rows forward, and along
columns in the gradients of keys and values.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor

ArrayT = TypeVar("ArrayT", bound=Any)

STEP = 0x9E3779B9
MULTIPLIERS = 0x85EBCA6B, 0xC2B2AE35

RANGE = 2**32


def words_of(x: Tensor) -> Tensor:
    """A word for each row of x[..., S, D]: i32[..., S], drawn by torch's generator of x's device."""
    return torch.randint(-RANGE // 2, RANGE // 2, x.shape[:-1], dtype=torch.int32, device=x.device)


def kept(words: ArrayT, columns: ArrayT, rate: float) -> ArrayT:
    """Whether dropout keeps the elements of rows with these words, i32[..., S, 1], in these columns, i32[T]: bool[...,
    S, T], each false with a probability of `rate` < 1, up to 2^-32. Tensors of irc, or of torch."""
    first, second = map(_signed, MULTIPLIERS)
    x = columns * _signed(STEP) + words
    x = (x ^ ((x >> 16) & 0xFFFF)) * first
    x = (x ^ ((x >> 15) & 0x1FFFF) ^ words) * second
    return x >= min(round(rate * RANGE), RANGE - 1) - RANGE // 2


def _signed(word: int) -> int:
    """The number that a word is as an i32."""
    return (word + RANGE // 2) % RANGE - RANGE // 2
