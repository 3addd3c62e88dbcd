"""Ops that make arrays from nothing."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, i64
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike

from irc.dialects.nd.base import (
    FLOAT,
    NUMBER,
    Location,
    NdOp,
    Operand,
    element_of,
    int_prop,
    integer,
    normalized,
    shape_of,
    tensor,
)
from irc.dialects.nd.elements import ElementsAttr, Literal, Number, print_elements
from irc.dialects.nd.syntax import parse_dictionary, print_dictionary
from irc.ir.dtypes import element_of_dtype
from irc.ir.iteration import Iteration, IterationInterface, Pattern, over_result


class MadeOp(NdOp, IterationInterface, ABC):
    """An op without operands that knows each element by its place."""

    PATTERN: ClassVar[Pattern] = Pattern.MADE

    def iteration(self) -> Iteration:
        return over_result(shape_of(self.results[0]), [])


@irdl_op_definition
class ConstantOp(MadeOp, HasFolderInterface):
    """Known elements: `nd.constant 1.0 : tensor<4x8xf32>` (a splat, free for any shape), `nd.constant [1, 2] :
    tensor<2xi32>`."""

    name = "nd.constant"
    value = prop_def(ElementsAttr)
    result = result_def(TensorType)

    traits = traits_def(ConstantLike())

    def __init__(self, value: ElementsAttr, *, location: Location | None = None):
        self.setup([], [value.type], {"value": value}, location)

    @staticmethod
    def splat(value: Number, type: TensorType[Any], *, location: Location | None = None) -> ConstantOp:
        """`value` at every place of `type`, rounded to its element type; ValueError where an integer does not fit."""
        return ConstantOp(ElementsAttr.splat(value, type), location=location)

    @staticmethod
    def from_array(array: np.ndarray[Any, Any]) -> ConstantOp:
        """The elements of an array of one of irc's element types."""
        type = tensor(array.shape, element_of_dtype(array.dtype))
        return ConstantOp(ElementsAttr.from_array(array, type))

    @property
    def splat_value(self) -> Number | None:
        """The number at every place, or None where elements differ."""
        return self.value.first() if self.value.is_splat else None

    def array(self) -> np.ndarray[Any, Any]:
        """The elements, read-only; a splat is a broadcast view."""
        return self.value.array()

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.value,)

    def check(self) -> None:
        self.check_result_type(self.value.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_elements(self.value, printer)
        print_dictionary(self, printer, skip=("value",))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        literal = Literal(parser)
        _, attributes = parse_dictionary(cls, parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(result_types=[type], properties={"value": literal.resolve(type)}, attributes=attributes)


@irdl_op_definition
class IotaOp(MadeOp):
    """Each element is its index along `axis`, rounded to the element type of the result."""

    name = "nd.iota"
    result = result_def(TensorType)
    axis = int_prop()

    def __init__(self, type: TensorType[Any], axis: int = 0, *, location: Location | None = None):
        self.setup([], [type], {"axis": normalized(axis, len(type.get_shape()))}, location)

    def check(self) -> None:
        self.check_axis(integer(self.axis), len(shape_of(self.result)))
        self.check_element(self.result, NUMBER)


@irdl_op_definition
class ExtentOp(MadeOp):
    """Each element is what an extent is in a call, where the number is one that stands for it (`irc.dims`):
    `nd.extent {extent = 65672 : index} : tensor<4xi64>`."""

    name = "nd.extent"
    result = result_def(TensorType)
    extent = prop_def(IntegerAttr.constr(type=IndexType()))

    def __init__(self, extent: int, shape: Sequence[int], *, location: Location | None = None):
        self.setup([], [tensor(shape, i64)], {"extent": IntegerAttr(extent, IndexType())}, location)

    def check(self) -> None:
        if self.extent.value.data < 0:
            raise self.fail(f"expects an extent, found {self.extent.value.data}")
        if (found := element_of(self.result).name) != "i64":
            raise self.fail(f"expects a result of i64, found {found}")


class RandomOp(NdOp, ABC):
    """Philox numbers that depend on the seed, an i64 without axes, and the row-major index alone; `irc.ir.philox`
    defines them."""

    seed = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, seed: Operand, type: TensorType[Any], *, location: Location | None = None):
        self.setup([seed], [type], location=location)

    def check(self) -> None:
        if self.seed.type != tensor([], i64):
            raise self.fail(f"expects a seed of type {tensor([], i64)}, found {self.seed.type}")
        self.check_element(self.result, FLOAT)


@irdl_op_definition
class RandomNormalOp(RandomOp):
    """Numbers of the normal distribution with mean 0 and variance 1."""

    name = "nd.random_normal"


@irdl_op_definition
class RandomUniformOp(RandomOp):
    """Numbers of the uniform distribution on [0, 1)."""

    name = "nd.random_uniform"
