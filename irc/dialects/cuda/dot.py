"""Products of matrices before `lower-dots`: what the threads of a group multiply together on tensor cores."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, StringAttr, UnitAttr, i1, i32
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    EqAttrConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import check_one_of, check_registers
from irc.dialects.cuda.types import RegistersType, size_of
from irc.dialects.layouts import SharedAttr
from irc.ir.operations import EffectOp, PureOp
from irc.ir.properties import number, values_of
from irc.layout.instructions import ATOMS, GROUP_WARPS, LANES, WGMMA_ROWS, wgmma_depth
from irc.layout.tcgen05 import OPERAND_BYTES, ROWS, WIDTHS

WGMMA, TCGEN05 = "wgmma", "tcgen05"


@irdl_attr_definition
class MatrixType(ParametrizedAttribute, TypeAttribute):
    """`!cuda.matrix<bf16, #tile.shared<...>>`: a matrix in shared memory, or a part of one, by the layout of the whole
    one."""

    name = "cuda.matrix"
    element: Attribute
    layout: SharedAttr

    def verify(self) -> None:
        size_of(self.element)
        if len(self.layout.data.shape) != 2:
            raise VerifyException(f"expected a layout of two dimensions, found {self.layout}")


@irdl_op_definition
class MatrixOp(PureOp):
    """The matrix that begins at a byte of shared memory, from the coordinates of its layout on that are given."""

    name = "cuda.matrix"
    address = operand_def(IndexType)
    origin = var_operand_def(IndexType)
    result = result_def(MatrixType)
    assembly_format = "$address `from` ` ` `[` $origin `]` attr-dict `:` type($result)"

    def __init__(self, address: SSAValue, origin: Sequence[SSAValue], type: MatrixType) -> None:
        super().__init__(address, origin, type)

    def verify_(self) -> None:
        if len(self.origin) != 2:
            raise VerifyException(f"expected a row and a column, found {len(self.origin)} coordinates")


@irdl_op_definition
class DotOp(EffectOp):
    """acc += a b, of the `m`, `n`, `k` in `shape`, by the warps of a group, side by side along M and along N as `warps`
    says. `thread` is the thread's number in the group. The accumulator is a thread's part of it, from an index on, as
    the instruction has it: `wgmma`, which goes on behind the op until `cuda.wgmma_wait`, or a shape of mma.sync.

    overwrites: acc = a b. unsigned: integers of 8 bits have no sign. tf32x3: operands of f32 are multiplied as three
    products of tf32. parts: so many groups of warps, each with a part of K and sums of its own. A wgmma has its left
    operand in shared memory or in registers, from an index on: for each 64 rows those of each step along K.

    Of `tcgen05` the accumulator is an address in Tensor Memory, from a column on, with those of each 128 rows side by
    side. adds: whether one that overwrites adds nevertheless. The group's first thread issues it, and it goes on behind
    the op until an mbarrier says that it is complete on which that thread has `cuda.tcgen05_commit` arrive.
    """

    name = "cuda.dot"
    accumulator = operand_def(BaseAttr(RegistersType) | EqAttrConstraint(i32))
    index = operand_def(IndexType)
    lhs = operand_def(BaseAttr(MatrixType) | BaseAttr(RegistersType))
    lhs_index = opt_operand_def(IndexType)
    rhs = operand_def(MatrixType)
    thread = operand_def(IndexType)
    adds = opt_operand_def(i1)
    shape = prop_def(DenseArrayBase)
    instruction = prop_def(StringAttr)
    warps = prop_def(DenseArrayBase)
    parts = prop_def(IntegerAttr, default_value=number(1))
    overwrites = opt_prop_def(UnitAttr)
    unsigned = opt_prop_def(UnitAttr)
    tf32x3 = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$accumulator `[` $index `]` `,` $lhs (`[` $lhs_index^ `]`)? `,` $rhs (`if` $adds^)? "
        "`by` $thread attr-dict "
        "`:` type($accumulator) `,` type($lhs) `,` type($rhs)"
    )

    @property
    def mnk(self) -> tuple[int, int, int]:
        m, n, k = values_of(self.shape)
        return m, n, k

    @property
    def warp_grid(self) -> tuple[int, int]:
        rows, columns = values_of(self.warps)
        return rows, columns

    @property
    def part_count(self) -> int:
        return self.parts.value.data

    @property
    def threads(self) -> int:
        """Of the group."""
        return LANES * self.part_count * prod(self.warp_grid)

    def verify_(self) -> None:
        instruction = self.instruction.data
        check_one_of("the instruction of a dot", instruction, (WGMMA, TCGEN05, *ATOMS))
        for what, count, of in (("extents", 3, self.shape), ("numbers of warps", 2, self.warps)):
            if len(of) != count or min(values_of(of)) < 1:
                raise VerifyException(f"expected {count} {what} of at least 1, found {list(values_of(of))}")
        if isinstance(self.lhs.type, RegistersType) != (self.lhs_index is not None):
            raise VerifyException("expected an index of a left operand in registers, and of no other")
        matrices = [each for each in (self.lhs, self.rhs) if isinstance(each.type, MatrixType)]
        if not all(isinstance(each.owner, MatrixOp) for each in matrices):
            raise VerifyException("expected the results of cuda.matrix")
        if isinstance(self.accumulator.type, RegistersType) == (instruction == TCGEN05):
            raise VerifyException("expected the sums of tcgen05 in Tensor Memory, and of no other instruction")
        if self.adds is not None and (instruction != TCGEN05 or self.overwrites is None):
            raise VerifyException("expected a dot of tcgen05 that overwrites where `adds` says whether it adds")
        units = {WGMMA: self._wgmma_unit, TCGEN05: self._tcgen05_unit}.get(instruction, self._atom_unit)()
        for name, extent, unit in zip("mnk", self.mnk, units, strict=True):
            if extent % unit:
                raise VerifyException(f"expected {name} to be a multiple of {unit} for {instruction}, found {extent}")
        (m, n, k), threads = self.mnk, LANES * prod(self.warp_grid)
        if instruction != TCGEN05:
            check_registers("cuda.dot", self.accumulator, self.index, m * n // threads)
        if self.lhs_index is not None:
            check_registers("cuda.dot", self.lhs, self.lhs_index, m * k // threads)

    def _wgmma_unit(self) -> tuple[int, int, int]:
        rows, columns = self.warp_grid
        if rows % GROUP_WARPS or columns != 1 or self.part_count > 1 or self.tf32x3 is not None:
            raise VerifyException("expected warp groups along M for wgmma, without parts and tf32x3")
        assert isinstance(self.rhs.type, MatrixType)
        return WGMMA_ROWS * rows // GROUP_WARPS, 8, wgmma_depth(size_of(self.rhs.type.element))

    def _tcgen05_unit(self) -> tuple[int, int, int]:
        if isinstance(self.lhs.type, RegistersType) or self.part_count > 1 or self.tf32x3 is not None:
            raise VerifyException("expected operands in shared memory for tcgen05, without parts and tf32x3")
        assert isinstance(self.rhs.type, MatrixType)
        if (n := self.mnk[1]) > WIDTHS[-1]:
            raise VerifyException(f"expected n to be at most {WIDTHS[-1]} for tcgen05, found {n}")
        return ROWS, WIDTHS.step, OPERAND_BYTES // size_of(self.rhs.type.element)

    def _atom_unit(self) -> tuple[int, int, int]:
        if isinstance(self.lhs.type, RegistersType) or self.overwrites is not None:
            raise VerifyException("expected operands in shared memory for mma, added to what there is")
        atom, (rows, columns) = ATOMS[self.instruction.data], self.warp_grid
        return atom.m * rows, atom.n * columns, atom.k * self.part_count
