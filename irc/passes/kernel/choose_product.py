"""The config of a matmul kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from irc.dialects.kernel import ConfigAttr
from irc.layout.instructions import LANES, WARP_GROUP
from irc.passes.kernel.choose_wgmma import (
    GROUPS,
    INSTRUCTION_ROWS,
    STEP_BYTES,
    best_plan,
    comes_in_panels,
    shared_pair,
    turn,
)
from irc.passes.kernel.problem import Product, ceil_div, power_of_two
from irc.targets import KIB, Target

EPILOGUE_BYTES = 33 * KIB
"""Shared memory that the ring leaves to the epilogue's staging and the barriers."""

EXCHANGE_BYTES = 32 * KIB
"""Shared memory that panels of arrays which the epilogue reads take on top, on their way to the accumulators."""

ACCUMULATOR_BYTES = 4

LEAST_DEPTH = 32
"""Elements of the shortest step: rows of bytes of the narrowest swizzle."""

VECTOR_BYTES = KIB
"""What a vector takes of a stage: buffers begin at multiples of the widest swizzle's pattern."""

MOST_STAGES = 8
MOST_BLOCKED_STAGES = 4
SMALL_TILE, LONG_K, LEAST_STAGES = 64 * 128, 32, 4
"""Elements of a small tile, and steps of a long K, whose stages may be few and deep."""

GROUP = 8
"""Rows of tiles that are walked together, so that the columns of the right operand stay in the L2 cache."""

LEAST_ROWS = 32
"""Rows from which on warp groups multiply, whatever else."""

LEAST_STREAMED = 256 * KIB
"""Bytes of operands from which on they do so with fewer rows: a ring of copies reads them at the memory's speed."""

GROUP_WARPS = WARP_GROUP // LANES
"""Warps that execute a wgmma together."""


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
    streamed = product.k * (product.m * product.lhs.size + product.n * product.rhs.size)
    if "wgmma" in possible and (product.m >= LEAST_ROWS or streamed >= LEAST_STREAMED):
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
    sums, parts = (1, 1) if operands is None else (operands.sums, operands.parts)
    plan = best_plan(product, machine, sums=sums, parts=parts, schedule=given.schedule)
    schedule = given.schedule or ("persistent" if given.tile or given.warps else plan.schedule)
    side = given.rows or ("m" if given.tile else plan.side)
    depth = _depth(product, side)
    tile = given.tile or (*plan.tile, depth)
    tile = (*tile, depth)[:3] if len(tile) < 3 else tile
    rows = tile["mn".index(side)]
    room = machine.shared_memory - EPILOGUE_BYTES - (_exchanged(product, tile, schedule) if product.returns else 0)
    if given.tile is None and sums == 1 and _has_room_for_steps(product, side, depth):
        tile = (*tile[:2], depth * _steps_together(product, tile, side, room))
    stages = room // max(stage_bytes(product, tile, side), 1)
    return ConfigAttr.of(
        tile=tile,
        stages=max(1, min(MOST_STAGES, stages)),
        cluster=_cluster(product, tile, schedule)
        if side == "m"
        else _cluster(turn(product), tile[1::-1], schedule)[::-1],
        warps=GROUP_WARPS * (1 if schedule == "pingpong" else GROUPS.get(rows, max(1, rows // INSTRUCTION_ROWS))),
        schedule=schedule,
        group=GROUP,
        split=None if given.tile or plan.split == 1 else plan.split,
        indexing="tma",
        vector=16,
        instruction="wgmma",
        rows=None if side == "m" else side,
    )


def _exchanged(product: Product, tile: tuple[int, ...], schedule: str) -> int:
    """Shared memory through which arrays that the epilogue reads come to the accumulators: by panels, or at once."""
    return EXCHANGE_BYTES if comes_in_panels(product, schedule) else tile[0] * tile[1] * ACCUMULATOR_BYTES


def _depth(product: Product, side: str) -> int:
    """Elements of a step along K: rows of half the widest swizzle of what a left operand is computed from, as more
    stages hide more of their arrival; rows of the whole one where nothing is. A step is inside of one group."""
    made, depth = product.made(side), STEP_BYTES // product.lhs.size
    if made is None:
        return depth
    depth = depth if made.loaded < product.lhs.size else depth // 2
    return gcd(depth, made.group) if made.group % LEAST_DEPTH == 0 else depth


def _has_room_for_steps(product: Product, side: str, depth: int) -> bool:
    """Whether steps may be deeper: of operands that are copied, or made of bytes, two steps of them in one group."""
    made = product.made(side)
    return product.is_copied if made is None else made.loaded < product.lhs.size and made.group % (2 * depth) == 0


def _steps_together(product: Product, tile: tuple[int, ...], side: str, room: int) -> int:
    """2 where steps of twice the depth leave as many bytes in flight: with all stages, or, along a long K, with half of
    them in small tiles. Each step costs a barrier or two."""
    if product.k < 2 * tile[2]:
        return 1
    doubled = 2 * stage_bytes(product, tile, side)
    is_small = tile[0] * tile[1] * product.count <= SMALL_TILE and product.k >= LONG_K * tile[2]
    return 2 if doubled * (LEAST_STAGES if is_small else MOST_STAGES) <= room else 1


def _cluster(product: Product, tile: tuple[int, ...], schedule: str) -> tuple[int, int]:
    """Two blocks share the right operand where a producer reads global memory too, and beside long epilogues of crews
    that take turns, or one of the operands where their way is long; else there is room enough between the L2 cache and
    the SMs, and blocks by themselves wait less."""
    is_shared = product.is_computed or (schedule == "pingpong" and product.costly > 0)
    if is_shared and ceil_div(product.m, tile[0]) % 2 == 0:
        return (2, 1)
    return shared_pair(product, tile)


def stage_bytes(product: Product, tile: tuple[int, ...], side: str = "m") -> int:
    """Shared memory of one step along K: a tile of each operand, or of the arrays that the one whose rows are those of
    the instruction is computed from."""
    rows, columns, depth = tile
    operands = wgmma_operands(product)
    parts = 1 if operands is None else operands.parts
    sizes, made = {"m": product.lhs.size, "n": product.rhs.size}, product.made(side)
    if made is not None:  # written, where TMA cannot bring what it is made of
        sizes[side] = made.loaded if made.loaded and made.is_boxed else max(sizes[side], made.loaded)
    vectors = 0 if made is None else made.vectors * VECTOR_BYTES
    return parts * (rows * product.lhs_count * sizes["m"] + columns * product.rhs_count * sizes["n"]) * depth + vectors


def _choose_blocked(product: Product, machine: Target, given: ConfigAttr, instruction: str) -> ConfigAttr:
    is_wide = product.result.size > 4
    shapes = _FMA_SHAPES if not is_wide else _WIDE_SHAPES if instruction == "mma" else _FMA_SHAPES[2:]
    if product.row > 1:
        shapes = _row_shapes(product, 128 * 64 if is_wide else 128 * 128)
    shape = _best(product, machine, shapes)
    columns = max(16, shape.columns // power_of_two(product.count))
    is_deep = instruction == "mma" and not (is_wide and shape.rows * columns >= _DEEP_TILE)
    tile = given.tile or (shape.rows, columns, 32 if is_deep else 16)
    tile = (*tile, 32)[:3] if len(tile) < 3 else tile
    return ConfigAttr.of(
        tile=tile,
        stages=_blocked_stages(product, machine, tile) if instruction == "mma" else 1,
        cluster=(1, 1),
        warps=_blocked_warps(tile, is_wide=is_wide and instruction == "mma"),
        schedule="grid",
        group=GROUP,
        indexing="pointers",
        instruction=instruction,
    )


def _row_shapes(product: Product, most: int) -> tuple[_Shape, ...]:
    """Tiles of whole rows, of up to `most` accumulators."""
    columns = power_of_two(product.row) * power_of_two(product.count)
    rows = [n for n in (128, 64, 32, 16) if n * columns <= most]
    return tuple(_Shape(n, columns, (n * columns / most) ** 0.5) for n in rows or [16])


def _blocked_warps(tile: tuple[int, ...], *, is_wide: bool) -> int:
    accumulators = power_of_two(tile[0] * tile[1])
    most, part = (4, _WIDE_PART) if is_wide else (8, 32 * 32)
    return max(1, min(most, accumulators // part))


def _blocked_stages(product: Product, machine: Target, tile: tuple[int, ...]) -> int:
    """As many as leave room for a second block on the SM, with what its epilogue exchanges."""
    room = machine.shared_memory_per_sm // 2 - tile[0] * tile[1] * product.result.size // 2
    return max(2, min(MOST_BLOCKED_STAGES, room // mma_stage_bytes(product, tile)))


def mma_stage_bytes(product: Product, tile: tuple[int, ...]) -> int:
    """As `stage_bytes`, of operands as mma takes them: f8 is widened to 16 bits."""
    rows, columns, depth = tile
    size = max(2, product.lhs.size) if product.lhs.name.startswith("f8") else product.lhs.size
    return (rows + product.count * columns) * size * depth


def _best(product: Product, machine: Target, shapes: tuple[_Shape, ...]) -> _Shape:
    """The tile that ends first: waves of blocks over the SMs, times the work of a tile, over its rate."""
    return min(shapes, key=lambda shape: (_cost(product, machine, shape), -shape.rows * shape.columns))


def _cost(product: Product, machine: Target, shape: _Shape) -> float:
    columns = shape.columns // power_of_two(product.count)
    tiles = product.batch * ceil_div(product.m, shape.rows) * ceil_div(product.n, columns)
    return ceil_div(tiles, machine.sms) * shape.rows * shape.columns / shape.rate
