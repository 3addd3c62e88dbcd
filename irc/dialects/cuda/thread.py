"""Where a thread is, and its registers."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParamAttrConstraint,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import check_registers
from irc.dialects.cuda.spelling import cpp
from irc.dialects.cuda.types import RegistersType
from irc.ir.operations import BuiltOp, PureOp
from irc.ir.properties import number


class PositionOp(PureOp):
    """An op without operands that gives an `index`."""

    result = result_def(IndexType)
    assembly_format = "attr-dict"


@cpp("({type})threadIdx.x")
class ThreadIdOp(PositionOp):
    """The thread's number in its block, `threadIdx.x`."""

    name = "cuda.thread_id"


@irdl_op_definition
class ClusterRankOp(PositionOp):
    """The block's number in its cluster, `%cluster_ctarank`; 0 without clusters."""

    name = "cuda.cluster_rank"


AXES = "xyz"


@cpp(lambda op: f"({{type}})blockIdx.{AXES[op.axis.value.data]}")
class BlockIdOp(PureOp):
    """The block's place in the grid along an axis, `blockIdx`: 0 is x, 1 is y, 2 is z."""

    name = "cuda.block_id"
    axis = prop_def(IntegerAttr, default_value=number(0))
    result = result_def(IndexType)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if self.axis.value.data not in (0, 1, 2):
            raise VerifyException(f"expected axis 0, 1 or 2, found {self.axis.value.data}")


class _Lane0Op(BuiltOp):
    """The value of lane 0 of a warp."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    result = result_def(T)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$value attr-dict `:` type($value)"


@cpp("__shfl_sync(0xffffffffu, {value}, 0)", whole_warps=True)
class WarpUniformOp(_Lane0Op):
    """The value of lane 0 for the whole warp: lets the compiler keep a value that is the same in all lanes in a
    uniform register."""

    name = "cuda.warp_uniform"


class NewArray(MemoryEffect):
    """The op allocates its result, and has no other effect: it can be removed where unused, and is never merged."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


@irdl_op_definition
class RegistersOp(BuiltOp):
    """An uninitialized register array. `align` is in bytes: 16 lets 16-byte accesses address it."""

    name = "cuda.registers"
    align = prop_def(IntegerAttr, default_value=number(16))
    result = result_def(RegistersType)
    traits = traits_def(NewArray())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, size: int | RegistersType, element: Attribute | None = None) -> None:
        """From a type, or a number of elements and their type."""
        if not isinstance(size, RegistersType):
            assert element is not None
            size = RegistersType(size, element)
        super().__init__(result=size)

    def verify_(self) -> None:
        if self.align.value.data not in (1, 2, 4, 8, 16):
            raise VerifyException(f"expected an alignment of 1, 2, 4, 8 or 16 bytes, found {self.align.value.data}")


@irdl_op_definition
class GetOp(BuiltOp):
    """One element of a register array; the index has to be a constant after unrolling."""

    name = "cuda.get"
    T: ClassVar = VarConstraint("T", AnyAttr())
    array = operand_def(ParamAttrConstraint(RegistersType, (AnyAttr(), T)))
    index = operand_def(IndexType)
    result = result_def(T)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$array `[` $index `]` attr-dict `:` type($array)"

    def __init__(self, array: SSAValue, index: SSAValue) -> None:
        assert isinstance(array.type, RegistersType)
        super().__init__(array, index, array.type.element)

    def verify_(self) -> None:
        check_registers("cuda.get", self.array, self.index, 1)


@irdl_op_definition
class SetOp(BuiltOp):
    """Write one element of a register array; the index has to be a constant after unrolling."""

    name = "cuda.set"
    T: ClassVar = VarConstraint("T", AnyAttr())
    array = operand_def(ParamAttrConstraint(RegistersType, (AnyAttr(), T)))
    index = operand_def(IndexType)
    value = operand_def(T)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$array `[` $index `]` `,` $value attr-dict `:` type($array)"

    def verify_(self) -> None:
        check_registers("cuda.set", self.array, self.index, 1)


@cpp("__shfl_sync(1u, {value}, 0)")
class FirstLaneOp(_Lane0Op):
    """The value of lane 0 of a warp, where no other lane runs: lets the compiler keep a value that a thread by itself
    has found in a uniform register."""

    name = "cuda.first_lane"
