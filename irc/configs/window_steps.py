"""How deep the steps along K of a convolution are, whose taps are part of K, and into how many parts K is cut."""

from __future__ import annotations

from irc.analysis.product_problem import Product
from irc.analysis.window_operands import MIN_RUN
from irc.support.integers import round_up

MAX_PARTS = 4096
"""Of a convolution summed by threads."""

STEP = 8
"""What a step costs, in elements along K: a barrier, or a wait for loads."""


def step_at_tap(product: Product, depth: int, least: int) -> int:
    """The power of two from `least` to `depth` elements whose steps go over the channels of one tap, zeros beyond them
    included, in the least time; the depth itself where there are no such runs. Groups have no zeros between them."""
    run = product.run
    if run < MIN_RUN:
        return depth
    sizes = [1 << bits for bits in range(depth.bit_length()) if 1 << bits >= max(least, MIN_RUN)]
    if product.batch > 1:
        sizes = [size for size in sizes if run % size == 0]
    return min(reversed(sizes), key=lambda size: round_up(run, size) // size * (size + STEP), default=depth)


def parts_to_fill(product: Product, tiles: int, blocks: int, shortest: int) -> int:
    """The fewest parts of K, of `shortest` elements and more, with which tiles fill so many blocks; as many as there
    can be where those are fewer. 1 of a product without a window, and where there are enough tiles."""
    if not product.taps or tiles >= blocks // 2 or 0 in (tiles, product.k):
        return 1
    most = min(MAX_PARTS, product.k // shortest)
    counts = [n for n in range(1, most + 1) if product.can_be_cut(n)]
    return next((n for n in counts if n * tiles >= blocks), max(counts, default=1))
