"""The matrix instructions of tcgen05 (sm_100a): what each kind multiplies, and the bits that say so.

Accumulators are in Tensor Memory: of each block 128 lanes of 512 columns of 32 bits. A product has 128 rows, of which
row i is lane i, and column j of it is column j from its address on (PTX ISA, 9.7.16.10.5 "Data path layout").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irc.layout.fragment import Fragment, Mode
from irc.support.integers import power_of_two

ROWS = 128
"""Lanes of Tensor Memory, and rows of a product of one block."""

COLUMNS = 512
"""Columns of Tensor Memory, of 32 bits."""

MIN_COLUMNS = 32
"""Columns of an allocation at least; each has a power of two (PTX ISA, 9.7.16.7 tcgen05.alloc)."""

OPERAND_BYTES = 32
"""Bytes along K that one instruction multiplies."""

WIDTHS = range(16, 257, 16)
"""Columns of a product of 128 rows (PTX ISA, 9.7.16.2.1 "Matrix shape")."""

LOADS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Columns that a warp loads at once, of its 32 lanes (PTX ISA, 9.7.16.8 tcgen05.ld, .32x32b)."""


@dataclass(frozen=True)
class Kind:
    """A kind of instruction. operands: the codes of the types that both operands can have, as the IR spells them;
    accumulator: the type of the sums, and its code. is_mixed: whether the two operands may differ."""

    name: str
    operands: Mapping[str, int]
    accumulator: str
    accumulator_code: int
    is_mixed: bool = False


KINDS: tuple[Kind, ...] = (
    Kind("f16", {"f16": 0, "bf16": 1}, "f32", 1),
    Kind("tf32", {"f32": 2}, "f32", 1),
    Kind("f8f6f4", {"f8E4M3FN": 0, "f8E5M2": 1}, "f32", 1, is_mixed=True),
    Kind("i8", {"ui8": 0, "i8": 1}, "i32", 2, is_mixed=True),
)
"""Rows of the table; f32 operands are read as tf32 (PTX ISA, 9.7.16.2.2 and 9.7.16.4.2)."""

ACCUMULATORS = tuple(dict.fromkeys(kind.accumulator for kind in KINDS))
"""The types of sums."""

OPERANDS: Mapping[str, Kind] = {element: kind for kind in KINDS for element in kind.operands}
"""The kind that multiplies operands of a type."""


def accumulator(shape: tuple[int, int], groups: int, part: int) -> Fragment:
    """The sums as warp groups load them: a thread has a row of each 128. Of each `part` columns, groups have their
    share of columns side by side."""
    rows, columns = shape
    threads = [Mode(ROWS, 0, 1), Mode(groups, 1, part // groups)]
    values = [Mode(part // groups, 1, 1), Mode(columns // part, 1, part), Mode(rows // ROWS, 0, ROWS)]
    return Fragment(shape, tuple(m for m in threads if m.size > 1), tuple(v for v in values if v.size > 1))


def loads_of(columns: int) -> list[int]:
    """The widths of loads, the widest first, of so many columns."""
    found: list[int] = []
    for width in reversed(LOADS):
        count, columns = divmod(columns, width)
        found += [width] * count
    return found


def allocated(columns: int) -> int:
    """The columns of an allocation that has so many."""
    return max(MIN_COLUMNS, power_of_two(columns))


def instruction_descriptor(n: int, lhs: str, rhs: str, *, transpose_lhs: bool, transpose_rhs: bool) -> int:
    """The 32 bits that say shape, types and majors of a product (PTX ISA, 9.7.16.4.2 "Instruction descriptor")."""
    kind = OPERANDS[lhs]
    types = kind.accumulator_code << 4 | kind.operands[lhs] << 7 | kind.operands[rhs] << 10
    return types | transpose_lhs << 15 | transpose_rhs << 16 | n // 8 << 17 | ROWS // 16 << 24
