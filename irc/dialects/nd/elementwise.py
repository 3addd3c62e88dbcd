"""What the elementwise ops are made of. `table` has what is said of each, `unary` and `binary` the ops.

There is no implicit broadcasting: operands have one shape. Results are rounded to their element type.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from irc.dialects.nd.base import (
    ANY,
    FLOAT,
    NUMBER,
    Elements,
    Location,
    NdOp,
    Operand,
    element_of,
    shape_of,
    tensor,
    type_of,
)
from irc.ir.dtypes import Element
from irc.ir.iteration import Access, Iteration, IterationInterface, Pattern, over_result


class Elementwise(NdOp, IterationInterface, ABC):
    """An op of which each result element depends on the operands' elements at the same place."""

    PATTERN: ClassVar[Pattern] = Pattern.ELEMENTWISE
    TAKES: ClassVar[Elements] = NUMBER
    """The element types of its operands."""
    IS_TEST: ClassVar[bool] = False
    """Whether it gives bools; else the operands' element type."""

    def iteration(self) -> Iteration:
        shape = shape_of(self.results[0])
        return over_result(shape, [Access(AffineMap.identity(len(shape)))] * len(self.operands))

    def options(self) -> Mapping[str, Any]:
        """Its properties as plain Python values."""
        values: dict[str, Any] = self.properties
        return {name: value.data if hasattr(value, "data") else value.value.data for name, value in values.items()}

    @classmethod
    def result_of(cls, x: Operand) -> TensorType[Attribute]:
        """The type of the result for an operand."""
        return bool_of(type_of(x)) if cls.IS_TEST else type_of(x)

    def check(self) -> None:
        self.check_one_type(self.operands)
        self.check_element(self.operands[0], self.TAKES)
        self.check_result_type(self.result_of(self.operands[0]))


def bool_of(x: TensorType[Attribute]) -> TensorType[Attribute]:
    """The type of bools with the shape of `x`."""
    return tensor(x.get_shape(), i1)


OPS: dict[str, type[Elementwise]] = {}
"""The ops of `table` by name, without `nd.`."""


class UnaryOp(Elementwise, ABC):
    """A function of `x`."""

    TAKES: ClassVar[Elements] = FLOAT

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, *, location: Location | None = None):
        self.setup([x], [self.result_of(x)], location=location)


class NumberUnaryOp(UnaryOp, ABC):
    """A function of floats and integers."""

    TAKES: ClassVar[Elements] = NUMBER


class BinaryOp(Elementwise, ABC):
    """A function of `lhs` and `rhs`, which have one type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, lhs: Operand, rhs: Operand, *, location: Location | None = None):
        self.setup([lhs, rhs], [self.result_of(lhs)], location=location)


class CompareOp(BinaryOp, ABC):
    """`lhs` and `rhs` to bool. False with NaN, except `not_equal`."""

    TAKES: ClassVar[Elements] = ANY
    IS_TEST: ClassVar[bool] = True


class ConversionOp(Elementwise, ABC):
    """`x` to another element type."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, element: Attribute | Element, *, location: Location | None = None):
        self.setup([x], [tensor(type_of(x).get_shape(), element)], location=location)

    def check(self) -> None:
        self.check_result_shape(type_of(self.x).get_shape())


@irdl_op_definition
class CastOp(ConversionOp):
    """x in another element type.

    A narrower float rounds to nearest even (to f8 also saturates), float to integer truncates and saturates with NaN
    giving 0, integer to integer wraps, to bool is x != 0, from bool 0 or 1.
    """

    name = "nd.cast"


@irdl_op_definition
class BitcastOp(ConversionOp):
    """The bits of x read as another element type of the same size; not of or to bool."""

    name = "nd.bitcast"

    def check(self) -> None:
        super().check()
        self.check_element(self.x, NUMBER)
        self.check_element(self.result, NUMBER)
        source, target = type_of(self.x), type_of(self.result)
        if element_of(source).bits != element_of(target).bits:
            raise self.fail(f"expects elements of one size, found {source} and {target}")
