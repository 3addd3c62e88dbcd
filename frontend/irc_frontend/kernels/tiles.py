"""`tiles`: what loops of kernels go over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from irc_frontend.graph import fail

if TYPE_CHECKING:
    from irc_frontend.kernels.indices import Index
    from irc_frontend.tensor import Tensor

Extent: TypeAlias = int | range


class Tiles:
    """What `tiles` gives: a `for` statement of a kernel goes over it."""

    def __init__(self, extents: Sequence[Extent], begin: Index | int | None, end: Index | Tensor | int | None):
        self.extents = extents
        self.begin = begin
        self.end = end

    def __iter__(self) -> Iterator[Any]:
        raise fail(
            "tiles are for the `for` statements of a kernel",
            "`for m in tiles(M):` in a function with @kernel before it, without enumerate, zip or a comprehension",
        )


def tiles(*extents: Extent, begin: Index | int | None = None, end: Index | Tensor | int | None = None) -> Any:
    """The tiles of a domain of these extents, in a `for` statement of a kernel: `for m, n in tiles(M, N)`.

    The outermost loop is a launch, whose tiles are computed in parallel; loops inside run one tile after the other. A
    `range` in place of an extent is walked one by one: its index takes an axis away. `begin` and `end` bound the tiles
    that a loop inside goes over, of one dimension: numbers, or positions of another loop (`m.end`). `end` may be data,
    an element of an array of integers (`lengths[b]`), of which what is less than 0 or more than the extent is cut off.
    The last one may go beyond `end`, though not beyond the extent.
    """
    checked = [each if isinstance(each, range) else _extent(each) for each in extents]
    if not checked:
        raise fail("tiles of no dimension", "tiles(M, N)")
    return Tiles(checked, begin, end)


def _extent(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise fail(f"extents of tiles are integers or ranges, found {type(value).__name__}", "tiles(x.shape[0])")
    if value.__index__() < 1:
        raise fail(f"extents of tiles are 1 or more, found {value.__index__()}")
    return value.__index__()
