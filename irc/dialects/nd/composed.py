"""Ops that stand for several, until `decompose-nd`."""

from __future__ import annotations

from abc import ABC
from math import sqrt

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from irc.dialects.nd.base import (
    Location,
    NdOp,
    Operand,
    bool_prop,
    check_axis,
    check_element,
    check_result_type,
    element_of,
    float_prop,
    int_prop,
    integer,
    is_float,
    normalized,
    rank_of,
    shape_of,
    tensor,
    type_of,
)
from irc.support.shapes import is_grouped


class ComposedOp(NdOp, ABC):
    """An op with a meaning in terms of simpler ones; f16, bf16 and f8 are computed in f32 throughout and rounded
    once."""


class NormalizeOp(ComposedOp, ABC):
    """`x` to the same type, along one axis."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    axis = int_prop()

    def check(self) -> None:
        check_axis(self, integer(self.axis), rank_of(self.x))
        check_element(self, self.x, is_float, "float")
        check_result_type(self, type_of(self.x))


class SoftmaxFamilyOp(NormalizeOp, ABC):
    """`softmax` or `log_softmax`."""

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


@irdl_op_definition
class AttentionOp(ComposedOp):
    """softmax(q k^T * scale) v: q is batch..., S, D; k is batch..., T, D; v is batch..., T, E; the result batch..., S,
    E. The last batch axis of k and v, their heads, may divide that of q: as many heads of q in a row share one of
    theirs (grouped queries; Ainslie et al., 2023).

    With `causal`, row i sees columns j <= i only. `scale` defaults to 1 / sqrt(D).
    """

    name = "nd.attention"
    q = operand_def(TensorType)
    k = operand_def(TensorType)
    v = operand_def(TensorType)
    result = result_def(TensorType)
    causal = bool_prop()
    scale = float_prop()

    def __init__(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        causal: bool = False,
        scale: float | None = None,
        *,
        location: Location | None = None,
    ):
        shape = shape_of(q)
        if scale is None:
            scale = 1.0 / sqrt(max(1, shape[-1]))
        result = tensor((*shape[:-1], shape_of(v)[-1]), element_of(q))
        self.setup([q, k, v], [result], {"causal": causal, "scale": float(scale)}, location)

    def check(self) -> None:
        q, k, v = (shape_of(operand) for operand in self.operands)
        check_element(self, self.q, is_float, "float")
        if min(len(q), len(k), len(v)) < 2:
            raise self.fail(f"expects operands of rank 2 or more, found {self._types()}")
        if len({element_of(operand).name for operand in self.operands}) > 1:
            raise self.fail(f"expects operands with one element type, found {self._types()}")
        if k[:-2] != v[:-2] or not is_grouped(q[:-2], k[:-2]):
            raise self.fail(f"expects one shape of batches, or heads of k and v that divide q's, found {self._types()}")
        if q[-1] != k[-1]:
            raise self.fail(f"expects q and k with one last extent, found {q[-1]} and {k[-1]}")
        if k[-2] != v[-2]:
            raise self.fail(f"expects k and v with one extent before the last, found {k[-2]} and {v[-2]}")
        check_result_type(self, tensor((*q[:-1], v[-1]), element_of(self.q)))

    def _types(self) -> str:
        return " and ".join(str(operand.type) for operand in self.operands)
