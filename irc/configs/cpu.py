"""The configs of kernels that run on a CPU: tiles that stay in a core's caches, and enough of them for the cores."""

from __future__ import annotations

from math import prod

from irc.analysis.product_problem import Product, product_of
from irc.analysis.reduction_problem import Reduction, reduction_of
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.support.integers import ceil_div, round_up

ELEMENTS = 8192
"""Of a tile of a map or a permutation: 32 KiB of f32, so that what is kept of it stays in the first two
levels of cache."""

ROW_ELEMENTS = 1024
"""Of a tile of rows: those that are read several times, and what is kept of them, are in the first level of cache."""

SCANNED_ELEMENTS = 4096
"""Of a tile of rows that are scanned side by side."""

HELD = 65536
"""Elements of columns that are held until they are read again: 256 KiB of f32, of the second level of cache."""

WIDTH = 1024
"""Columns side by side that a tile reduces, at most."""

NARROW = 64
"""Columns side by side that a tile reduces, at least where there are more: a few lines of memory. Rows, and columns, of
a tile of a product, at least where there are more: a panel of the right operand."""

ENOUGH = 16
"""Tiles that keep the cores busy, and end at about the same time."""

PARTS = 64
MIN_PART = 32768
"""Parts that a reduction with few rows is cut into, at most, and elements of each at least."""

ROWS = 256
COLUMNS = 512
DEPTH = 1024
"""Of a tile of a product: the right operand is packed once for each, which is little beside the products then."""

CASCADE_ROWS = 128
CASCADE_STEP = 512
"""Of a cascade: what is computed of a step, 256 KiB of f32, stays in the second level of cache."""


def choose_on_cpu(kernel: FusedOp) -> ConfigAttr:
    """The config of a kernel. It does not depend on the number of cores: sums are in the same order everywhere."""
    match kernel.kind:
        case Anchor.REDUCE:
            return _reduction(reduction_of(kernel))
        case Anchor.MATMUL:
            return _product(product_of(kernel))
        case Anchor.CASCADE:
            return ConfigAttr.of(tile=TileSizes(m=CASCADE_ROWS, k=CASCADE_STEP), stages=1, instruction="fma")
        case Anchor.PERMUTE:
            side = round(ELEMENTS**0.5)
            return ConfigAttr.of(tile=TileSizes(result=side, operand=side))
        case Anchor.MAP:
            return ConfigAttr.of(tile=TileSizes(d=ELEMENTS))


def _reduction(reduction: Reduction) -> ConfigAttr:
    extent = max(1, reduction.extent)
    if reduction.is_contiguous:
        elements = SCANNED_ELEMENTS if reduction.role == "s" else ROW_ELEMENTS
        height = max(1, min(elements // extent, ceil_div(reduction.rows, ENOUGH)))
        tiles = ceil_div(reduction.rows, height)
    else:
        most = min(WIDTH, HELD // extent) if reduction.returns else WIDTH
        outer = max(1, reduction.rows // max(reduction.columns, 1))
        height = max(NARROW, min(most, ceil_div(outer * reduction.columns, ENOUGH)))
        if _parts(reduction, outer * ceil_div(reduction.columns, max(1, most))) > 1:  # whole rows, which memory streams
            height = min(most, reduction.columns)
        tiles = outer * ceil_div(reduction.columns, height)
    tile = TileSizes({"d": max(1, height), reduction.role: extent})
    return ConfigAttr.of(tile=tile, reduction="persistent", split=_split(reduction, tiles))


def _split(reduction: Reduction, tiles: int) -> int | None:
    """Parts of the reduced extent, where there are too few tiles without."""
    parts = _parts(reduction, tiles)
    if parts > 1:
        return parts
    return 1 if max(reduction.together, reduction.inner) > 1 and not _is_split(reduction, tiles) else None


def _is_split(reduction: Reduction, tiles: int) -> bool:
    """Whether there are too few tiles without."""
    return reduction.can_be_split and 0 < tiles < ENOUGH


def _parts(reduction: Reduction, tiles: int) -> int:
    if not _is_split(reduction, tiles):
        return 1
    return min(ceil_div(PARTS, tiles), reduction.rows * reduction.extent // MIN_PART // tiles)


def _product(product: Product) -> ConfigAttr:
    """Where there are few tiles, columns of a tile are fewer, then rows: the right operand is packed for each rows."""
    rows, columns = max(1, min(product.m, ROWS)), max(1, min(product.n, COLUMNS))
    while prod((product.batch, ceil_div(product.m, rows), ceil_div(product.n, columns))) < ENOUGH:
        if columns > NARROW:
            columns = max(NARROW, ceil_div(columns, 2))
        elif rows > NARROW:
            rows = ceil_div(rows, 2)
        else:
            break
    return ConfigAttr.of(
        tile=TileSizes(
            m=_even(product.m, rows),
            n=max(_columns(product.n, columns), product.row),
            k=product.block or _depth(product.k, product.run),
        ),
        stages=1,
        schedule="grid",
        instruction="fma",
    )


def _columns(extent: int, most: int) -> int:
    """Equal parts of up to `most`, of whole panels of the right operand where there are some."""
    return _even(extent, most) if extent <= NARROW else min(extent, round_up(_even(extent, most), NARROW))


def _even(extent: int, most: int) -> int:
    """Equal parts of up to `most`."""
    return ceil_div(extent, ceil_div(extent, max(1, most))) if extent else 1


def _depth(extent: int, run: int) -> int:
    """The longest step that divides K, if that is not short. That of a convolution, of `run` elements at one tap, has
    whole taps, or is inside of one."""
    steps = [n for n in range(min(extent, DEPTH), 0, -1) if extent % n == 0]
    longest = next((n for n in steps if not run or n % run == 0 or run % n == 0), 1)
    return longest if 4 * longest >= min(extent, DEPTH) else min(extent, DEPTH)
