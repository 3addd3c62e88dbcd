"""Index values that are read from memory: bounds of loops and coordinates that are data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.types import ViewType
from irc.ir.operations import BuiltOp


@irdl_op_definition
class LoadIndexOp(BuiltOp):
    """The element of a view of integers that is at these coordinates, as an index that all threads have: what is below
    `least`, 0 where that is absent, is `least`, and what is above `most` is `most`."""

    name = "tile.load_index"
    view = operand_def(ViewType)
    at = var_operand_def(IndexType)
    most = prop_def(IntegerAttr)
    least = opt_prop_def(IntegerAttr)
    result = result_def(IndexType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$view `[` $at `]` attr-dict `:` type($view)"

    def __init__(self, view: SSAValue, at: Sequence[SSAValue], most: int, least: int = 0):
        super().__init__(view, at, most, least or None)

    @property
    def most_value(self) -> int:
        return self.most.value.data

    @property
    def least_value(self) -> int:
        return 0 if self.least is None else self.least.value.data

    def verify_(self) -> None:
        assert isinstance(self.view.type, ViewType)
        if len(self.at) != self.view.type.rank or not isinstance(self.view.type.element_type, IntegerType):
            raise VerifyException(f"expected a view of integers of {len(self.at)} dimensions, found {self.view.type}")


@irdl_op_definition
class FindSegmentOp(BuiltOp):
    """The tile with a number, where tiles lie in segments whose ends are data.

    Segment i goes from end i - 1 to end i of the view, the first from 0 on; one more behind the last end goes up to
    `most`. Each is cut into tiles of `rows`, from its begin on, and all of these have numbers, one segment after the
    other. Gives the number of the tile's segment, the tile's first row, and where its segment ends. A number beyond all
    tiles has no rows: its first row is not before the end. Ends are clamped as `tile.load_index` clamps them, and a
    segment that ends before it begins has no tiles.
    """

    name = "tile.find_segment"
    ends = operand_def(ViewType)
    number = operand_def(IndexType)
    rows = prop_def(IntegerAttr)
    most = prop_def(IntegerAttr)
    segment = result_def(IndexType)
    first = result_def(IndexType)
    end = result_def(IndexType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$ends `[` $number `]` attr-dict `:` type($ends)"

    @property
    def count(self) -> int:
        """Segments that have an end in the view."""
        assert isinstance(self.ends.type, ViewType)
        return self.ends.type.get_shape()[0]

    @property
    def rows_value(self) -> int:
        return self.rows.value.data

    @property
    def most_value(self) -> int:
        return self.most.value.data

    def verify_(self) -> None:
        assert isinstance(self.ends.type, ViewType)
        if self.ends.type.rank != 1 or not isinstance(self.ends.type.element_type, IntegerType):
            raise VerifyException(f"expected a view of one dimension of integers, found {self.ends.type}")
        if self.rows_value < 1:
            raise VerifyException(f"expected tiles of 1 row or more, found {self.rows_value}")
