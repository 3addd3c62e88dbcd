"""Reductions and scans of tiles."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_same
from irc.dialects.tile.control import verify_body
from irc.dialects.tile.memory import StoreOp
from irc.dialects.tile.types import element_type_of, shape_of, verify_broadcast, verify_folded
from irc.ir.operations import PureOp
from irc.ir.properties import values_of


class CombinerOp(PureOp):
    """What `reduce` and `scan` share: a body (accumulated..., element...) -> values,
    associative, over operands of one shape."""

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        along: int | Sequence[int],
        result_types: Sequence[Attribute],
        body: Region | None = None,
        location: LocationAttr | None = None,
    ):
        """along: the axis or the axes. Without a body, one with an empty block and its arguments is made."""
        body = body if body is not None else _combiner_region(inputs)
        super().__init__(inputs, along, outputs=result_types, location=location, regions=[body])

    @property
    def is_stored(self) -> bool:
        """Whether nothing but stores uses the results."""
        return all(isinstance(use.operation, StoreOp) for value in self.outputs for use in value.uses)

    def verify_combiner(self) -> None:
        if not self.inputs or len(self.inputs) != len(self.outputs):
            raise VerifyException(
                f"expected a result for each operand, found {len(self.outputs)} of {len(self.inputs)}"
            )
        for value in self.inputs:
            verify_same("operands of shape", shape_of(self.inputs[0].type), shape_of(value.type))
        types = [element_type_of(v.type) for v in self.inputs]
        verify_body(self.body, types + types, types)


def _combiner_region(inputs: Sequence[SSAValue]) -> Region:
    types = [element_type_of(v.type) for v in inputs]
    return Region(Block(arg_types=types + types))


@irdl_op_definition
class ReduceOp(CombinerOp):
    """Combines over `axes`; results keep them with extent 1. Every axis has at least one element.

    `neutral` has, for each operand, a value that the combiner leaves as it is: lowering may pad with it.
    """

    name = "tile.reduce"
    axes = prop_def(DenseArrayBase)
    neutral = opt_prop_def(ArrayAttr[Attribute])
    assembly_format = "$inputs attr-dict `:` type($inputs) `->` type($outputs) $body"

    @property
    def axis_values(self) -> tuple[int, ...]:
        return values_of(self.axes)

    def verify_(self) -> None:
        self.verify_combiner()
        shape = shape_of(self.inputs[0].type)
        if any(not 0 <= a < len(shape) for a in self.axis_values):
            raise VerifyException(f"expected axes below {len(shape)}, found {list(self.axis_values)}")
        expected = tuple(1 if i in self.axis_values else n for i, n in enumerate(shape))
        for output in self.outputs:
            verify_same("results of shape", expected, shape_of(output.type))
            verify_broadcast(output.type, self.inputs[0].type)
        if self.neutral is not None:
            verify_same("a neutral value for each operand:", len(self.inputs), len(self.neutral))


@irdl_op_definition
class FoldOp(CombinerOp):
    """Each thread combines those of its elements that differ along `axes` alone; results have an element for each
    thread along them. `reduce` of what it gives is `reduce` of its operands: a loop folds, and threads meet behind it.
    """

    name = "tile.fold"
    axes = prop_def(DenseArrayBase)
    assembly_format = "$inputs attr-dict `:` type($inputs) `->` type($outputs) $body"

    @property
    def axis_values(self) -> tuple[int, ...]:
        return values_of(self.axes)

    def verify_(self) -> None:
        self.verify_combiner()
        for one, whole in zip(self.outputs, self.inputs, strict=True):
            verify_folded(one.type, whole.type, self.axis_values)


@irdl_op_definition
class UnfoldOp(PureOp):
    """Gives each element the one that its thread has along `axes`, as `fold` left it."""

    name = "tile.unfold"
    source = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    result = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    @property
    def axis_values(self) -> tuple[int, ...]:
        return values_of(self.axes)

    def verify_(self) -> None:
        verify_same("a result of", element_type_of(self.source.type), element_type_of(self.result.type))
        verify_folded(self.source.type, self.result.type, self.axis_values)


@irdl_op_definition
class ScanOp(CombinerOp):
    """The inclusive scan along `axis`: element i combines elements 0 to i."""

    name = "tile.scan"
    axis = prop_def(IntegerAttr)
    assembly_format = "$inputs attr-dict `:` type($inputs) `->` type($outputs) $body"

    @property
    def axis_value(self) -> int:
        return self.axis.value.data

    def verify_(self) -> None:
        self.verify_combiner()
        shape = shape_of(self.inputs[0].type)
        if not 0 <= self.axis_value < len(shape):
            raise VerifyException(f"expected an axis below {len(shape)}, found {self.axis_value}")
        for output in self.outputs:
            verify_same("results of shape", shape, shape_of(output.type))
