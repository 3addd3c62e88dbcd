"""Products of matrices in groups, whose sizes are data: those of experts, each for as many rows as it was given."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from irc.dialects.nd.base import (
    INTEGER,
    NUMBER,
    Location,
    NdOp,
    Operand,
    element_of,
    int_prop,
    integer,
    normalized,
    rank_of,
    shape_of,
    tensor,
)
from irc.dialects.nd.linear import PRECISIONS
from irc.ir.dtypes import Element
from irc.ir.iteration import Iteration, IterationDim, IterationInterface, Kind, Pattern, Segments, access, dim_exprs


@irdl_op_definition
class GroupedMatmulOp(NdOp, IterationInterface):
    """A matrix product for each group of neighboring rows. Group g ends before row `ends[g]` and begins where group
    g - 1 ends, the first at row 0; `ends` does not fall, and what is outside of the array counts as its end.

    With three axes of rhs it has a matrix for each group, along its axis `rhs_group`: a row of lhs is multiplied by
    that of its group. The result is [rows, columns]; rows of no group are 0. With two axes of rhs the rows are what is
    contracted: the result is [groups, free axis of lhs, free axis of rhs], and 0 for an empty group. That is the
    gradient of the first form with regard to its matrices. `lhs_contract` and `rhs_contract` are the contracted axes.
    Types and precisions are those of `nd.matmul`.
    """

    name = "nd.grouped_matmul"
    PATTERN: ClassVar[Pattern] = Pattern.GROUPED
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    ends = operand_def(TensorType)
    result = result_def(TensorType)
    lhs_contract = int_prop(1)
    rhs_contract = int_prop()
    rhs_group = int_prop(0)
    precision = prop_def(StringAttr, default_value=StringAttr("default"))

    def __init__(
        self,
        lhs: Operand,
        rhs: Operand,
        ends: Operand,
        *,
        lhs_contract: int = 1,
        rhs_contract: int | None = None,
        rhs_group: int = 0,
        element: Attribute | Element | None = None,
        precision: str = "default",
        location: Location | None = None,
    ):
        rank = rank_of(rhs)
        properties = {
            "lhs_contract": normalized(lhs_contract, rank_of(lhs)),
            "rhs_contract": normalized(rank - 2 if rhs_contract is None else rhs_contract, rank),
            "rhs_group": normalized(rhs_group, rank),
            "precision": precision,
        }
        numbers = (properties["lhs_contract"], properties["rhs_contract"], properties["rhs_group"])
        shape = grouped_shape(shape_of(lhs), shape_of(rhs), shape_of(ends), *map(int, numbers))
        self.setup([lhs, rhs, ends], [tensor(shape, element or element_of(lhs))], properties, location)

    @property
    def contracts_rows(self) -> bool:
        """Whether the rows that are in groups are what is contracted."""
        return rank_of(self.rhs) == 2

    @property
    def lhs_free(self) -> int:
        return 1 - integer(self.lhs_contract)

    @property
    def rhs_free(self) -> int:
        taken = {integer(self.rhs_contract)} if self.contracts_rows else self._taken
        return next(axis for axis in range(rank_of(self.rhs)) if axis not in taken)

    @property
    def _taken(self) -> set[int]:
        return {integer(self.rhs_contract), integer(self.rhs_group)}

    def iteration(self) -> Iteration:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        dims = (
            IterationDim("b", 0, shape_of(self.ends)[0]),
            IterationDim("m", 0, lhs[self.lhs_free]),
            IterationDim("n", 0, rhs[self.rhs_free]),
            IterationDim("k", 0, lhs[integer(self.lhs_contract)], Kind.REDUCE, "sum"),
        )
        b, m, n, k = dim_exprs(4)
        left = {self.lhs_free: m, integer(self.lhs_contract): k}
        right = {integer(self.rhs_group): b, self.rhs_free: n, integer(self.rhs_contract): k}
        sides = [[left[axis] for axis in range(2)], [right[axis] for axis in range(len(rhs))], [b]]
        stored = (b, m, n) if self.contracts_rows else (m, n)
        segments = Segments(along=3 if self.contracts_rows else 1, number=0, ends=2)
        return Iteration(dims, tuple(access(4, side) for side in sides), AffineMap(4, 0, stored), segments)

    def check(self) -> None:
        if rank_of(self.lhs) != 2 or rank_of(self.rhs) not in (2, 3) or rank_of(self.ends) != 1:
            found = f"{self.lhs.type}, {self.rhs.type} and {self.ends.type}"
            raise self.fail(f"expects a matrix, a matrix or one for each group, and the groups' ends, found {found}")
        elements = [element_of(value) for value in (self.lhs, self.rhs)]
        if elements[0] is not elements[1] and not all(e.is_float and e.size == 1 for e in elements):
            raise self.fail(f"expects operands with one element type, found {self.lhs.type} and {self.rhs.type}")
        self.check_element(self.lhs, NUMBER)
        self.check_element(self.ends, INTEGER)
        self.check_element(self.result, NUMBER, " result")
        if self.precision.data not in PRECISIONS:
            raise self.fail(f'expects a precision of {", ".join(PRECISIONS)}, found "{self.precision.data}"')
        self._check_axes()

    def _check_axes(self) -> None:
        lhs, rhs, ends = shape_of(self.lhs), shape_of(self.rhs), shape_of(self.ends)
        self.check_axis(integer(self.lhs_contract), len(lhs), "a contracted axis of lhs")
        self.check_axis(integer(self.rhs_contract), len(rhs), "a contracted axis of rhs")
        self.check_axis(integer(self.rhs_group), len(rhs), "an axis of groups of rhs")
        if not self.contracts_rows and len(self._taken) == 1:
            raise self.fail(f"expects other axes for groups than for what is contracted, found {len(rhs)} axes of rhs")
        if not ends[0]:
            raise self.fail("expects a group or more, found none")
        if not self.contracts_rows and rhs[integer(self.rhs_group)] != ends[0]:
            raise self.fail(f"expects a matrix for each of {ends[0]} groups, found {self.rhs.type}")
        contracted = lhs[integer(self.lhs_contract)], rhs[integer(self.rhs_contract)]
        if contracted[0] != contracted[1]:
            raise self.fail(f"expects contracted axes of one extent, found {contracted[0]} and {contracted[1]}")
        numbers = (integer(each) for each in (self.lhs_contract, self.rhs_contract, self.rhs_group))
        self.check_result_shape(grouped_shape(lhs, rhs, ends, *numbers))


def grouped_shape(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    ends: tuple[int, ...],
    lhs_contract: int,
    rhs_contract: int,
    rhs_group: int,
) -> tuple[int, ...]:
    """The result shape of a grouped product: rows and columns, or groups before them where rows are contracted."""
    taken = {rhs_contract} if len(rhs) == 2 else {rhs_contract, rhs_group}
    free = tuple(extent for axis, extent in enumerate(lhs) if axis != lhs_contract)
    columns = tuple(extent for axis, extent in enumerate(rhs) if axis not in taken)
    return (*(ends if len(rhs) == 2 else ()), *free, *columns)
