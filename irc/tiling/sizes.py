"""Tile sizes: what `#kernel.config` says, clamped to the extents, or a default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from irc.analysis.op_classes import LARGE
from irc.support.integers import ceil_div, power_of_two, round_up
from irc.tiling.chains import step_of
from irc.tiling.domains import Domains
from irc.tiling.index_maps import DomainDim

ELEMENTS = 1024
"""Elements of a tile of a map: 128 threads with 16 bytes of bf16 each."""
MAX_ELEMENTS = 8192
"""Elements of the largest tile of a map."""
SQUARE = 64
"""Extent of both dimensions of a tile that is permuted."""
MAX_TILED = 3
MIN_RUN = 32
"""Elements below which a dimension is not cut to waste less."""
MAX_WASTE = 1.25
"""Elements of all tiles along a dimension, relative to its extent."""
PERSISTENT = 4096
"""The longest row that is held in one tile by default."""
CHUNK = 1024
"""Elements of a row for each step of a looped reduction."""
ROW_ELEMENTS = 2048
"""Elements of a tile of short rows."""
MATMUL = {"m": 128, "n": 128, "k": 64}
MIN_DOT = 16
"""The least extent of a tile that feeds a product: the shape of the narrowest instruction."""


SHORTEST_RUN = 64
"""Bytes of runs from which on tiles are copied so. On an H200 runs of 32 bytes reach 0.93 of a copy in larger tiles and
0.89 in these; those of 64 bytes 0.96 and 1.01."""

WHOLE = 16
"""Elements of a vector of f32, of which tiles with any extents have whole ones."""

THREADS = 256
"""Threads of a tile that is copied, a word of memory each: many short blocks mix reads and writes evenly."""


def clamp(tile: int, extent: int) -> int:
    return min(power_of_two(tile), power_of_two(extent))


def even_part(extent: int, most: int) -> int:
    """The extent of up to `most` elements in which equal tiles cover a dimension: whole vectors where that takes no
    more than twice the tiles, else a divisor, else what comes near."""
    parts = ceil_div(extent, max(1, most))
    divisors = [extent // n for n in range(parts, 2 * parts) if extent % n == 0]
    part = next((n for n in divisors if n % WHOLE == 0 or n == extent), None) or next(iter(divisors), None)
    return part or min(round_up(ceil_div(extent, parts), WHOLE if most >= WHOLE else 1), max(1, most))


def exact_map_tiles(dims: Sequence[DomainDim], weights: dict[DomainDim, int], elements: int) -> dict[DomainDim, int]:
    """`map_tiles` where tiles may have any extents. Dimensions along which large operands are contiguous share the
    elements, then inner ones take what is left."""
    runs = [d for d in dims if d in weights][-MAX_TILED:] or list(dims[-1:])
    side = elements if len(runs) == 1 else round(elements ** (1 / len(runs)))
    sizes = {d: even_part(d.extent, side) for d in runs}
    for dim in reversed(dims):
        room = elements // prod(sizes.values())
        if room < 2 or (len(sizes) == MAX_TILED and dim not in sizes):
            continue
        sizes[dim] = even_part(dim.extent, sizes.get(dim, 1) * room)
    return {d: sizes[d] for d in dims if d in sizes}


def contiguity(domains: Domains, dims: Sequence[DomainDim]) -> dict[DomainDim, int]:
    """For each dimension, the elements of the large operands that are contiguous along it in memory."""
    found: dict[DomainDim, int] = {}
    for operand in domains.operands:
        along = {d for at in operand.accesses for d in dims if step_of(domains, operand, at, d) in (1, -1)}
        for dim in along:
            found[dim] = found.get(dim, 0) + prod(operand.shape)
    largest = max(found.values(), default=0)
    return {d: n for d, n in found.items() if n * LARGE >= largest}


def map_tiles(
    dims: Sequence[DomainDim], weights: dict[DomainDim, int], tile: Sequence[int] | None
) -> dict[DomainDim, int]:
    """The tiled dimensions of a map, at most three, with their extents; the others are walked one element at a time.
    `tile` is what one tile has along each dimension, or in all."""
    if tile is not None and len(tile) == len(dims):
        wanted = {d: clamp(n, d.extent) for d, n in zip(dims, tile, strict=True)}
        return {d: n for d, n in wanted.items() if n > 1} or {dims[-1]: 1}
    elements = ELEMENTS if tile is None else min(prod(tile), MAX_ELEMENTS)
    first = max(dims, key=lambda d: (weights.get(d, 0), dims.index(d)))
    return _filled(dims, {first: fitting(first.extent, elements)}, elements)


def fitting(extent: int, most: int, shortest: int = MIN_RUN) -> int:
    """The greatest power of two up to `most` that wastes little of the last tile; extents up to `shortest` are one
    tile."""
    tile = clamp(most, extent)
    while tile > shortest and round_up(extent, tile) > extent * MAX_WASTE:
        tile //= 2
    return tile


def along(walk: Sequence[DomainDim], elements: int) -> dict[DomainDim, int]:
    """Tiles of up to so many elements along a walk through an array, of at most three dimensions."""
    sizes: dict[DomainDim, int] = {}
    for dim in walk:
        if elements < 2 or len(sizes) == MAX_TILED:
            break
        sizes[dim] = min(elements, power_of_two(dim.extent))
        elements //= sizes[dim]
    return sizes


def _filled(dims: Sequence[DomainDim], sizes: dict[DomainDim, int], elements: int) -> dict[DomainDim, int]:
    """Takes in more of the inner dimensions where the tile has fewer elements than it should, parts that fit."""
    room = elements // prod(sizes.values())
    for dim in reversed(dims):
        if room < 2:
            break
        if dim in sizes or len(sizes) == MAX_TILED:
            continue
        size = fitting(dim.extent, room, shortest=1)
        if size > 1:
            sizes[dim] = size
            room //= size
    return {d: sizes[d] for d in dims if d in sizes}


def _tiled_row(rows: Sequence[DomainDim], weights: dict[DomainDim, int]) -> DomainDim | None:
    """The row dimension along which most is contiguous, or the innermost one."""
    return max((d for d in rows if d in weights), key=lambda d: weights[d], default=rows[-1] if rows else None)


def exact_reduce_tiles(
    rows: Sequence[DomainDim], columns: Sequence[DomainDim], weights: dict[DomainDim, int], tile: Mapping[str, int]
) -> tuple[DomainDim | None, int, dict[DomainDim, int]]:
    """`reduce_tiles` where tiles may have any extents: whole columns."""
    row = _tiled_row(rows, weights)
    height = 1 if row is None else even_part(row.extent, tile.get("d", 1))
    return row, height, {c: c.extent for c in columns}


def reduce_tiles(
    rows: Sequence[DomainDim],
    columns: Sequence[DomainDim],
    weights: dict[DomainDim, int],
    tile: Mapping[str, int],
    style: str | None,
) -> tuple[DomainDim | None, int, dict[DomainDim, int]]:
    """(the tiled row dimension, its tile extent, the chunk of each column dimension)."""
    row = _tiled_row(rows, weights)
    by_rows = row in weights and not any(c in weights for c in columns)
    longest = max((c.extent for c in columns), default=1)
    given = tile.get("r", tile.get("s"))
    if given is not None:
        chunk = given
    elif by_rows:
        chunk = SQUARE // 2
    else:
        chunk = power_of_two(longest) if longest <= PERSISTENT and style != "looped" else CHUNK
    height = tile.get("d", SQUARE if by_rows else max(1, ROW_ELEMENTS // chunk))
    if style == "persistent":
        chunk = power_of_two(longest)
    height = 1 if row is None else clamp(height, row.extent)
    return row, height, {c: clamp(chunk, c.extent) for c in columns}


def matmul_tiles(m: DomainDim, n: DomainDim, tile: Mapping[str, int]) -> tuple[int, int]:
    """Extents along M and N."""
    return _matmul_size("m", m.extent, tile), _matmul_size("n", n.extent, tile)


def matmul_depth(extent: int, tile: Mapping[str, int]) -> int:
    """The extent of a step along a K of `extent` elements."""
    return _matmul_size("k", extent, tile)


def _matmul_size(name: str, extent: int, tile: Mapping[str, int]) -> int:
    return tile.get(name) or max(clamp(MATMUL[name], extent), MIN_DOT)
