"""How evenly blocks that stay share tiles of unequal length, as those of causal attention are: the block of number b
has the tiles b, b + 132, b + 264 of 132 blocks, and which these are depends on the order of tiles."""

from __future__ import annotations

import numpy as np

from irc.support.integers import ceil_div

BEGIN = 1
"""Steps that a tile takes longer than those of its loop: its first loads, and its results."""


def even_group(most: int, *, outer: int, batches: int, rows: int, tile: int, step: int, blocks: int) -> int:
    """How many batches tiles walk over together, at most so many, with which the block that has most to do has least:
    one with so many `blocks`, whose tiles have `tile` of `rows`, and loops over as many columns in steps. Tiles of the
    longest loops come first. outer: how often there are so many batches."""
    ends = np.arange(ceil_div(rows, tile), 0, -1) * tile
    lengths = -(-ends // step) + BEGIN

    def longest(group: int) -> float:
        whole, rest = divmod(batches, group)
        order = np.tile(np.append(np.tile(np.repeat(lengths, group), whole), np.repeat(lengths, rest)), outer)
        shares = np.zeros(ceil_div(len(order), blocks) * blocks)
        shares[: len(order)] = order
        return float(shares.reshape(-1, blocks).sum(0).max())

    return min(range(min(most, batches), 0, -1), key=longest)
