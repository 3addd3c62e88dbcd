"""Products of tcgen05: one thread issues them, a unit of it reads shared memory and writes Tensor Memory until a commit
says on an mbarrier that all are complete (`irc/interpreters/sim/tensor_memory.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.dialects.cuda.async_ops import BARRIER_BYTES
from irc.interpreters.sim.clocks import merged
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.matrix_fragments import multiply_add
from irc.interpreters.sim.mbarriers import barrier_at, barriers_of, require_fenced
from irc.interpreters.sim.phases import waits_of
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.shared_matrix import Descriptor
from irc.interpreters.sim.shared_operand import SharedOperand, at_addresses, decoded, described
from irc.interpreters.sim.strands import Strand
from irc.interpreters.sim.tensor_memory import tensors
from irc.interpreters.sim.units import Groups, fail_at_end, kept
from irc.layout.tcgen05 import OPERANDS, ROWS


class _Issued:
    """The products of a frame's lanes: those up to a commit are a group."""

    def __init__(self, frame: Frame):
        self.frame = frame
        self.groups = Groups(frame.lane_count)
        self.ops: dict[int, Operation] = {}
        """The latest product of each lane."""
        frame.units.at_end(self._check)

    def _check(self) -> None:
        for lane in self.groups.unfinished().tolist():
            text = "a thread ends with no cuda.tcgen05_commit for products that it issued"
            fail_at_end(self.frame, self.ops[lane], np.array([lane]), text)


def _issued(s: Strand) -> _Issued:
    return kept(s, "tcgen05", lambda: _Issued(s.frame))


def _issuers(s: Strand, op: Operation) -> list[int]:
    """The active lanes: one of a block."""
    lanes = s.numbers
    if len(np.unique(lanes // s.frame.threads)) < len(lanes):
        s.fail("divergence", op, f"{op.name} is for one thread, others run it too")
    return lanes.tolist()


@simulates(cuda.Tcgen05DescriptorOp)
def descriptor(s: Strand, op: cuda.Tcgen05DescriptorOp, address: Any) -> Any:
    return at_addresses(described(op).encode_tcgen05(), address)


@simulates(cuda.Tcgen05MmaOp)
def mma(s: Strand, op: cuda.Tcgen05MmaOp, tensor: Any, lhs: Any, rhs: Any, accumulate: Any) -> None:
    values = (s.spread(each) for each in (tensor, lhs, rhs, accumulate))
    for lane, address, left, right, adds in zip(_issuers(s, op), *(each.tolist() for each in values), strict=True):
        _multiply(s, op, lane, address, (left, right), adds=bool(adds))


def _multiply(s: Strand, op: cuda.Tcgen05MmaOp, lane: int, address: int, bits: tuple[int, int], *, adds: bool) -> None:
    frame, table, issued, n = s.frame, tensors(s), _issued(s), op.n.value.data
    block, columns = table.columns(s, op, address, n, lane)
    if address >> 16:
        text = f"{op.name} from lane {address >> 16} of Tensor Memory: its {ROWS} rows begin at lane 0"
        s.fail("out of bounds", op, text, s.numbers == lane)
    before = block.writes[columns]
    if adds:
        table.require_written(s, op, before, s.numbers == lane)
    table.require_complete(s, op, before[block.issuers[columns] != lane], np.array([lane]))
    table.require_read(s, op, block, columns, lane)
    group = int(issued.groups.committed[lane])
    key = int(frame.clocks.async_key(table.unit(lane), group))
    rows = (ROWS, n)
    types = ((op.lhs_type, op.transpose_lhs), (op.rhs_type, op.transpose_rhs))
    operands: list[SharedOperand] = []
    for each, count, (type, transposed) in zip(bits, rows, types, strict=True):
        matrix = decoded(s, op, Descriptor.decode_tcgen05, each)
        is_transposed = bool(transposed.value.data)
        operand = SharedOperand(s, op, matrix, count, type, transposed=is_transposed, block=lane // frame.threads)
        operand.check(s, op, lane, key)
        operands.append(operand)
    block.writes[columns] = key + frame.code.number(op)
    block.issuers[columns] = lane
    dtype = np.dtype({"f32": np.float32, "i32": np.int32}[OPERANDS[str(op.lhs_type)].accumulator])

    def finish() -> None:
        a, b = (operand.read() for operand in operands)
        sums = block.data[:, columns].view(dtype)
        sums[...] = multiply_add(a, b.T, sums if adds else np.zeros_like(sums))

    issued.ops[lane] = op
    issued.groups.issue(lane, finish, lazy=frame.units.lazy)


@simulates(cuda.Tcgen05CommitOp)
def commit(s: Strand, op: cuda.Tcgen05CommitOp, address: Any) -> None:
    byte_offsets = s.frame.shared_byte_offsets(s, op, s.spread(address), BARRIER_BYTES)
    for lane, byte_offset in zip(_issuers(s, op), byte_offsets.tolist(), strict=True):
        _commit(s, op, lane, byte_offset)


def _commit(s: Strand, op: cuda.Tcgen05CommitOp, lane: int, byte_offset: int) -> None:
    """The arrival makes known what the products did, and that what they read had come, by TMA; and nothing of what the
    thread did itself."""
    groups, unit, one = _issued(s).groups, tensors(s).unit(lane), np.array([lane])
    barrier = barrier_at(s, op, byte_offset, one)
    require_fenced(s, op, barrier, one)
    group = int(groups.committed[lane])
    groups.commit(one)
    waits_of(s).commit(lane, unit, group)
    row = s.frame.clocks.asynchronous(lane)
    row[:, unit] = group

    def land() -> None:
        groups.wait(one, int(groups.committed[lane]) - 1 - group)
        barrier.arrived = merged(barrier.arrived, row)
        barriers_of(s).count(s, op, barrier, one, barrier.state.arrive)

    s.frame.units.start(land)
