"""Stores that add in turn: a thread waits for the word of the tile, all add, and the word goes on to the next store."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from irc.dialects import cuda, tile
from irc.lowering.emitter import Index
from irc.lowering.values import Code
from irc.support.turns import TURN_ELEMENTS


@contextmanager
def in_turn(code: Code, op: tile.StoreOp) -> Generator[None]:
    """What is inside runs when the store's turn has come; afterwards it is the next one's. The last leaves 0."""
    own = op.own_turn
    if own is None:
        yield
        return
    e, (turn, turns, count) = code.e, own
    assert isinstance(turns.type, tile.ViewType)
    at: Index = 0
    for offset, stride in zip(op.offsets, turns.type.get_strides(), strict=True):
        at = e.add(at, e.mul(e.div(code.scalar(offset), TURN_ELEMENTS), stride))
    number, word, pointer = code.scalar(turn), e.index(at), code.pointers[turns]
    # A store before this one of the same thread may be of the same word.
    code.sync("a turn is taken")
    is_first = e.compare("eq", code.group.thread, 0)
    with e.when(is_first):
        e.insert(cuda.AwaitOp(pointer, word, e.i32(number)))
    code.sync("the turn has come")
    yield
    code.sync("all have added")
    with e.when(is_first):
        # Of what the block did before the barrier, too: fences are cumulative.
        e.insert(cuda.FenceOp("device"))
        after = e.select(e.compare("eq", number, count - 1), 1 - count, 1)
        e.insert(cuda.AtomicOp("add", e.i32(after), pointer, word))
