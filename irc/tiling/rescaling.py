"""Sums of exponentials relative to a maximum, computed in the same walk as the maximum.

`sum(exp(a - max(a)))` seems to need the maximum first. But a sum relative to a smaller maximum m is the sum relative to
M after a multiplication by exp(m - M), so one walk over a long row can keep both: wherever the maximum grows, what has
been summed is scaled down (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). Of the two
exponentials, of the summand and of the scale, one is always exp(0).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from irc.ir.dtypes import element_of
from irc.tiling.nodes import Apply, Node, Reduced, name_of
from irc.tiling.scalar_body import Body
from irc.tiling.scalar_code import APPROXIMATE


def maximum_of(node: Reduced, candidates: Sequence[Reduced]) -> Reduced | None:
    """The maximum among `candidates` that a sum of exponentials is relative to; None where the node is no such sum."""
    if node.monoid != "sum" or not element_of(node.source).is_float:
        return None
    power = _operand(node.input, "exp")
    if power is None or not isinstance(power, Apply) or name_of(power.op) != "sub":
        return None
    value, maximum = power.inputs
    if not isinstance(maximum, Reduced) or maximum not in candidates or maximum.monoid != "max":
        return None
    return maximum if maximum.input is value else None


def _operand(node: Node, name: str) -> Node | None:
    return node.inputs[0] if isinstance(node, Apply) and name_of(node.op) == name else None


def lowest_of(node: Reduced) -> float:
    """What the walk takes for the maximum of nothing: finite, so that a row may start with -inf."""
    return float(element_of(node.source).limits()[0])


def scaled_sum(body: Body, args: Sequence[SSAValue]) -> SSAValue:
    """The sum relative to max(m, x), with exp(x - max(m, x)) added; `args`: the sum relative to m, m, x."""
    total, maximum, x = args
    one = body.constant(1.0, x.type)
    distance = body(math.AbsFOp(body(arith.SubfOp(x, maximum))))
    falloff = body(math.ExpOp(body(arith.NegfOp(distance)), APPROXIMATE))
    grows = body.compare("ogt", x, maximum)
    return body(math.FmaOp(total, body.select(grows, falloff, one), body.select(grows, one, falloff)))


def moved_sum(body: Body, args: Sequence[SSAValue]) -> SSAValue:
    """A sum relative to m as one relative to the maximum of all; `args`: the sum, m, that maximum."""
    total, maximum, whole = args
    return body(arith.MulfOp(total, body(math.ExpOp(body(arith.SubfOp(maximum, whole)), APPROXIMATE))))


def true_maximum(body: Body, args: Sequence[SSAValue]) -> SSAValue:
    """The maximum, or -inf where nothing but that was summed; `args`: the maximum found, the sum relative to it."""
    maximum, total = args
    nothing = body.compare("oeq", total, body.constant(0.0, total.type))
    return body.select(nothing, body.constant(float("-inf"), maximum.type), maximum)


def unless_infinite(body: Body, args: Sequence[SSAValue]) -> SSAValue:
    """The sum; NaN where the maximum is infinite or NaN, as exp(inf - inf) is. `args`: the sum, the maximum."""
    total, maximum = args
    return body(arith.AddfOp(total, body(arith.SubfOp(maximum, maximum))))
