"""Whether a `#kernel.config` is possible on an architecture: an error names the limit and the numbers."""

from __future__ import annotations

from math import prod

from irc.analysis.budgets import DEFAULT_WARPS, OTHER_REGISTERS, PRODUCER_WARPS, block_memory, consumer_registers
from irc.analysis.cascades import cascade_in
from irc.analysis.op_classes import is_reduction, is_scan
from irc.analysis.pages import page_rows
from irc.analysis.product_problem import Product, product_of
from irc.analysis.reduction_problem import reduction_of
from irc.analysis.window_operands import has_rows_of_taps
from irc.configs.cascade import cascade_problem, check_cascade
from irc.configs.columns import fault_of_columns
from irc.configs.product import accumulator_registers, held_products, operand_bytes
from irc.configs.product_instructions import (
    GROUP_COLUMNS,
    TCGEN05_OPERANDS,
    WGMMA_OPERANDS,
    can_split_mma,
    can_use_mma,
    can_use_tcgen05,
    can_use_wgmma,
    known_mma_shapes,
    mma_shapes,
    wgmma_operands,
)
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import location_of
from irc.ir.targets import KIB, Target
from irc.layout.instructions import GROUP_WARPS, WGMMA_COLUMNS, WGMMA_ROWS, is_wgmma_width
from irc.layout.matrix_instructions import fills_channels
from irc.layout.shared import SMALLEST_SWIZZLE
from irc.layout.tcgen05 import COLUMNS, OPERAND_BYTES, ROWS, WIDTHS, allocated
from irc.splitting.cascades import can_split_cascade
from irc.splitting.products import can_split_product
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div

FREE_MULTIPLE = 8
"""Of this are the rows and columns of a product's tile, where they are no powers of two: the columns of an mma, and the
rows of a core matrix of wgmma (PTX ISA, 9.7.15.5.1)."""


def check_config(kernel: FusedOp, config: ConfigAttr, machine: Target) -> None:
    """IrcError unless the config is legal for the kernel and the target."""
    check = _Check(kernel, machine)
    if machine.exact_tiles:
        check.unsupported(config)
        check.split(config.split or 1)
        if config.split_sums == "serial":
            check.serial(config)
        return
    check.tile_sizes(config)
    check.threads(config)
    check.cluster(config)
    check.unsupported(config)
    check.registers(config)
    check.split(config.split or 1)
    if config.split_sums == "serial":
        check.serial(config)
    if kernel.kind is Anchor.CASCADE:
        check.cascade(config)
    if kernel.kind is Anchor.MATMUL:
        check.product(config, product_of(kernel))


_DIVIDED = {"registers": "registers", "load_stages": "shared memory", "store_stages": "shared memory"}


class _Check:
    """The checks of one kernel."""

    def __init__(self, kernel: FusedOp, machine: Target):
        self._kernel = kernel
        self._machine = machine

    def _fail(self, message: str, hint: str | None = None) -> IrcError:
        name = "a kernel" if self._kernel.sym_name is None else f"kernel {self._kernel.sym_name.data}"
        return IrcError(f"{name}: {message}", location_of(self._kernel), hint)

    def tile_sizes(self, config: ConfigAttr) -> None:
        free = {"m", "n", "k"} if any(map(has_rows_of_taps, self._kernel.cores())) else {"m", "n"}
        for name, size in (config.tile or {}).items():
            is_free = name in free or self._kernel.kind is Anchor.CASCADE
            if size & (size - 1) and not (is_free and size % FREE_MULTIPLE == 0):
                also = f" or multiples of {FREE_MULTIPLE}" if is_free else ""
                raise self._fail(f"tile sizes are powers of two{also}, found {name} = {size}")

    def threads(self, config: ConfigAttr) -> None:
        threads = self._machine.warp_size * self._total_warps(config)
        limit = self._machine.threads_per_block
        if threads > limit:
            found = f"{threads} threads, but a block of {self._machine.name} has at most {limit}"
            raise self._fail(found, "use fewer warps")

    @staticmethod
    def _total_warps(config: ConfigAttr) -> int:
        """A kernel of wgmma or tcgen05 has a producer warp group beside the warps that compute."""
        producers = PRODUCER_WARPS if fills_channels(config.instruction) else 0
        consumers = 2 if config.schedule == "pingpong" else 1
        return consumers * (config.warps or 1) + producers

    def _consumer_registers(self, config: ConfigAttr) -> tuple[int, int]:
        """The warps that multiply beside some that load, and a thread's registers in them."""
        warps = self._total_warps(config) - PRODUCER_WARPS
        return warps, consumer_registers(self._machine, warps, blocks=config.occupancy or 1)

    def registers(self, config: ConfigAttr) -> None:
        """Of the threads that multiply, beside those that load."""
        if not fills_channels(config.instruction):
            return
        warps, most = self._consumer_registers(config)
        if config.registers and config.registers > most:
            raise self._fail(
                f"{warps} warps that multiply have up to {most} registers a thread beside {PRODUCER_WARPS} that load, "
                f"found registers = {config.registers}",
                "fewer registers or fewer warps",
            )

    def cluster(self, config: ConfigAttr) -> None:
        blocks = prod(config.cluster or (1,))
        limit = self._machine.max_cluster
        if blocks > limit:
            raise self._fail(f"a cluster of {blocks} blocks, but {self._machine.name} has clusters of at most {limit}")

    def unsupported(self, config: ConfigAttr) -> None:
        """Choices that no pass can make come true yet are refused, not ignored."""
        if prod(config.cluster or (1,)) > 1 and config.instruction != "wgmma":
            raise self._fail(f"only wgmma kernels have clusters, found cluster = {list(config.cluster or ())}")
        if config.schedule == "pingpong" and not fills_channels(config.instruction):
            raise self._fail('only kernels of wgmma and tcgen05 have the schedule "pingpong"')
        if config.schedule == "dynamic" and prod(config.cluster or (1,)) > 1:
            found = f'found cluster = {list(config.cluster or ())} with schedule = "dynamic"'
            raise self._fail(f"blocks that take tiles by themselves are in no cluster, {found}", "cluster = [1, 1]")
        if config.swap_ab and config.instruction != "wgmma":
            raise self._fail("only wgmma kernels compute transposed products, found swap_ab = true")
        if config.turns and (self._kernel.kind is not Anchor.CASCADE or config.instruction != "wgmma"):
            raise self._fail("only the warp groups of a cascade of wgmma take turns, found turns = true")
        if config.lag and self._kernel.kind is not Anchor.CASCADE:
            raise self._fail(f"only cascades have exponentials that are rescaled, found lag = {config.lag}")
        if config.warp_grid is not None and (config.instruction != "mma" or self._kernel.kind is not Anchor.MATMUL):
            found = f"found warp_grid = {list(config.warp_grid)}"
            raise self._fail(f"only products by mma have warps in a grid along M, N and K, {found}")
        if config.shape is not None and config.instruction != "mma":
            raise self._fail(f"only mma has several shapes, found shape = {list(config.shape)}")
        if not fills_channels(config.instruction):
            for name in ("registers", "load_stages", "store_stages"):
                if (value := getattr(config, name)) is not None:
                    raise self._fail(
                        f"only kernels of wgmma and tcgen05 divide a block's {_DIVIDED[name]}, found {name} = {value}"
                    )
        order = config.loop_order or ()
        if tuple(order) != tuple(range(len(order))):
            raise self._fail(f"only kernels in Python order their loops, found loop_order = {list(order)}")
        reads = "tma" if fills_channels(config.instruction) else "pointers"
        if config.indexing not in (None, reads):
            kind = f"a kernel of {config.instruction}" if config.instruction is not None else "this kernel"
            raise self._fail(f'{kind} reads by {reads}, found indexing = "{config.indexing}"', "leave indexing out")

    def cascade(self, config: ConfigAttr) -> None:
        if fault := check_cascade(cascade_problem(self._kernel, config), config, self._machine):
            raise self._fail(fault)

    def product(self, config: ConfigAttr, product: Product) -> None:
        if config.tile is None:
            return
        if config.tile["n"] < product.row:
            found = f"rows of {product.row} that are reduced and read again need a tile of as many columns"
            raise self._fail(f"{found}, found {config.tile['n']}")
        if product.block and config.tile["k"] != product.block:
            found = f"a step along K is a block of {product.block} elements, which are scaled together"
            raise self._fail(f"{found}, found k = {config.tile['k']}", f"k = {product.block}")
        if product.block and config.instruction in ("direct", "columns"):
            raise self._fail(f"no sums in registers alone have blocks of K, found {config.instruction}")
        if config.instruction == "direct" and product.is_grouped:
            raise self._fail("no sums in registers alone go over groups whose ends are data", 'use instruction = "fma"')
        if config.instruction == "wgmma":
            self._wgmma(config, config.tile, product)
        if config.instruction == "tcgen05":
            self._tcgen05(config, config.tile, product)
        if config.instruction == "mma":
            self._mma(config, config.tile, product)
        if config.instruction == "columns" and (fault := fault_of_columns(product, config)):
            raise self._fail(*fault)
        self._clusters(config.cluster or (1, 1), config.tile, product)
        self._shared_memory(config, config.tile, product)
        self._registers(config, config.tile, product)

    def split(self, parts: int) -> None:
        if parts == 1:
            return
        if self._kernel.kind is Anchor.MATMUL:
            self._split_product(parts)
        elif self._kernel.kind is Anchor.CASCADE:
            self._split_cascade(parts)
        elif self._kernel.kind is not Anchor.REDUCE or not reduction_of(self._kernel).can_be_split:
            raise self._fail(
                f"its config asks for {parts} parts, which are for products, and for reductions whose rows nothing "
                "reads again",
                "leave split out",
            )

    def serial(self, config: ConfigAttr) -> None:
        """Blocks start in the order of their numbers, those of earlier parts first: whoever waits does so for a block
        that runs."""
        what = 'found split_sums = "serial"'
        if self._kernel.kind is not Anchor.MATMUL or (config.split or 1) == 1:
            raise self._fail(f"only the parts of K of a product are added in turn, {what}", "split, or leave it out")
        cores = self._kernel.cores()
        element = element_of(cores[0].results[0].type).name
        if len(cores) > 1 or element != "f32":
            found = f"{len(cores)} products of {element}"
            raise self._fail(f"one product of f32 is added in turn, found {found}", 'split_sums = "parallel"')
        if self._machine.exact_tiles:
            raise self._fail(f"only blocks of a GPU add in turn, {what}", 'split_sums = "parallel"')
        product = product_of(self._kernel)
        if product.batch > 1 or product.is_grouped or product.taps:
            raise self._fail(f"only products of two matrices are added in turn, {what}", 'split_sums = "parallel"')
        if config.schedule not in (None, "grid"):
            raise self._fail(f'blocks of one tile add in turn, found schedule = "{config.schedule}"', "grid")
        if config.instruction in ("direct", "columns"):
            raise self._fail(f"no sums in registers alone are added in turn, {what}", 'instruction = "fma"')

    def _split_cascade(self, parts: int) -> None:
        cascade = cascade_in(self._kernel)
        if not can_split_cascade(cascade, parts):
            columns = " x ".join(str(cascade.domain[axis]) for axis in cascade.axes)
            found = f"columns of {columns} have no {parts} equal parts"
            raise self._fail(found, "a divisor of the columns that a cascade walks over, if they are the last axis")
        if (rows := page_rows(cascade)) and cascade.domain[-1] // parts % rows:
            found = f"columns of {cascade.domain[-1]} have no {parts} equal parts of whole pages of {rows} rows"
            raise self._fail(found, "a divisor of the number of pages")

    def _split_product(self, parts: int) -> None:
        if op := next((op for op in self._kernel.block.ops if is_reduction(op) or is_scan(op)), None):
            raise self._fail(f"{op.name} needs whole products, its config asks for {parts} parts of K")
        for op in self._kernel.cores():
            if not can_split_product(op, parts):
                extents = iteration_of(op).extents("k")
                raise self._fail(
                    f"K of {' x '.join(map(str, extents))} has no {parts} equal parts",
                    "a divisor of the outermost contracted extent, or of those of a convolution",
                )

    def _clusters(self, cluster: tuple[int, ...], tile: TileSizes, product: Product) -> None:
        tiles = [ceil_div(product.m, tile["m"]), ceil_div(product.n, tile["n"])]
        if product.is_grouped and not product.has_rest:
            tiles[0] = cluster[0]  # a group begins with a cluster
        along = zip(("m", "n"), cluster, strict=True)
        if side := next((s for s, blocks in along if s in product.varying and blocks > 1), None):
            raise self._fail(f"clusters of {list(cluster)} lie along {side}, which is known when the program is called")
        if any(count % blocks for count, blocks in zip(tiles, cluster, strict=True)):
            raise self._fail(f"clusters of {list(cluster)} do not divide {tiles[0]} x {tiles[1]} tiles")
        shared = (cluster[1], tile["m"]), (cluster[0], tile["n"])
        if any(blocks & (blocks - 1) or extent // blocks % 8 for blocks, extent in shared if blocks > 1):
            raise self._fail(
                f"clusters of {list(cluster)} cannot share the operands of tiles of {tile['m']} x {tile['n']}",
                "powers of two that leave 8 rows a block",
            )

    def _mma(self, config: ConfigAttr, tile: TileSizes, product: Product) -> None:
        grid = config.warp_grid or (1, config.warps or 1, 1)
        warps, parts = (config.warps or 1) // grid[2], grid[2]
        if config.warp_grid is not None and prod(grid) != config.warps:
            raise self._fail(f"a grid of {' x '.join(map(str, grid))} warps, found warps = {config.warps}")
        if parts > 1 and product.has_rest:
            found = f"found warp_grid = {list(grid)}"
            raise self._fail(
                f"groups that data cuts along K end inside of a step, which no warps along K share, {found}"
            )
        if not can_use_mma(product, self._machine):
            raise self._fail(f"mma on {self._machine.name} does not multiply {product.lhs.name} and {product.rhs.name}")
        if not can_split_mma(product, self._machine, tile, warps, config.warp_grid and grid[:2]):
            rows, columns, _ = max(mma_shapes(product, self._machine))
            raise self._fail(
                f"{warps} warps of mma compute equal parts of a tile, multiples of {rows} x {columns}, found "
                f"{tile['m']} x {tile['n']}",
                "another number of warps",
            )
        shapes = known_mma_shapes(product, self._machine)
        if config.shape is not None and config.shape not in shapes:
            known = ", ".join(str(list(shape)) for shape in shapes)
            found = f"mma on {self._machine.name} multiplies {product.lhs.name} in shapes {known}"
            raise self._fail(f"{found}, found shape = {list(config.shape)}")
        depth = min(k for _, _, k in shapes) if config.shape is None else config.shape[2]
        if tile["k"] % (depth * parts):
            each = "" if parts == 1 else f" in each of {parts} parts"
            raise self._fail(f"mma takes steps of {depth} along K{each}, found a tile of {tile['k']}")

    def _wgmma(self, config: ConfigAttr, tile: TileSizes, product: Product) -> None:
        if not self._machine.has_wgmma:
            found = f"wgmma is an instruction of sm_90a, found {self._machine.name}"
            raise self._fail(found, "leave the instruction out")
        operands = wgmma_operands(product)
        if operands is None or not can_use_wgmma(product, self._machine):
            raise self._fail(
                f"wgmma multiplies {', '.join(WGMMA_OPERANDS)}, two of a kind or both f8, those of 16 bits loaded by "
                f"tensor maps, found {product.lhs.name} and {product.rhs.name} to {product.result.name}, "
                f"{'' if product.is_loadable else 'not '}loadable",
                "rows of 16-byte multiples can be loaded",
            )
        if config.swap_ab and product.lhs_count > 1:
            found = f"found swap_ab = true of {product.lhs_count}"
            raise self._fail(f"products of one left operand can have their rows along N, {found}")
        joined = 1 if config.swap_ab else product.joined
        tall, wide = (tile["n"], tile["m"]) if config.swap_ab else (tile["m"], tile["n"])
        warps = config.warps or GROUP_WARPS
        rows = WGMMA_ROWS * max(1, warps // GROUP_WARPS)
        if warps % GROUP_WARPS or tall % rows:
            raise self._fail(f"{warps} warps compute tiles of a multiple of {rows} rows by wgmma, found {tall}")
        depth = self._machine.wgmma[operands.operand]
        if tile["k"] % depth:
            raise self._fail(f"wgmma takes steps of {depth} along K, found a tile of {tile['k']}")
        if wide * joined > WGMMA_COLUMNS:
            raise self._fail(
                f"wgmma computes up to {WGMMA_COLUMNS} columns, found {joined} x {wide}",
                "use a narrower tile",
            )
        is_across = product.is_copied and product.rhs_along == "n" and not config.swap_ab
        multiple = SMALLEST_SWIZZLE // product.rhs.size if is_across else FREE_MULTIPLE
        if wide % multiple:
            along = ", which are contiguous along N," if is_across else ""
            raise self._fail(f"columns of wgmma{along} are a multiple of {multiple}, found {wide}")
        if not is_wgmma_width(wide * joined, of_integers=product.lhs.is_integer):
            raise self._fail(f"columns of wgmma on integers are 8, 24 or a multiple of 16, found {wide}")

    def _tcgen05(self, config: ConfigAttr, tile: TileSizes, product: Product) -> None:
        if not self._machine.has_tcgen05:
            found = f"tcgen05 is an instruction of sm_100a, found {self._machine.name}"
            raise self._fail(found, "leave the instruction out")
        if not can_use_tcgen05(product, self._machine):
            raise self._fail(
                f"tcgen05 computes products of {', '.join(TCGEN05_OPERANDS)}, of one left matrix, and reads no row of "
                f"more than {GROUP_COLUMNS} again; found {product.lhs.name} and {product.rhs.name} to "
                f"{product.result.name}",
                'instruction = "mma"',
            )
        warps, columns = config.warps or GROUP_WARPS, tile["n"] * product.count
        if tile["m"] % ROWS or columns not in WIDTHS:
            found = f"found {tile['m']} x {tile['n']}" + (f" of {product.count} products" if product.count > 1 else "")
            raise self._fail(
                f"tcgen05 computes tiles of a multiple of {ROWS} rows and of {WIDTHS.step} columns up to {WIDTHS[-1]}, "
                f"{found}"
            )
        if product.row > 1 and warps != GROUP_WARPS:
            found = f"found {warps} warps"
            raise self._fail(
                f"rows that are reduced and read again are those of {GROUP_WARPS} warps of tcgen05, {found}"
            )
        if warps % GROUP_WARPS or columns % (warps // GROUP_WARPS):
            raise self._fail(
                f"groups of {GROUP_WARPS} warps load equal parts of the columns of tcgen05, found {warps} warps of "
                f"{columns} columns"
            )
        if tile["k"] % (OPERAND_BYTES // product.lhs.size):
            found = f"found a tile of {tile['k']}"
            raise self._fail(f"tcgen05 takes steps of {OPERAND_BYTES // product.lhs.size} along K, {found}")
        groups = 2 if config.schedule == "pingpong" else 1
        if (held := allocated(tile["m"] // ROWS * columns * groups)) > COLUMNS:
            raise self._fail(f"sums of {tile} take {held} columns of Tensor Memory, a block has {COLUMNS}")

    def _shared_memory(self, config: ConfigAttr, tile: TileSizes, product: Product) -> None:
        need = operand_bytes(product, config, tile)
        if config.warp_grid is not None and config.warp_grid[2] > 1:
            need += config.warp_grid[2] * product.count * tile["m"] * tile["n"] * product.result.size
        limit = block_memory(self._machine, config.occupancy)
        if need > limit:
            raise self._fail(
                f"{config.stages or 1} stages of {tile} need {need / KIB:g} KiB of shared memory, but a block of "
                f"{self._machine.name} has {limit / KIB:g} KiB",
                "use fewer stages or a smaller tile",
            )

    def _registers(self, config: ConfigAttr, tile: TileSizes, product: Product) -> None:
        threads = self._machine.warp_size * (config.warps or DEFAULT_WARPS)
        need = accumulator_registers(product, config, tile, self._machine) + OTHER_REGISTERS
        limit, where = self._machine.registers_per_thread, f"a thread of {self._machine.name}"
        if config.instruction == "wgmma":
            warps, most = self._consumer_registers(config)
            limit = config.registers or most
            where = f"each of the {self._machine.warp_size * warps} that compute in a block"
        if need > limit:
            raise self._fail(
                f"accumulators of {held_products(product, config)} x {tile['m']} x {tile['n']} need about {need} "
                f"registers in each of {threads} threads, but {where} has {limit}",
                "use a smaller tile or more warps",
            )
