"""The configs of the kernels that memory bounds: reductions, permutations, maps."""

from __future__ import annotations

from math import prod

from irc.dialects.kernel import ConfigAttr, FusedOp
from irc.dtypes import element_of
from irc.passes.kernel.op_classes import shape_of
from irc.passes.kernel.problem import Reduction, ceil_div, power_of_two
from irc.targets import Target

ELEMENTS_PER_THREAD = 16
"""Elements of a row that a thread holds: its loads overlap, and registers are left for what it computes from them."""

LONGEST_PERSISTENT = 16384
"""The longest row that one block holds in registers: 32 elements in each of 512 threads."""

MOST_WARPS = 16
CHUNK = 4096
"""Elements of a row for each step of a looped reduction."""

SHORT_ROWS = 4096
"""Elements of a tile of several short rows."""

COLUMN_BYTES = 512
"""Bytes of columns side by side in a tile whose rows are not contiguous: a warp reads them at once."""

STEP = 32
"""The longest reduced extent of columns that is one tile, where it is not needed again."""

COLUMN_ELEMENTS = 8192
COLUMN_THREADS = 256
"""Elements of a step of a reduction over columns, of all its accumulators, and the threads that share them: four
accesses of bf16 in flight of each, and 32 registers of accumulators."""

LEAST_STEP = 8

LEAST_PART = 4096
"""Elements that a block should reduce at least, for a split to be worth another kernel."""

BLOCKS_PER_SM = 2
VECTOR = 16
"""Bytes of the widest access of a thread."""

RUN = 256
"""Bytes of a row of a tile that is permuted, in either direction: two lines of memory. On an H200 a transpose of f32
reaches 0.99 of a copy with it and 0.97 with half of it."""

TALLEST = 128
"""Rows of a tile that is permuted."""

MAP_THREADS = 256
MAP_BYTES_PER_THREAD = 32
"""Bytes that each thread reads and writes at least. On an H200 one access of 16 bytes each way in 256 threads reaches
0.98 to 1.02 of a copy; two, or a loop in fewer blocks, 0.92 to 0.95: many short blocks mix reads and writes evenly."""

LARGE = 4
"""An operand counts when it has at least this fraction (1 / LARGE) of the elements of the result."""


def choose_reduction(reduction: Reduction, machine: Target, given: ConfigAttr) -> ConfigAttr:
    """Rows in registers where they fit, else in steps; columns side by side where rows are not contiguous."""
    by_rows = reduction.is_contiguous
    chosen = _choose_rows(reduction, machine) if by_rows else _choose_columns(reduction, machine)
    tile = given.tile or chosen.tile
    assert tile is not None
    threads = prod(tile) // ELEMENTS_PER_THREAD
    if chosen.reduction == "looped" and not by_rows:
        threads = min(threads, COLUMN_THREADS)
    warps = max(1, min(MOST_WARPS, power_of_two(threads) // 32))
    return chosen.replace(tile=tile, warps=warps, schedule="grid", vector=VECTOR)


def _choose_rows(reduction: Reduction, machine: Target) -> ConfigAttr:
    length = power_of_two(reduction.extent)
    if length > LONGEST_PERSISTENT:
        split = _split(reduction, reduction.rows, machine, BLOCKS_PER_SM)
        return ConfigAttr.of(tile=(1, CHUNK), reduction="looped", split=split)
    height = max(1, SHORT_ROWS // length)
    while height > 1 and ceil_div(reduction.rows, height) < BLOCKS_PER_SM * machine.sms:
        height //= 2
    return ConfigAttr.of(tile=(height, length), reduction="persistent")


def _choose_columns(reduction: Reduction, machine: Target) -> ConfigAttr:
    length = power_of_two(reduction.extent)
    width = min(COLUMN_BYTES // reduction.loaded.size, power_of_two(reduction.columns))
    if length <= STEP or (reduction.returns and 8 * length <= LONGEST_PERSISTENT):
        width = max(1, min(width, LONGEST_PERSISTENT // length))
        return ConfigAttr.of(tile=(width, length), reduction="persistent")
    blocks = (reduction.rows // reduction.columns) * ceil_div(reduction.columns, width)
    step = max(LEAST_STEP, COLUMN_ELEMENTS // (width * power_of_two(reduction.count)))
    split = _split(reduction, blocks, machine, 2 * BLOCKS_PER_SM)
    return ConfigAttr.of(tile=(width, min(step, length)), reduction="looped", split=split)


def _split(reduction: Reduction, blocks: int, machine: Target, per_sm: int) -> int | None:
    """Parts of the reduced extent, where there are too few blocks without, for `per_sm` blocks on each SM; None where
    the rows are needed again."""
    if reduction.returns or not reduction.is_splittable or blocks == 0 or blocks >= machine.sms:
        return None
    wanted = power_of_two(ceil_div(per_sm * machine.sms, blocks))
    size = reduction.rows * reduction.extent
    parts = min(wanted, power_of_two(size // (LEAST_PART * blocks)) if size >= LEAST_PART * blocks else 1)
    return parts if parts > 1 else None


def choose_permute(kernel: FusedOp) -> ConfigAttr:
    """Tiles whose rows are as many bytes in the result as in what is permuted, 32 KiB at most."""
    size = min(element_of(value.type).size for value in kernel.outputs)
    side = max(16, RUN // size)
    return ConfigAttr.of(tile=(min(side, TALLEST), side), warps=8, schedule="grid", vector=VECTOR)


def choose_map(shapes: list[tuple[int, ...]], kernel: FusedOp, machine: Target) -> ConfigAttr:
    """A run of elements for each block, shorter where there are few."""
    elements = max((prod(shape) for shape in shapes), default=1)
    run = MAP_THREADS * _elements_per_thread(kernel, elements)
    warps = MAP_THREADS // 32
    while run > 128 and ceil_div(elements, run) < machine.sms:
        run //= 2
        warps = max(1, min(warps, run // 64))
    return ConfigAttr.of(tile=(run,), warps=warps, schedule="grid", vector=VECTOR)


def _elements_per_thread(kernel: FusedOp, elements: int) -> int:
    """One access of the widest element, more where that moves few bytes. Arrays that are much smaller than the result
    stay in caches and do not count."""
    large = [v for v in (*kernel.inputs, *kernel.outputs) if prod(shape_of(v)) * LARGE >= elements]
    sizes = [element_of(value.type).size for value in large] or [1]
    return max(VECTOR // max(sizes), power_of_two(ceil_div(MAP_BYTES_PER_THREAD, sum(sizes))))
