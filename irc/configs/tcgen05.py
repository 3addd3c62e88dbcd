"""The config of a product whose sums are in Tensor Memory: the tile whose steps along K take the fewest cycles, by what
a target multiplies and loads in one."""

from __future__ import annotations

from collections.abc import Iterator

from irc.analysis.budgets import EPILOGUE_BYTES, EXCHANGE_BYTES, MAX_STAGES, stage_bytes
from irc.analysis.product_problem import Product
from irc.configs.blocked import GROUP
from irc.configs.product_instructions import GROUP_COLUMNS, tcgen05_operands
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import GROUP_WARPS
from irc.layout.tcgen05 import ROWS
from irc.support.integers import ceil_div

STEP_BYTES = 128
"""Bytes of a step along K: rows of the widest swizzle."""

COLUMNS = (256, 128, 64, 32)
"""Of a tile, of all products together at most the most."""

SUM_BYTES = 4


def choose_tcgen05(product: Product, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """One config for each width of tiles, the one that ends first before the others; among equals the widest. Rows
    that are reduced and read again are whole."""
    fitting = [n for n in COLUMNS if n >= product.row and n * product.count <= COLUMNS[0]]
    for columns in sorted(fitting or COLUMNS, key=lambda n: (_cycles(product, machine, n), -n)):
        yield _config(product, machine, given, columns)


def _cycles(product: Product, machine: Target, columns: int) -> float:
    """Of all rounds of tiles of so many columns, for an element along K."""
    tiles = product.batch * ceil_div(product.m, ROWS) * ceil_div(product.n, columns)
    operands = tcgen05_operands(product)
    element = product.lhs.name if operands is None else operands.operand
    multiplied = product.count * ROWS * columns / machine.multiply_adds(element)
    loaded = (ROWS * product.lhs.size + product.rhs_count * columns * product.rhs.size) / machine.costs.operand_bytes
    return ceil_div(tiles, machine.sms) * max(multiplied, loaded)


def _config(product: Product, machine: Target, given: ConfigAttr, columns: int) -> ConfigAttr:
    chosen = TileSizes(m=ROWS, n=columns, k=STEP_BYTES // product.lhs.size)
    tile = chosen if given.tile is None else given.tile.completed(chosen)
    exchanged = EXCHANGE_BYTES if product.row == 1 else tile["m"] * tile["n"] * SUM_BYTES
    room = machine.shared_memory - EPILOGUE_BYTES - (exchanged if product.returns else 0)
    return ConfigAttr.of(
        tile=tile,
        stages=max(1, min(MAX_STAGES, room // max(stage_bytes(operand_buffers(product, tile)), 1))),
        cluster=(1, 1),
        warps=GROUP_WARPS * max(1, ceil_div(product.count * tile["n"], GROUP_COLUMNS)),
        schedule="persistent",
        group=GROUP,
        indexing="tma",
        instruction="tcgen05",
    )


def operand_buffers(product: Product, tile: TileSizes) -> list[int]:
    """Bytes of the operands of a step along K: what is computed of them is written as they are multiplied."""
    return [tile["m"] * tile["k"] * product.lhs.size, product.rhs_count * tile["n"] * tile["k"] * product.rhs.size]
