"""Ops on tiles in registers. All are Pure; `dot` also reads shared buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, region_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_box, verify_permuted, verify_same
from irc.dialects.tile.control import verify_body
from irc.dialects.tile.types import SharedAttr, element_type_of, shape_of, verify_broadcast, verify_part
from irc.ir.operations import PureOp
from irc.ir.properties import values_of


@irdl_op_definition
class MapOp(PureOp):
    """Elementwise work: the scalar body runs for every element of the result.

    Operands have the result's rank; a dimension of extent 1 broadcasts. Scalars are signless: u8 is i8 with unsigned
    ops; `arith.fptosi` and `arith.fptoui` saturate and give 0 for NaN; `arith.truncf` to an f8 type saturates.
    """

    name = "tile.map"
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    body = region_def("single_block")

    assembly_format = "$inputs attr-dict `:` type($inputs) `->` type($result) $body"

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        result_type: Attribute,
        body: Region | None = None,
        location: LocationAttr | None = None,
    ):
        """Without a body, one with an empty block and its arguments is made."""
        if body is None:
            body = Region(Block(arg_types=[element_type_of(v.type) for v in inputs]))
        super().__init__(inputs, result_type, location, regions=[body])

    def verify_(self) -> None:
        shape = shape_of(self.result.type)
        for value in self.inputs:
            extents = shape_of(value.type)
            if len(extents) != len(shape) or any(n not in (1, m) for n, m in zip(extents, shape, strict=True)):
                raise VerifyException(f"expected operands that broadcast to {list(shape)}, found {list(extents)}")
            verify_broadcast(value.type, self.result.type)
        verify_body(self.body, [element_type_of(v.type) for v in self.inputs], [element_type_of(self.result.type)])


@irdl_op_definition
class IotaOp(PureOp):
    """`offset` + i along `axis`, a tile of `index` whose other extents are 1."""

    name = "tile.iota"
    offset = operand_def(IndexType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)

    assembly_format = "$offset attr-dict `:` type($result)"

    @property
    def axis_value(self) -> int:
        return self.axis.value.data

    def verify_(self) -> None:
        shape = shape_of(self.result.type)
        if not isinstance(element_type_of(self.result.type), IndexType):
            raise VerifyException(f"expected a tile of index, found {self.result.type}")
        if not 0 <= self.axis_value < len(shape):
            raise VerifyException(f"expected an axis below {len(shape)}, found {self.axis_value}")
        if any(n != 1 for i, n in enumerate(shape) if i != self.axis_value):
            raise VerifyException(f"expected extents of 1 except on axis {self.axis_value}, found {list(shape)}")


@irdl_op_definition
class SplatOp(PureOp):
    """A tile of one scalar."""

    name = "tile.splat"
    value = operand_def()
    result = result_def(TensorType)

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def verify_(self) -> None:
        verify_same("a scalar of type", element_type_of(self.result.type), self.value.type)


@irdl_op_definition
class SliceOp(PureOp):
    """The box of the result's shape at `at`, plus the index operands where there are any (one a dimension)."""

    name = "tile.slice"
    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    at = opt_prop_def(DenseArrayBase)
    result = result_def(TensorType)

    assembly_format = "$source (`[` $offsets^ `]`)? attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self,
        source: SSAValue,
        at: Sequence[int],
        result_type: Attribute,
        offsets: Sequence[SSAValue] = (),
        location: LocationAttr | None = None,
    ):
        super().__init__(source, offsets, at, result_type, location)

    @property
    def at_values(self) -> tuple[int, ...]:
        return values_of(self.at) or (0,) * len(shape_of(self.source.type))

    def verify_(self) -> None:
        verify_box(self.source.type, self.result.type, values_of(self.at), len(self.offsets))
        verify_part(self.result.type, self.source.type)


@irdl_op_definition
class ConcatOp(PureOp):
    """Tiles one after the other along `axis`."""

    name = "tile.concat"
    inputs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)

    assembly_format = "$inputs attr-dict `:` type($inputs) `->` type($result)"

    @property
    def axis_value(self) -> int:
        return self.axis.value.data

    def verify_(self) -> None:
        shapes = [shape_of(v.type) for v in self.inputs]
        axis = self.axis_value
        if not shapes or not 0 <= axis < len(shapes[0]):
            raise VerifyException(f"expected an axis of the operands, found {axis}")
        expected = list(shapes[0])
        expected[axis] = sum(s[axis] for s in shapes)
        verify_same("a result of shape", expected, list(shape_of(self.result.type)))
        for s in shapes:
            verify_same("an operand of shape", [*expected[:axis], s[axis], *expected[axis + 1 :]], list(s))


@irdl_op_definition
class PermuteOp(PureOp):
    """Result axis i is operand axis `dims[i]`, as numpy's transpose."""

    name = "tile.permute"
    source = operand_def(TensorType)
    dims = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    @property
    def dim_values(self) -> tuple[int, ...]:
        return values_of(self.dims)

    def verify_(self) -> None:
        verify_permuted(self.source.type, self.dim_values, self.result.type)


@irdl_op_definition
class ReshapeOp(PureOp):
    """The same elements in row-major order under another shape."""

    name = "tile.reshape"
    source = operand_def(TensorType)
    result = result_def(TensorType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        verify_same("a tile with elements:", prod(shape_of(self.source.type)), prod(shape_of(self.result.type)))


@irdl_op_definition
class ConvertOp(PureOp):
    """A change of layout, by an exchange through shared memory in the layout `through`; the cheapest one where it is
    absent."""

    name = "tile.convert"
    source = operand_def(TensorType)
    through = opt_prop_def(SharedAttr)
    result = result_def(TensorType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self,
        source: SSAValue,
        result_type: Attribute,
        through: SharedAttr | None = None,
        location: LocationAttr | None = None,
    ):
        super().__init__(source, through, result_type, location)

    def verify_(self) -> None:
        verify_same("a result of shape", shape_of(self.source.type), shape_of(self.result.type))
        verify_same("elements of type", element_type_of(self.source.type), element_type_of(self.result.type))
