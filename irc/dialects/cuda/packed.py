"""Work on two 16-bit floats in one register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    IndexType,
    StringAttr,
    UnitAttr,
    i8,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import check_one_of, check_registers, element_of
from irc.dialects.cuda.types import RegistersType
from irc.ir.operations import EffectOp
from irc.ir.properties import values_of


@dataclass(frozen=True)
class Packed:
    """What is known of arithmetic on two elements.

    meaning: of arrays, before it is rounded.
    bf16, f16: the instruction in PTX with its operands: %0 is the result, %1 and %2 the elements, %3 the constant.
    constant: two elements of bf16 that its instruction takes besides.
    """

    meaning: Callable[..., Any]
    bf16: str
    f16: str
    constant: int | None = None


PACKED: dict[str, Packed] = {
    "addf": Packed(np.add, "fma.rn.bf16x2 %0, %1, %3, %2", "add.rn.f16x2 %0, %1, %2", 0x3F803F80),
    "subf": Packed(np.subtract, "fma.rn.bf16x2 %0, %2, %3, %1", "sub.rn.f16x2 %0, %1, %2", 0xBF80BF80),
    "mulf": Packed(np.multiply, "fma.rn.bf16x2 %0, %1, %2, %3", "mul.rn.f16x2 %0, %1, %2", 0x80008000),
    "maximumf": Packed(np.maximum, "max.NaN.bf16x2 %0, %1, %2", "max.NaN.f16x2 %0, %1, %2"),
    "minimumf": Packed(np.minimum, "min.NaN.bf16x2 %0, %1, %2", "min.NaN.f16x2 %0, %1, %2"),
}
"""By the op of `arith`; a maximum or minimum is NaN where either element is. Sums and products of bf16 are an fma with
1, -1 or -0: sm_80 has no other (PTX ISA, 9.7.4)."""

PAIR = 2

BYTE = 8

WORD = 4
"""Elements of 8 bits of a register."""


@irdl_op_definition
class PackedOp(EffectOp):
    """result[i], result[i + 1] = two elements of lhs and two of rhs, added, subtracted, multiplied or compared, each
    rounded once (PTX ISA, 9.7.4, half-precision floating-point instructions on f16x2 and bf16x2). The indices are
    even."""

    name = "cuda.packed"
    kind = prop_def(StringAttr)
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    lhs = operand_def(RegistersType)
    lhs_index = operand_def(IndexType)
    rhs = operand_def(RegistersType)
    rhs_index = operand_def(IndexType)
    assembly_format = (
        "$lhs `[` $lhs_index `]` `,` $rhs `[` $rhs_index `]` `->` $array `[` $index `]` attr-dict "
        "`:` type($lhs) `,` type($rhs) `->` type($array)"
    )

    def __init__(
        self,
        kind: str,
        lhs: tuple[SSAValue, SSAValue],
        rhs: tuple[SSAValue, SSAValue],
        result: tuple[SSAValue, SSAValue],
    ) -> None:
        """Of register arrays and indices."""
        super().__init__(kind, *result, *lhs, *rhs)

    def verify_(self) -> None:
        check_one_of("the kind of packed arithmetic", self.kind.data, tuple(PACKED))
        arrays = ((self.array, self.index), (self.lhs, self.lhs_index), (self.rhs, self.rhs_index))
        elements = {array.type.element for array, _ in arrays if isinstance(array.type, RegistersType)}
        if len(elements) > 1 or not all(isinstance(element, BFloat16Type | Float16Type) for element in elements):
            raise VerifyException(f"expected bf16 or f16 everywhere, found {', '.join(map(str, elements))}")
        for array, index in arrays:
            check_registers("cuda.packed", array, index, PAIR)


@irdl_op_definition
class PackedWidenOp(EffectOp):
    """result[i], result[i + 1] = two elements of the source, which have 8 bits: f8, or integers, with `unsigned` read
    as such. Both types of 16 bits have all of their values. With `bits` [first, count] it is that many bits of an
    integer, from the first on, that are read as a number. i is even, and the source has a multiple of 4 elements."""

    name = "cuda.packed_widen"
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    source = operand_def(RegistersType)
    lhs_index = operand_def(IndexType)
    rhs_index = operand_def(IndexType)
    unsigned = opt_prop_def(UnitAttr)
    bits = opt_prop_def(DenseArrayBase)
    assembly_format = (
        "$source `[` $lhs_index `,` $rhs_index `]` `->` $array `[` $index `]` attr-dict "
        "`:` type($source) `->` type($array)"
    )

    def __init__(
        self,
        source: SSAValue,
        lhs_index: SSAValue,
        rhs_index: SSAValue,
        result: tuple[SSAValue, SSAValue],
        *,
        unsigned: bool = False,
        bits: tuple[int, int] | None = None,
    ) -> None:
        """Of register arrays and indices."""
        super().__init__(*result, source, lhs_index, rhs_index, unsigned, bits)

    @property
    def field(self) -> tuple[int, int] | None:
        """The first of the bits that are read, and how many; None where all are."""
        if self.bits is None:
            return None
        first, count = values_of(self.bits)
        return first, count

    def verify_(self) -> None:
        source, target = element_of(self.source), element_of(self.array)
        if not isinstance(source, Float8E4M3FNType | Float8E5M2Type) and source != i8:
            raise VerifyException(f"expected i8 or f8 to widen, found {source}")
        if not isinstance(target, BFloat16Type | Float16Type):
            raise VerifyException(f"expected bf16 or f16 to widen to, found {target}")
        if self.bits is not None:
            self._check_bits(source, values_of(self.bits))
        check_registers("cuda.packed_widen", self.array, self.index, PAIR)
        assert isinstance(self.source.type, RegistersType)
        if self.source.type.count % WORD:
            raise VerifyException(f"expected a multiple of {WORD} elements to widen some, found {self.source.type}")
        for index in (self.lhs_index, self.rhs_index):
            check_registers("cuda.packed_widen", self.source, index, 1)

    @staticmethod
    def _check_bits(source: Attribute, bits: Sequence[int]) -> None:
        if source != i8:
            raise VerifyException(f"expected bits of i8, found {source}")
        if len(bits) != 2 or bits[0] < 0 or not 0 < bits[1] < BYTE or sum(bits) > BYTE:
            raise VerifyException(f"expected the first of some bits of {BYTE} and their number, found {list(bits)}")
