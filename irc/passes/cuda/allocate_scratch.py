"""`allocate-scratch`: where in shared memory exchanges between threads lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.rewriter import Rewriter

from irc.analysis.invariants import SCRATCH_ALLOCATED, THREADS
from irc.analysis.resources import check_shared
from irc.dialects.cuda import KernelOp, ScratchOp, SharedOp
from irc.ir.blocks import ops_in
from irc.ir.properties import number
from irc.ir.targets import target_of
from irc.lowering.kernels import KernelPass
from irc.support.integers import round_up

ROTATION = 4096
"""Bytes through which small exchanges rotate: one need not wait for the readers of another."""

ALIGNMENT = 128
"""Bytes that the scratch memory of some threads is a multiple of."""


@dataclass(frozen=True)
class AllocateScratchPass(KernelPass):
    """`cuda.scratch` becomes an address in shared memory, behind what the kernel has there.

    Threads that run beside each other have scratch memory of their own. Exchanges of the same threads begin at the same
    byte; small ones follow each other in it. Those of partitions lie behind the others where there is room, so that the
    exchanges inside of warps wait for no other warp.
    """

    name = "allocate-scratch"
    requires = (THREADS,)
    establishes = (SCRATCH_ALLOCATED,)

    def run(self, kernel: KernelOp) -> None:
        groups: dict[int | None, list[ScratchOp]] = {}
        for op in [each for each in ops_in(kernel) if isinstance(each, ScratchOp)]:
            groups.setdefault(None if op.barrier is None else op.barrier.value.data, []).append(op)
        base = 0 if kernel.shared is None else kernel.shared.value.data
        apart = _apart(groups, target_of(kernel).shared_memory - base)
        for ops in groups.values():
            base += round_up(_place(ops, base, apart), ALIGNMENT)
        check_shared(kernel, kernel.symbol, base)
        if groups:
            kernel.properties["shared"] = number(base)


def _apart(groups: dict[int | None, list[ScratchOp]], room: int) -> int:
    """The bytes of large exchanges in front of the small ones; 0 where they share their first byte."""
    if not any(barrier is not None for barrier in groups):
        return 0
    large = [op.bytes.value.data for ops in groups.values() for op in ops if op.rotates is None]
    size = round_up(max(large, default=0), ALIGNMENT)
    return size if len(groups) * (size + ROTATION) <= room else 0


def _place(ops: Sequence[ScratchOp], base: int, apart: int) -> int:
    """Places the exchanges of some threads from `base` on; gives the bytes that they take."""
    size = behind = 0
    for op in ops:
        at, taken = 0, op.bytes.value.data
        if op.rotates is not None:
            behind = behind if behind + taken <= ROTATION else 0
            at, behind = apart + behind, behind + round_up(taken, 16)
        size = max(size, at + taken)
        address = SharedOp(base + at)
        address.location = op.location
        Rewriter.replace_op(op, address)
    return size
