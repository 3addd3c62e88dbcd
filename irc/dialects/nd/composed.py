"""Ops that stand for several, until `decompose-nd`."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from irc.dialects.nd.base import (
    FLOAT,
    Location,
    NdOp,
    Operand,
    check_axis,
    check_element,
    check_result_type,
    element_of,
    float_prop,
    int_prop,
    integer,
    normalized,
    rank_of,
    type_of,
)
from irc.ir.dtypes import Element


class ComposedOp(NdOp, ABC):
    """An op with a meaning in terms of simpler ones; f16, bf16 and f8 are computed in f32 throughout and rounded
    once."""

    @property
    def accuracy(self) -> Element:
        """The element type whose accuracy the result needs."""
        return element_of(self.results[0])


class NormalizeOp(ComposedOp, ABC):
    """`x` to the same type, along one axis."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    axis = int_prop()

    def check(self) -> None:
        check_axis(self, integer(self.axis), rank_of(self.x))
        check_element(self, self.x, FLOAT)
        check_result_type(self, type_of(self.x))


class SoftmaxFamilyOp(NormalizeOp, ABC):
    """`softmax` or `log_softmax`."""

    RELAXABLE: ClassVar[bool] = True

    def __init__(self, x: Operand, axis: int = -1, *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"axis": normalized(axis, rank_of(x))}, location)


@irdl_op_definition
class SoftmaxOp(SoftmaxFamilyOp):
    """e / sum(e) with e = exp(x - max(x))."""

    name = "nd.softmax"


@irdl_op_definition
class LogSoftmaxOp(SoftmaxFamilyOp):
    """d - log(sum(exp(d))) with d = x - max(x)."""

    name = "nd.log_softmax"


class NormOp(NormalizeOp, ABC):
    """`layer_norm` or `rms_norm`."""

    RELAXABLE: ClassVar[bool] = True

    eps = float_prop()

    def __init__(self, x: Operand, axis: int, eps: float, *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"axis": normalized(axis, rank_of(x)), "eps": float(eps)}, location)


@irdl_op_definition
class LayerNormOp(NormOp):
    """(x - mean(x)) / sqrt(var(x) + eps)."""

    name = "nd.layer_norm"

    def __init__(self, x: Operand, axis: int = -1, eps: float = 1e-5, *, location: Location | None = None):
        super().__init__(x, axis, eps, location=location)


@irdl_op_definition
class RmsNormOp(NormOp):
    """x / sqrt(mean(x * x) + eps)."""

    name = "nd.rms_norm"

    def __init__(self, x: Operand, axis: int = -1, eps: float = 1e-6, *, location: Location | None = None):
        super().__init__(x, axis, eps, location=location)
