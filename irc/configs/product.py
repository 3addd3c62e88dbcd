"""The config of a matmul kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from math import gcd

from irc.analysis.budgets import (
    DEFAULT_WARPS,
    EPILOGUE_BYTES,
    EXCHANGE_BYTES,
    MAX_STAGES,
    VECTOR_BYTES,
    channel_bytes,
    stage_bytes,
    tile_registers,
)
from irc.analysis.operand_work import MIN_DEPTH
from irc.analysis.product_problem import Product
from irc.configs import tcgen05
from irc.configs.blocked import GROUP, choose_blocked, mma_stage_buffers
from irc.configs.columns import choose_columns, columns_pay
from irc.configs.direct import choose_direct, pays
from irc.configs.gathered import choose_gathered
from irc.configs.product_instructions import (
    accumulators,
    best_instruction,
    mma_operands,
    tcgen05_operands,
    wgmma_operands,
)
from irc.configs.wgmma import comes_in_subtiles, ranked_blockings, transposed
from irc.configs.wgmma_cycles import GROUPS, MIN_DEPTH_BYTES, STEP_BYTES, Blocking, can_share_columns, shared_pair
from irc.configs.window_steps import step_at_tap
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import GROUP_WARPS, WGMMA_ROWS
from irc.layout.matrix_instructions import fills_channels

ACCUMULATOR_BYTES = 4

SMALL_TILE, LONG_K, MIN_STAGES = 64 * 128, 32, 4
"""Elements of a small tile, and steps of a long K, whose stages may be few and deep."""

LOADED_VECTORS = 4
"""Stages of vectors that an epilogue reads. A product of f8 with scales of rows and columns, 8192 cubed, takes an H200
873 us with them, 875 with three, 916 where each subtile waits for its own loads; torch's takes 887."""


def choose_product(
    product: Product, machine: Target, given: ConfigAttr, instruction: str | None, *, is_beside: bool = False
) -> Iterator[ConfigAttr]:
    """The configs for the products, the best first; `given` is what the user set, `instruction` what the pass was told
    to prefer. is_beside: whether others hold SMs beside the kernel, so that blocks of warp groups take tiles while it
    runs. What goes with no config of tcgen05 is left to the instructions without it."""
    chosen = given.instruction or best_instruction(product, machine, instruction, indexing=given.indexing)
    if given.instruction is None and instruction is None and product.taps and given.indexing != "tma":
        chosen = "columns" if columns_pay(product, machine) else "direct" if pays(product, machine) else chosen
    wgmma = choose_gathered if product.is_gathered else partial(_choose_wgmma, is_beside=is_beside)
    known = {"wgmma": wgmma, "tcgen05": tcgen05.choose_tcgen05, "direct": choose_direct, "columns": choose_columns}
    choices = known.get(chosen) or partial(choose_blocked, instruction=chosen)
    is_given = given.tile is not None and set(given.tile) == {"m", "n", "k"}
    yield from islice(choices(product, machine, given), 1 if is_given else None)
    if chosen == "tcgen05" and given.instruction is None and instruction is None:
        other = best_instruction(product, replace(machine, has_tcgen05=False))
        yield from islice(choose_blocked(product, machine, given, instruction=other), 1 if is_given else None)


def _choose_wgmma(product: Product, machine: Target, given: ConfigAttr, *, is_beside: bool) -> Iterator[ConfigAttr]:
    operands = wgmma_operands(product)
    sums, parts = (1, 1) if operands is None else (accumulators(product, operands), operands.parts)
    if is_beside and given.cluster in (None, (1, 1)):
        given = given.completed(ConfigAttr.of(schedule="dynamic"))
    if given.tile or given.warps:
        given = given.completed(ConfigAttr.of(schedule="persistent"))
    if given.tile:
        given = given.completed(ConfigAttr.of(swap_ab=False))
    for blocking in ranked_blockings(product, machine, given, sums=sums, parts=parts):
        yield _warp_group(product, machine, given, blocking, sums)


def _warp_group(product: Product, machine: Target, given: ConfigAttr, blocking: Blocking, sums: int) -> ConfigAttr:
    schedule, side = blocking.schedule, blocking.side
    depth = _depth(product, side)
    chosen = TileSizes(m=blocking.tile[0], n=blocking.tile[1], k=depth)
    tile = chosen if given.tile is None else given.tile.completed(chosen)
    rows = tile[side]
    room = machine.shared_memory - EPILOGUE_BYTES - (_exchanged(product, tile, schedule) if product.returns else 0)
    if product.has_rest:
        room -= MIN_DEPTH_BYTES * (tile["m"] * product.lhs_count + tile["n"] * product.rhs_count) + VECTOR_BYTES
    if given.tile is None and sums == 1 and _has_room_for_steps(product, side, depth, blocking.split):
        tile = TileSizes(tile, k=depth * _steps_together(product, tile, side, room, given.stages))
    stages = room // max(stage_bytes(stage_buffers(product, tile, side)), 1)
    return ConfigAttr.of(
        tile=tile,
        stages=max(1, min(MAX_STAGES, stages)),
        cluster=_cluster(product, tile, schedule, side),
        warps=GROUP_WARPS * (1 if schedule == "pingpong" else GROUPS.get(rows, max(1, rows // WGMMA_ROWS))),
        schedule=schedule,
        group=GROUP,
        split=None if given.tile or blocking.split == 1 else blocking.split,
        indexing="tma",
        instruction="wgmma",
        swap_ab=True if side == "n" else None,
        load_stages=LOADED_VECTORS if _waits_for_vectors(product, blocking) else None,
    )


def _waits_for_vectors(product: Product, blocking: Blocking) -> bool:
    """Whether TMA brings the vectors that the epilogue reads: where products take half the time of others, consumer
    groups do not take turns, and no arrays of the result's size want as many stages."""
    is_short = product.lhs.is_float and product.lhs.size == 1 and not product.block
    is_alone = product.reads_vectors and not product.returns
    return is_short and is_alone and blocking.schedule == "persistent" and blocking.split == 1


def _exchanged(product: Product, tile: TileSizes, schedule: str) -> int:
    """Shared memory through which arrays that the epilogue reads come to the accumulators: by subtiles, or at once."""
    return EXCHANGE_BYTES if comes_in_subtiles(product, schedule) else tile["m"] * tile["n"] * ACCUMULATOR_BYTES


def _depth(product: Product, side: str) -> int:
    """Elements of a step along K: rows of half the widest swizzle of what a left operand is computed from, as more
    stages hide more of their arrival; rows of the whole one where nothing is. A step is inside of one group."""
    if product.block:
        return product.block
    made, depth = product.made(side), STEP_BYTES // product.lhs.size
    if made is None:
        return step_at_tap(product, depth, MIN_DEPTH_BYTES // product.lhs.size)
    depth = depth if made.loaded < product.lhs.size else depth // 2
    return gcd(depth, made.group) if made.group % MIN_DEPTH == 0 else depth


def _has_room_for_steps(product: Product, side: str, depth: int, split: int) -> bool:
    """Whether steps may be deeper: of operands that are copied, or made of bytes, two steps of them in one group, or at
    one tap of a window."""
    made = product.made(side)
    if product.block:
        return False
    if product.taps and (product.run or product.k // split) % (2 * depth):
        return False
    return product.is_copied if made is None else made.loaded < product.lhs.size and made.group % (2 * depth) == 0


def _steps_together(product: Product, tile: TileSizes, side: str, room: int, stages: int | None) -> int:
    """2 where steps of twice the depth leave as many bytes in flight: with the `stages` asked for, or with all, or,
    along a long K, with half of them in small tiles. Each step costs a barrier or two."""
    if product.k < 2 * tile["k"]:
        return 1
    doubled = 2 * stage_bytes(stage_buffers(product, tile, side))
    is_small = tile["m"] * tile["n"] * product.count <= SMALL_TILE and product.k >= LONG_K * tile["k"]
    return 2 if doubled * (stages or (MIN_STAGES if is_small else MAX_STAGES)) <= room else 1


def _cluster(product: Product, tile: TileSizes, schedule: str, side: str) -> tuple[int, int]:
    """The cluster along M and N. Blocks that take tiles by themselves have none. Of groups, blocks beside each other
    share rows; clusters along the rows would be filled up to the rows of all their blocks. Where a group's rows are
    contracted they do as well by themselves. Blocks share a right operand that they compute, where tiles along M come
    in pairs: i8 weights of 4096 x 4096 by 256 rows take an H200 18.2 us, 19.1 where they share the left one; int4
    weights 21.2 and 22.6 (benchmarks/results/2026-11-28-h200-exhaustive.jsonl.gz)."""
    if schedule == "dynamic":
        return (1, 1)
    if product.is_grouped:
        shares = side == "m" and not product.has_rest and product.come_in_pairs("n", tile["n"])
        return (1, 2) if shares else (1, 1)
    if side == "n":
        if product.is_computed and can_share_columns(product, (tile["m"], tile["n"])):
            return (2, 1)
        columns, rows = _sharing(transposed(product), (tile["n"], tile["m"]), schedule)
        return rows, columns
    return _sharing(product, (tile["m"], tile["n"]), schedule)


def _sharing(product: Product, tile: tuple[int, int], schedule: str) -> tuple[int, int]:
    """Two blocks share the right operand where a producer reads global memory too, and beside long epilogues of
    consumer groups that take turns, or one of the operands where their way is long; else there is room enough between
    the L2 cache and the SMs, and blocks by themselves wait less."""
    is_shared = product.is_computed or (schedule == "pingpong" and product.costly > 0)
    if is_shared and can_share_columns(product, tile):
        return (2, 1)
    return shared_pair(product, tile)


def held_products(product: Product, config: ConfigAttr) -> int:
    """Accumulators for each element of a tile: of all products, and of what an instruction leaves to several."""
    by_instruction = {"wgmma": wgmma_operands, "tcgen05": tcgen05_operands, "mma": mma_operands}
    known = by_instruction.get(config.instruction or "")
    operands = None if known is None else known(product)
    return product.count * (1 if operands is None else accumulators(product, operands))


def accumulator_registers(product: Product, config: ConfigAttr, tile: TileSizes, machine: Target) -> int:
    """A thread's registers for the accumulators of a tile."""
    elements = product.m * tile["n"] * tile["k"] if config.instruction == "columns" else tile["m"] * tile["n"]
    size = held_products(product, config) * elements * max(product.result.size, ACCUMULATOR_BYTES)
    parts = 1 if config.warp_grid is None else config.warp_grid[2]
    return tile_registers(size, machine.warp_size * (config.warps or DEFAULT_WARPS) // parts)


def operand_buffers(product: Product, config: ConfigAttr, tile: TileSizes) -> list[int]:
    """Bytes of the buffers of one step along K, by the config's instruction."""
    if config.instruction == "tcgen05":
        return tcgen05.operand_buffers(product, tile)
    if config.instruction != "wgmma":
        return mma_stage_buffers(product, tile)
    buffers = stage_buffers(product, tile, "n" if config.swap_ab else "m")
    return buffers[1:] if product.is_paired else buffers  # threads load the left one to registers


def operand_bytes(product: Product, config: ConfigAttr, tile: TileSizes) -> int:
    """Shared memory of the channel of the operands. Threads that are in step have no barriers."""
    buffers, stages = operand_buffers(product, config, tile), config.stages or 1
    return channel_bytes(buffers, stages) if fills_channels(config.instruction) else stages * stage_bytes(buffers)


def stage_buffers(product: Product, tile: TileSizes, side: str = "m") -> list[int]:
    """Bytes of the buffers of one step along K: a tile of each operand, or of the arrays that the one whose rows are
    those of the instruction is computed from, and the scales of a block."""
    operands = wgmma_operands(product)
    parts = 1 if operands is None else operands.parts
    sizes, made = {"m": product.lhs.size, "n": product.rhs.size}, product.made(side)
    if made is not None:  # written, where TMA cannot bring what it is made of
        sizes[side] = made.loaded if made.loaded and made.is_boxed else max(sizes[side], made.loaded)
    counts = {"m": product.lhs_count, "n": product.rhs_count}
    loaded = [parts * counts[each] * tile[each] * sizes[each] * tile["k"] for each in counts]
    return [*loaded, *[VECTOR_BYTES] * (product.scales if made is None else made.vectors)]
