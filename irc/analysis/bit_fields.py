"""Bits of a byte that are read as a number of their own, as weights of 4 bits are."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.ir.properties import constant_of

WIDTH = 8


@dataclass(frozen=True)
class BitField:
    """The `count` bits of `source` from `first` on, as a number."""

    source: SSAValue
    first: int
    count: int
    unsigned: bool

    @property
    def is_whole(self) -> bool:
        return self.count == WIDTH


def bit_field(value: SSAValue, *, unsigned: bool) -> BitField:
    """What shifts by constants and a mask make an integer of 8 bits of, as a number that is `unsigned` or not; of any
    other one all of its own bits."""
    whole = BitField(value, 0, WIDTH, unsigned)
    match value.owner:
        case arith.ShRSIOp() | arith.ShRUIOp() as shift:
            found = _shifted(shift)
        case arith.AndIOp() as mask:
            found = _masked(mask)
        case _:
            return whole
    # A signed field that is read as unsigned has the bits of its sign besides.
    return whole if found is None or (unsigned and not found.unsigned) else found


def _shifted(op: arith.ShRSIOp | arith.ShRUIOp) -> BitField | None:
    """The upper bits of a byte, or of one that was shifted up."""
    source, up = op.lhs, 0
    if isinstance(op.lhs.owner, arith.ShLIOp) and (by := constant_of(op.lhs.owner.rhs)) is not None:
        source, up = op.lhs.owner.lhs, by
    down = constant_of(op.rhs)
    if down is None or not 0 <= up <= down < WIDTH or down == 0:
        return None
    return BitField(source, down - up, WIDTH - down, isinstance(op, arith.ShRUIOp))


def _masked(op: arith.AndIOp) -> BitField | None:
    """The lower bits of a byte or of a field."""
    mask = constant_of(op.rhs)
    if mask is None or mask <= 0 or mask & (mask + 1):
        return None
    inner, count = bit_field(op.lhs, unsigned=False), mask.bit_length()
    return BitField(inner.source, inner.first, count, True) if count <= inner.count else None
