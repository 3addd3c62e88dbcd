"""Attention, and what its gradients need of the scores. Ops that stand for several, until `decompose-nd`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf, sqrt

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from irc.dialects.nd.base import (
    FLOAT,
    Elements,
    Location,
    Operand,
    Tensor,
    bool_prop,
    element_of,
    float_prop,
    int_prop,
    integer,
    rank_of,
    shape_of,
    tensor,
    type_of,
)
from irc.dialects.nd.composed import ComposedOp
from irc.ir.dtypes import Element, accumulator
from irc.support.shapes import is_grouped


class AttentionFamilyOp(ComposedOp, ABC):
    """Of the scores q k^T * scale of queries q, batch..., S, D, and keys k, batch..., T, D.

    `scale` defaults to 1 / sqrt(D). With `causal`, row i sees columns j <= i only; with a `window` > 0 those that are
    less than `window` away, |i - j| < window. With a `soft_cap` c > 0 scores s become c tanh(s / c). A `bias` has the
    shape of the scores: floats are added to them then, and of bool ones a row sees the columns where they hold.

    Operands are in the order in which an op defines them all; those of its bases would come behind its own.
    """

    q = operand_def(TensorType)
    k = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    causal = bool_prop()
    scale = float_prop()
    window = int_prop(0)
    soft_cap = float_prop(0.0)

    def __init__(
        self,
        *arrays: Operand,
        causal: bool = False,
        scale: float | None = None,
        window: int = 0,
        bias: Operand | None = None,
        soft_cap: float = 0.0,
        location: Location | None = None,
    ):
        """arrays: the operands but the bias, in their order."""
        if scale is None:
            scale = 1.0 / sqrt(max(1, shape_of(arrays[0])[-1]))
        options = {"causal": causal, "scale": float(scale), "window": window, "soft_cap": float(soft_cap)}
        self.setup([*arrays, [] if bias is None else [bias]], [self.result_of(*arrays)], options, location)

    @classmethod
    @abstractmethod
    def result_of(cls, *arrays: Operand) -> Tensor:
        """The type of the result of these arrays, the first of the operands."""

    @property
    def accuracy(self) -> Element:
        """That of the factors: scores are no better."""
        return element_of(self.q)

    @property
    @abstractmethod
    def factors(self) -> tuple[SSAValue, ...]:
        """The operands that are multiplied."""

    @property
    def hides_rows(self) -> bool:
        """Whether a row may see no column: by a bias, or where a window ends before the columns begin."""
        rows, columns, window = shape_of(self.q)[-2], shape_of(self.k)[-2], integer(self.window)
        return self.bias is not None or not columns or (window > 0 and rows >= columns + window)

    def check(self) -> None:
        self.check_element(self.q, FLOAT)
        if min(rank_of(factor) for factor in self.factors) < 2:
            raise self.fail(f"expects operands of rank 2 or more, found {self.types()}")
        if len({element_of(factor).name for factor in self.factors}) > 1:
            raise self.fail(f"expects operands with one element type, found {self.types()}")
        self.check_batches()
        q, k = shape_of(self.q)[-1], shape_of(self.k)[-1]
        if q != k:
            raise self.fail(f"expects q and k with one last extent, found {q} and {k}")
        self.check_others()
        self.check_result_type(self.result_of(*self.operands))
        if integer(self.window) < 0:
            raise self.fail(f"expects a window of 0, for none, or more, found {integer(self.window)}")
        if not 0 <= self.soft_cap.value.data < inf:
            raise self.fail(f"expects a soft_cap of 0, for none, or more, found {self.soft_cap.value.data}")
        if self.bias is not None:
            self._check_bias(self.bias)

    def _check_bias(self, bias: SSAValue) -> None:
        self.check_element(bias, Elements("float or bool", lambda e: e.is_float or e.kind == "bool"))
        scores = (*shape_of(self.q)[:-1], shape_of(self.k)[-2])
        if shape_of(bias) != scores:
            raise self.fail(f"expects a bias of the scores' shape {list(scores)}, found {bias.type}")

    @abstractmethod
    def check_batches(self) -> None:
        """The batches of q and k agree."""

    def check_others(self) -> None:
        """So do the other operands."""

    def types(self) -> str:
        """Those of the operands, for messages."""
        return " and ".join(str(operand.type) for operand in self.operands)


@irdl_op_definition
class AttentionOp(AttentionFamilyOp):
    """softmax(q k^T * scale) v: q is batch..., S, D; k is batch..., T, D; v is batch..., T, E; the result batch..., S,
    E. The last batch axis of k and v, their heads, may divide that of q: as many heads of q in a row share one of
    theirs (grouped queries; Ainslie et al., 2023).

    `scale` defaults to 1 / sqrt(D). With `causal`, row i sees columns j <= i only; with a `window` > 0 those of |i - j|
    < window. With a `soft_cap` c > 0 scores s become c tanh(s / c) (Gemma 2, 2024). A `bias`, batch..., S, T, is added
    to the scores, or if it is bool says what is seen. A row that sees nothing is 0.
    """

    name = "nd.attention"
    q = operand_def(TensorType)
    k = operand_def(TensorType)
    v = operand_def(TensorType)
    bias = opt_operand_def(TensorType)

    @classmethod
    def result_of(cls, *arrays: Operand) -> Tensor:
        q, _, v, *_ = arrays
        return tensor((*shape_of(q)[:-1], shape_of(v)[-1]), element_of(q))

    @property
    def factors(self) -> tuple[SSAValue, ...]:
        return self.q, self.k, self.v

    def check_batches(self) -> None:
        q, k, v = (shape_of(operand)[:-2] for operand in self.factors)
        if k != v or not is_grouped(q, k):
            raise self.fail(f"expects one shape of batches, or heads of k and v that divide q's, found {self.types()}")

    def check_others(self) -> None:
        keys, values = shape_of(self.k)[-2], shape_of(self.v)[-2]
        if keys != values:
            raise self.fail(f"expects k and v with one extent before the last, found {keys} and {values}")


class ScoresOp(AttentionFamilyOp, ABC):
    """An op on scores alone. q may have more batch axes than k, behind those that it shares: the heads that have the
    same keys."""

    @property
    def factors(self) -> tuple[SSAValue, ...]:
        return self.q, self.k

    def check_batches(self) -> None:
        shared = shape_of(self.k)[:-2]
        if shape_of(self.q)[:-2][: len(shared)] != shared:
            raise self.fail(f"expects q with the batches of k before its own, found {self.types()}")


def sums_type(q: Operand) -> Tensor:
    """The type of a number for each row of the scores of these queries."""
    return tensor(shape_of(q)[:-1], accumulator(element_of(q)))


@irdl_op_definition
class AttentionLogSumExpOp(ScoresOp):
    """log(sum(exp(q k^T * scale))) of each row of the scores: q is batch..., more..., S, D; k is batch..., T, D; the
    result batch..., more..., S in f32, in f64 for those.

    `causal`, `scale`, `window`, `soft_cap` and `bias`, batch..., more..., S, T, are as of `nd.attention`. A row that
    sees nothing is -inf.
    """

    name = "nd.attention_log_sum_exp"

    @classmethod
    def result_of(cls, *arrays: Operand) -> Tensor:
        return sums_type(arrays[0])


@irdl_op_definition
class AttentionWeightsOp(ScoresOp):
    """exp(q k^T * scale - log_sum_exp): q is batch..., more..., S, D; k is batch..., T, D; log_sum_exp is batch...,
    more..., S, as `nd.attention_log_sum_exp` gives it; the result batch..., more..., S, T in q's element type.

    `causal`, `scale`, `window`, `soft_cap` and `bias`, batch..., more..., S, T, are as of `nd.attention`. Where a row
    does not see a column it is 0.
    """

    name = "nd.attention_weights"
    q = operand_def(TensorType)
    k = operand_def(TensorType)
    log_sum_exp = operand_def(TensorType)
    bias = opt_operand_def(TensorType)

    @classmethod
    def result_of(cls, *arrays: Operand) -> Tensor:
        q, k, *_ = arrays
        return tensor((*shape_of(q)[:-1], shape_of(k)[-2]), element_of(q))

    def check_others(self) -> None:
        if type_of(self.log_sum_exp) != sums_type(self.q):
            raise self.fail(f"expects a log_sum_exp of type {sums_type(self.q)}, found {self.log_sum_exp.type}")
