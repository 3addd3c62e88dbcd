"""The config of a matmul kernel."""

from __future__ import annotations

from dataclasses import dataclass

from irc.dialects.kernel import ConfigAttr
from irc.layout.instructions import LANES, WARP_GROUP
from irc.passes.kernel.problem import Product, ceil_div, power_of_two
from irc.targets import KIB, Target

EPILOGUE_BYTES = 33 * KIB
"""Shared memory that the ring leaves to the epilogue's staging and the barriers."""

EXCHANGE_BYTES = 32 * KIB
"""Shared memory that panels of arrays which the epilogue reads take on top, on their way to the accumulators."""

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
    _Shape(128, 128, 0.97),
    _Shape(64, 256, 0.75),
    _Shape(64, 128, 0.65),
    _Shape(64, 64, 0.45),
)
_PROMOTED_SHAPES = (
    _Shape(128, 128, 1.0),
    _Shape(64, 128, 0.7),
    _Shape(128, 64, 0.7),
    _Shape(64, 64, 0.5),
)
"""Where each thread has a second accumulator."""

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

CREW_ROWS = 128
CREW_COLUMNS = 128
"""The tile of a crew of one warp group, of the schedule "pingpong": 128 accumulators a thread."""

MULTIPLY_ADDS = 2048
"""Multiply-adds of 16-bit operands that an SM makes in a cycle."""

STORE_CYCLES, CHEAP_CYCLES, COSTLY_CYCLES = 0.05, 0.008, 0.22
"""Cycles of an SM for an element of an accumulator that is rounded and stored, and for an elementwise op on one.
Fitted to an H200: benchmarks/results/2026-11-21-h200-gemm-sweep.json."""

LEAST_EXPOSED = 0.04
"""From this fraction of a tile's mainloop on, its epilogue is worth hiding: the smaller tiles that take turns read
operands more often, which costs 2 to 4 percent."""

LEAST_ROUNDS = 3
"""Tiles that an SM computes from which on most of the epilogues are hidden."""


def choose_product(product: Product, machine: Target, given: ConfigAttr, instruction: str | None) -> ConfigAttr:
    """The config for the products; `given` is what the user set, `instruction` what the pass was told to prefer."""
    chosen = given.instruction or best_instruction(product, machine, instruction)
    if chosen == "wgmma":
        return _choose_wgmma(product, machine, given)
    return _choose_blocked(product, machine, given, chosen)


def best_instruction(product: Product, machine: Target, preferred: str | None = None) -> str:
    """`wgmma` where it has the operands, else `mma` where it has the type, else `fma`; `preferred` where that is
    possible. f32 without wgmma stays with `fma`."""
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


@dataclass(frozen=True)
class WarpGroupOperands:
    """How irc multiplies operands of an element type with wgmma. `operand`: the instruction's name of them
    (`Target.wgmma`); `accumulator`: the element type of sums; `parts`: tiles that each operand becomes; `sums`:
    accumulators of a tile, 2 where the sums of one step along K are added to those of all (promote-sums)."""

    operand: str
    accumulator: str
    parts: int = 1
    sums: int = 1


WGMMA_OPERANDS = {
    "bf16": WarpGroupOperands("bf16", "f32"),
    "f16": WarpGroupOperands("f16", "f32"),
    "f32": WarpGroupOperands("tf32", "f32", parts=2, sums=2),
    "tf32": WarpGroupOperands("tf32", "f32"),
    "f8e4m3": WarpGroupOperands("f8e4m3", "f32", sums=2),
    "f8e5m2": WarpGroupOperands("f8e5m2", "f32", sums=2),
    "i8": WarpGroupOperands("i8", "i32"),
    "u8": WarpGroupOperands("u8", "i32"),
}
"""By element type; f32 operands are `tf32` where a product asks for that precision."""

MMA_OPERANDS = {"bf16": "f32", "f16": "f32", "f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32", "f64": "f64"}
"""Operands that irc multiplies with `mma.sync`, and what it accumulates into; f8 is widened to f16 on the way."""


def are_multiplied(product: Product) -> bool:
    """Whether there are instructions for these two operands together: of one type, or both f8."""
    lhs, rhs = product.lhs, product.rhs
    return lhs is rhs or (lhs.name.startswith("f8") and rhs.name.startswith("f8"))


def can_use_mma(product: Product, machine: Target) -> bool:
    """Whether warp-wide products can compute this: operands of one type, accumulated as the instruction does."""
    element = "f16" if product.lhs.name.startswith("f8") else product.lhs.name
    same = are_multiplied(product) and product.result.name == MMA_OPERANDS.get(product.lhs.name)
    return same and element in machine.mma


def wgmma_operands(product: Product) -> WarpGroupOperands | None:
    """How wgmma multiplies these operands; None where it does not."""
    if not are_multiplied(product):
        return None
    name = "tf32" if product.lhs.name == "f32" and product.precision == "tf32" else product.lhs.name
    found = WGMMA_OPERANDS.get(name)
    return found if found is not None and found.accumulator == product.result.name else None


def can_use_wgmma(product: Product, machine: Target) -> bool:
    """Whether warp-group products can compute this: operands of a type that they have, with its accumulator. Those of
    16 bits have to be loaded by tensor maps."""
    operands = wgmma_operands(product)
    if not machine.has_wgmma or operands is None or operands.operand not in machine.wgmma:
        return False
    is_empty = product.batch * product.m * product.n * product.k == 0
    return (product.is_loadable or product.lhs.size != 2) and not is_empty


def _choose_wgmma(product: Product, machine: Target, given: ConfigAttr) -> ConfigAttr:
    operands = wgmma_operands(product)
    shapes = _WGMMA_SHAPES if operands is None or operands.sums == 1 else _PROMOTED_SHAPES
    wide = tuple(s for s in shapes if s.columns >= LEAST_WGMMA_COLUMNS * power_of_two(product.count))
    shape = _best(product, machine, wide)
    schedule = given.schedule or ("persistent" if given.tile or given.warps else _schedule(product, machine, shape))
    if schedule == "pingpong":
        shape = _Shape(CREW_ROWS, CREW_COLUMNS, shape.rate)
    depth = _WGMMA_K // product.lhs.size
    tile = given.tile or (shape.rows, shape.columns // power_of_two(product.count), depth)
    tile = (*tile, depth)[:3] if len(tile) < 3 else tile
    epilogue = EPILOGUE_BYTES + (EXCHANGE_BYTES if product.returns else 0)
    stages = (machine.shared_memory - epilogue) // max(stage_bytes(product, tile), 1)
    return ConfigAttr.of(
        tile=tile,
        stages=max(1, min(MOST_STAGES, stages)),
        cluster=_cluster(product, tile),
        warps=GROUP_WARPS * (1 if schedule == "pingpong" else max(1, tile[0] // 64)),
        schedule=schedule,
        group=GROUP,
        indexing="tma",
        vector=16,
        instruction="wgmma",
    )


def _schedule(product: Product, machine: Target, shape: _Shape) -> str:
    """Whether two crews take turns: where the epilogue of the largest tile is long beside its mainloop, and an SM
    computes several. A producer that computes operands does not keep up with two smaller tiles."""
    columns = shape.columns // power_of_two(product.count)
    tiles = product.batch * ceil_div(product.m, shape.rows) * ceil_div(product.n, columns)
    largest = shape.rows * shape.columns == CREW_ROWS * CREW_COLUMNS * 2
    rounds = product.precision in ("tf32", "bf16")
    if product.is_computed or rounds or not largest or tiles < LEAST_ROUNDS * machine.sms:
        return "persistent"
    following = CHEAP_CYCLES * product.cheap + COSTLY_CYCLES * product.costly
    epilogue = shape.rows * (shape.columns * STORE_CYCLES + columns * following)
    mainloop = shape.rows * shape.columns * product.k / MULTIPLY_ADDS
    return "pingpong" if epilogue >= LEAST_EXPOSED * mainloop else "persistent"


def _cluster(product: Product, tile: tuple[int, ...]) -> tuple[int, int]:
    """Two blocks share the right operand where a producer reads global memory too; else there is room enough between
    the L2 cache and the SMs, and blocks by themselves wait less."""
    return (2, 1) if product.is_computed and ceil_div(product.m, tile[0]) % 2 == 0 else (1, 1)


def stage_bytes(product: Product, tile: tuple[int, ...]) -> int:
    """Shared memory of one step along K: the tile of the shared operand, and one of each other operand."""
    rows, columns, depth = tile
    operands = wgmma_operands(product)
    parts = 1 if operands is None else operands.parts
    return parts * (rows * product.lhs.size + product.count * columns * product.rhs.size) * depth


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
