"""Whether what follows a product reduces its rows, and reads them again, in the product's kernel.

A tile that has whole rows does both on its accumulators. The rows of the result are then neither stored and read again
nor is there a second kernel; but tiles are as wide as the result, and as high as the target's instructions want, so
that fewer blocks multiply, and the epilogue takes longer. Costs are cycles of an SM of the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from irc.analysis.op_classes import precision_of, size_of
from irc.analysis.product_problem import multiplied
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.targets import target_of
from irc.support.integers import ceil_div

MAX_COLUMNS = 256
"""Columns of a tile of 64 rows that fit the registers of those that multiply."""

COLUMNS = 32
"""Columns of a tile of several products, or of f32 and f8, are a multiple of this."""

TALL = 64
"""Rows of a tile that use a right operand often enough."""


@dataclass(frozen=True)
class RowCost:
    """Cycles of each SM that are `lost` by tiles of whole rows of `columns`, and `saved` by one kernel less."""

    columns: int
    lost: float
    saved: float

    @property
    def pays(self) -> bool:
        return self.lost <= self.saved

    def __str__(self) -> str:
        choice = "fused" if self.pays else "stored"
        costs = f"{self.lost:.0f} cycles lost in tiles of whole rows, {self.saved:.0f} saved"
        return f"rows of {self.columns}: {costs}: {choice}"


def row_cost(product: Operation, count: int, columns: int) -> RowCost | None:
    """Of `count` products like this whose rows, of `columns` elements, are reduced and read again; None where a tile
    has no room for them."""
    element, result = multiplied(product, 0), element_of(product.results[0].type)
    # Sums of steps are kept beside the sum of all (promote-sums); f64 takes two registers.
    is_promoted = precision_of(product) == "f32" or element.name.startswith("f8")
    sums = 2 if element.size in (4, 8) or is_promoted else 1
    most = MAX_COLUMNS // count // sums
    if not 1 < columns <= most - most % COLUMNS:
        return None
    depth = iteration_of(product).extent("k")
    rows = size_of(product.results[0]) // columns
    machine = target_of(product)
    sms, costs = machine.sms, machine.costs

    def tile_time(height: int) -> float:
        multiplied_for = height * count * columns * depth / machine.multiply_adds(element.name)
        return max(multiplied_for, (height + count * columns) * depth * element.size / costs.operand_bytes)

    def lost(height: int) -> float:
        """Of all SMs busy with tiles of `TALL` rows."""
        rounds = ceil_div(ceil_div(rows, height), sms)
        busy = ceil_div(rows, TALL) / sms * tile_time(TALL)
        return rounds * tile_time(height) - busy + rounds * height * columns * costs.row_following

    stored = 2 * costs.byte * rows * columns * min(result.size, 4) / sms
    return RowCost(columns, min(map(lost, costs.row_tiles)), costs.launch / sms + stored)
