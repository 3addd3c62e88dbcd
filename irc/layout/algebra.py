"""CuTe's layout algebra on `irc/layout/cute.py`: products by rank, recasts, thread-value layouts.

The operations have the names and meanings of CuTe's (`cute/layout.hpp`). Sections are those of the CuTe documentation:
"CuTe Layout Algebra" where none is named otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irc.layout.cute import Layout, coalesce_modes, composition, flatten, logical_product, make_layout, right_inverse


def ordered(shape: Sequence[int], order: Sequence[int]) -> Layout:
    """The dense layout of a flat shape whose fastest mode is order[0], then order[1] and so on."""
    strides = [0] * len(shape)
    unit = 1
    for mode in order:
        strides[mode] = unit
        unit *= shape[mode]
    return Layout(tuple(shape), tuple(strides))


def _padded(layout: Layout, rank: int) -> Layout:
    """The layout with modes 1:0 up to a rank."""
    return make_layout(*layout.modes, *[Layout(1, 0)] * (rank - layout.rank))


def _joined(block: Layout, tiler: Layout, *, block_first: bool) -> Layout:
    rank = max(block.rank, tiler.rank)
    inner, outer = logical_product(_padded(block, rank), _padded(tiler, rank)).modes
    modes = [(a, b) if block_first else (b, a) for a, b in zip(inner.modes, outer.modes, strict=True)]
    return coalesce_modes(make_layout(*(make_layout(a, b) for a, b in modes)))


def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Copies of a block laid out by a tiler: mode i runs through a block, then over the blocks ("Blocked and Raked
    Products")."""
    return _joined(block, tiler, block_first=True)


def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Copies of a block laid out by a tiler, interleaved: mode i runs over the blocks, then through a block."""
    return _joined(block, tiler, block_first=False)


def tile_to_shape(block: Layout, shape: Sequence[int], order: Sequence[int] | None = None) -> Layout:
    """A block repeated until it fills `shape`; order[0] is the mode along which the copies lie closest (0, 1, ... by
    default). A ValueError where the block does not divide the shape."""
    extents = [prod(flatten(mode.shape)) for mode in _padded(block, len(shape)).modes]
    if len(extents) != len(shape) or any(n % e for n, e in zip(shape, extents, strict=True)):
        raise ValueError(f"blocks of {tuple(extents)} do not fill {tuple(shape)}")
    copies = [n // e for n, e in zip(shape, extents, strict=True)]
    return blocked_product(block, ordered(copies, range(len(shape)) if order is None else order))


# Recasts ("Layout recast", cute/layout.hpp): the same bytes as elements of another size


def upcast(layout: Layout, count: int) -> Layout:
    """The layout of elements that are each `count` of the old ones. A ValueError where a new element would be torn."""
    if not isinstance(layout.shape, int):
        return make_layout(*(upcast(mode, count) for mode in layout.modes))
    stride = layout.stride
    assert isinstance(stride, int)
    if stride == 0 or layout.shape == 1:
        return Layout(layout.shape, 0 if stride == 0 else max(1, stride // count))
    if stride >= count:
        if stride % count:
            raise ValueError(f"a mode {layout} does not step over whole elements of {count}")
        return Layout(layout.shape, stride // count)
    if count % stride or layout.shape % (count // stride):
        raise ValueError(f"a mode {layout} does not hold whole elements of {count}")
    return Layout(layout.shape * stride // count, 1)


def downcast(layout: Layout, count: int) -> Layout:
    """The layout of elements of which each old one is `count`, in the mode of stride 1."""
    if not isinstance(layout.shape, int):
        return make_layout(*(downcast(mode, count) for mode in layout.modes))
    assert isinstance(layout.stride, int)
    if layout.stride == 1:
        return Layout(layout.shape * count, 1)
    return Layout(layout.shape, layout.stride * count)


def recast(layout: Layout, old: int, new: int) -> Layout:
    """The layout of elements of `old` bytes as one of elements of `new` bytes."""
    if new % old == 0:
        return upcast(layout, new // old)
    if old % new == 0:
        return downcast(layout, old // new)
    raise ValueError(f"elements of {old} bytes and of {new} bytes do not divide one another")


# Thread-value layouts


def thread_value(threads: Layout, values: Layout) -> Layout:
    """(thread, value) -> colexicographic index of the tile, for threads that lie as `threads` says and hold blocks of
    `values` each (coordinate -> thread number, coordinate -> value number). CuTe's make_layout_tv; "CuTe Tensors",
    section "Thread-Value partitioning"."""
    place = right_inverse(raked_product(threads, values))
    return composition(place, Layout.of((threads.size, values.size)))
