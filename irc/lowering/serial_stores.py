"""Stores that add one part after the other: a thread waits for the semaphore of the tile, all add, and it counts on to
the next part."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from irc.dialects import cuda, tile
from irc.lowering.emitter import Index
from irc.lowering.values import Code
from irc.support.semaphores import SEMAPHORE_ELEMENTS


@contextmanager
def serialized(code: Code, op: tile.StoreOp) -> Generator[None]:
    """What is inside runs when the parts before the store's are added; then the next may follow. The last leaves 0."""
    own = op.own_part
    if own is None:
        yield
        return
    e, (part, semaphores, count) = code.e, own
    assert isinstance(semaphores.type, tile.ViewType)
    at: Index = 0
    for offset, stride in zip(op.offsets, semaphores.type.get_strides(), strict=True):
        at = e.add(at, e.mul(e.div(code.scalar(offset), SEMAPHORE_ELEMENTS), stride))
    number, word, pointer = code.scalar(part), e.index(at), code.pointers[semaphores]
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
