"""The config of a matmul kernel."""

from __future__ import annotations

from dataclasses import dataclass

from irc.dialects.kernel import ConfigAttr
from irc.layout.instructions import LANES, WARP_GROUP
from irc.passes.kernel.problem import Product, ceil_div, power_of_two
from irc.targets import KIB, Target

EPILOGUE_BYTES = 33 * KIB
"""Shared memory that the ring leaves to the epilogue's staging and the barriers."""

MOST_STAGES = 8
GROUP = 8
"""Rows of tiles that are walked together, so that the columns of the right operand stay in the L2 cache."""

LEAST_WGMMA_ROWS = 32
"""Rows below which a 64-row instruction wastes more than half of its work."""

GROUP_WARPS = WARP_GROUP // LANES
"""Warps that execute a wgmma together; it computes 64 rows."""


@dataclass(frozen=True)
class _Shape:
    """A tile of the accumulators: `columns` are those of all products together. `rate`: speed relative to the largest
    tile, as each operand byte that is loaded is used more often in a larger tile."""

    rows: int
    columns: int
    rate: float


_WGMMA_SHAPES = (
    _Shape(128, 256, 1.0),
    _Shape(128, 128, 0.85),
    _Shape(64, 256, 0.75),
    _Shape(64, 128, 0.65),
    _Shape(64, 64, 0.45),
)
_FMA_SHAPES = (
    _Shape(128, 128, 1.0),
    _Shape(64, 128, 0.85),
    _Shape(64, 64, 0.7),
    _Shape(32, 64, 0.5),
    _Shape(32, 32, 0.35),
    _Shape(16, 32, 0.2),
    _Shape(16, 16, 0.12),
)
LEAST_WGMMA_COLUMNS = 64
"""Columns of a product's tile: 128 bytes, a row of the widest swizzle where the columns are contiguous."""

_WGMMA_K = 128
"""Bytes of a row of an operand tile: the widest swizzle."""


def choose_product(product: Product, machine: Target, given: ConfigAttr, instruction: str | None) -> ConfigAttr:
    """The config for the products; `given` is what the user set, `instruction` what the pass was told to prefer."""
    chosen = given.instruction or best_instruction(product, machine, instruction)
    if chosen == "wgmma":
        return _choose_wgmma(product, machine, given)
    return _choose_blocked(product, machine, given, chosen)


def best_instruction(product: Product, machine: Target, preferred: str | None = None) -> str:
    """`wgmma` where tensor maps can load the operands, else `mma` where it has the type, else `fma`; `preferred` where
    that is possible. f32 stays with `fma`, which is accurate to f32."""
    possible = ["fma"]
    if can_use_mma(product, machine):
        possible.append("mma")
    if can_use_wgmma(product, machine):
        possible.append("wgmma")
    if preferred in possible:
        return preferred
    if "wgmma" in possible and product.m >= LEAST_WGMMA_ROWS:
        return "wgmma"
    return "mma" if "mma" in possible else "fma"


MMA_OPERANDS = {"bf16": "f32", "f16": "f32", "f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "f64": "f64"}
"""Operands that irc multiplies with `mma.sync`, and what it accumulates into; f8 is widened to f16 on the way."""


def can_use_mma(product: Product, machine: Target) -> bool:
    """Whether warp-wide products can compute this: operands of one type, accumulated as the instruction does."""
    element = "f16" if product.lhs.name.startswith("f8") else product.lhs.name
    same = product.lhs is product.rhs and product.result.name == MMA_OPERANDS.get(product.lhs.name)
    return same and element in machine.mma


def can_use_wgmma(product: Product, machine: Target) -> bool:
    """Whether warp-group products can compute this: bf16 or f16 in both operands, into f32, loaded by tensor maps."""
    if not machine.has_wgmma or product.lhs is not product.rhs or product.lhs.name not in ("bf16", "f16"):
        return False
    is_empty = product.batch * product.m * product.n * product.k == 0
    return product.is_loadable and product.result.name == "f32" and not is_empty


def _choose_wgmma(product: Product, machine: Target, given: ConfigAttr) -> ConfigAttr:
    wide = tuple(s for s in _WGMMA_SHAPES if s.columns >= LEAST_WGMMA_COLUMNS * power_of_two(product.count))
    shape = _best(product, machine, wide)
    depth = _WGMMA_K // product.lhs.size
    tile = given.tile or (shape.rows, shape.columns // power_of_two(product.count), depth)
    tile = (*tile, depth)[:3] if len(tile) < 3 else tile
    stages = (machine.shared_memory - EPILOGUE_BYTES) // max(stage_bytes(product, tile), 1)
    return ConfigAttr.of(
        tile=tile,
        stages=max(1, min(MOST_STAGES, stages)),
        cluster=(1, 1),
        warps=GROUP_WARPS * max(1, tile[0] // 64),
        schedule="persistent",
        group=GROUP,
        indexing="tma",
        vector=16,
        instruction="wgmma",
    )


def stage_bytes(product: Product, tile: tuple[int, ...]) -> int:
    """Shared memory of one step along K: the tile of the shared operand, and one of each other operand."""
    rows, columns, depth = tile
    return (rows * product.lhs.size + product.count * columns * product.rhs.size) * depth


def _choose_blocked(product: Product, machine: Target, given: ConfigAttr, instruction: str) -> ConfigAttr:
    shape = _best(product, machine, _FMA_SHAPES if product.result.size <= 4 else _FMA_SHAPES[2:])
    columns = max(16, shape.columns // power_of_two(product.count))
    tile = given.tile or (shape.rows, columns, 32 if instruction == "mma" else 16)
    accumulators = tile[0] * tile[1]
    return ConfigAttr.of(
        tile=tile,
        stages=1,
        cluster=(1, 1),
        warps=max(1, min(8, power_of_two(accumulators) // (32 * 32))),
        schedule="grid",
        group=GROUP,
        indexing="pointers",
        instruction=instruction,
    )


def _best(product: Product, machine: Target, shapes: tuple[_Shape, ...]) -> _Shape:
    """The tile that ends first: waves of blocks over the SMs, times the work of a tile, over its rate."""
    return min(shapes, key=lambda shape: (_cost(product, machine, shape), -shape.rows * shape.columns))


def _cost(product: Product, machine: Target, shape: _Shape) -> float:
    columns = shape.columns // power_of_two(product.count)
    tiles = product.batch * ceil_div(product.m, shape.rows) * ceil_div(product.n, columns)
    return ceil_div(tiles, machine.sms) * shape.rows * shape.columns / shape.rate
