"""wgmma: products of a warp group (`irc/interpreters/sim/matrix_fragments.py` has the arithmetic).

The operands of a wgmma in shared memory are read by a unit of the warp group, from when it is issued until a wait
covers its group. Registers that one uses belong to it for as long: `RegisterUse` finds accesses in between, and those
that no fence orders before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from irc.dialects import cuda
from irc.interpreters.sim.clocks import WARP, lanes_of
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.matrix_fragments import (
    multiply_add,
    truncate_tf32,
    wgmma_accumulator_rows,
    wgmma_operand_rows,
)
from irc.interpreters.sim.memory import Array, RegisterArray
from irc.interpreters.sim.phases import waits_of
from irc.interpreters.sim.register_use import RegisterUse
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.shared_matrix import Descriptor
from irc.interpreters.sim.shared_operand import SharedOperand, at_addresses, decoded, described
from irc.interpreters.sim.strands import Strand
from irc.interpreters.sim.units import Groups, fail_at_end, kept
from irc.interpreters.sim.warp_matrices import (
    active_warps,
    gather_tiles,
    scatter_tiles,
    set_warp_registers,
    warp_registers,
)
from irc.layout.instructions import GROUP_WARPS, WARP_GROUP

ROWS = 16
"""Rows of a wgmma's left operand and accumulator that each of its warps has."""


@dataclass(frozen=True)
class _Issued:
    """What all warps of a group have to issue alike."""

    op: Operation
    operands: tuple[int, ...]


class Products:
    """The wgmmas of a frame. Issuers are warps, numbered in the frame."""

    def __init__(self, frame: Frame):
        warps = frame.lane_count // WARP
        self.frame = frame
        self.groups = Groups(warps)
        self.fences = np.zeros(warps, np.int64)
        """How often each warp has executed wgmma_fence."""
        self.op: Operation | None = None
        """The latest wgmma, for messages."""
        self._counts = np.zeros(warps, np.int64)
        self._issued: dict[int, list[_Issued]] = {}
        frame.units.at_end(self._check)

    def agent(self, warp: int) -> int:
        """The unit that reads shared memory for the warp's group."""
        block, inside = divmod(warp * WARP, self.frame.threads)
        group, rank = inside // (GROUP_WARPS * WARP), block % self.frame.grid.cluster_blocks
        return self.frame.units.agent(("wgmma", rank, group), f"a wgmma of warp group {group}")

    def is_first(self, s: Strand, op: Operation, warps: Array, operands: tuple[int, ...]) -> bool:
        """Note that warps of one group issue a product: whether they are the first; an error where the others issued
        another one."""
        group = int(warps[0]) // GROUP_WARPS
        issued = self._issued.setdefault(group, [])
        mine = _Issued(op, operands)
        first = False
        for warp in warps.tolist():
            number = int(self._counts[warp])
            self._counts[warp] += 1
            if number == len(issued):
                issued.append(mine)
                first = True
            elif issued[number] != mine:
                wrong = s.frame.warp[s.numbers] == warp
                s.fail("divergence", op, f"the warps of a warp group issue different {op.name}", wrong)
        return first

    def wait(self, s: Strand, warps: Array, pending: int) -> None:
        complete = self.groups.wait(warps, pending)
        lanes = s.frame.all_lanes.reshape(-1, WARP)
        for warp, count in zip(warps.tolist(), complete.tolist(), strict=True):
            if count:
                s.frame.clocks.learn(lanes[warp], self.agent(warp), count - 1)

    def _check(self) -> None:
        frame = self.frame
        if self.op is None:
            return
        for warp in self.groups.unfinished().tolist():
            lanes = frame.all_lanes[warp * WARP : (warp + 1) * WARP]
            fail_at_end(frame, self.op, lanes, "threads end without a cuda.wgmma_wait for all that they issued")
        for group, issued in self._issued.items():
            counts = self._counts[group * GROUP_WARPS : (group + 1) * GROUP_WARPS]
            if (counts != len(issued)).any():
                lanes = frame.all_lanes[group * GROUP_WARPS * WARP : (group + 1) * GROUP_WARPS * WARP]
                few = lanes.reshape(-1, WARP)[counts != len(issued)].reshape(-1)
                fail_at_end(frame, issued[-1].op, few, f"{self.op.name} without all four warps of its warp group")


def products(s: Strand) -> Products:
    return kept(s, "wgmma", lambda: Products(s.frame))


@simulates(cuda.DescriptorOp)
def descriptor(s: Strand, op: cuda.DescriptorOp, address: Any) -> Any:
    return at_addresses(described(op).encode(), address)


def _operand(
    s: Strand, op: Operation, bits: int, rows: int, type: Attribute, transposed: bool, warp: int
) -> SharedOperand:
    matrix = decoded(s, op, Descriptor.decode, bits)
    return SharedOperand(s, op, matrix, rows, type, transposed=transposed, block=warp * WARP // s.frame.threads)


def _by_group(s: Strand, op: Operation) -> list[Array]:
    """The active warps of each warp group."""
    if s.frame.threads % WARP_GROUP:
        s.fail("unsupported", op, f"{op.name} in blocks of {s.frame.threads} threads, which are no whole warp groups")
    warps = active_warps(s, op)
    return [warps[warps // GROUP_WARPS == group] for group in np.unique(warps // GROUP_WARPS)]


def _common(s: Strand, op: Operation, what: str, value: Any, warps: Array) -> int:
    """The integer that all lanes of some warps have."""
    if np.ndim(value) == 0:
        return int(value)
    found = value.reshape(-1, WARP)[warps].reshape(-1)
    if (found != found[0]).any():
        s.fail("divergence", op, f"{what} of {op.name} differs between the threads of a warp group")
    return int(found[0])


@simulates(cuda.WgmmaOp)
def wgmma(
    s: Strand, op: cuda.WgmmaOp, lhs: Any, accumulator: RegisterArray, index: Any, rhs: Any, accumulate: Any
) -> None:
    at = s.uniform(op, "a register's index", index)
    for warps in _by_group(s, op):
        bits = _common(s, op, "the left descriptor", lhs, warps)
        left = _operand(s, op, bits, GROUP_WARPS * ROWS, op.lhs_type, bool(op.transpose_lhs.value.data), int(warps[0]))

        def rows(warps: Array = warps, left: SharedOperand = left) -> Array:
            return left.read().reshape(GROUP_WARPS, ROWS, -1)[warps % GROUP_WARPS]

        _issue(s, op, warps, (accumulator, at), [(left, bits)], rhs, accumulate, rows)


@simulates(cuda.WgmmaRegistersOp)
def wgmma_registers(
    s: Strand,
    op: cuda.WgmmaRegistersOp,
    lhs: RegisterArray,
    lhs_index: Any,
    accumulator: RegisterArray,
    index: Any,
    rhs: Any,
    accumulate: Any,
) -> None:
    at, first = (s.uniform(op, "a register's index", i) for i in (index, lhs_index))
    fragment = wgmma_operand_rows(lhs.data.itemsize)
    for warps in _by_group(s, op):
        _use_of(lhs).issue(s, op, warps, first, fragment.value_count)

        def rows(warps: Array = warps) -> Array:
            tiles = gather_tiles(fragment, warp_registers(lhs, first, fragment.value_count, warps))
            return truncate_tf32(tiles) if tiles.itemsize == 4 else tiles

        _issue(s, op, warps, (accumulator, at), [], rhs, accumulate, rows)


def _issue(
    s: Strand,
    op: cuda.WgmmaOp | cuda.WgmmaRegistersOp,
    warps: Array,
    target: tuple[RegisterArray, int],
    shared: list[tuple[SharedOperand, int]],
    rhs: Any,
    accumulate: Any,
    rows: Callable[[], Array],
) -> None:
    """Start one product of (some warps of) a warp group: `rows` gives the left operand, warps x 16 x k."""
    table, n = products(s), op.n.value.data
    waits_of(s).multiply(lanes_of(warps))
    accumulator, at = target
    bits = _common(s, op, "the right descriptor", rhs, warps)
    adds = bool(_common(s, op, "the scale", accumulate, warps))
    right = _operand(s, op, bits, n, op.rhs_type, bool(op.transpose_rhs.value.data), int(warps[0]))
    shared = [*shared, (right, bits)]
    _use_of(accumulator).issue(s, op, warps, at, n // 2)
    table.op = op
    group = int(table.groups.committed[warps[0]])
    if table.is_first(s, op, warps, (*(b for _, b in shared), int(adds))):
        key = int(s.frame.clocks.async_key(table.agent(int(warps[0])), group))
        for operand, _ in shared:
            operand.check(s, op, int(warps[0]) * WARP, key)
    fragment = wgmma_accumulator_rows(n)

    def finish() -> None:
        before = np.zeros((len(warps), ROWS, n), accumulator.data.dtype)
        if adds:
            before = gather_tiles(fragment, warp_registers(accumulator, at, fragment.value_count, warps))
        after = multiply_add(rows(), right.read().T, before)
        set_warp_registers(accumulator, at, warps, scatter_tiles(fragment, after))

    # The warps that issue together wait together, so that what is pending can belong to the first.
    table.groups.issue(int(warps[0]), finish, lazy=s.frame.units.lazy)
    table.groups.note(warps)


def _use_of(array: RegisterArray) -> RegisterUse:
    assert array.use is not None
    return array.use


@simulates(cuda.WgmmaFenceOp)
def wgmma_fence(s: Strand, op: cuda.WgmmaFenceOp) -> None:
    products(s).fences[active_warps(s, op)] += 1


@simulates(cuda.WgmmaCommitOp)
def wgmma_commit(s: Strand, op: cuda.WgmmaCommitOp) -> None:
    products(s).groups.commit(active_warps(s, op))


@simulates(cuda.WgmmaWaitOp)
def wgmma_wait(s: Strand, op: cuda.WgmmaWaitOp) -> None:
    products(s).wait(s, active_warps(s, op), op.pending.value.data)


@simulates(cuda.RegistersFenceOp)
def registers_fence(s: Strand, op: cuda.RegistersFenceOp, array: RegisterArray) -> None:
    if array.use is not None:
        array.use.fence(np.unique(s.numbers // WARP))
