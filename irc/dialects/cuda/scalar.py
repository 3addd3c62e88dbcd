"""What `arith` and `math` have no scalar op for."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.irdl.constraints import AnyOf, BaseAttr
from xdsl.traits import Pure


@irdl_op_definition
class FmodOp(IRDLOperation):
    """C's fmod of f32 or f64: lhs - n rhs for the integer n that is lhs / rhs towards 0, which is exact, with the sign
    of lhs. lhs where rhs is infinite; NaN where rhs is 0 or lhs is infinite."""

    T: ClassVar = VarConstraint("T", AnyOf((BaseAttr(Float32Type), BaseAttr(Float64Type))))

    name = "cuda.fmod"
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])
