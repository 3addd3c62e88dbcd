"""Arithmetic on two 16-bit floats in one register."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, IndexType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import check_one_of, check_registers, effects
from irc.dialects.cuda.types import RegistersType

PACKED_KINDS = ("addf", "subf", "mulf", "maximumf", "minimumf")
"""Named as in `arith`; a maximum or minimum is NaN where either element is."""

PAIR = 2


@irdl_op_definition
class PackedOp(IRDLOperation):
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
    traits = traits_def(*effects())
    irdl_options = (ParsePropInAttrDict(),)
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
        super().__init__(operands=[*result, *lhs, *rhs], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        check_one_of("the kind of packed arithmetic", self.kind.data, PACKED_KINDS)
        arrays = ((self.array, self.index), (self.lhs, self.lhs_index), (self.rhs, self.rhs_index))
        elements = {array.type.element for array, _ in arrays if isinstance(array.type, RegistersType)}
        if len(elements) > 1 or not all(isinstance(element, BFloat16Type | Float16Type) for element in elements):
            raise VerifyException(f"expected bf16 or f16 everywhere, found {', '.join(map(str, elements))}")
        for array, index in arrays:
            check_registers("cuda.packed", array, index, PAIR)
