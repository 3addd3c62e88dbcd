"""The config of products by mma and fma: a block for each tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from irc.analysis.budgets import stage_bytes
from irc.analysis.product_problem import Product
from irc.configs.product_instructions import (
    accumulators,
    can_split_mma,
    can_use_mma,
    mma_operands,
    mma_shapes,
)
from irc.configs.window_steps import parts_to_fill, step_at_tap
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.support.integers import ceil_div, power_of_two

MAX_STAGES = 4

RESIDENT_WARPS = 16
"""Of an SM, that wait for their operands in turn: K is cut to have as many, where the config sets no `occupancy`."""

SHORTEST_PART = 256
"""Elements along K, where the config sets no `split`."""

GROUP = 8
"""Rows of tiles that are walked together, so that the columns of the right operand stay in the L2 cache."""


@dataclass(frozen=True)
class _Shape:
    """A tile of the accumulators: `columns` are those of all products together. `rate`: speed relative to the largest
    tile, as each operand byte that is loaded is used more often in a larger tile."""

    rows: int
    columns: int
    rate: float


_FMA_SHAPES = (
    _Shape(128, 128, 1.0),
    _Shape(64, 128, 0.85),
    _Shape(64, 64, 0.7),
    _Shape(32, 64, 0.5),
    _Shape(32, 32, 0.35),
    _Shape(16, 32, 0.2),
    _Shape(16, 16, 0.12),
)

_WIDE_SHAPES = (
    _Shape(128, 64, 1.0),
    _Shape(64, 64, 0.9),
    _Shape(64, 32, 0.7),
    _Shape(32, 32, 0.5),
    _Shape(16, 32, 0.3),
    _Shape(16, 16, 0.12),
)
"""Of f64 by mma: the largest has 128 registers of accumulators in each of 4 warps, and leaves room for a second block
on the SM, whose products run while this one waits for its operands."""

_DEEP_TILE = 64 * 64
"""Elements of a tile of f64 from which on steps of 128 bytes along K are long enough."""

_WIDE_PART = 16 * 8
"""Accumulators of f64 from which on a warp is worth it: one instruction's. Up to 4 warps, one for each of an SM's
tensor cores."""


def choose_blocked(product: Product, machine: Target, given: ConfigAttr, instruction: str) -> Iterator[ConfigAttr]:
    """The configs of all tiles, that of the tile first which ends first; before, those that have the sizes given."""
    is_wide = product.result.size > 4
    shapes = _FMA_SHAPES if not is_wide else _WIDE_SHAPES if instruction == "mma" else _FMA_SHAPES[2:]
    operands = mma_operands(product) if instruction == "mma" else None
    if operands is not None and accumulators(product, operands) > 1 and not product.block:
        shapes = shapes[1:]  # a thread holds those of one step, too, and the parts of its operands
    if product.row > 1:
        shapes = _row_shapes(product, 128 * 64 if is_wide else 128 * 128)
    sizes = given.tile or TileSizes()

    def rank(shape: _Shape) -> tuple[bool, float, int]:
        differs = not sizes.agrees({"m": shape.rows, "n": _columns(product, shape)})
        return differs, _cost(product, machine, given, shape), -shape.rows * shape.columns

    for shape in sorted(shapes, key=rank):
        yield _blocked(product, machine, given, instruction, shape)


def _columns(product: Product, shape: _Shape) -> int:
    """Those of one product."""
    return max(16, shape.columns // power_of_two(product.count))


def _blocked(product: Product, machine: Target, given: ConfigAttr, instruction: str, shape: _Shape) -> ConfigAttr:
    is_wide = product.result.size > 4
    columns = _columns(product, shape)
    is_deep = instruction == "mma" and not (is_wide and shape.rows * columns >= _DEEP_TILE)
    least = max((k for _, _, k in mma_shapes(product, machine)), default=1) if instruction == "mma" else 1
    depth = product.block or step_at_tap(product, 32 if is_deep else 16, least)
    chosen = TileSizes(m=shape.rows, n=columns, k=depth)
    tile = chosen if given.tile is None else given.tile.completed(chosen)
    warps = _blocked_warps(tile, is_wide=is_wide and instruction == "mma")
    if given.warp_grid is not None:
        warps = prod(given.warp_grid)
    elif instruction == "mma" and can_use_mma(product, machine):
        warps = next((w for w in (8, 4, 2, 1) if w <= warps and can_split_mma(product, machine, tile, w)), warps)
    parts = 1 if given.tile else _parts(product, machine, given, tile["m"], tile["n"])
    return ConfigAttr.of(
        tile=tile,
        stages=_blocked_stages(product, machine, tile) if instruction == "mma" else 1,
        cluster=(1, 1),
        warps=warps,
        schedule="grid",
        group=GROUP,
        split=None if parts == 1 else parts,
        indexing="pointers",
        instruction=instruction,
    )


def _row_shapes(product: Product, most: int) -> tuple[_Shape, ...]:
    """Tiles of whole rows, of up to `most` accumulators."""
    columns = power_of_two(product.row) * power_of_two(product.count)
    rows = [n for n in (128, 64, 32, 16) if n * columns <= most]
    return tuple(_Shape(n, columns, (n * columns / most) ** 0.5) for n in rows or [16])


def _blocked_warps(tile: TileSizes, *, is_wide: bool) -> int:
    accumulators = power_of_two(tile["m"] * tile["n"])
    most, part = (4, _WIDE_PART) if is_wide else (8, 32 * 32)
    return max(1, min(most, accumulators // part))


def _blocked_stages(product: Product, machine: Target, tile: TileSizes) -> int:
    """As many as leave room for a second block on the SM, with what its epilogue exchanges."""
    room = machine.shared_memory_per_sm // 2 - tile["m"] * tile["n"] * product.result.size // 2
    return max(2, min(MAX_STAGES, room // stage_bytes(mma_stage_buffers(product, tile))))


def mma_stage_buffers(product: Product, tile: TileSizes) -> list[int]:
    """Bytes of the buffers of one step along K, of operands as mma takes them: f8 is widened to 16 bits."""
    size = max(2, product.lhs.size) if product.lhs.name.startswith("f8") else product.lhs.size
    return [tile["m"] * size * tile["k"], product.count * tile["n"] * size * tile["k"]]


def _cost(product: Product, machine: Target, given: ConfigAttr, shape: _Shape) -> float:
    """Waves of blocks over the SMs, times the work of a tile, over its rate; parts of K fill the last one."""
    columns = shape.columns // power_of_two(product.count)
    tiles = _tiles(product, shape.rows, columns)
    is_cut = _parts(product, machine, given, shape.rows, columns) > 1
    waves = tiles / machine.sms if is_cut else ceil_div(tiles, machine.sms)
    return waves * shape.rows * shape.columns / shape.rate


def _parts(product: Product, machine: Target, given: ConfigAttr, rows: int, columns: int) -> int:
    """Parts of K: those that are given, or with which tiles fill the SMs."""
    if given.split is not None:
        return given.split
    tile = TileSizes(m=rows, n=columns, k=1)
    resident = given.occupancy or RESIDENT_WARPS // _blocked_warps(tile, is_wide=product.result.size > 4)
    return parts_to_fill(product, _tiles(product, rows, columns), machine.sms * resident, SHORTEST_PART)


def _tiles(product: Product, rows: int, columns: int) -> int:
    return product.batch * ceil_div(product.m, rows) * ceil_div(product.n, columns)
