"""Tickets: one thread adds to the counter, and leaves what was there to the others in shared memory."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from irc.dialects import cuda, tile
from irc.lowering.channels import channel_of, issuer
from irc.lowering.emitter import INDEX
from irc.lowering.values import Code


def lower_take_ticket(code: Code, op: tile.TakeTicketOp) -> None:
    """The thread that fills the stage arrives at its barrier, behind its write. Other threads of its partition read the
    ticket as those of a block do."""
    e, address = code.e, _address(code, op.buffer)
    word = e.value(cuda.RegistersOp(1, i32), "word")
    taker = issuer(code)
    if taker is not None:
        code.access("write")
    with e.when(taker):
        taken = e.value(cuda.AtomicOp("add", e.constant(1, i32), code.pointers[op.counter], e.index(0)))
        if taker is None:
            taken = e.value(cuda.FirstLaneOp(taken))
        e.insert(cuda.SetOp(word, e.index(0), taken))
        e.insert(cuda.SharedStoreOp(address, word, e.index(0)))
        if isinstance(op.buffer.owner, tile.AcquireOp):
            e.insert(cuda.BarrierArriveOp(channel_of(code, op.buffer).filling(code)))
    if taker is not None:
        code.access("read")
        e.insert(cuda.SharedLoadOp(address, word, e.index(0)))
    code.values[op.ticket] = _index(code, word)


def lower_read_ticket(code: Code, op: tile.ReadTicketOp) -> None:
    word = code.e.value(cuda.RegistersOp(1, i32), "word")
    code.e.insert(cuda.SharedLoadOp(_address(code, op.buffer), word, code.e.index(0)))
    code.values[op.ticket] = _index(code, word)


def _address(code: Code, buffer: SSAValue) -> SSAValue:
    return code.e.i32(code.buffer(buffer).address)


def _index(code: Code, word: SSAValue) -> SSAValue:
    return code.e.value(arith.IndexCastOp(code.e.value(cuda.GetOp(word, code.e.index(0))), INDEX), "ticket")
