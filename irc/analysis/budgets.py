"""What a block has to divide: registers among the threads of its partitions, and shared memory.

Configs are chosen and checked by these numbers before there is a program. Passes on programs ask what it will hold
(`irc/scheduling/shared_memory.py`, `registers.py`), by the same rules of what a channel and a tile take. `plan-shared`
and lowering, which know all that is, have the last word (`irc/analysis/resources.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from irc.ir.targets import KIB, MAX_REGISTERS, Target
from irc.layout.instructions import GROUP_WARPS
from irc.layout.requests import REGISTER_BYTES
from irc.support.integers import ceil_div, round_up

# Registers

DEFAULT_WARPS = 8
"""Warps that compute, where the config does not say."""

PRODUCER_WARPS = GROUP_WARPS
"""Warps of the partition that fills the channels of a wgmma kernel: a warp group, so that it can give registers
away."""

OTHER_REGISTERS = 40
"""Registers of a thread besides those of tiles: addresses, descriptors, counters, one step of an epilogue."""

TMA_REGISTERS = 40
"""A thread's registers where it only issues TMA."""

FEWEST_TMA_REGISTERS = 24
"""The same where threads that multiply need all that they can get: the fewest that setmaxnreg takes."""

WRITER_REGISTERS = 56
"""A thread's registers where it loads, computes and writes operands itself, besides those that hold them."""

CONSUMER_REGISTERS = 176
"""What a writer leaves to a thread that multiplies."""

REGISTER_STEP = 8
"""setmaxnreg takes no other than multiples of it (PTX ISA, setmaxnreg)."""

CASCADE_REGISTERS, ADDRESS_REGISTERS = 192, 24
"""Registers of a thread for the fragments of all products of a cascade, and of what is multiplied between them, at
most; and those of addresses, counters and rows, of which a thread has fewer where there are three warp groups."""

ROW_REGISTERS = 16
"""What reductions of rows take besides, which a cascade of several scores has none of."""

SUM_REGISTERS = 16
"""What a step of a cascade that adds to sums may hold besides: its scores, which are issued together, are used up
before the last product's left operand is there. ptxas 13.0 spills nothing of 128 columns of 64 elements."""


def tile_registers(size: int, threads: int = 1) -> int:
    """A thread's registers for its part of a tile of `size` bytes that so many threads hold."""
    return ceil_div(size, threads * REGISTER_BYTES)


def thread_registers(machine: Target, threads: int, blocks: int = 1) -> int:
    """A thread's registers, at most, in one of `blocks` of so many threads that share an SM, which all have as many."""
    return min(machine.registers_per_thread, machine.registers // (blocks * threads))


def launched_registers(machine: Target, warps: int, blocks: int = 1) -> int:
    """A thread's registers when one of `blocks` that share an SM starts: `warps` that compute, and a producer's."""
    return min(MAX_REGISTERS, _whole(machine.registers // machine.warp_size // blocks // (PRODUCER_WARPS + warps)))


def consumer_registers(machine: Target, warps: int, producer: int = TMA_REGISTERS, blocks: int = 1) -> int:
    """A thread's registers in `warps` that compute, beside a producer whose threads have so many, where `blocks` share
    an SM. There are no more than the block was launched with."""
    total = launched_registers(machine, warps, blocks) * (PRODUCER_WARPS + warps)
    return min(MAX_REGISTERS, _whole((total - PRODUCER_WARPS * producer) // warps))


def writer_registers(
    machine: Target, warps: int, held: int, consumer: int = CONSUMER_REGISTERS, blocks: int = 1
) -> int:
    """A producer's thread's registers that writes operands of which it holds so many registers, beside `warps` whose
    threads are left `consumer`. Three warp groups that multiply leave what the block was launched with: a thread of
    theirs has fewer accumulators."""
    launched = launched_registers(machine, warps, blocks)
    left = launched * (PRODUCER_WARPS + warps) - consumer * warps
    most = _whole(left // PRODUCER_WARPS) if left > 0 else launched
    return min(MAX_REGISTERS, most, round_up(WRITER_REGISTERS + held, REGISTER_STEP))


def cascade_registers(
    machine: Target, warps: int, blocks: int = 1, *, reduces_rows: bool = True, adds_sums: bool = False
) -> int:
    """A thread's registers for the fragments of a cascade in `warps` that compute, where `blocks` share an SM."""
    held = min(CASCADE_REGISTERS, consumer_registers(machine, warps, blocks=blocks) - ADDRESS_REGISTERS)
    return held + (0 if reduces_rows else ROW_REGISTERS) + (SUM_REGISTERS if adds_sums else 0)


def _whole(registers: int) -> int:
    return registers // REGISTER_STEP * REGISTER_STEP


# Shared memory

ALIGNMENT = 1024
"""Bytes: the 128-byte swizzle of TMA and wgmma repeats every 8 rows of 128 bytes (PTX ISA, 5.5.6)."""

BARRIER_BYTES = 8

ACCUMULATOR_BYTES = 16
"""Of an accumulator in Tensor Memory: a barrier, and 4 bytes behind it for the address of its columns."""

TICKET_BYTES = 8
"""Of a ticket, by which a block knows its next tile: barriers lie behind several."""

VECTOR_BYTES = ALIGNMENT
"""What a vector takes of a stage: buffers begin at multiples of the widest swizzle's pattern."""

EPILOGUE_BYTES = 33 * KIB
"""That the channels of products leave to what stages their results, and to barriers."""

EXCHANGE_BYTES = 32 * KIB
"""That subtiles of arrays which the epilogue of a product reads take on top, on their way to the accumulators."""

REDUCTION_BYTES = KIB
"""Left to the reductions of each partition that computes."""

MIN_EXCHANGED = 3 * KIB
"""Of tiles that an epilogue exchanges, where the channels of what it reads take the rest."""

MAX_STAGES = 8
"""Of a channel whose stages nobody chose."""

LOAD_STAGES = 4
"""Stages, at least, of a channel through which arrays of an epilogue come."""

STORE_STAGES = 2
"""Subtiles of results in flight: one is stored while the next is written."""

SUBTILE_COLUMNS = 64
"""Of a subtile of an epilogue, at most."""

BLOCK_BYTES = KIB
"""That the system takes of each block (CUDA C++ Programming Guide, compute capability 9.0)."""


def aligned(size: int, to: int = ALIGNMENT) -> int:
    return round_up(size, to)


def stage_bytes(buffers: Iterable[int]) -> int:
    """Of a stage of a channel, whose buffers have so many bytes."""
    return sum(map(aligned, buffers))


def channel_bytes(buffers: Iterable[int], stages: int, turns: int = 0) -> int:
    """Of a channel: its stages, and behind them a full and an empty barrier for each, and one for each turn. What is
    left up to the next stage has room for tickets."""
    return aligned(stages * stage_bytes(buffers) + BARRIER_BYTES * (2 * stages + turns))


def block_memory(machine: Target, blocks: int | None) -> int:
    """Bytes of one of `blocks` that share an SM, of its own where that is None."""
    return machine.shared_memory if blocks is None else machine.shared_memory_per_sm // blocks - BLOCK_BYTES


def shared_left(room: int, taken: int, exchanged: int = 0, partitions: int = 1) -> int:
    """Of the `room` that a block has, what each of the partitions that compute may have for buffers, where `taken` are
    for all of them; each exchanges tiles of up to `exchanged` bytes among its threads."""
    return (room - taken) // partitions - exchanged - REDUCTION_BYTES
