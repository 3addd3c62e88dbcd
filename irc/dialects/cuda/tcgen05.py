"""The tensor cores of sm_100a: products whose accumulators are in Tensor Memory (PTX ISA, 9.7.16).

A warp allocates columns of Tensor Memory, one thread issues products on matrices in shared memory, an mbarrier says
when they are complete, and warps load what they gave: warp w those of lanes 32 (w mod 4) on. An address has the lane in
its upper 16 bits, and the column in its lower ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.async_ops import BareOp
from irc.dialects.cuda.common import FALSE, SHARED, AccessOp, check_one_of, check_registers
from irc.dialects.cuda.spelling import cpp, ptx
from irc.dialects.cuda.tensor_core import DescriptorBase
from irc.dialects.cuda.types import RegistersType, size_of
from irc.ir.operations import EffectOp
from irc.layout.tcgen05 import COLUMNS, LOADS, MIN_COLUMNS, OPERANDS, WIDTHS

_LAYOUTS = {0: 0, 128: 2, 64: 4, 32: 6}
"""The layout type of a descriptor by the swizzle's width (PTX ISA, 9.7.16.4.1, bits 61 to 63)."""


def _check_columns(columns: int) -> None:
    if columns & (columns - 1) or not MIN_COLUMNS <= columns <= COLUMNS:
        raise VerifyException(f"expected a power of two of {MIN_COLUMNS} to {COLUMNS} columns, found {columns}")


@ptx("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [{address}], {columns}", whole_warps=True)
class Tcgen05AllocOp(AccessOp):
    """Allocate columns of Tensor Memory, and write their address to 4 bytes of shared memory. Waits until there are so
    many. For one warp."""

    name = "cuda.tcgen05_alloc"
    address = operand_def(i32)
    columns = prop_def(IntegerAttr)
    assembly_format = "$address attr-dict"

    @property
    def accesses(self) -> Mapping[str, int]:
        return {SHARED: 4}

    def verify_(self) -> None:
        _check_columns(self.columns.value.data)


@ptx("tcgen05.dealloc.cta_group::1.sync.aligned.b32 {tensor}, {columns}", whole_warps=True)
class Tcgen05DeallocOp(EffectOp):
    """Free columns of Tensor Memory, all that were allocated at once. Every block frees what it has. For one warp."""

    name = "cuda.tcgen05_dealloc"
    tensor = operand_def(i32)
    columns = prop_def(IntegerAttr)
    assembly_format = "$tensor attr-dict"

    def verify_(self) -> None:
        _check_columns(self.columns.value.data)


@ptx("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", whole_warps=True)
class Tcgen05RelinquishOp(BareOp):
    """Say that the block allocates no more, so that another block of the SM can."""

    name = "cuda.tcgen05_relinquish"


@cpp(lambda op: f"tcgen05_descriptor({{address}}, {{leading}}, {{stride}}, {_LAYOUTS[op.swizzle.value.data]})")
class Tcgen05DescriptorOp(DescriptorBase):
    """The descriptor of a matrix in shared memory for tcgen05 (PTX ISA, 9.7.16.4.1): that of wgmma in other bits."""

    name = "cuda.tcgen05_descriptor"


@irdl_op_definition
class Tcgen05MmaOp(EffectOp):
    """The 128 x n accumulator at `tensor` (+)= a b, asynchronously, for the thread that issues it (PTX ISA,
    9.7.16.10.9 tcgen05.mma).

    `accumulate` false overwrites. `lhs_type` and `rhs_type` are element types (f32 means tf32), which tell the kind. A
    transposed operand is stored MN-major, which irc has for 16-bit types. Products of one thread are complete in the
    order of their issue.
    """

    name = "cuda.tcgen05_mma"
    tensor = operand_def(i32)
    lhs = operand_def(i64)
    rhs = operand_def(i64)
    accumulate = operand_def(i1)
    n = prop_def(IntegerAttr)
    lhs_type = prop_def(Attribute)
    rhs_type = prop_def(Attribute)
    transpose_lhs = prop_def(BoolAttr, default_value=FALSE)
    transpose_rhs = prop_def(BoolAttr, default_value=FALSE)
    assembly_format = "$tensor `,` $lhs `,` $rhs `,` $accumulate attr-dict"

    def verify_(self) -> None:
        n, lhs, rhs = self.n.value.data, str(self.lhs_type), str(self.rhs_type)
        check_one_of("the operand type of tcgen05", lhs, tuple(OPERANDS))
        kind = OPERANDS[lhs]
        allowed = tuple(kind.operands) if kind.is_mixed else (lhs,)
        check_one_of(f"the right operand's type beside {lhs}", rhs, allowed)
        if n not in WIDTHS:
            raise VerifyException(
                f"expected n to be a multiple of {WIDTHS.step} in {WIDTHS[0]}..{WIDTHS[-1]} for 128 rows, found {n}"
            )
        transposed = bool(self.transpose_lhs.value.data) or bool(self.transpose_rhs.value.data)
        if transposed and size_of(self.lhs_type) != 2:
            raise VerifyException(f"expected a transposed operand of 16-bit type, found {self.lhs_type}")


@ptx("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{address}]")
class Tcgen05CommitOp(EffectOp):
    """Have an mbarrier get one arrival when all products are complete that the thread has issued so far."""

    name = "cuda.tcgen05_commit"
    address = operand_def(i32)
    assembly_format = "$address attr-dict"


@irdl_op_definition
class Tcgen05LoadOp(EffectOp):
    """array[index : index + count] = `count` columns of the thread's lane from `tensor` on, whose lane is the warp's
    first (PTX ISA, 9.7.16.8.1 tcgen05.ld, .32x32b; it ends with tcgen05.wait::ld)."""

    name = "cuda.tcgen05_load"
    tensor = operand_def(i32)
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    count = prop_def(IntegerAttr)
    assembly_format = "$tensor `->` $array `[` $index `]` attr-dict `:` type($array)"

    def verify_(self) -> None:
        assert isinstance(self.array.type, RegistersType)
        check_one_of("the columns of cuda.tcgen05_load", self.count.value.data, LOADS)
        check_one_of("the accumulator's type", str(self.array.type.element), ("f32", "i32"))
        check_registers(self.name, self.array, self.index, self.count.value.data)


@ptx("tcgen05.fence::before_thread_sync")
class Tcgen05FenceBeforeOp(BareOp):
    """Order the thread's accesses to Tensor Memory before what synchronizes threads next."""

    name = "cuda.tcgen05_fence_before"


@ptx("tcgen05.fence::after_thread_sync")
class Tcgen05FenceAfterOp(BareOp):
    """Order the thread's accesses to Tensor Memory after what synchronized threads last."""

    name = "cuda.tcgen05_fence_after"
