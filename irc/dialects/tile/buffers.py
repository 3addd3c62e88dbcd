"""Shared buffers: ops that make them, move tiles between them and registers, and name parts of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect

from irc.dialects.tile.checks import verify_box, verify_permuted, verify_same
from irc.dialects.tile.types import BufferType, element_type_of, shape_of
from irc.ir.operations import BuiltOp, PureOp
from irc.ir.properties import values_of


@irdl_op_definition
class AllocOp(BuiltOp):
    """A shared buffer of the block, of undefined content. `offset` in bytes is given by `plan-shared`."""

    name = "tile.alloc"
    offset = opt_prop_def(IntegerAttr)
    buffer = result_def(BufferType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, type: BufferType):
        super().__init__(buffer=type)


@irdl_op_definition
class ReadOp(BuiltOp):
    """Shared buffer -> registers."""

    name = "tile.read"
    buffer = operand_def(BufferType)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($result)"

    def verify_(self) -> None:
        verify_same("a tile of shape", shape_of(self.buffer.type), shape_of(self.result.type))
        verify_same("elements of type", element_type_of(self.buffer.type), element_type_of(self.result.type))


@irdl_op_definition
class WriteOp(BuiltOp):
    """Registers -> shared buffer."""

    name = "tile.write"
    tile = operand_def(TensorType)
    buffer = operand_def(BufferType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$tile `,` $buffer attr-dict `:` type($tile) `,` type($buffer)"

    def verify_(self) -> None:
        verify_same("a tile of shape", shape_of(self.buffer.type), shape_of(self.tile.type))
        verify_same("elements of type", element_type_of(self.buffer.type), element_type_of(self.tile.type))


class BufferAliasOp(PureOp):
    """A shared buffer, the one result, whose elements are some of those of another, the first operand, or all of
    them."""


@irdl_op_definition
class TransposeOp(BufferAliasOp):
    """A shared buffer whose dimension i is dimension `dims[i]` of another one: no element moves, as in
    `memref.transpose`. A dot reads along K what another one reads along N."""

    name = "tile.transpose"
    buffer = operand_def(BufferType)
    result = result_def(BufferType)
    dims = prop_def(DenseArrayBase)
    assembly_format = "$buffer attr-dict `:` type($buffer) `->` type($result)"

    @property
    def dim_values(self) -> tuple[int, ...]:
        return values_of(self.dims)

    def verify_(self) -> None:
        verify_permuted(self.buffer.type, self.dim_values, self.result.type)


@irdl_op_definition
class SubviewOp(BufferAliasOp):
    """A box of a shared buffer that begins at `at`, plus the index operands where there are any (one a dimension)."""

    name = "tile.subview"
    buffer = operand_def(BufferType)
    offsets = var_operand_def(IndexType)
    at = opt_prop_def(DenseArrayBase)
    result = result_def(BufferType)
    assembly_format = "$buffer (`[` $offsets^ `]`)? attr-dict `:` type($buffer) `->` type($result)"

    def __init__(
        self,
        buffer: SSAValue | Operation,
        at: Sequence[int],
        result_type: Attribute,
        offsets: Sequence[SSAValue] = (),
    ):
        super().__init__(buffer, offsets, at, result_type)

    def verify_(self) -> None:
        verify_box(self.buffer.type, self.result.type, values_of(self.at), len(self.offsets))
