"""Collectives: what the ranks of a mesh do together. Each is a step of the plan, not a part of a kernel.

`over` names axes of the mesh, comma-separated. Ranks that differ along these axes alone are a group. The ranks of a
group are numbered by their coordinates along `over`, the last name fastest. The sizes are known from the mesh
(`irc.mesh` of the module), and here from the shapes.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def, var_result_def

from irc.dialects.nd.base import Location, NdOp, Operand, element_of, rank_of, shape_of, tensor, type_of

MONOIDS = ("sum", "prod", "max", "min")
"""What joins the arrays of several ranks."""


class CollectiveOp(NdOp, ABC):
    """An op that the ranks of a group do together: each runs it, in the same order."""

    over = prop_def(StringAttr)

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        """The axes of the mesh that the group runs along."""
        return tuple(self.over.data.split(","))

    def check(self) -> None:
        axes = self.mesh_axes
        if not all(axes) or len(set(axes)) != len(axes):
            raise self.fail(f"expects distinct names of axes of a mesh, found {self.over}")
        self.check_collective()

    def check_collective(self) -> None:
        """Raises VerifyException where types and properties disagree."""

    def check_monoid(self, monoid: str, values: Sequence[SSAValue]) -> None:
        """One of those that ranks are joined by, of elements that have it."""
        if monoid not in MONOIDS:
            raise self.fail(f"expects one of {', '.join(MONOIDS)}, found {monoid}")
        for value in values:
            if monoid in ("sum", "prod") and element_of(value).kind == "bool":
                raise self.fail(f"expects numbers to {monoid}, found {value.type}")


@irdl_op_definition
class AllReduceOp(CollectiveOp):
    """For each operand what the monoid makes of it over the ranks of the group; each rank has all of it. Several
    operands are one exchange. f16, bf16 and f8 are rounded after each addition."""

    name = "nd.all_reduce"
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    monoid = prop_def(StringAttr)

    def __init__(
        self, inputs: Sequence[Operand], monoid: str, over: Sequence[str], *, location: Location | None = None
    ):
        properties = {"monoid": monoid, "over": ",".join(over)}
        self.setup([inputs], [[type_of(x) for x in inputs]], properties, location)

    def check_collective(self) -> None:
        self.check_monoid(self.monoid.data, self.inputs)
        if not self.inputs:
            raise self.fail("expects one operand or more, found none")
        if [x.type for x in self.inputs] != [x.type for x in self.outputs]:
            raise self.fail("expects results of the types of its operands")
        if len({element_of(x).name for x in self.inputs}) > 1:
            raise self.fail("expects operands of one element type")


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """The arrays of the ranks of the group, one behind the other along the first axis, on each rank."""

    name = "nd.all_gather"
    x = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, over: Sequence[str], size: int, *, location: Location | None = None):
        """size: the number of ranks."""
        first, *others = shape_of(x)
        self.setup([x], [tensor([first * size, *others], element_of(x))], {"over": ",".join(over)}, location)

    def check_collective(self) -> None:
        _check_parts(self, self.x, self.result)


@irdl_op_definition
class ReduceScatterOp(CollectiveOp):
    """This rank's part, along the first axis, of what the monoid makes of the arrays of the ranks of the group."""

    name = "nd.reduce_scatter"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    monoid = prop_def(StringAttr)

    def __init__(self, x: Operand, monoid: str, over: Sequence[str], size: int, *, location: Location | None = None):
        """size: the number of ranks."""
        first, *others = shape_of(x)
        properties = {"monoid": monoid, "over": ",".join(over)}
        self.setup([x], [tensor([first // size, *others], element_of(x))], properties, location)

    def check_collective(self) -> None:
        self.check_monoid(self.monoid.data, [self.x])
        _check_parts(self, self.result, self.x)


def _check_parts(op: CollectiveOp, part: SSAValue, whole: SSAValue) -> None:
    """`whole` has several of `part`, one behind the other along the first axis."""
    op.check_same_element(op.operands[0])
    if not rank_of(part):
        raise op.fail(f"expects an array with an axis, found {part.type}")
    (one, *rest), (all, *others) = shape_of(part), shape_of(whole)
    if rest != others or (all % one if one else all):
        raise op.fail(f"expects {whole.type} to be parts of {part.type}, one behind the other along the first axis")
