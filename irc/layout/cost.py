"""The cost of a layout: cycles of one multiprocessor for moving a tile and reducing it (docs/layout-search.md).

The unit is a cycle of the load-store unit, which takes one wavefront of 128 bytes. What is exact (requests, sectors,
lines, wavefronts) comes from the analyses; the weights below turn it into cycles. They are throughputs, added up: no
overlap is modeled, because only differences between layouts of one tile matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irc.ir.targets import Target
from irc.layout.exchange import REQUEST_CYCLES
from irc.layout.fragment import Fragment
from irc.layout.requests import BANK_BYTES, SECTOR_BYTES, WARP
from irc.layout.traffic import Traffic

GLOBAL_REQUEST_CYCLES = 4.0
"""A load or store of a warp beside its lines: address, predicate, a place in the queues. Measured on an H200: a
permutation of bf16 with 4-byte stores of whole lines reaches 0.50 of a copy, with 16-byte ones 0.60."""

LINE_CYCLES = 1.0
"""A line of 128 bytes that a request to global memory touches: one look at the L1's tags, one wavefront of data."""

LOADED_PART_CYCLES = 1.4
"""A part of a line that is loaded by a request of its own: the L2 looks up about 0.7 requests a cycle for each
multiprocessor."""

STORED_PART_CYCLES = 4.0
"""The same for a store: the request, its data in a packet of its own, and a line that the L2 has to put together."""

LATENCY_CYCLES = 600.0
"""From a load of device memory to its data."""

BARRIER_CYCLES = 40.0
"""A barrier and the latency of what waits behind it: a load from shared memory comes back after about 30 cycles."""

WARP_BARRIER_CYCLES = 10.0
"""The same where a warp meets by itself: the others run on."""

INSTRUCTION_CYCLES = 0.25
"""An arithmetic instruction of a warp: four schedulers issue one a cycle each."""

REALIGN_INSTRUCTIONS = 20
"""Instructions that put a thread's 16 bytes together from two words: selections, shifts, addresses."""

COPY_INSTRUCTIONS = 24
"""Instructions that find a word of a box in memory and in shared memory."""

SHUFFLE_CYCLES = 1.0
"""A shuffle of a warp: 32 lanes a cycle (CUDA C++ Programming Guide, "Arithmetic Instructions")."""

SPARE_REGISTERS = 40
"""Registers of a thread that addresses, predicates and loop counters take."""

SPILL_CYCLES = 4.0
"""A register of a warp that does not fit: a store to local memory and a load, a request and a line each."""


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
    cycles = traffic.requests * GLOBAL_REQUEST_CYCLES + traffic.lines * LINE_CYCLES + traffic.ideal * rates.sector
    if is_store:
        again, parts = traffic.units - traffic.ideal, traffic.lines - traffic.ideal_lines
        return cycles + max(0.0, again) * rates.sector_again + max(0.0, parts) * STORED_PART_CYCLES
    parts = min(traffic.lines, traffic.ideal) - traffic.ideal_lines
    return cycles + max(0.0, parts) * LOADED_PART_CYCLES


def across_cycles(traffic: Traffic, rates: Rates) -> float:
    """A load of vectors that begin anywhere: the requests for the words, and what puts the vectors together."""
    words = traffic.requests / 2 * REALIGN_INSTRUCTIONS * INSTRUCTION_CYCLES
    return global_cycles(traffic, False, rates) + words


def waiting_cycles(threads: int, is_alone: bool, is_store: bool, rates: Rates, *, is_in_warps: bool) -> float:
    """What stands still for an exchange: all wait at its barrier, or the threads of a warp; and what follows the
    exchange of a load waits for its data, while other blocks run, where the multiprocessor has room for some."""
    exposed = 0.0 if is_store else LATENCY_CYCLES * (1.0 if is_alone else threads / rates.threads)
    return (WARP_BARRIER_CYCLES if is_in_warps else BARRIER_CYCLES) + exposed


def reduction_cycles(fragment: Fragment, axes: frozenset[int], size: int) -> float:
    """A reduction of elements of `size` bytes over dimensions of the tile: in registers, by butterflies in a warp, then
    through shared memory, where every thread reads the partials of all warps."""
    kept = fragment.project(axes).value_count
    lanes, warps = threads_along(fragment, axes)
    words = max(1, size // BANK_BYTES)
    cycles = fragment.value_count * INSTRUCTION_CYCLES
    cycles += (lanes.bit_length() - 1) * kept * (SHUFFLE_CYCLES * words + INSTRUCTION_CYCLES)
    if warps > 1:
        cycles += (1 + warps) * kept * (REQUEST_CYCLES + words)
    return cycles * _warps(fragment) + (BARRIER_CYCLES if warps > 1 else 0.0)


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
    return max(0, registers - most) * (threads / WARP) * SPILL_CYCLES


def staging_cycles(copied: Traffic, writes: Traffic, reads: Traffic, instructions: float, rates: Rates) -> float:
    """What loading a tile by way of its box costs: the words of memory, each found and moved by a thread, and the
    elements that threads take from shared memory one by one, which so many instructions find. Where their rows begin
    at any bank some wavefronts are needed more: a replay costs nothing but its own."""
    words = writes.units + copied.requests * (REQUEST_CYCLES + COPY_INSTRUCTIONS * INSTRUCTION_CYCLES)
    taken = reads.units + reads.requests * (REQUEST_CYCLES + INSTRUCTION_CYCLES) + instructions * INSTRUCTION_CYCLES
    return global_cycles(copied, False, rates) + words + taken


def work_cycles(fragment: Fragment, instructions: int) -> float:
    """Elementwise work: a thread does it for every value it holds, copies too."""
    return fragment.value_count * instructions * _warps(fragment) * INSTRUCTION_CYCLES


def waste(fragment: Fragment) -> float:
    """The share of a block's registers that hold a copy of what another thread holds."""
    return 1.0 - prod(fragment.shape) / (fragment.thread_count * fragment.value_count)


def _warps(fragment: Fragment) -> float:
    return max(1.0, fragment.thread_count / WARP)
