"""What a config takes of an SM, by one formula for all kernels, and how long the kernel takes by it.

`budgets` divides what a block has, and `check` says what is impossible. Here is what is left to compare: how many
blocks share an SM by shared memory, registers and threads, how many rounds of them there are, how many bytes are on the
way at once. Products of warp groups have a model of their own (`wgmma_cycles`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil, inf, prod

from irc.analysis.budgets import (
    BLOCK_BYTES,
    DEFAULT_WARPS,
    OTHER_REGISTERS,
    PRODUCER_WARPS,
    REDUCTION_BYTES,
    launched_registers,
    stage_bytes,
    thread_registers,
)
from irc.analysis.cascades import cascade_in
from irc.analysis.costs import cost_of
from irc.analysis.op_classes import shape_of
from irc.analysis.product_problem import Product, product_of
from irc.analysis.reduction_problem import reduction_of
from irc.configs.cascade import CascadeProblem, cascade_problem
from irc.configs.product import accumulator_registers, operand_buffers, operand_bytes
from irc.configs.product_instructions import wgmma_operands
from irc.configs.wgmma import transposed
from irc.configs.wgmma_cycles import GROUPS, Blocking, Model
from irc.dialects.kernel import STAYING, Anchor, ConfigAttr, FusedOp, TileSizes
from irc.ir.dtypes import element_of
from irc.ir.targets import Target
from irc.layout.matrix_instructions import fills_channels
from irc.support.integers import ceil_div

MOST_SPILLED = 4
"""How many times its registers a thread may hold: the rest is in local memory."""

HOST_ELEMENT = 4
"""Bytes of an element in a tile of a CPU."""


@dataclass(frozen=True)
class Footprint:
    """tiles: those that blocks compute, of all parts. threads: of a block. registers: of a thread. shared: bytes of a
    block. flying: bytes that a block has on the way. moved: bytes that all tiles take from the L2 cache."""

    tiles: int
    threads: int
    registers: int
    shared: int
    flying: int
    moved: int

    def resident(self, machine: Target) -> int:
        """Blocks that share an SM; 0 where it has no room for one."""
        by_shared = machine.shared_memory_per_sm // (self.shared + BLOCK_BYTES)
        by_registers = machine.registers // max(1, self.registers * self.threads)
        by_threads = machine.threads_per_sm // max(1, self.threads)
        return min(by_shared, by_registers, by_threads, machine.blocks_per_sm)

    def rounds(self, machine: Target) -> float:
        """How often an SM takes as many tiles as it has room for, the last time maybe fewer."""
        return self.tiles / (machine.sms * max(1, self.resident(machine)))


@dataclass(frozen=True)
class Work:
    """What all tiles do. flops: operations. rate: of them in a second, at most. moved: bytes of device memory.
    launches: of kernels."""

    flops: float
    rate: float
    moved: float
    launches: int = 1


def seconds_of(taken: Footprint, work: Work, machine: Target, *, is_persistent: bool = False) -> float:
    """Of a call: what takes longest of products, device memory and L2 cache, where the last round is as long as others;
    infinite where a block has no room. is_persistent: whether blocks stay for several tiles."""
    resident = taken.resident(machine)
    if resident == 0:
        return inf
    rounds = taken.rounds(machine)
    full = rounds / ceil(rounds) if rounds > 0 else 1.0
    costs = machine.costs.kernels
    hidden = min(1.0, resident * max(1, taken.flying) * machine.sms / (costs.latency * machine.bandwidth))
    memory = work.moved / machine.bandwidth / hidden
    cache = taken.moved / (machine.l2_bytes_per_cycle * machine.sms * machine.clock) / hidden
    turns = 0.0 if is_persistent else ceil(rounds) * costs.turnover
    return work.launches * machine.launch_time + turns + max(memory, cache, work.flops / work.rate) / full


def parts_of(taken: Footprint, work: Work, machine: Target) -> dict[str, float]:
    """What seconds are made of: the footprint, blocks that share an SM, rounds of them, and the work."""
    of_sm = {"resident": taken.resident(machine), "rounds": taken.rounds(machine)}
    return {**asdict(taken), **of_sm, "flops": work.flops, "rate": work.rate, "bytes": work.moved}


def host_seconds(tiles: int, held: int, read: int, work: Work, machine: Target) -> float:
    """Of a call on a CPU, where a tile that does not stay in the second level of cache is slower, and tiles fill the
    cores. held: bytes of a tile. read: bytes that all tiles take from the caches."""
    rounds = tiles / machine.sms
    slower = max(1.0, held / machine.l2) ** 0.5
    memory = max(read / machine.bandwidth / machine.costs.kernels.cpu_cache, work.moved / machine.bandwidth)
    full = rounds / ceil(rounds) if rounds > 0 else 1.0
    return max(work.flops / work.rate, memory) * slower / full + ceil(rounds) * machine.costs.kernels.cpu_tile


class Estimator:
    """What configs of one kernel take on a target."""

    def __init__(self, kernel: FusedOp, machine: Target):
        self._kernel, self._machine = kernel, machine
        self._cost = cost_of(kernel)
        self._cascades: dict[tuple[int | None, ...], CascadeProblem] = {}
        self._moved = self._cost.bytes_read + self._cost.bytes_written
        self._whole = max((prod(shape_of(value)) for value in kernel.outputs), default=1)

    @cached_property
    def _product(self) -> Product:
        return product_of(self._kernel)

    def footprint(self, config: ConfigAttr) -> Footprint:
        """Of a legal config that has its tile, for a GPU."""
        if self._kernel.kind is Anchor.MATMUL:
            return self._of_product(config)
        if self._kernel.kind is Anchor.CASCADE:
            return self._of_cascade(config)
        return self._of_elements(config)

    def _threads(self, config: ConfigAttr) -> int:
        producers = PRODUCER_WARPS if fills_channels(config.instruction) else 0
        return self._machine.warp_size * (self._consumers(config) + producers)

    @staticmethod
    def _consumers(config: ConfigAttr) -> int:
        """Warps that compute."""
        return (2 if config.schedule == "pingpong" else 1) * (config.warps or DEFAULT_WARPS)

    def _registers(self, config: ConfigAttr, held: int) -> int:
        """Of a thread that holds so many for tiles: all of an SM's where it would spill most of them."""
        machine, blocks = self._machine, config.occupancy or 1
        if held > MOST_SPILLED * machine.registers_per_thread:
            return machine.registers
        if fills_channels(config.instruction):
            return launched_registers(machine, self._consumers(config), blocks)
        return min(thread_registers(machine, self._threads(config), blocks), held + OTHER_REGISTERS)

    def _of_product(self, config: ConfigAttr) -> Footprint:
        product, tile, parts, stages = self._product, config.tile or TileSizes(), config.split or 1, config.stages or 1
        tiles = product.batch * ceil_div(product.m, tile["m"]) * ceil_div(product.n, tile["n"]) * parts
        has_producer = fills_channels(config.instruction)
        stage = stage_bytes(operand_buffers(product, config, tile))
        steps = ceil_div(ceil_div(product.k, parts), tile["k"])
        return Footprint(
            tiles=tiles,
            threads=self._threads(config),
            registers=self._registers(config, accumulator_registers(product, config, tile, self._machine)),
            shared=operand_bytes(product, config, tile) + (0 if has_producer else REDUCTION_BYTES),
            flying=max(1, stages - 1) * stage,
            moved=tiles * steps * stage,
        )

    def _of_cascade(self, config: ConfigAttr) -> Footprint:
        tile, parts, stages = config.tile or TileSizes(), config.split or 1, config.stages or 1
        key = parts, config.subtile, config.store_stages
        if key not in self._cascades:
            self._cascades[key] = cascade_problem(self._kernel, config)
        problem = self._cascades[key]
        batches = prod(shape_of(cascade_in(self._kernel).products[0].results[0])[:-1]) // max(1, problem.rows)
        tiles = batches * ceil_div(problem.rows, tile["m"]) * parts
        streamed = problem.size * tile["k"] * problem.streamed
        return Footprint(
            tiles=tiles,
            threads=self._threads(config),
            registers=self._registers(config, problem.registers(tile["k"])),
            shared=problem.taken(tile["m"], tile["k"], stages, config.instruction),
            flying=stages * streamed,
            moved=tiles * ceil_div(ceil_div(problem.steps, parts), tile["k"]) * streamed,
        )

    def _of_elements(self, config: ConfigAttr) -> Footprint:
        """Of tiles of elements that are read once."""
        elements, threads = prod((config.tile or TileSizes()).values()), self._threads(config)
        size = max((element_of(value.type).size for value in self._kernel.inputs), default=4)
        held = ceil_div(elements, threads)
        tiles = ceil_div(self._whole, max(1, elements))
        if self._kernel.kind is Anchor.REDUCE and config.tile is not None:
            tiles = ceil_div(reduction_of(self._kernel).rows, config.tile["d"]) * (config.split or 1)
            held *= config.unroll or 1
        return Footprint(
            tiles=tiles,
            threads=threads,
            registers=self._registers(config, held),
            shared=elements * size if self._kernel.kind is Anchor.PERMUTE else REDUCTION_BYTES,
            flying=threads * min(self._machine.costs.kernels.thread_bytes, held * size),
            moved=self._moved,
        )

    def parts(self, config: ConfigAttr) -> dict[str, float]:
        """What the seconds are made of, on a GPU."""
        return parts_of(self.footprint(config), self._work(config), self._machine)

    def _work(self, config: ConfigAttr) -> Work:
        return Work(self._cost.flops, self._rate(config), self._moved, 2 if (config.split or 1) > 1 else 1)

    def seconds(self, config: ConfigAttr) -> float:
        """Of a call; infinite where a block has no room."""
        machine = self._machine
        if machine.exact_tiles:
            return self._on_cpu(config)
        taken = self.footprint(config)
        if taken.resident(machine) == 0:
            return inf
        if (cycles := self._wgmma_cycles(config, taken)) is not None:
            return machine.launch_time + cycles / machine.clock
        return seconds_of(taken, self._work(config), machine, is_persistent=config.schedule in STAYING)

    def _rate(self, config: ConfigAttr) -> float:
        """Operations a second, of what computes the most of them."""
        flops = self._machine.flops
        if self._kernel.kind not in (Anchor.MATMUL, Anchor.CASCADE) or config.instruction in ("fma", "direct"):
            return flops["f32"]
        multiplied = element_of(self._kernel.cores()[0].operands[0].type).name
        share = self._machine.costs.kernels.by_warps if self._machine.has_wgmma else 1
        return flops.get(multiplied, flops["f32"]) / share

    def _wgmma_cycles(self, config: ConfigAttr, taken: Footprint) -> float | None:
        """Those of the model of warp-group products; None of others. A channel of few bytes hides less."""
        if self._kernel.kind is not Anchor.MATMUL or config.instruction != "wgmma" or config.tile is None:
            return None
        product, operands = self._product, wgmma_operands(self._product)
        rows, columns, side = config.tile["m"], config.tile["n"], "m"
        if config.swap_ab:
            product, rows, columns, side = transposed(product), columns, rows, "n"
        if rows not in GROUPS or operands is None:
            return None
        schedule = "pingpong" if config.schedule == "pingpong" else "persistent"
        blocking = Blocking(rows, columns, schedule, config.split or 1, side)
        wanted = self._machine.costs.kernels.latency * self._machine.costs.operand_bytes * self._machine.clock
        return Model(product, self._machine, operands.parts).cycles(blocking) / min(1.0, taken.flying / wanted)

    def _on_cpu(self, config: ConfigAttr) -> float:
        machine, tile = self._machine, config.tile or TileSizes()
        if self._kernel.kind is Anchor.MATMUL:
            product = self._product
            m, n, k = tile["m"], tile["n"], tile["k"]
            tiles = product.batch * ceil_div(product.m, m) * ceil_div(product.n, n)
            held = (m * k + k * n + m * n) * product.lhs.size
            read = tiles * product.k * (m + n) * product.lhs.size
        else:
            elements = max(1, prod(tile.values()))
            held, read = 2 * HOST_ELEMENT * elements, self._moved
            whole = max(prod(shape_of(value)) for value in (*self._kernel.inputs, *self._kernel.outputs))
            tiles = max(1, ceil_div(whole, elements))
        work = Work(self._cost.flops, machine.flops["f32"], self._moved)
        return host_seconds(tiles * (config.split or 1), held, read, work, machine)
