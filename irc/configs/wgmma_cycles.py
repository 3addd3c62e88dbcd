"""How long a warp-group product takes by a blocking: a model of an SM.

The model counts cycles of the SM that has most to do. A tile takes its steps along K, each as long as the slower of its
products and the operands' way from the L2 cache, and then its epilogue. "persistent" adds all of them up; "pingpong"
hides every epilogue but the last. Device memory bounds the whole, and parts of K cost the way of the partial results
to the second kernel. What an SM multiplies and loads is the target's. The constants here are of sm_90a's warp groups,
fitted to an H200 (benchmarks/results/2026-11-21-h200-gemm-tiles.json).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

from irc.analysis.product_problem import Product
from irc.configs.blocked import GROUP
from irc.configs.window_steps import step_at_tap
from irc.ir.targets import Target
from irc.layout.instructions import LANES, WARP_GROUP
from irc.support.integers import ceil_div

COLUMNS = 32
"""Columns of a product's tile are multiples of this, so that panels of them are rows of a swizzle."""

GROUPS = {64: 1, 128: 2, 192: 3, 256: 2}
"""Consumer warp groups by the rows of a tile: an accumulator of 64 rows each, two of them where there are 256."""

STEP_BYTES = 128
"""Bytes of a row of an operand tile: the widest swizzle."""

NARROW_SUBTILES = 2.0
"""How much longer epilogue subtiles of half as many columns take to store, in rows of 32 bytes. Fitted to an H200: 2056
cubed takes 34.4 us in tiles of 192 x 176, 33.5 in those of 192 x 192, as many of them at a time."""

MIN_DEPTH_BYTES = 32
"""Bytes of a row of the narrowest swizzle, and of the depth of a wgmma."""

BESIDE_ARRIVAL = 0.5
"""How much of an epilogue operands that arrive can hide: half of it stores, on their way. 3x3 windows of 32 channels to
96 over 453x31x28 take an H200 71.4 us in tiles of 128 x 96, whose groups take turns or not, 62.3 in those of 192 x 96
and 57.9 in those of 256 x 96. With a tanh and another array read, 4x4 windows of 96 channels, transposed, to 256 take
438 us where groups take turns, 508 to 547 else (benchmarks/results/2026-11-28-h200-notes.md)."""

PART, PART_CYCLES, STEP_CYCLES = 16, 20, 100
"""Elements along K of a part of a left operand that is computed at once, what the threads which multiply wait for
before each, besides their instructions, and what for at each step. They compute the part after issuing the products
of the one before, which hides little: its registers are read until these are done."""

THREADS = 128
"""Instructions of threads that an SM issues in a cycle."""

OUTSIDE = 3
"""How much longer rows take that lie outside of an operand, and are filled with zeros."""

BEHIND = 2
"""The same of columns of the last tile along N, of many matrices whose right operands are contiguous along N: whole
boxes lie outside. On an H100 64 products of 128 x 4096 x 4096 take 495 us in tiles of 128 x 192, which have such
columns, and 371 in those of 128 x 256; 64 of 1024 cubed 244 and 200. One of 5120 cubed does not: 351 and 363. No tile
was timed by itself (benchmarks/results/2026-11-28-h100-notes.md)."""

COOL = 0.87
"""What an SM loads in a cycle of a cool chip, by what it does in one of a chip that products have heated up for long:
the clock of SMs is faster then, and that of the L2 cache is not. An H100 multiplies 4096 cubed in 202 us in tiles of
128 x 128, in 191 in those of 128 x 256; 8192 x 4096 x 4096 in 416, 352 in tiles of 128 x 192, 346 in those of 128 x 256
(benchmarks/results/2026-11-25-h100-notes.md). Operands that fit into a quarter of the L2 come as fast as ever:
4096 x 4096 x 512 takes 28.5 us in tiles of 128 x 128, 29.2 in those of 128 x 160, 30 to 31.8 in those of 128 x 192
(2026-11-27)."""

NARROW_BOXES = 1.25
"""How much longer the right operand takes in boxes of half a line: where it is contiguous along N, and a tile has no
whole lines."""

NARROW_BOXES_OF_TAPS = 1.7
"""The same where a left operand is read at each tap of a window, as in gradients of weights: their steps wait for TMA,
which takes as long for half a line. On an H200 3x3 windows of 320 channels to 320 over 8x64x64 take 118 us in tiles of
128 x 192, and 146 in those of 128 x 160."""

WRITTEN_BEFORE = 1.18
"""How much longer operands take that a kernel before has just written, where they are no small part of the L2 cache:
their lines are still on the way to memory. At 4096 cubed tiles of 128 x 128 take 218 us, by themselves 185."""

SHARED_COLUMNS = 16
"""Columns that two blocks can share: each loads whole rows of a swizzle's pattern, which has 8."""

HALF_LINE = 64
SPLIT_LINES = 1.6
"""How much longer rows of operands take that do not begin at halves of a line of 128 bytes."""

STORE_CYCLES, CHEAP_CYCLES, COSTLY_CYCLES = 0.05, 0.008, 0.08
"""Cycles of an SM for a byte of a result, and for an elementwise op on an element."""

TAKE_TURNS_CYCLES = 3000
"""What a second consumer group waits before its first turn, and the last epilogue takes longer by half as many
threads."""

INSTRUCTION_BYTES = 16
MIN_CODE = 14 << 10
CODE_CACHE, CODE_RATE = 100 << 10, 5
"""Bytes of a kernel's code before its epilogues; of code that an SM keeps; and of the rest that it fetches in a cycle,
again for every tile: epilogues are unrolled over a thread's accumulators, and each consumer group has its own."""

BESIDE_MEMORY = 0.1
"""How much of the shorter of an SM's work and device memory's shows: at the start, and where they do not overlap."""

FINISH_CYCLES = 3400
FINISH_BYTES = 1500
"""From the end of products of parts to the end of the kernel that adds them: at least, and how many bytes of partial
results are written and read again in a cycle of the GPU. 32 x 4096 x 14336 takes an H100 41.5 us whole, 43.6 in two
parts (2026-11-27)."""


@dataclass(frozen=True)
class Blocking:
    """rows, columns: of a tile, for each product; the rows lie along M or, with the side "n", along N. split: parts of
    K."""

    rows: int
    columns: int
    schedule: str
    split: int
    side: str = "m"

    @property
    def groups(self) -> int:
        """Warp groups that work on one tile."""
        return 1 if self.schedule == "pingpong" else GROUPS[self.rows]

    @property
    def warps(self) -> int:
        """Those of these groups."""
        return self.groups * WARP_GROUP // LANES

    @property
    def tile(self) -> tuple[int, int]:
        """Extents along M and N."""
        return (self.rows, self.columns) if self.side == "m" else (self.columns, self.rows)


class Model:
    """Cycles of a product by different blockings."""

    def __init__(self, product: Product, machine: Target, parts: int):
        self._product, self._machine = product, machine
        self._passes = 3 if parts > 1 else 1

    def describe(self, blocking: Blocking) -> str:
        """The blocking, and its cycles: of all, of a tile's steps along K and of its epilogue, and of device memory."""
        tile = " x ".join(map(str, blocking.tile)) + (f", {blocking.split} parts of K" if blocking.split > 1 else "")
        each = f"{self._steps(blocking):.0f} of products and {self._epilogue(blocking):.0f} of epilogue"
        rounds = f"{self._tiles(blocking)} tiles, {self._tiles(blocking) / self._machine.sms:.2f} rounds, each {each}"
        memory = f"memory takes {self._memory():.0f}"
        return f"{self.cycles(blocking):.0f} cycles: {blocking.schedule} {tile}: {rounds}; {memory}"

    def _tiles(self, blocking: Blocking) -> int:
        product = self._product
        tiles = ceil_div(product.m, blocking.rows) * ceil_div(product.n, blocking.columns)
        return product.batch * tiles * blocking.split

    def cycles(self, blocking: Blocking) -> float:
        rounds = ceil_div(self._tiles(blocking), self._machine.sms)
        mainloop, epilogue = self._steps(blocking), self._epilogue(blocking)
        if blocking.schedule == "pingpong":
            busy = rounds * (mainloop + self._fetched(blocking)) + epilogue + TAKE_TURNS_CYCLES
        else:
            epilogue -= min(BESIDE_ARRIVAL * epilogue, self._waiting(blocking))
            busy = rounds * (mainloop + epilogue + self._fetched(blocking))
        return max(busy, self._memory()) + BESIDE_MEMORY * min(busy, self._memory()) + self._finish(blocking)

    def _steps(self, blocking: Blocking) -> float:
        """The steps along K of a tile, in the mean of the tiles of the SM that has most of the last ones along N."""
        product, whole = self._product, self._mainloop(blocking)
        outside = -product.n % blocking.columns if product.rhs_along == "n" and product.n > blocking.columns else 0
        if not outside or (product.batch == 1 and not product.is_grouped):
            return whole
        rounds = ceil_div(self._tiles(blocking), self._machine.sms)
        share = max(self._last_tiles(blocking), 1 / rounds)
        return whole + share * (self._mainloop(blocking, outside * (BEHIND - 1)) - whole)

    def _last_tiles(self, blocking: Blocking) -> float:
        """Which part of its tiles are the last ones along N, of the SM that has most of them. SMs take tiles in turn:
        where their number and that of the tiles of a group of rows have a common divisor, each meets the same places
        of a group again and again."""
        rows, columns = ceil_div(self._product.m, blocking.rows), ceil_div(self._product.n, blocking.columns)
        height = min(GROUP, rows)
        common = 1 if rows % height else gcd(self._machine.sms, height * columns)
        return ceil_div(height, common) * common / (height * columns)

    def _mainloop(self, blocking: Blocking, late: int = 0) -> float:
        """The steps along K of a tile. late: columns of the right operand that it waits for besides its own."""
        return self._count(blocking) * max(self._step(blocking, late))

    def _waiting(self, blocking: Blocking) -> float:
        """What of a tile's steps with short rows is no product: the next tile's operands arrive beside the epilogue."""
        if self._depth * self._product.lhs.size >= STEP_BYTES:
            return 0.0  # not measured
        products, arriving = self._step(blocking)
        return self._count(blocking) * max(0.0, arriving - products)

    def _count(self, blocking: Blocking) -> int:
        """Steps along K."""
        return ceil_div(ceil_div(self._product.k, blocking.split), self._depth)

    def _step(self, blocking: Blocking, late: int = 0) -> tuple[float, float]:
        """The products of a step along K, with what their operands are computed in, and the operands' way."""
        product, total = self._product, blocking.columns * self._product.count
        depth, rate = self._depth, self._machine.costs.multiply_adds * 2 / product.lhs.size
        products = self._passes * blocking.rows * total * depth / rate
        blocks = shared_pair(product, (blocking.rows, blocking.columns))
        rows = _loaded(blocking.rows, product.m) * product.lhs_count
        loaded = rows * self._lhs_bytes * _lines(product.lhs_pitch) / blocks[1]
        columns = (_loaded(blocking.columns, product.n) + late) * product.rhs_count
        if product.rhs_along == "n" and blocking.columns % (2 * COLUMNS):
            columns *= NARROW_BOXES if product.places == 1 else NARROW_BOXES_OF_TAPS
        loaded += columns * product.rhs.size * _lines(product.rhs_pitch) / blocks[0]
        loaded *= WRITTEN_BEFORE if product.written > self._machine.l2 // 2 else 1
        row = max(depth, STEP_BYTES // product.lhs.size)  # TMA takes as long for shorter ones
        arriving = loaded * row / (self._machine.costs.operand_bytes * (1.0 if self._is_cached else COOL))
        return products + self._computed(blocking, depth), arriving

    @cached_property
    def _depth(self) -> int:
        """Elements of a step along K: those of the widest row, or, where little but stores follows, of fewer at one tap
        of a window. TMA takes 2.3 cycles for rows of 64 bytes, as for those of 128: on an H200, 3x3 windows of 32
        channels to 96 over 453x31x28, as four products at strides of 2, take 47.2 us in tiles of 64 x 96, and 40.8 in
        those of 128 x 96. Longer epilogues hide that: see `BESIDE_ARRIVAL`."""
        product, widest = self._product, STEP_BYTES // self._product.lhs.size
        if product.lhs_made or product.returns or product.costly or product.row > 1 or product.stored_along == "m":
            return widest
        return step_at_tap(product, widest, MIN_DEPTH_BYTES // product.lhs.size)

    @property
    def _is_cached(self) -> bool:
        """Whether a quarter of the L2 holds the operands."""
        product = self._product
        row = product.m * self._lhs_bytes + product.count * product.n * product.rhs.size
        return product.batch * product.k * row <= self._machine.l2 // 4

    @property
    def _lhs_bytes(self) -> int:
        """Of what the threads that multiply compute an element of the left operand from, or of the element."""
        made, size = self._product.lhs_made, self._product.lhs.size
        return size if made is None or not made.loaded else made.loaded

    def _computed(self, blocking: Blocking, depth: int) -> float:
        """What the threads that multiply take to compute a step of the left operand."""
        made = self._product.lhs_made
        if made is None:
            return 0.0
        steps, parts = 1 if made.loaded < self._product.lhs.size else 2, depth // PART
        return steps * STEP_CYCLES + parts * (PART_CYCLES + blocking.rows * PART * made.instructions / THREADS)

    def _epilogue(self, blocking: Blocking) -> float:
        product = self._product
        if blocking.split > 1:
            return blocking.rows * blocking.columns * product.count * product.result.size * STORE_CYCLES
        following = CHEAP_CYCLES * product.cheap + COSTLY_CYCLES * product.costly
        stored = product.stored * STORE_CYCLES * (NARROW_SUBTILES if blocking.columns % COLUMNS else 1.0)
        return blocking.rows * blocking.columns * (stored + following)

    def _fetched(self, blocking: Blocking) -> float:
        """What a tile waits for code that does not stay in the SM."""
        product = self._product
        values = blocking.rows * blocking.columns * product.count // (blocking.groups * WARP_GROUP)
        consumers = 2 if blocking.schedule == "pingpong" else 1
        code = MIN_CODE + consumers * values * product.instructions * INSTRUCTION_BYTES
        return max(0, code - CODE_CACHE) / CODE_RATE

    def _memory(self) -> float:
        """Reading the operands once from device memory."""
        product, machine = self._product, self._machine
        read = (
            product.m * self._lhs_bytes / product.reread + product.count * product.n * product.rhs.size / product.places
        )
        return product.batch * product.k * read * machine.clock / machine.bandwidth

    def _finish(self, blocking: Blocking) -> float:
        """The kernel that adds parts."""
        if blocking.split == 1:
            return 0.0
        product = self._product
        partial = blocking.split * product.count * product.batch * product.m * product.n * product.result.size
        return FINISH_CYCLES + 2 * partial / FINISH_BYTES


def shared_pair(product: Product, tile: tuple[int, int]) -> tuple[int, int]:
    """The cluster of two blocks that share an operand, as its way from the L2 cache is long: the right one where tiles
    along M come in pairs, else the left one where those along N do. They wait for each other instead."""
    is_long = product.is_copied and any(pitch % HALF_LINE for pitch in (product.lhs_pitch, product.rhs_pitch))
    if is_long and can_share_columns(product, tile):
        return (2, 1)
    return (1, 2) if is_long and product.come_in_pairs("n", tile[1]) else (1, 1)


def can_share_columns(product: Product, tile: tuple[int, int]) -> bool:
    """Whether tiles along M come in pairs that can load half of the columns of the right operand each."""
    return product.come_in_pairs("m", tile[0]) and tile[1] % SHARED_COLUMNS == 0


def _loaded(extent: int, whole: int) -> int:
    """Rows of a box of an operand that has `whole`, in those that lie inside."""
    outside = max(0, extent - whole)
    return extent - outside + OUTSIDE * outside


def _lines(pitch: int) -> float:
    return SPLIT_LINES if pitch % HALF_LINE else 1.0
