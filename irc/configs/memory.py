"""The configs of the kernels that memory bounds: reductions, permutations, maps."""

from __future__ import annotations

from math import ceil, prod

from xdsl.ir import SSAValue

from irc.analysis.code_size import Unrolled
from irc.analysis.op_classes import LARGE, shape_of
from irc.analysis.reduction_problem import Reduction
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.ir.dtypes import element_of
from irc.ir.targets import Target
from irc.layout.requests import REGISTER_BYTES, SECTOR_BYTES, WIDEST
from irc.support.integers import ceil_div, power_of_two, round_up

MIN_PER_THREAD = 4
"""Elements of a step that a thread takes: 16 bytes of f32."""

ELEMENTS_PER_THREAD = 16
"""Elements of a row that a thread holds: its loads overlap, and registers are left for what it computes from them."""

LONGEST_PERSISTENT = 16384
"""The longest row that one block holds in registers: 32 elements in each of 512 threads."""

MAX_WARPS = 16
STEP_THREADS = 256
"""Threads of a block that walks in steps. Each makes one access of 16 bytes a step."""

UNROLL = 4
"""Steps whose accesses are in flight together, where nothing else happens between them."""

L2_SHARE = 0.6
"""Of the L2, that rows may take which are read again: what is stored passes through it, too."""

SHORT_ROWS = 4096
"""Elements of a tile of several short rows."""

COLUMN_BYTES = 512
"""Bytes of columns side by side in a tile whose rows are not contiguous: a warp reads them at once."""

SHORT_COLUMNS = 4096
"""Elements of a tile of short columns, where there are enough of them: a warp's worth each are too many blocks."""

STEP = 32
"""The longest reduced extent of columns that is one tile, where it is not needed again."""

FEW_REGISTERS = 32
WEIGHED_REGISTERS = 40
NESTED_REGISTERS = 48
MAX_REGISTERS = 64
"""Registers of a thread that holds at most ELEMENTS_PER_THREAD elements of one aligned array, so that an SM is full of
them; of one that reads weights beside them, which would be spilled; of one that reduces several of these first, to
compute what they are; and of one that holds more elements."""

PARTS_OF_SM = 4
"""Parts of an SM with registers and warps of their own (CUDA C++ Programming Guide, "Compute Capabilities")."""

MAX_ACCUMULATORS = 2
"""Reductions of one kernel for which that is enough."""

MOST_HELD = 192
"""Sums that a thread holds: it has 255 registers, and needs some for what it loads. Of GPT-2's gradients one kernel has
25 sums over rows: with 8 columns a thread, in 64 registers, it spilled 9,612 bytes; with 4, in 208, nothing."""

FEW_SUMS = 48
"""Sums for which a thread of a full SM has registers enough."""

LOADING_REGISTERS = 48
"""Of a thread that holds many sums, beside them."""

MIN_PART = 8192
"""Elements that a block should reduce at least, for a split to be worth another kernel."""

BLOCKS_PER_SM = 2
"""Blocks of a reduction that keep an SM busy."""

PARTS_PER_SM = 8
"""Blocks for each SM of a reduction that is split: enough for the last ones not to be waited for long."""

RUN = 256
"""Bytes of a row of a tile that is permuted, in either direction: two lines of memory. On an H200 a transpose of f32
reaches 0.99 of a copy with it and 0.97 with half of it."""

TALLEST = 128
"""Rows of a tile that is permuted."""

PERMUTE_WARPS = 8
MAX_LOADED = 64
"""Registers of a thread that hold what a tile of a permutation loads, so that two blocks and more share an SM."""

ROOMY_THREADS, HOLDING_THREADS = 1024, 512
"""Threads of an SM that have 64 registers each, or 128: those of permutations hold what they load for a whole tile,
those of maps that read elements at several places what they read there (`MAX_READ` of `irc/analysis/code_size.py`), and
those of rows of f64 two registers for an element.
Where nothing says how many blocks share an SM, ptxas leaves a thread 32 to 40 registers, and loads wait for those
before them: on an H100 a pool of maxima took 103 us for 85, a permutation of bytes 118 for 107, a sum of 64 arrays 4.3
for 2.1."""

WAITING_THREADS = 768
"""Threads of an SM of permutations that read small operands as well, which come out of caches: more warps wait then. On
an H200 maps in permuted tiles with four operands took 196 us for 158 and 71.7 for 62.8, with three 77.1 for 73.6."""

FEW_ELEMENTS = 32
"""Of a thread that does so in the registers that are left: with 64 one spilled 2.5 KB."""

FEW_PLACES = 4
"""Where a map reads an operand for an element, and ptxas chooses its registers: more threads share an SM then. With 64
registers each, or 128, a bilinear resampling took 764 us for 711 on an H200, a sum of three operands in odd rows 117
for 113, a norm's map behind its product 122 for 118."""

MAP_THREADS = 256
MAP_BYTES_PER_THREAD = 32
"""Bytes that each thread reads and writes at least. On an H200 one access of 16 bytes each way in 256 threads reaches
0.98 to 1.02 of a copy; two, or a loop in fewer blocks, 0.92 to 0.95: many short blocks mix reads and writes evenly."""


def choose_reduction(reduction: Reduction, machine: Target, given: ConfigAttr) -> ConfigAttr:
    """Rows in registers where they fit, else in steps; columns side by side where rows are not contiguous."""
    by_rows = reduction.is_contiguous
    chosen = _choose_rows(reduction, machine) if by_rows else _choose_columns(reduction, machine)
    assert chosen.tile is not None
    tile = chosen.tile if given.tile is None else given.tile.completed(chosen.tile)
    elements = prod(tile.values())
    threads = min(elements // ELEMENTS_PER_THREAD, MAX_WARPS * machine.warp_size)
    if chosen.reduction == "looped":
        threads = min(elements // MIN_PER_THREAD, _step_threads(reduction, machine))
    warps = max(1, power_of_two(threads) // machine.warp_size)
    occupancy = None
    is_simple = (
        reduction.arrays <= 1 and reduction.count <= MAX_ACCUMULATORS and reduction.element.size <= REGISTER_BYTES
    )
    if reduction.is_aligned and is_simple:
        held = elements * (2 * reduction.count if chosen.reduction == "looped" else 1)
        held //= warps * machine.warp_size
        is_full = chosen.reduction == "looped" or reduction.extent % tile[reduction.role] == 0
        registers = _registers(reduction, held, is_full=is_full, is_row=tile["d"] == 1)
        in_part = machine.registers // PARTS_OF_SM // (registers * machine.warp_size)
        occupancy = max(1, min(PARTS_OF_SM * in_part // warps, machine.blocks_per_sm))
    elif reduction.element.size > REGISTER_BYTES:
        occupancy = max(1, HOLDING_THREADS // (warps * machine.warp_size))
    elif chosen.reduction == "looped" and reduction.count > MAX_ACCUMULATORS:
        tile, occupancy = _of_many_sums(reduction.count, tile, warps * machine.warp_size, machine, given)
    return chosen.replace(tile=tile, warps=warps, schedule="grid", occupancy=occupancy)


def _of_many_sums(
    count: int, tile: TileSizes, threads: int, machine: Target, given: ConfigAttr
) -> tuple[TileSizes, int | None]:
    """The tile, with fewer columns where a thread cannot hold the sums of all, and the blocks that share an SM, where
    they take more registers than usual."""
    while (held := count * prod(tile.values()) // threads) > MOST_HELD and tile["d"] > 1 and given.tile is None:
        tile = TileSizes({**tile, "d": tile["d"] // 2})
    if held <= FEW_SUMS:
        return tile, None
    return tile, max(1, machine.registers // ((held + LOADING_REGISTERS) * threads))


def _registers(reduction: Reduction, held: int, *, is_full: bool, is_row: bool) -> int:
    """Registers that a thread needs so that it spills none of the elements that it holds, by the machine code of norms
    and softmaxes of rows of 101 to 16384. Weights after the first one are loaded ahead beside it; where rows do not
    fill their tile, what is stored and what is loaded is held beside what is reduced. Pairs of 16 bits fit in what
    weights have, but for those of long rows, of which a tile is one."""
    weights = reduction.weights if reduction.is_contiguous else 0
    registers = (WEIGHED_REGISTERS if weights else FEW_REGISTERS) if held <= ELEMENTS_PER_THREAD else MAX_REGISTERS
    if reduction.is_nested and not reduction.gives_rows and weights > 1:
        registers = max(registers, NESTED_REGISTERS)
    is_wide = reduction.loaded.size >= REGISTER_BYTES
    beside = is_wide * max(weights - 1, 0) if reduction.gives_rows else 0
    if reduction.returns and not is_full and is_wide:
        beside += 1 + max(weights, 1)
    elif reduction.returns and not is_full and is_row and (not weights or held > ELEMENTS_PER_THREAD):
        beside += 1
    return registers + beside * held // 2


def _choose_rows(reduction: Reduction, machine: Target) -> ConfigAttr:
    length = power_of_two(reduction.extent)
    if length * max(reduction.element.size, REGISTER_BYTES) > LONGEST_PERSISTENT * REGISTER_BYTES:
        split = _split(reduction, reduction.rows, machine, 2 * PARTS_PER_SM)
        tile = _tile(reduction, 1, _step(reduction, machine))
        return ConfigAttr.of(tile=tile, reduction="looped", unroll=UNROLL, split=split)
    height = max(1, SHORT_ROWS // length)
    while height > 1 and ceil_div(reduction.rows, height) < BLOCKS_PER_SM * machine.sms:
        height //= 2
    return ConfigAttr.of(tile=_tile(reduction, height, length), reduction="persistent")


def _tile(reduction: Reduction, rows: int, elements: int) -> TileSizes:
    return TileSizes({"d": rows, reduction.role: elements})


def _step(reduction: Reduction, machine: Target) -> int:
    """Elements of a step in which each thread makes one access."""
    return _step_threads(reduction, machine) * WIDEST // max(reduction.loaded.size, 2)


def _step_threads(reduction: Reduction, machine: Target) -> int:
    """Blocks that keep several accumulators for each element of a row are smaller, so that more of them share an SM: a
    cross entropy reaches 0.97 of what an H200 can read so, and 0.92 with twice the threads. Where rows are read again
    and stored, blocks are so large that the L2 still has the rows of all that run."""
    threads = STEP_THREADS // 2 if reduction.count > 1 and reduction.is_contiguous else STEP_THREADS
    if not (reduction.gives_rows and reduction.is_contiguous):
        return threads
    row = reduction.extent * reduction.arrays * reduction.loaded.size
    fitting = L2_SHARE * machine.l2 / (row * machine.sms)
    wanted = power_of_two(ceil(machine.registers / (MAX_REGISTERS * max(fitting, 1))))
    return max(threads, min(wanted, machine.threads_per_block)) if fitting >= 1 else threads


def _choose_columns(reduction: Reduction, machine: Target) -> ConfigAttr:
    together = reduction.together
    length, columns = power_of_two(reduction.extent // together), reduction.columns * together
    width = _width(reduction, columns)
    if length <= STEP or (reduction.returns and 8 * length <= LONGEST_PERSISTENT):
        width = max(1, min(width, LONGEST_PERSISTENT // length))
        while width * length < SHORT_COLUMNS and ceil_div(reduction.rows, 2 * width) >= BLOCKS_PER_SM * machine.sms:
            width *= 2
        return ConfigAttr.of(tile=_tile(reduction, min(width, power_of_two(columns)), length), reduction="persistent")
    outer = reduction.rows // max(reduction.columns, 1)
    split = _split(reduction, outer * ceil_div(columns, width), machine, PARTS_PER_SM)
    while split is None and width * reduction.loaded.size > SECTOR_BYTES:
        if outer * ceil_div(columns, width) >= BLOCKS_PER_SM * machine.sms:
            break
        width //= 2
    step = min(max(1, _step(reduction, machine) // width), length)
    split = split or (1 if max(together, reduction.inner) > 1 else None)
    return ConfigAttr.of(tile=_tile(reduction, width, step), reduction="looped", unroll=UNROLL, split=split)


def _width(reduction: Reduction, columns: int) -> int:
    """Columns side by side in a tile. Where elements are loaded one by one, lanes beside a row's end cost as much as
    those in it: of 129 columns of bf16 tiles of 32 leave 31 idle, one of 256 leaves 127."""
    width = min(COLUMN_BYTES // reduction.loaded.size, power_of_two(columns))
    if reduction.is_aligned:
        return width
    widths = [width]
    while widths[-1] * reduction.loaded.size > 2 * SECTOR_BYTES:
        widths.append(widths[-1] // 2)
    least = min(round_up(columns, each) for each in widths)
    return next(each for each in widths if 8 * round_up(columns, each) <= 9 * least)


def _split(reduction: Reduction, blocks: int, machine: Target, per_sm: int) -> int | None:
    """Parts of the reduced extent, where there are too few blocks without, for `per_sm` blocks on each SM; None where
    the rows are needed again."""
    if not reduction.can_be_split or blocks == 0 or blocks >= BLOCKS_PER_SM * machine.sms:
        return None
    wanted = ceil_div(per_sm * machine.sms, blocks)
    parts = min(wanted, reduction.rows * reduction.extent // (MIN_PART * blocks))
    return parts if parts > 1 else None


def with_registers(chosen: ConfigAttr, threads: int, blocks: int, machine: Target) -> ConfigAttr:
    """The config with the blocks that share an SM at least: where it says nothing of that, those whose threads have
    registers enough, and no more than there are. threads, blocks: of a block, and of the kernel."""
    roomy = HOLDING_THREADS if "result" in (chosen.tile or {}) else ROOMY_THREADS
    occupancy = roomy // threads if chosen.occupancy is None else chosen.occupancy
    return chosen.replace(occupancy=max(1, min(occupancy, ceil_div(blocks, machine.sms))))


def choose_permute(kernel: FusedOp) -> ConfigAttr:
    """Tiles whose rows are as many bytes in the result as in what is permuted, 32 KiB at most; less where what is
    loaded takes many registers."""
    size = min(element_of(value.type).size for value in kernel.outputs)
    width = max(16, RUN // size)
    height = min(width, TALLEST)
    elements = max((prod(shape_of(value)) for value in kernel.outputs), default=1)
    unrolled = Unrolled(kernel)
    read = zip(kernel.inputs, unrolled.places, strict=True)
    loaded = sum(_words(value) * places for value, places in read if prod(shape_of(value)) * LARGE >= elements)
    words, threads = max(loaded, MAX_LOADED / unrolled.most_elements), PERMUTE_WARPS * 32
    while height * width * words > MAX_LOADED * threads and height * width > TALLEST:
        height, width = (height, width // 2) if width > height else (height // 2, width)
    is_small = [1 < prod(shape_of(value)) < elements / LARGE for value in kernel.inputs]
    waits = any(is_small) and height * width <= FEW_ELEMENTS * threads
    occupancy = WAITING_THREADS // threads if waits else None
    tile = TileSizes(result=height, operand=width)
    return ConfigAttr.of(tile=tile, warps=PERMUTE_WARPS, schedule="grid", occupancy=occupancy)


def _words(value: SSAValue) -> float:
    """Registers that an element of an array takes when it is loaded: a whole one where rows begin inside of words, as
    elements are loaded one by one then."""
    shape, size = shape_of(value), element_of(value.type).size
    return max(size / REGISTER_BYTES, 1 if shape and shape[-1] * size % REGISTER_BYTES else 0)


def evict_last(kernel: FusedOp, machine: Target) -> str | None:
    """What the L2 keeps longest. Where a kernel moves more than fits, what it reads: that is not read again, but what
    is written then leaves early, in order. On an H200 a norm of rows gets from 0.975 to 1.008 of a copy by that, a map
    from 1.000 to 1.013; the device memory moves the same bytes, and what runs next takes as long. Of kernels that read
    twice what they write some lose: a permutation of two operands went from 0.93 to 0.81."""
    read, written = (sum(_bytes(value) for value in values) for values in (kernel.inputs, kernel.outputs))
    return "inputs" if read + written > machine.l2 and 4 * written >= 3 * read else None


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * element_of(value.type).size


def choose_map(shapes: list[tuple[int, ...]], kernel: FusedOp, machine: Target) -> ConfigAttr:
    """A run of elements for each block, shorter where there are few."""
    elements = max((prod(shape) for shape in shapes), default=1)
    unrolled = Unrolled(kernel)
    most = unrolled.most_elements
    each = min(_elements_per_thread(kernel, elements), 1 << most.bit_length() - 1)
    run = MAP_THREADS * each
    warps = MAP_THREADS // 32
    while run > 128 and ceil_div(elements, run) < machine.sms:
        run //= 2
        warps = max(1, min(warps, run // (32 * min(each, 2))))
    holds = max(unrolled.places, default=1) > FEW_PLACES
    occupancy = HOLDING_THREADS // (warps * machine.warp_size) if holds else None
    return ConfigAttr.of(tile=TileSizes(d=run), warps=warps, schedule="grid", occupancy=occupancy)


def _elements_per_thread(kernel: FusedOp, elements: int) -> int:
    """One access of the widest element, more where that moves few bytes. Arrays that are much smaller than the result
    stay in caches and do not count."""
    large = [v for v in (*kernel.inputs, *kernel.outputs) if prod(shape_of(v)) * LARGE >= elements]
    sizes = [element_of(value.type).size for value in large] or [1]
    return max(WIDEST // max(sizes), power_of_two(ceil_div(MAP_BYTES_PER_THREAD, sum(sizes))))
