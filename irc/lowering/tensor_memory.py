"""Sums in Tensor Memory: a block allocates columns for all its accumulators at once, products of tcgen05 go on with
them, and threads load them when a barrier says that they are complete."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i32
from xdsl.ir import Block, SSAValue

from irc.analysis.budgets import BARRIER_BYTES
from irc.dialects import cuda, tile
from irc.dialects.tile import element_type_of, fragment_layout
from irc.layout.instructions import LANES, WARP_GROUP
from irc.layout.tcgen05 import COLUMNS, ROWS, allocated, loads_of
from irc.lowering.memory import shared_start
from irc.lowering.values import Code, Lowered, Registers, Splat, Sums
from irc.scheduling.loops import trips
from irc.support.diagnostics import IrcError

LANE_BITS = 16
"""Of an address in Tensor Memory the lane is above them, and the column below (PTX ISA, 9.7.16.1)."""


def allocate(code: Code, accumulators: Sequence[tile.AccumulatorOp]) -> None:
    """The block's first warp allocates, and the first thread sets up barriers. All columns come at once, so that no two
    blocks of an SM wait for each other's."""
    e, columns = code.e, _columns(accumulators)
    slot = _start(code, accumulators[0], BARRIER_BYTES)
    with e.when(_is_first_warp(code)):
        e.insert(cuda.Tcgen05AllocOp(slot, columns))
        e.insert(cuda.Tcgen05RelinquishOp())
    with e.when(e.compare("eq", code.group.thread, 0)):
        for op in accumulators:
            e.insert(cuda.BarrierInitOp(_start(code, op), 1))
    e.insert(cuda.FenceBarrierInitOp())
    e.insert(cuda.Tcgen05FenceBeforeOp())
    code.sync("columns of Tensor Memory are allocated")
    e.insert(cuda.Tcgen05FenceAfterOp())
    found = e.value(cuda.RegistersOp(1, i32))
    e.insert(cuda.SharedLoadOp(slot, found, e.index(0)))
    tensor = e.value(cuda.GetOp(found, e.index(0)), "tensor")
    start = 0
    for op in accumulators:
        code.tensors[op.result] = e.value(arith.AddiOp(tensor, e.constant(start, i32))) if start else tensor
        start += _own_columns(op)


def free(code: Code, accumulators: Sequence[tile.AccumulatorOp]) -> None:
    """Frees what was allocated, when all threads have loaded what they need."""
    code.sync("sums in Tensor Memory are loaded")
    with code.e.when(_is_first_warp(code)):
        code.e.insert(cuda.Tcgen05DeallocOp(code.tensors[accumulators[0].result], _columns(accumulators)))


def _is_first_warp(code: Code) -> SSAValue:
    return code.e.compare("ult", code.group.thread, LANES)


def _columns(accumulators: Sequence[tile.AccumulatorOp]) -> int:
    """Of an allocation for all of them."""
    columns = allocated(sum(map(_own_columns, accumulators)))
    if columns > COLUMNS:
        raise IrcError(
            f"sums need {columns} columns of Tensor Memory, a block has {COLUMNS}",
            accumulators[0].location,
            "a smaller tile in its #kernel.config",
        )
    return columns


def _own_columns(op: tile.AccumulatorOp) -> int:
    assert isinstance(op.result.type, tile.AccumulatorType)
    return op.result.type.columns


def _start(code: Code, op: tile.AccumulatorOp, offset: int = 0) -> SSAValue:
    """The address of a byte of those that the accumulator has of shared memory: its barrier is first."""
    return shared_start(code, offset + (0 if op.offset is None else op.offset.value.data))


def enter(code: Code, op: tile.AccumulatorOp) -> None:
    """An accumulator of the threads that run the code from here on."""
    assert isinstance(op.result.type, tile.AccumulatorType)
    held = op.result.type.tile
    barrier, phase = _start(code, op), code.e.counter()
    sums = Sums(code.tensors[op.result], barrier, phase, fragment_layout(held), element_type_of(held))
    code.values[op.result] = sums


def lower_as_pending(code: Code, op: tile.AsPendingOp) -> None:
    code.values[op.result] = code.values[op.tile if op.sums is None else op.sums]


def adding(code: Code, acc: SSAValue) -> tuple[bool, SSAValue | None]:
    """Whether a dot that goes on with sums overwrites them, as the first one does; and whether it adds nevertheless,
    where it is the first one in the first step of loops alone."""
    begin = acc.owner
    if isinstance(begin, tile.AsPendingOp):
        if not _is_zero(code.values[begin.tile]):
            raise IrcError("sums in Tensor Memory begin with zero", begin.location, 'instruction = "mma"')
        return True, None
    if isinstance(begin, tile.DotOp):
        return False, None
    loop = begin.parent_op() if isinstance(begin, Block) else begin
    assert isinstance(loop, scf.ForOp)
    if not isinstance(begin, Block):
        if not trips(loop):
            raise IrcError("a loop that may have no step leaves no sums in Tensor Memory", loop.location)
        return False, None
    overwrites, others = adding(code, tile.carried_from(acc)[0])
    if not overwrites:
        return False, None
    is_later = code.e.compare("ne", code.scalar(loop.body.block.args[0]), code.scalar(loop.lb))
    return True, is_later if others is None else code.e.value(arith.OrIOp(is_later, others))


def _is_zero(known: Lowered) -> bool:
    if not isinstance(known, Splat) or not isinstance(known.scalar.owner, arith.ConstantOp):
        return False
    value = known.scalar.owner.value
    return isinstance(value, FloatAttr | IntegerAttr) and value.value.data == 0


def load(code: Code, sums: Sums, hint: str | None) -> Registers:
    """The sums in registers: they are complete when the products are that the group's first thread has issued, and may
    be overwritten when all threads of the group have loaded them."""
    e = code.e
    with e.when(e.compare("eq", code.group.thread, 0)):
        e.insert(cuda.Tcgen05CommitOp(sums.barrier))
    phase = e.read(sums.phase)
    e.insert(cuda.BarrierWaitOp(sums.barrier, e.i32(phase)))
    e.insert(cuda.SetOp(sums.phase, e.index(0), e.index(e.xor(phase, 1))))
    e.insert(cuda.Tcgen05FenceAfterOp())
    result = code.array(sums.fragment, sums.element, hint)
    _load(code, sums, result)
    e.insert(cuda.Tcgen05FenceBeforeOp())
    code.sync("sums in Tensor Memory are loaded")
    e.insert(cuda.Tcgen05FenceAfterOp())
    return result


def _load(code: Code, sums: Sums, result: Registers) -> None:
    """Runs of columns, the first of the thread's value modes, from the lanes of its warp."""
    e, fragment = code.e, sums.fragment
    warp = e.value(cuda.WarpUniformOp(e.index(e.div(code.group.thread, LANES))))
    lanes = e.mul(e.rem(warp, WARP_GROUP // LANES), LANES << LANE_BITS)
    groups = code.group.count // WARP_GROUP
    run, *others = fragment.values
    own = e.mul(e.div(warp, WARP_GROUP // LANES), run.size) if groups > 1 else 0
    columns = fragment.shape[1]
    start = e.value(arith.AddiOp(sums.tensor, e.i32(e.add(lanes, own))))
    at = 0
    for number in range(fragment.value_count // run.size):
        column, left = 0, number
        for mode in others:
            left, component = divmod(left, mode.size)
            column += component * (mode.step if mode.dim == 1 else mode.step // ROWS * columns)
        for width in loads_of(run.size):
            address = e.value(arith.AddiOp(start, e.constant(column, i32)))
            e.insert(cuda.Tcgen05LoadOp(address, result.array, e.index(at), count=width))
            at, column = at + width, column + width
