"""The cost of a layout: cycles of one multiprocessor for moving a tile and reducing it (docs/layout-search.md).

The unit is a cycle of the load-store unit, which takes one wavefront of 128 bytes. What is exact (requests, sectors,
lines, wavefronts) comes from the analyses; `AccessCosts` turns it into cycles. They are throughputs, added up: no
overlap is modeled, because only differences between layouts of one tile matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irc.ir.target_costs import ACCESSES
from irc.ir.targets import Target
from irc.layout.fragment import Fragment
from irc.layout.requests import BANK_BYTES, SECTOR_BYTES, WARP
from irc.layout.traffic import Traffic

REALIGN_INSTRUCTIONS = 20
"""Instructions that put a thread's 16 bytes together from two words: selections, shifts, addresses."""

COPY_INSTRUCTIONS = 24
"""Instructions that find a word of a box in memory and in shared memory."""

SPARE_REGISTERS = 40
"""Registers of a thread that addresses, predicates and loop counters take."""


@dataclass(frozen=True)
class Rates:
    """Facts of a chip in the unit of the cost: cycles for a sector that goes to device memory, and for one that the L2
    serves again; registers that a thread may have, registers and threads of a multiprocessor, bytes of shared memory of
    a block."""

    sector: float
    sector_again: float
    registers_per_thread: int
    registers: int
    threads: int
    shared_memory: int


def rates_of(machine: Target) -> Rates:
    """Each multiprocessor has its share of the device memory's and of the L2's bandwidth."""
    per_cycle = machine.bandwidth / (machine.sms * machine.clock)
    return Rates(
        SECTOR_BYTES / per_cycle,
        SECTOR_BYTES / machine.l2_bytes_per_cycle,
        machine.registers_per_thread,
        machine.registers,
        machine.threads_per_sm,
        machine.shared_memory,
    )


def global_cycles(traffic: Traffic, is_store: bool, rates: Rates) -> float:
    """A load or store of a tile: its instructions, its lines, its sectors. A store goes to the L2 every time; a load
    finds in the L1 what an earlier one brought, and asks the L2 for no more parts of lines than there are sectors."""
    cycles = traffic.requests * ACCESSES.global_request + traffic.lines * ACCESSES.line + traffic.ideal * rates.sector
    if is_store:
        again, parts = traffic.units - traffic.ideal, traffic.lines - traffic.ideal_lines
        return cycles + max(0.0, again) * rates.sector_again + max(0.0, parts) * ACCESSES.stored_part
    parts = min(traffic.lines, traffic.ideal) - traffic.ideal_lines
    return cycles + max(0.0, parts) * ACCESSES.loaded_part


def across_cycles(traffic: Traffic, rates: Rates) -> float:
    """A load of vectors that begin anywhere: the requests for the words, and what puts the vectors together."""
    words = traffic.requests / 2 * REALIGN_INSTRUCTIONS * ACCESSES.instruction
    return global_cycles(traffic, False, rates) + words


def waiting_cycles(threads: int, is_alone: bool, is_store: bool, rates: Rates, *, is_in_warps: bool) -> float:
    """What stands still for an exchange: all wait at its barrier, or the threads of a warp; and what follows the
    exchange of a load waits for its data, while other blocks run, where the multiprocessor has room for some."""
    exposed = 0.0 if is_store else ACCESSES.latency * (1.0 if is_alone else threads / rates.threads)
    return (ACCESSES.warp_barrier if is_in_warps else ACCESSES.barrier) + exposed


def reduction_cycles(fragment: Fragment, axes: frozenset[int], size: int) -> float:
    """A reduction of elements of `size` bytes over dimensions of the tile: in registers, by butterflies in a warp, then
    through shared memory, where every thread reads the partials of all warps."""
    kept = fragment.project(axes).value_count
    lanes, warps = threads_along(fragment, axes)
    words = max(1, size // BANK_BYTES)
    cycles = fragment.value_count * ACCESSES.instruction
    cycles += (lanes.bit_length() - 1) * kept * (ACCESSES.shuffle * words + ACCESSES.instruction)
    if warps > 1:
        cycles += (1 + warps) * kept * (ACCESSES.shared_request + words)
    return cycles * _warps(fragment) + (ACCESSES.barrier if warps > 1 else 0.0)


def threads_along(fragment: Fragment, axes: frozenset[int]) -> tuple[int, int]:
    """How many lanes of a warp, and how many warps, lie along some dimensions."""
    lanes, warps, stride = 1, 1, 1
    for mode in fragment.threads:
        inside = max(1, min(mode.size, WARP // stride))
        if mode.dim in axes:
            lanes, warps = lanes * inside, warps * (mode.size // inside)
        stride *= mode.size
    return lanes, warps


def spill_cycles(registers: int, threads: int, rates: Rates) -> float:
    """What registers beyond those that a thread can have cost, when one block has a multiprocessor for itself."""
    most = min(rates.registers_per_thread, rates.registers // threads) - SPARE_REGISTERS
    return max(0, registers - most) * (threads / WARP) * ACCESSES.spill


def staging_cycles(copied: Traffic, writes: Traffic, reads: Traffic, instructions: float, rates: Rates) -> float:
    """What loading a tile by way of its box costs: the words of memory, each found and moved by a thread, and the
    elements that threads take from shared memory one by one, which so many instructions find. Where their rows begin
    at any bank some wavefronts are needed more: a replay costs nothing but its own."""
    words = writes.units + copied.requests * (ACCESSES.shared_request + COPY_INSTRUCTIONS * ACCESSES.instruction)
    each = ACCESSES.shared_request + ACCESSES.instruction
    taken = reads.units + reads.requests * each + instructions * ACCESSES.instruction
    return global_cycles(copied, False, rates) + words + taken


def work_cycles(fragment: Fragment, instructions: int) -> float:
    """Elementwise work: a thread does it for every value it holds, copies too."""
    return fragment.value_count * instructions * _warps(fragment) * ACCESSES.instruction


def waste(fragment: Fragment) -> float:
    """The share of a block's registers that hold a copy of what another thread holds."""
    return 1.0 - prod(fragment.shape) / (fragment.thread_count * fragment.value_count)


def _warps(fragment: Fragment) -> float:
    return max(1.0, fragment.thread_count / WARP)
