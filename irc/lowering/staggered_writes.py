"""Accumulators of 4 bytes to rows of 128 swizzled bytes, without bank conflicts.

A thread has two neighbors of a row, and eight lanes with the same columns have eight rows. A store of 8 bytes is made
for 16 lanes at a time: four rows, two 16-byte units each. The swizzle XORs the row into the unit, so that rows 2r and
2r + 1 meet in the same pair of units. Threads of odd rows therefore begin with the columns half a row further on: each
of the four rows has a pair of units of its own, for a select a register.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.dialects import cuda
from irc.layout.fragment import Fragment, Mode
from irc.layout.shared import SharedLayout, Swizzle
from irc.lowering.values import Code, Registers

ELEMENT, PAIR, COLUMNS = 4, 2, 32
"""Bytes of an element, elements of a store, and of a row of the widest swizzle."""

APART = 16
"""Columns between the two that take turns: half a row."""

QUAD = 4
"""Lanes with the same row."""


def staggered_mode(fragment: Fragment, layout: SharedLayout, element_bytes: int) -> int | None:
    """The value mode along columns of accumulators that take turns; None where the tile is none of them, or its buffer
    has other rows."""
    lanes = (Mode(QUAD, 1, PAIR), Mode(8, 0, 1))
    if element_bytes != ELEMENT or fragment.threads[:2] != lanes or fragment.values[:1] != (Mode(PAIR, 1, 1),):
        return None
    if layout.swizzle != Swizzle(3, 2, 3) or layout.modes[1][:1] != ((COLUMNS, 1),):
        return None
    found = (at for at, mode in enumerate(fragment.values) if mode.dim == 1 and mode.step == PAIR * QUAD)
    return next((at for at in found if fragment.values[at].size % 4 == 0), None)


def split_mode(source: Registers, at: int) -> Registers:
    """The tile with the mode cut into three, of which the one that takes turns is the tile's last."""
    mode, stride = source.fragment.values[at], source.strides[at]
    parts = [Mode(2, 1, mode.step), Mode(mode.size // 4, 1, 4 * mode.step), Mode(2, 1, 2 * mode.step)]
    strides = [stride, 4 * stride, 2 * stride]
    kept, kept_strides = list(source.fragment.values), list(source.strides)
    values = [*kept[:at], *parts[:2], *kept[at + 1 :], parts[2]]
    fragment = Fragment(source.fragment.shape, source.fragment.threads, tuple(values))
    return Registers(
        source.array,
        fragment,
        (*kept_strides[:at], *strides[:2], *kept_strides[at + 1 :], strides[2]),
        source.base,
    )


def store_staggered(code: Code, source: Registers, components: list[SSAValue | int], address: SSAValue) -> None:
    """Two stores of a thread: `components` are those of a tile that `split_mode` gave, but for the last, and `address`
    is where the first of the two goes in even rows."""
    e = code.e
    is_odd = e.compare("eq", e.rem(e.div(code.group.thread, QUAD), 2), 1)
    pairs = [
        [code.element(source, source.fragment, [offset, *components[1:], turn]) for offset in range(PAIR)]
        for turn in range(2)
    ]
    array = e.value(cuda.RegistersOp(2 * PAIR, source.element))
    for turn in range(2):
        for offset in range(PAIR):
            chosen = e.value(arith.SelectOp(is_odd, pairs[1 - turn][offset], pairs[turn][offset]))
            e.insert(cuda.SetOp(array, e.index(turn * PAIR + offset), chosen))
    far = e.value(arith.XOrIOp(address, e.i32(APART * ELEMENT)))
    first, second = e.value(arith.SelectOp(is_odd, far, address)), e.value(arith.SelectOp(is_odd, address, far))
    for turn, place in enumerate((first, second)):
        e.insert(cuda.SharedStoreOp(place, array, e.index(turn * PAIR), count=PAIR))
