"""The `scalar` dialect: what `arith` and `math` have no op for, in the bodies of tile ops and in kernels."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Dialect
from xdsl.irdl import VarConstraint, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.irdl.constraints import AnyOf, BaseAttr

from irc.ir.operations import EffectOp, PureOp


@irdl_op_definition
class FmodOp(PureOp):
    """C's fmod of f32 or f64: lhs - n rhs for the integer n that is lhs / rhs towards 0, which is exact, with the sign
    of lhs. lhs where rhs is infinite; NaN where rhs is 0 or lhs is infinite."""

    T: ClassVar = VarConstraint("T", AnyOf((BaseAttr(Float32Type), BaseAttr(Float64Type))))

    name = "scalar.fmod"
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"


@irdl_op_definition
class CheckIndexOp(EffectOp):
    """An index that is low to high - 1, as the condition says. Where it does not hold the launch fails, with a message
    that has the bounds."""

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType))

    name = "scalar.check_index"
    index = operand_def(T)
    inside = operand_def(i1)
    low = prop_def(IntegerAttr.constr(type=i64))
    high = prop_def(IntegerAttr.constr(type=i64))
    result = result_def(T)
    assembly_format = "$index `,` $inside $low `to` $high attr-dict `:` type($result)"

    @property
    def expected(self) -> str:
        """What the messages say."""
        return f"{self.low.value.data} <= index < {self.high.value.data}"


Scalar = Dialect("scalar", [FmodOp, CheckIndexOp])
