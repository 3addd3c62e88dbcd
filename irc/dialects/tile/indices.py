"""Index values that are read from memory: bounds of loops and coordinates that are data."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.types import ViewType
from irc.ir.properties import number


@irdl_op_definition
class LoadIndexOp(IRDLOperation):
    """Element `at` of a view of one dimension of integers, as an index that all threads have: what is below 0 is 0, and
    what is above `most` is `most`."""

    name = "tile.load_index"
    view = operand_def(ViewType)
    at = operand_def(IndexType)
    most = prop_def(IntegerAttr)
    result = result_def(IndexType)

    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view `[` $at `]` attr-dict `:` type($view)"

    def __init__(self, view: SSAValue, at: SSAValue, most: int):
        super().__init__(operands=[view, at], result_types=[IndexType()], properties={"most": number(most)})

    @property
    def most_value(self) -> int:
        return self.most.value.data

    def verify_(self) -> None:
        assert isinstance(self.view.type, ViewType)
        if self.view.type.rank != 1 or not isinstance(self.view.type.element_type, IntegerType):
            raise VerifyException(f"expected a view of one dimension of integers, found {self.view.type}")
