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
        self.check_axis(integer(self.axis), rank_of(self.x))
        self.check_element(self.x, FLOAT)
        self.check_result_type(type_of(self.x))


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

    EPS: ClassVar[float]
    """`eps` where none is given."""

    eps = float_prop()

    def __init__(self, x: Operand, axis: int = -1, eps: float | None = None, *, location: Location | None = None):
        eps = self.EPS if eps is None else float(eps)
        self.setup([x], [type_of(x)], {"axis": normalized(axis, rank_of(x)), "eps": eps}, location)


@irdl_op_definition
class LayerNormOp(NormOp):
    """(x - mean(x)) / sqrt(var(x) + eps)."""

    name = "nd.layer_norm"
    EPS: ClassVar[float] = 1e-5


@irdl_op_definition
class RmsNormOp(NormOp):
    """x / sqrt(mean(x * x) + eps)."""

    name = "nd.rms_norm"
    EPS: ClassVar[float] = 1e-6
