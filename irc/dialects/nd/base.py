"""What every `nd` op is built from: tensor helpers, the common assembly format, and the checks that verifiers share.

An op is an `NdOp` with operand, property and result definitions, an `__init__` that takes plain Python values and
infers the result type, and a `check` that says what the verifier wants beyond static tensors of irc's element types.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, i1, i64
from xdsl.dialects.builtin import LocationAttr as Location
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from irc.dialects.nd.syntax import parse_operation_tail, print_operation_tail
from irc.ir.dtypes import Element
from irc.ir.dtypes import element_of as element_of_type
from irc.ir.locations import set_location
from irc.ir.properties import attribute_of

Operand: TypeAlias = SSAValue | Operation
Tensor: TypeAlias = TensorType[Any]


def tensor(shape: Sequence[int], element: Attribute | Element) -> Tensor:
    """`tensor<shape x element>`; `element` is an IR type or a row of `irc.ir.dtypes`."""
    return TensorType(element.type if isinstance(element, Element) else element, shape)


def type_of(value: Operand | Attribute) -> Tensor:
    """The tensor type of a value, of an op's single result, or of a type itself."""
    type = _type_of(value)
    if not isinstance(type, TensorType):
        raise VerifyException(f"expected a tensor, found {type}")
    return cast(Tensor, type)


def shape_of(value: Operand | Attribute) -> tuple[int, ...]:
    """The extents of a tensor value or type."""
    return type_of(value).get_shape()


def rank_of(value: Operand | Attribute) -> int:
    """The number of axes of a tensor value or type."""
    return len(shape_of(value))


def element_of(value: Operand | Attribute) -> Element:
    """The row of `irc.ir.dtypes` for the elements of a tensor value, a tensor type or an element type."""
    return element_of_type(_type_of(value))


def _type_of(value: Operand | Attribute) -> Attribute:
    if isinstance(value, OpResult):  # most are: this is quicker than to ask for the classes that others derive from
        return value.type
    return value if isinstance(value, Attribute) else SSAValue.get(value).type


def normalized(axis: int, rank: int) -> int:
    """`axis` counted from the front; VerifyException unless -rank <= axis < rank."""
    if not -rank <= axis < rank:
        raise VerifyException(f"expected an axis in -{rank}..{rank - 1} of a rank-{rank} tensor, found {axis}")
    return axis + rank if axis < 0 else axis


def normalized_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """`axes` counted from the front, in increasing order; VerifyException where one is out of range."""
    return tuple(sorted(normalized(axis, rank) for axis in axes))


# Element types that operands may have.


@dataclass(frozen=True)
class Elements:
    """Some of irc's element types, and what messages call them."""

    name: str
    has: Callable[[Element], bool]


ANY = Elements("any", lambda element: True)
NUMBER = Elements("float or integer", lambda element: element.kind != "bool")
FLOAT = Elements("float", lambda element: element.is_float)
INTEGER = Elements("integer", lambda element: element.is_integer)
BITS = Elements("integer or bool", lambda element: not element.is_float)
BOOL = Elements("bool", lambda element: element.kind == "bool")


# Properties: lists of integers are arrays of i64, integers i64, floats f64, bools i1.


def ints_prop(default: Sequence[int] | None = None) -> DenseArrayBase[Any]:
    """Defines a property that is a list of integers, `default` where it is not given."""
    return prop_def(DenseArrayBase.constr(i64), None if default is None else DenseArrayBase.from_list(i64, default))


def int_prop(default: int | None = None) -> IntegerAttr[Any]:
    """Defines a property that is an integer, `default` where it is not given."""
    return prop_def(IntegerAttr.constr(type=i64), None if default is None else IntegerAttr(default, i64))


def bool_prop(default: bool | None = None) -> IntegerAttr[Any]:
    """Defines a property that is a bool, `default` where it is not given."""
    return prop_def(IntegerAttr.constr(type=i1), None if default is None else IntegerAttr(int(default), i1))


def float_prop(default: float | None = None) -> FloatAttr[Any]:
    """Defines a property that is a float64."""
    return prop_def(FloatAttr, default_value=None if default is None else FloatAttr(default, 64))


def ints(attribute: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The integers of a list property."""
    return attribute.get_values()


def put(values: Sequence[int], axis: int, value: int) -> list[int]:
    """The list with another value at `axis`."""
    return [*values[:axis], value, *values[axis + 1 :]]


def integer(attribute: IntegerAttr[Any]) -> int:
    """The value of an integer property."""
    return attribute.value.data


class NdOp(IRDLOperation, ABC):
    """A pure function of tensors.

    Text: `nd.sum %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>`. Properties and attributes share one dictionary;
    the types are one type where operands and results agree, else `operand type -> result type`, else `(operand types)
    -> result types`.
    """

    traits = traits_def(Pure())
    RELAXABLE: ClassVar[bool] = False
    """Whether `irc.ir.discardable.RELAXED` says something of it."""

    def setup(
        self,
        operands: Sequence[Operand | Sequence[Operand]],
        result_types: Sequence[Attribute | Sequence[Attribute]],
        properties: Mapping[str, object] | None = None,
        location: Location | None = None,
    ) -> None:
        """What each `__init__` ends with; property values are plain Python values."""
        attributes = {name: attribute_of(value) for name, value in (properties or {}).items()}
        IRDLOperation.__init__(self, operands=operands, result_types=result_types, properties=attributes)
        set_location(self, location)

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            self._check_tensor(value.type)
        self.check()

    def _check_tensor(self, type: Attribute) -> None:
        if not isinstance(type, TensorType):
            raise self.fail(f"expects tensors, found {type}")
        if any(extent < 0 for extent in shape_of(type)):
            raise self.fail(f"expects static shapes, found {type}")
        try:
            element_of_type(type)
        except KeyError:
            raise self.fail(f"expects one of irc's element types, found {type}") from None

    def check(self) -> None:
        """Raises VerifyException where operands, properties and results disagree. All are static tensors here."""

    def fail(self, message: str) -> VerifyException:
        """The exception `raise`d by verifiers; the message starts with the op's name."""
        return VerifyException(f"{self.name} {message}")

    # Each check raises a VerifyException that says what was expected and what was found.

    def check_result_type(self, expected: Tensor) -> None:
        """The single result has type `expected`."""
        if self.results[0].type != expected:
            raise self.fail(f"expects a result of type {expected}, found {self.results[0].type}")

    def check_result_shape(self, expected: Sequence[int]) -> None:
        """The first result has the shape `expected`."""
        found = shape_of(self.results[0])
        if found != tuple(expected):
            raise self.fail(f"expects a result of shape {list(expected)}, found {list(found)}")

    def check_one_type(self, values: Sequence[SSAValue]) -> None:
        """All of `values` have one type."""
        if any(value.type != values[0].type for value in values):
            found = " and ".join(str(value.type) for value in values)
            raise self.fail(f"expects operands of one type, found {found}")

    def check_same_element(self, value: SSAValue) -> None:
        """The result has the element type of `value`."""
        wanted, found = element_of(value), element_of(self.results[0])
        if wanted is not found:
            raise self.fail(f"expects a result with elements {wanted.type}, found {found.type}")

    def check_element(self, value: SSAValue, allowed: Elements, role: str = "") -> None:
        """The elements of `value` are among those; `role` says for the message what it is, where it is no operand."""
        if not allowed.has(element_of(value)):
            raise self.fail(f"expects {allowed.name}{role} elements, found {value.type}")

    def check_axis(self, axis: int, rank: int, what: str = "axis") -> None:
        """0 <= axis < rank."""
        if not rank:
            raise self.fail(f"expects an operand of rank 1 or more, found {what} {axis} of rank 0")
        if not 0 <= axis < rank:
            raise self.fail(f"expects {what} from 0 to {rank - 1}, found {axis}")

    def check_axes(self, axes: Sequence[int], rank: int, what: str = "axes") -> None:
        """Axes in range, none twice."""
        for axis in axes:
            self.check_axis(axis, rank, what)
        if len(set(axes)) != len(axes):
            raise self.fail(f"expects distinct {what}, found {list(axes)}")

    def check_increasing(self, axes: Sequence[int], rank: int) -> None:
        """Axes in range, increasing."""
        self.check_axes(axes, rank)
        if list(axes) != sorted(axes):
            raise self.fail(f"expects axes in increasing order, found {list(axes)}")

    def check_count(self, values: Sequence[int], count: int, what: str) -> None:
        """One entry for each of `count` axes."""
        if len(values) != count:
            raise self.fail(f"expects {count} {what}, found {len(values)}")

    def print(self, printer: Printer) -> None:
        print_operation_tail(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return parse_operation_tail(cls, parser)
