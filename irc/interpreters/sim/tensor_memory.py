"""Tensor Memory: of each block 128 lanes of 512 columns of 32 bits (PTX ISA, 9.7.16.1), what of it is allocated, and
who accessed what.

Products write whole columns, of all lanes, and a warp reads its 32 lanes of some. A read is a race where no wait orders
it after the product, and a mistake where no fence of tcgen05 makes the wait count. What a thread read may be
overwritten where it fenced behind the read and the one that issues the product is ordered after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.interpreters.sim.access import write_shared
from irc.interpreters.sim.clocks import NEVER, UNTOUCHED, WARP, agent_of, clock_of, lanes_of, op_of
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.memory import Array, RegisterArray
from irc.interpreters.sim.register_use import register_index
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Routine, Strand, Waiting
from irc.interpreters.sim.units import fail_at_end, kept
from irc.interpreters.sim.warp_matrices import active_warps
from irc.ir.locations import describe
from irc.layout.instructions import GROUP_WARPS
from irc.layout.tcgen05 import COLUMNS, ROWS

_COLUMN_BITS = 16
"""Of an address; the lane is above them."""


@dataclass(frozen=True)
class _Allocation:
    first: int
    columns: int
    lane: int
    op: Operation


class BlockTensors:
    """The Tensor Memory of a block of the frame."""

    def __init__(self, threads: int):
        self.data: Array = np.zeros((ROWS, COLUMNS), np.uint32)
        self.writes: Array = np.full(COLUMNS, UNTOUCHED, np.int64)
        """The keys of the products that wrote columns last."""
        self.issuers: Array = np.full(COLUMNS, -1)
        """The lanes that issued them."""
        self.reads: Array = np.full((threads, COLUMNS), UNTOUCHED, np.int64)
        """The keys of each thread's last reads, since products that came after them."""
        self.owned: list[_Allocation] = []
        self.is_closed = False
        """Whether the block gave up its right to allocate."""

    def free(self, columns: int) -> int | None:
        """The first of so many free columns, a multiple of their number."""
        for first in range(0, COLUMNS, columns):
            if all(each.first + each.columns <= first or first + columns <= each.first for each in self.owned):
                return first
        return None

    def allocation(self, first: int, columns: int) -> _Allocation | None:
        """The one that has all of these columns."""
        return next((a for a in self.owned if a.first <= first and first + columns <= a.first + a.columns), None)


class Tensors:
    """The Tensor Memory of a frame's blocks."""

    def __init__(self, frame: Frame):
        self.frame = frame
        self._blocks: dict[int, BlockTensors] = {}
        self.units: dict[int, int] = {}
        """The units that multiply for threads, by the thread's number in its cluster."""
        self._seen: dict[int, Array] = {}
        """For each unit what every lane knew of it at its last cuda.tcgen05_fence_after."""
        self.fenced: Array = np.full(frame.lane_count, NEVER, np.int64)
        """The clock of each lane at its last cuda.tcgen05_fence_before."""
        self._fences = 0
        self.before: Array = np.zeros(frame.lane_count, np.int64)
        self.after: Array = np.zeros(frame.lane_count, np.int64)
        """How many fences there had been at each lane's last one of either kind."""
        frame.units.at_end(self._check)

    def of(self, block: int) -> BlockTensors:
        if (found := self._blocks.get(block)) is None:
            found = self._blocks[block] = BlockTensors(self.frame.threads)
        return found

    def unit(self, lane: int) -> int:
        """The agent that multiplies for a lane."""
        thread = int(self.frame.clocks.agent[lane])
        if (found := self.units.get(thread)) is None:
            name = f"a tcgen05 product of thread {self.frame.thread[lane]}"
            found = self.units[thread] = self.frame.units.agent(("tcgen05", thread), name)
        return found

    def fence_before(self, lanes: Array) -> None:
        clocks = self.frame.clocks
        self.fenced[lanes] = clocks.clock[lanes]
        clocks.advance(lanes)
        self._fences += 1
        self.before[lanes] = self._fences

    def fence_after(self, lanes: Array) -> None:
        self._fences += 1
        self.after[lanes] = self._fences
        for unit in self.units.values():
            seen = self._seen.setdefault(unit, np.full(self.frame.lane_count, NEVER, np.int64))
            seen[lanes] = self.frame.clocks.known(lanes, np.full(len(lanes), unit))

    def has_seen(self, lanes: Array, keys: Array) -> Array:
        """For each lane whether a fence stands between the waits for all of these products and now."""
        result = np.ones(len(lanes), np.bool_)
        for unit in np.unique(agent_of(keys)).tolist():
            latest = clock_of(keys[agent_of(keys) == unit]).max()
            result &= self._seen[unit][lanes] >= latest if unit in self._seen else False
        return result

    def columns(self, s: Strand, op: Operation, address: int, columns: int, lane: int) -> tuple[BlockTensors, slice]:
        """Columns from an address on, of the lane's block; an error where they are not all of one allocation."""
        block, first = self.of(lane // self.frame.threads), address & (1 << _COLUMN_BITS) - 1
        if block.allocation(first, columns) is None:
            text = f"{op.name} of columns {first} to {first + columns - 1} of Tensor Memory, which are not allocated"
            s.fail("out of bounds", op, text, s.numbers == lane)
        return block, slice(first, first + columns)

    def require_written(self, s: Strand, op: Operation, keys: Array, wrong: Array) -> None:
        if (keys == UNTOUCHED).any():
            text = f"{op.name} reads columns of Tensor Memory that no product has written"
            s.fail("uninitialized", op, text, wrong)

    def require_complete(self, s: Strand, op: Operation, keys: Array, lanes: Array) -> None:
        """An error where products that left these keys may still run for one of the lanes."""
        keys = keys[keys != UNTOUCHED]
        unordered = self.frame.clocks.unordered(*np.broadcast_arrays(lanes[:, None], keys[None, :]))
        if unordered.any():
            key = int(keys[unordered.any(axis=0)][0])
            other = self.frame.code.accesses[int(op_of(key))]
            who = self.frame.agent_text(int(agent_of(key)))
            text = (
                f"{op.name} of Tensor Memory that {who} may still write: no wait for a cuda.tcgen05_commit "
                f"behind it ({other.name} at {describe(other.location)})"
            )
            s.fail("race", op, text, np.isin(s.numbers, lanes[unordered.any(axis=1)]))

    def require_read(self, s: Strand, op: Operation, block: BlockTensors, columns: slice, lane: int) -> None:
        """An error where threads may still read columns that an op of a lane overwrites or frees."""
        clocks = self.frame.clocks
        threads, at = np.nonzero(block.reads[:, columns])
        if not len(threads):
            return
        keys = block.reads[:, columns][threads, at]
        readers = lane // self.frame.threads * self.frame.threads + threads
        late = clocks.unordered(np.full(len(keys), lane), keys)
        if late.any():
            who = self.frame.thread[readers[late][0]]
            text = f"{op.name} of Tensor Memory that thread {who} may still read"
            s.fail("race", op, text, s.numbers == lane)
        if (unfenced := (readers != lane) & (self.fenced[readers] < clock_of(keys))).any():
            who = self.frame.thread[readers[unfenced][0]]
            text = f"{op.name} of Tensor Memory that thread {who} has read with no cuda.tcgen05_fence_before behind"
            s.fail("protocol", op, text, s.numbers == lane)
        if isinstance(op, cuda.Tcgen05MmaOp) and (self.after[lane] < self.before[readers[readers != lane]]).any():
            text = f"{op.name} of Tensor Memory that threads have read with no cuda.tcgen05_fence_after since they met"
            s.fail("protocol", op, text, s.numbers == lane)
        block.reads[:, columns] = UNTOUCHED

    def _check(self) -> None:
        for block in self._blocks.values():
            for left in block.owned:
                text = f"threads end without a cuda.tcgen05_dealloc of {left.columns} columns of Tensor Memory"
                fail_at_end(self.frame, left.op, np.array([left.lane]), text)


def tensors(s: Strand) -> Tensors:
    return kept(s, "tensor memory", lambda: Tensors(s.frame))


@simulates(cuda.Tcgen05AllocOp)
def alloc(s: Strand, op: cuda.Tcgen05AllocOp, address: Any) -> Routine:
    """Each warp that allocates waits for columns, and its first lane writes where they are."""
    table, columns = tensors(s), op.columns.value.data
    addresses = s.spread(address)
    for warp in active_warps(s, op).tolist():
        lane = warp * WARP
        block = table.of(lane // s.frame.threads)
        if block.is_closed:
            text = f"{op.name} by a block that has executed cuda.tcgen05_relinquish"
            s.fail("protocol", op, text, s.numbers // WARP == warp)
        if block.free(columns) is None:
            what = f"waits for {columns} free columns of Tensor Memory"
            yield Waiting(s, op, what, lambda block=block: block.free(columns) is not None)
        first = block.free(columns)
        assert first is not None
        block.owned.append(_Allocation(first, columns, lane, op))
        lanes, chosen = np.array([lane]), addresses[s.numbers == lane]
        byte_offsets = s.frame.shared_byte_offsets(s, op, chosen, 4, lanes=lanes)
        write_shared(s, op, byte_offsets, 4, None, lanes)
        s.frame.shared.table(np.dtype(np.uint32), 1)[byte_offsets // 4] = first


@simulates(cuda.Tcgen05DeallocOp)
def dealloc(s: Strand, op: cuda.Tcgen05DeallocOp, tensor: Any) -> None:
    table, columns = tensors(s), op.columns.value.data
    addresses = s.spread(tensor).astype(np.int64)
    for warp in active_warps(s, op).tolist():
        lane = warp * WARP
        first = int(addresses[s.numbers == lane][0])
        block = table.of(lane // s.frame.threads)
        found = next((each for each in block.owned if (each.first, each.columns) == (first, columns)), None)
        if found is None:
            text = f"{op.name} of {columns} columns from {first:#x} on, which are no allocation"
            s.fail("protocol", op, text, s.numbers // WARP == warp)
        part = slice(first, first + columns)
        table.require_complete(s, op, block.writes[part], np.array([lane]))
        table.require_read(s, op, block, part, lane)
        block.owned.remove(found)
        block.writes[part] = UNTOUCHED


@simulates(cuda.Tcgen05RelinquishOp)
def relinquish(s: Strand, op: cuda.Tcgen05RelinquishOp) -> None:
    for warp in active_warps(s, op).tolist():
        tensors(s).of(warp * WARP // s.frame.threads).is_closed = True


@simulates(cuda.Tcgen05LoadOp)
def load(s: Strand, op: cuda.Tcgen05LoadOp, tensor: Any, array: RegisterArray, index: Any) -> None:
    table, count, frame = tensors(s), op.count.value.data, s.frame
    at = register_index(s, op, array, index, count)
    addresses = s.spread(tensor).astype(np.int64)
    for warp in active_warps(s, op).tolist():
        lanes, mine = lanes_of(np.array([warp])), s.numbers // WARP == warp
        address = int(addresses[mine][0])
        if (addresses[mine] != address).any():
            s.fail("divergence", op, f"the address of {op.name} differs between the lanes of a warp", mine)
        row = warp * WARP % frame.threads // WARP % GROUP_WARPS * WARP
        if address >> _COLUMN_BITS != row:
            text = f"{op.name} from lane {address >> _COLUMN_BITS} of Tensor Memory, of which this warp has {row} on"
            s.fail("out of bounds", op, text, mine)
        block, part = table.columns(s, op, address, count, int(lanes[0]))
        keys = block.writes[part]
        table.require_written(s, op, keys, mine)
        table.require_complete(s, op, keys, lanes)
        if not (seen := table.has_seen(lanes, keys)).all():
            text = f"{op.name} with no cuda.tcgen05_fence_after since the wait for the product"
            s.fail("protocol", op, text, np.isin(s.numbers, lanes[~seen]))
        block.reads[lanes % frame.threads, part] = frame.clocks.key[lanes][:, None] + frame.code.number(op)
        content = block.data[row : row + WARP, part].view(array.data.dtype)
        array.data[at : at + count, lanes] = content.T


@simulates(cuda.Tcgen05FenceBeforeOp)
def fence_before(s: Strand, op: cuda.Tcgen05FenceBeforeOp) -> None:
    tensors(s).fence_before(s.numbers)


@simulates(cuda.Tcgen05FenceAfterOp)
def fence_after(s: Strand, op: cuda.Tcgen05FenceAfterOp) -> None:
    tensors(s).fence_after(s.numbers)
