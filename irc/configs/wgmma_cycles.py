"""How long a warp-group product takes by a blocking: a model of an SM.

The model counts cycles of the SM that has most to do. A tile takes its steps along K, each as long as the slower of its
products and the operands' way from the L2 cache, and then its epilogue. "persistent" adds all of them up; "pingpong"
hides every epilogue but the last. Device memory bounds the whole, and parts of K cost the way of the partial results
to the second kernel. What an SM multiplies and loads is the target's, and so is the rest: `WarpGroupCosts` of
`irc/ir/target_costs.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

from irc.analysis.budgets import EPILOGUE_BYTES
from irc.analysis.product_problem import Product
from irc.analysis.readers import MAX_PARTS
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

MIN_DEPTH_BYTES = 32
"""Bytes of a row of the narrowest swizzle, and of the depth of a wgmma."""

PART = 16
"""Elements along K of a part of a left operand that is computed at once."""

SHARED_COLUMNS = 16
"""Columns that two blocks can share: each loads whole rows of a swizzle's pattern, which has 8."""

HALF_LINE = 64
"""Bytes."""

INSTRUCTION_BYTES = 16
"""Of machine code."""


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
        self._product, self._machine, self._costs = product, machine, machine.costs.warp_groups
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
            busy = rounds * (mainloop + self._fetched(blocking)) + epilogue + self._costs.take_turns
        else:
            epilogue -= min(self._costs.beside_arrival * epilogue, self._waiting(blocking))
            busy = rounds * (mainloop + epilogue + self._fetched(blocking))
        memory = self._memory()
        return max(busy, memory) + self._costs.beside_memory * min(busy, memory) + self._finish(blocking)

    def _steps(self, blocking: Blocking) -> float:
        """The steps along K of a tile, in the mean of the tiles of the SM that has most of the last ones along N."""
        product, whole = self._product, self._mainloop(blocking)
        outside = -product.n % blocking.columns if product.rhs_along == "n" and product.n > blocking.columns else 0
        if not outside or product.batch == 1 or product.is_grouped:
            return whole
        rounds = ceil_div(self._tiles(blocking), self._machine.sms)
        share = max(self._last_tiles(blocking), 1 / rounds)
        return whole + share * (self._mainloop(blocking, outside * (self._costs.behind - 1)) - whole)

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
        step = self._step(blocking, late)
        return self._count(blocking) * (sum(step) if self._is_alone(blocking) else max(step))

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
        rows = self._loaded(blocking.rows, product.m) * product.lhs_count
        loaded = rows * self._lhs_bytes * self._lines(product.lhs_pitch) / blocks[1]
        columns = (self._loaded(blocking.columns, product.n) + late) * product.rhs_count
        if product.rhs_along == "n" and blocking.columns % (2 * COLUMNS):
            columns *= self._costs.narrow_boxes if product.places == 1 else self._costs.narrow_boxes_of_taps
        loaded += columns * product.rhs.size * self._lines(product.rhs_pitch) / blocks[0]
        loaded *= self._costs.written_before if product.written > self._machine.l2 // 2 else 1
        row = max(depth, STEP_BYTES // product.lhs.size)  # TMA takes as long for shorter ones
        arriving = loaded * row / (self._machine.costs.operand_bytes * (1.0 if self._is_cached else self._costs.cool))
        return products + self._computed(blocking, depth), arriving

    def _is_alone(self, blocking: Blocking) -> bool:
        """Whether there is no room for a second step's operands, which arrive beside the products else: of several left
        operands. Not measured."""
        product = self._product
        if product.lhs_count == 1 or not product.is_copied or self._passes > 1:
            return False
        left, right = blocking.rows * product.lhs_count, blocking.columns * product.rhs_count
        element = left * product.lhs.size + right * product.rhs.size
        return 2 * element * self._step_at_tap > self._machine.shared_memory - EPILOGUE_BYTES

    @cached_property
    def _step_at_tap(self) -> int:
        """Elements of a step along K: those of the widest row, or of fewer at one tap of a window."""
        size = self._product.lhs.size
        return step_at_tap(self._product, STEP_BYTES // size, MIN_DEPTH_BYTES // size)

    @cached_property
    def _depth(self) -> int:
        """Elements of a step along K: those of the widest row, or, where little but stores follows, of fewer at one tap
        of a window. TMA takes 2.3 cycles for rows of 64 bytes, as for those of 128: on an H200, 3x3 windows of 32
        channels to 96 over 453x31x28, as four products at strides of 2, take 47.2 us in tiles of 64 x 96, and 40.8 in
        those of 128 x 96. Longer epilogues hide that: see `WarpGroupCosts.beside_arrival`."""
        product, widest = self._product, STEP_BYTES // self._product.lhs.size
        if product.lhs_made or product.returns or product.costly or product.row > 1 or product.stored_along == "m":
            return widest
        return self._step_at_tap

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
        made, costs = self._product.lhs_made, self._costs
        if made is None:
            return 0.0
        steps, parts = 1 if made.loaded < self._product.lhs.size else 2, depth // PART
        part = costs.part + blocking.rows * PART * made.instructions / costs.instructions
        return steps * costs.step + parts * part

    def _epilogue(self, blocking: Blocking) -> float:
        product, costs = self._product, self._costs
        if blocking.split > 1:
            return blocking.rows * blocking.columns * product.count * product.result.size * costs.store
        following = costs.cheap * product.cheap + costs.costly * product.costly
        stored = product.stored * costs.store * (costs.narrow_subtiles if blocking.columns % COLUMNS else 1.0)
        return blocking.rows * blocking.columns * (stored + following)

    def _fetched(self, blocking: Blocking) -> float:
        """What a tile waits for code that does not stay in the SM."""
        product = self._product
        values = blocking.rows * blocking.columns * product.count // (blocking.groups * WARP_GROUP)
        consumers = 2 if blocking.schedule == "pingpong" else 1
        code = self._costs.least_code + consumers * values * product.instructions * INSTRUCTION_BYTES
        return max(0, code - self._costs.code_cache) / self._costs.code_rate

    def _memory(self) -> float:
        """Reading the operands once from device memory."""
        product, machine = self._product, self._machine
        read = (
            product.m * self._lhs_bytes / product.reread + product.count * product.n * product.rhs.size / product.places
        )
        return product.batch * product.k * read * machine.clock / machine.bandwidth

    def _finish(self, blocking: Blocking) -> float:
        """What adds parts: a kernel, or the one that reads the sum, which then starts no later."""
        if blocking.split == 1:
            return 0.0
        product = self._product
        partial = blocking.split * product.count * product.batch * product.m * product.n * product.result.size
        is_added_up = product.is_added_up and blocking.split <= MAX_PARTS
        return (self._costs.added_up if is_added_up else self._costs.finish) + 2 * partial / self._costs.finish_bytes

    def _loaded(self, extent: int, whole: int) -> int:
        """Rows of a box of an operand that has `whole`, in those that lie inside."""
        outside = max(0, extent - whole)
        return extent - outside + self._costs.outside * outside

    def _lines(self, pitch: int) -> float:
        return self._costs.split_lines if pitch % HALF_LINE else 1.0


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
