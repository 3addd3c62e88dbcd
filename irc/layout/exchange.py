"""The layout of a tile that passes through shared memory on its way from one fragment to another."""

from __future__ import annotations

from functools import cache

from irc.layout.fragment import Fragment
from irc.layout.shared import SharedLayout, best_swizzle, conflicts


@cache
def exchange_layout(source: Fragment, target: Fragment, size: int) -> SharedLayout:
    """The layout of a tile on its way through shared memory from one fragment to another: of the dense layouts with the
    vectors of either side contiguous, each with its best swizzle, the one with the fewest passes in all."""
    best: tuple[float, SharedLayout] | None = None
    for dim in {source.vector[0], target.vector[0]}:
        rest = [d for d in reversed(range(len(source.shape))) if d != dim]
        accesses: list[tuple[Fragment, int]] = []
        for fragment in (source, target):
            along, run = fragment.vector
            accesses.append((fragment, min(run, max(1, 16 // size)) if along == dim else 1))
        layout, _ = best_swizzle(source.shape, [dim, *rest], accesses, size)
        cost = sum(
            fragment.value_count / vector * conflicts(layout, fragment, vector, size) * max(1.0, vector * size / 4)
            for fragment, vector in accesses
        )
        if best is None or cost < best[0]:
            best = (cost, layout)
    assert best is not None
    return best[1]
