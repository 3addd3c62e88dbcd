"""Lanes that take the elements of their runs in different orders (irc/layout/lane_swizzles.py)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.dialects import cuda
from irc.layout.lane_swizzles import LaneSwizzle, exchanged
from irc.lowering.emitter import Index
from irc.lowering.values import Code


class SwizzledRun:
    """A run of `length` elements, a power of two, of which every lane takes some in another place."""

    def __init__(self, code: Code, swizzle: LaneSwizzle, length: int) -> None:
        self.code = code
        self.swizzle = tuple(by % length for by in swizzle)

    @property
    def is_in_order(self) -> bool:
        return not any(self.swizzle)

    def positions(self, count: int) -> list[Index]:
        """The positions in the run that the thread takes one after the other."""
        if self.is_in_order:
            return list(range(count))
        e, moved, mask = self.code.e, self._moved(), sum(exchanged(self.swizzle))
        # What the swizzle changes of a position is found once for all with the same bits there.
        changed = {at & mask: e.xor(at & mask, moved) for at in range(count)}
        return [e.add(changed[at & mask], at & ~mask) for at in range(count)]

    def position(self, at: Index) -> Index:
        """The position that the thread takes in the place of another one."""
        return at if self.is_in_order else self.code.e.xor(at, self._moved())

    def put_in_order(self, array: SSAValue, registers: Sequence[Index]) -> None:
        """Exchanges the elements of a run, whose registers are given by position."""
        if self.is_in_order:
            return
        e, moved = self.code.e, self._moved()
        for by in exchanged(self.swizzle):
            is_moved = e.compare("ne", e.rem(e.div(moved, by), 2), 0)
            for low in (at for at in range(len(registers)) if not at & by):
                places = e.index(registers[low]), e.index(registers[low | by])
                a, b = (e.value(cuda.GetOp(array, place)) for place in places)
                e.insert(cuda.SetOp(array, places[0], e.value(arith.SelectOp(is_moved, b, a))))
                e.insert(cuda.SetOp(array, places[1], e.value(arith.SelectOp(is_moved, a, b))))

    def _moved(self) -> Index:
        """What the thread's lane XORs into positions."""
        e, thread = self.code.e, self.code.group.thread
        return reduce(
            e.xor, (e.mul(e.rem(e.div(thread, 1 << bit), 2), by) for bit, by in enumerate(self.swizzle) if by)
        )
