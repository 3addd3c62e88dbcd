"""setmaxnreg: warps give registers back to their block, and take them from what was given back (PTX ISA, 9.7.19.5)."""

from __future__ import annotations

import numpy as np

from irc.dialects import cuda
from irc.interpreters.sim.clocks import WARP
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Routine, Strand, Waiting
from irc.interpreters.sim.units import fail_at_end, kept
from irc.layout.instructions import GROUP_WARPS

REGISTERS = 65536
"""Of an SM, all architectures (CUDA C++ Programming Guide, technical specifications)."""

MAX_REGISTERS = 255
"""Registers of a thread that starts."""


class RegisterPool:
    """The registers of the blocks of a frame. A thread starts with as many as the launch bounds leave it: how many the
    compiler takes of them is not known here."""

    def __init__(self, frame: Frame):
        kernel = frame.code.kernel
        blocks = 1 if kernel.min_blocks is None else kernel.min_blocks.value.data
        start = min(MAX_REGISTERS, REGISTERS // (frame.threads * blocks)) // 8 * 8
        self.frame = frame
        self.held: Array = np.full(frame.lane_count // WARP, start)
        """Registers of a thread of each warp, at most."""
        self.free: Array = np.zeros(frame.block_count, np.int64)
        """Registers that each block has left."""
        self._ops: dict[int, cuda.SetRegistersOp] = {}
        frame.units.at_end(self._check)

    def needed(self, warps: Array, count: int) -> Array:
        """How many registers of each block these warps lack to have `count` a thread."""
        blocks = warps * WARP // self.frame.threads
        return np.bincount(blocks, (count - self.held[warps]) * WARP, minlength=self.frame.block_count).astype(np.int64)

    def change(self, op: cuda.SetRegistersOp, warps: Array, count: int) -> None:
        self.free -= self.needed(warps, count)
        self.held[warps] = count
        self._ops |= dict.fromkeys(warps.tolist(), op)

    def _check(self) -> None:
        """Warps of a group end with the same number."""
        for warp, op in self._ops.items():
            first = warp // GROUP_WARPS * GROUP_WARPS
            group = np.arange(first, min(first + GROUP_WARPS, len(self.held)))
            if (self.held[group] != self.held[warp]).any():
                lanes = self.frame.all_lanes[warp * WARP : (warp + 1) * WARP]
                fail_at_end(self.frame, op, lanes, f"{op.name} by some warps of a warp group alone")


@simulates(cuda.SetRegistersOp)
def set_registers(s: Strand, op: cuda.SetRegistersOp) -> Routine:
    """A warp that grows waits for others to shrink."""
    pool: RegisterPool = kept(s, "registers", lambda: RegisterPool(s.frame))
    warps, count = np.unique(s.numbers // WARP), op.count.value.data
    grows, wrong = bool(op.grow.value.data), pool.held[warps] < count
    if not grows and wrong.any():
        text = f"{op.name} gives registers back to keep {count}, but the warp has {pool.held[warps[wrong]][0]} at most"
        s.fail("protocol", op, text, np.isin(s.numbers // WARP, warps[wrong]))

    def is_there() -> bool:
        return bool((pool.free >= pool.needed(warps, count)).all())

    if grows and not is_there():
        yield Waiting(s, op, f"waits for {count} registers a thread, which its block does not have", is_there)
    pool.change(op, warps, count)
