"""Tensor cores: wgmma of a warp group (sm_90a) and mma of a warp (PTX ISA, 9.7.15 and 9.7.14)."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import EqAttrConstraint, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.async_ops import BareOp, PendingOp
from irc.dialects.cuda.common import FALSE, check_one_of, check_registers
from irc.dialects.cuda.spelling import cpp, ptx
from irc.dialects.cuda.types import SWIZZLES, RegistersType, size_of
from irc.ir.operations import EffectOp, PureOp
from irc.ir.properties import number
from irc.layout.instructions import ATOMS, MMA_OPERANDS, atoms_of, is_wgmma_width

WGMMA_DEPTH = {"bf16": 16, "f16": 16, "f32": 8, "i8": 32, "ui8": 32, "f8E4M3FN": 32, "f8E5M2": 32}
"""k of a wgmma by the type of its operands: 32 bytes. f32 operands are read as tf32."""

_LAYOUTS = {0: 0, 128: 1, 64: 2, 32: 3}
"""The layout type of a wgmma descriptor by the swizzle's width (PTX ISA, 9.7.15.5.1.2, bits 62 and 63)."""


class DescriptorBase(PureOp):
    """A descriptor of a matrix in shared memory: address, byte offsets, swizzle.

    K-major with swizzle 128: leading 16 (unused), stride the bytes between groups of 8 rows. MN-major: leading is the
    bytes between panels of the swizzle's width, stride those between groups of 8 k.
    """

    address = operand_def(i32)
    leading = prop_def(IntegerAttr)
    stride = prop_def(IntegerAttr)
    swizzle = prop_def(IntegerAttr, default_value=number(128))
    result = result_def(i64)
    assembly_format = "$address attr-dict"

    def verify_(self) -> None:
        check_one_of("swizzle", self.swizzle.value.data, SWIZZLES)
        for name, value in (("leading", self.leading.value.data), ("stride", self.stride.value.data)):
            if value % 16 or not 0 <= value < 2**18:
                raise VerifyException(f"expected {name} to be a multiple of 16 below 2^18, found {value}")


@cpp(lambda op: f"wgmma_descriptor({{address}}, {{leading}}, {{stride}}, {_LAYOUTS[op.swizzle.value.data]})")
class DescriptorOp(DescriptorBase):
    """The wgmma descriptor of a matrix in shared memory (PTX ISA, 9.7.15.5.1.2)."""

    name = "cuda.descriptor"


class WgmmaBase(EffectOp):
    """acc[index : index + 64 * n / 128] (+)= a b, asynchronously, by the 128 threads of a warp group.

    `accumulate` false overwrites. `lhs` and `rhs` are element types (f32 means tf32); a transposed operand is stored
    MN-major, which only 16-bit types can be.
    """

    accumulator = operand_def(RegistersType)
    index = operand_def(IndexType)
    rhs = operand_def(i64)
    accumulate = operand_def(EqAttrConstraint(i1) | EqAttrConstraint(i32))
    n = prop_def(IntegerAttr)
    k = prop_def(IntegerAttr)
    lhs_type = prop_def(Attribute)
    rhs_type = prop_def(Attribute)
    transpose_rhs = prop_def(BoolAttr, default_value=FALSE)

    def __init__(self, *operands: SSAValue, n: int, lhs_type: Attribute, **named: Any) -> None:
        """Without `k`, which follows from the operands' type."""
        super().__init__(*operands, n=n, k=WGMMA_DEPTH.get(str(lhs_type), 0), lhs_type=lhs_type, **named)

    def verify_wgmma(self) -> None:
        n, lhs, rhs = self.n.value.data, str(self.lhs_type), str(self.rhs_type)
        check_one_of("the operand type of wgmma", lhs, tuple(WGMMA_DEPTH))
        if lhs != rhs and not any(a in lhs and a in rhs for a in ("f8", "i8")):
            raise VerifyException(
                f"expected wgmma operands of one type, or both f8 or 8-bit integers, found {lhs} and {rhs}"
            )
        is_integer = "i8" in lhs
        if self.k.value.data != WGMMA_DEPTH[lhs]:
            raise VerifyException(f"expected k = {WGMMA_DEPTH[lhs]} for {lhs}, found {self.k.value.data}")
        if not is_wgmma_width(n, of_integers=is_integer):
            raise VerifyException(
                f"expected n to be a multiple of 8 in 8..256 (i8: 8, 24 or a multiple of 16), found {n}"
            )
        accumulator = self.accumulator.type
        assert isinstance(accumulator, RegistersType)
        allowed = ("i32",) if is_integer else ("f32", "f16") if lhs == "f16" else ("f32",)
        check_one_of("the accumulator's type", str(accumulator.element), allowed)
        check_registers("cuda.wgmma", self.accumulator, self.index, n // 2)


@irdl_op_definition
class WgmmaOp(WgmmaBase):
    """wgmma.mma_async m64nNkK with both operands in shared memory, given by descriptors (PTX ISA, 9.7.15.5.2)."""

    name = "cuda.wgmma"
    lhs = operand_def(i64)
    transpose_lhs = prop_def(BoolAttr, default_value=FALSE)
    assembly_format = (
        "$accumulator `[` $index `]` `,` $lhs `,` $rhs `,` $accumulate attr-dict "
        "`:` type($accumulator) `,` type($accumulate)"
    )

    def verify_(self) -> None:
        self.verify_wgmma()
        transposed = bool(self.transpose_lhs.value.data) or bool(self.transpose_rhs.value.data)
        if transposed and size_of(self.lhs_type) != 2:
            raise VerifyException(f"expected a transposed operand of 16-bit type, found {self.lhs_type}")


@irdl_op_definition
class WgmmaRegistersOp(WgmmaBase):
    """wgmma with the left operand in registers: the thread's 32 * k / 64 elements from lhs[lhs_index], two 16-bit
    ones in a register."""

    name = "cuda.wgmma_registers"
    lhs = operand_def(RegistersType)
    lhs_index = operand_def(IndexType)
    assembly_format = (
        "$accumulator `[` $index `]` `,` $lhs `[` $lhs_index `]` `,` $rhs `,` $accumulate attr-dict "
        "`:` type($accumulator) `,` type($lhs) `,` type($accumulate)"
    )

    def verify_(self) -> None:
        self.verify_wgmma()
        assert isinstance(self.lhs.type, RegistersType)
        if self.lhs.type.element != self.lhs_type:
            raise VerifyException(f"expected registers of {self.lhs_type}, found {self.lhs.type}")
        if self.transpose_rhs.value.data and size_of(self.lhs_type) != 2:
            raise VerifyException(f"expected a transposed operand of 16-bit type, found {self.rhs_type}")
        check_registers("cuda.wgmma_registers", self.lhs, self.lhs_index, 16 // size_of(self.lhs_type))


@ptx("wgmma.fence.sync.aligned", whole_warps=True)
class WgmmaFenceOp(BareOp):
    """Order the warp group's register accesses before its next wgmma (wgmma.fence)."""

    name = "cuda.wgmma_fence"


@ptx("wgmma.commit_group.sync.aligned", whole_warps=True)
class WgmmaCommitOp(BareOp):
    """Make the warp group's wgmmas since the last commit one group."""

    name = "cuda.wgmma_commit"


@ptx("wgmma.wait_group.sync.aligned {pending}", whole_warps=True)
class WgmmaWaitOp(PendingOp):
    """Wait until at most `pending` of the warp group's latest wgmma groups are incomplete."""

    name = "cuda.wgmma_wait"


@cpp("registers_fence({array})")
class RegistersFenceOp(EffectOp):
    """Keep the compiler from moving accesses to a register array over this point: wgmma writes it behind the
    compiler's back."""

    name = "cuda.registers_fence"
    array = operand_def(RegistersType)
    assembly_format = "$array attr-dict `:` type($array)"


@irdl_op_definition
class MmaOp(EffectOp):
    """acc += a b by one warp, mma.sync (PTX ISA, 9.7.14.5), on slices of register arrays of the operands' own types.

    m16n8k16 and m16n8k8_b16 on bf16, f16; m16n8k8 on f32 rounded to tf32, or `truncated` to it; m16n8k32 and
    m16n8k16_b8 on i8 (`unsigned_lhs`, `unsigned_rhs` for u8); m8n8k4 on f64, and from sm_90 on m16n8k8.
    """

    name = "cuda.mma"
    accumulator = operand_def(RegistersType)
    index = operand_def(IndexType)
    lhs = operand_def(RegistersType)
    lhs_index = operand_def(IndexType)
    rhs = operand_def(RegistersType)
    rhs_index = operand_def(IndexType)
    instruction = prop_def(StringAttr)
    unsigned_lhs = prop_def(BoolAttr, default_value=FALSE)
    unsigned_rhs = prop_def(BoolAttr, default_value=FALSE)
    truncated = prop_def(BoolAttr, default_value=FALSE)
    assembly_format = (
        "$accumulator `[` $index `]` `,` $lhs `[` $lhs_index `]` `,` $rhs `[` $rhs_index `]` attr-dict "
        "`:` type($accumulator) `,` type($lhs) `,` type($rhs)"
    )

    def verify_(self) -> None:
        accumulator, lhs, rhs = self.accumulator.type, self.lhs.type, self.rhs.type
        assert isinstance(accumulator, RegistersType)
        assert isinstance(lhs, RegistersType)
        assert isinstance(rhs, RegistersType)
        element = str(lhs.element)
        check_one_of("the operand type of mma", element, MMA_OPERANDS)
        if lhs.element != rhs.element:
            raise VerifyException(f"expected mma operands of one type, found {lhs.element} and {rhs.element}")
        check_one_of(f"the instruction for {element}", self.instruction.data, [atom.name for atom in atoms_of(element)])
        atom = ATOMS[self.instruction.data]
        check_one_of("the accumulator's type", str(accumulator.element), atom.accumulators[element])
        slices = ((self.lhs, self.lhs_index), (self.rhs, self.rhs_index), (self.accumulator, self.index))
        for (array, index), count in zip(slices, atom.held, strict=True):
            check_registers("cuda.mma", array, index, count)
