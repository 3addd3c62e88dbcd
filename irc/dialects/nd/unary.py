"""Elementwise ops of one operand: arithmetic and functions, tests, and bits. Results are rounded to their element
type."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from irc.dialects.nd.base import (
    Location,
    NdOp,
    Operand,
    check_element,
    check_result_type,
    float_prop,
    is_bits,
    is_bool,
    is_float,
    is_number,
    shape_of,
    tensor,
    type_of,
)
from irc.ir.dtypes import Element
from irc.ir.iteration import Access, Iteration, IterationInterface, Pattern, over_result


class Elementwise(NdOp, IterationInterface, ABC):
    """An op of which each result element depends on the operands' elements at the same place."""

    PATTERN: ClassVar[Pattern] = Pattern.ELEMENTWISE

    def iteration(self) -> Iteration:
        shape = shape_of(self.results[0])
        return over_result(shape, [Access(AffineMap.identity(len(shape)))] * len(self.operands))


class UnaryOp(Elementwise, ABC):
    """`x` to the same type."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_float)
    WHAT: ClassVar[str] = "float"

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, *, location: Location | None = None):
        self.setup([x], [type_of(x)], location=location)

    def check(self) -> None:
        check_element(self, self.x, type(self).ALLOWED, self.WHAT)
        check_result_type(self, type_of(self.x))


class NumberUnaryOp(UnaryOp, ABC):
    """A unary op on floats and integers."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_number)
    WHAT: ClassVar[str] = "float or integer"


@irdl_op_definition
class NegOp(NumberUnaryOp):
    """-x; integers wrap."""

    name = "nd.neg"


@irdl_op_definition
class AbsOp(NumberUnaryOp):
    """|x|; the least integer stays itself."""

    name = "nd.abs"


@irdl_op_definition
class SignOp(NumberUnaryOp):
    """-1, 0 or 1; NaN stays NaN."""

    name = "nd.sign"


@irdl_op_definition
class ReluOp(NumberUnaryOp):
    """maximum(x, 0); NaN stays NaN."""

    name = "nd.relu"


@irdl_op_definition
class FloorOp(NumberUnaryOp):
    """The greatest integral value not above x."""

    name = "nd.floor"


@irdl_op_definition
class CeilOp(NumberUnaryOp):
    """The least integral value not below x."""

    name = "nd.ceil"


@irdl_op_definition
class RoundOp(NumberUnaryOp):
    """The nearest integral value, halves to even."""

    name = "nd.round"


@irdl_op_definition
class ExpOp(UnaryOp):
    """e ** x."""

    name = "nd.exp"


@irdl_op_definition
class Exp2Op(UnaryOp):
    """2 ** x."""

    name = "nd.exp2"


@irdl_op_definition
class Expm1Op(UnaryOp):
    """e ** x - 1, accurate near 0."""

    name = "nd.expm1"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm; -inf at 0, NaN below."""

    name = "nd.log"


@irdl_op_definition
class Log2Op(UnaryOp):
    """The logarithm of base 2."""

    name = "nd.log2"


@irdl_op_definition
class Log1pOp(UnaryOp):
    """log(1 + x), accurate near 0."""

    name = "nd.log1p"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root; NaN below 0."""

    name = "nd.sqrt"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x)."""

    name = "nd.rsqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x."""

    name = "nd.reciprocal"


@irdl_op_definition
class SinOp(UnaryOp):
    """The sine of x radians."""

    name = "nd.sin"


@irdl_op_definition
class CosOp(UnaryOp):
    """The cosine of x radians."""

    name = "nd.cos"


@irdl_op_definition
class TanOp(UnaryOp):
    """The tangent of x radians."""

    name = "nd.tan"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "nd.tanh"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t ** 2) from 0 to x."""

    name = "nd.erf"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "nd.sigmoid"


@irdl_op_definition
class SiluOp(UnaryOp):
    """x * sigmoid(x)."""

    name = "nd.silu"


@irdl_op_definition
class GeluOp(UnaryOp):
    """x * Phi(x); `approximate = "tanh"` is Hendrycks and Gimpel's approximation (arXiv:1606.08415), `"none"` erf."""

    name = "nd.gelu"
    approximate = prop_def(StringAttr, default_value=StringAttr("none"))

    def __init__(self, x: Operand, approximate: str = "none", *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"approximate": approximate}, location)

    def check(self) -> None:
        super().check()
        if self.approximate.data not in ("none", "tanh"):
            raise self.fail(f'expects approximate to be "none" or "tanh", found "{self.approximate.data}"')


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """x where x > 0, else slope * x."""

    name = "nd.leaky_relu"
    slope = float_prop()

    def __init__(self, x: Operand, slope: float, *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"slope": float(slope)}, location)


class TestOp(Elementwise, ABC):
    """`x` to bool."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_float)
    WHAT: ClassVar[str] = "float"

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, *, location: Location | None = None):
        self.setup([x], [bool_of(type_of(x))], location=location)

    def check(self) -> None:
        check_element(self, self.x, type(self).ALLOWED, self.WHAT)
        check_result_type(self, bool_of(type_of(self.x)))


def bool_of(x: TensorType[Attribute]) -> TensorType[Attribute]:
    """The type of bools with the shape of `x`."""
    return tensor(x.get_shape(), i1)


@irdl_op_definition
class IsnanOp(TestOp):
    """Whether x is NaN."""

    name = "nd.isnan"


@irdl_op_definition
class IsinfOp(TestOp):
    """Whether x is inf or -inf."""

    name = "nd.isinf"


@irdl_op_definition
class LogicalNotOp(TestOp):
    """not x, of bool."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_bool)
    WHAT: ClassVar[str] = "bool"

    name = "nd.logical_not"


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """~x; of bool, not x."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_bits)
    WHAT: ClassVar[str] = "integer or bool"

    name = "nd.bitwise_not"
