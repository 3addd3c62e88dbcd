"""The scalar code of nd elementwise ops, of steps of reductions and scans, and of comparisons of positions."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue

from irc.dialects import nd
from irc.dialects.nd.base import integer
from irc.dialects.nd.declared import is_relaxed
from irc.dialects.nd.table import ROWS
from irc.dialects.scalar import CheckIndexOp
from irc.ir.dtypes import element_of
from irc.support.diagnostics import IrcError
from irc.tiling.nodes import signless
from irc.tiling.scalar_body import Body, Scalar, cast
from irc.tiling.scalar_code import APPROXIMATE, add, code_of, maximum, minimum, multiply


def apply(body: Body, op: Operation, inputs: list[Scalar], result: Attribute) -> SSAValue:
    """The scalar that the nd op computes of its inputs; `result` is its nd element type."""
    if isinstance(op, nd.CastOp):
        return cast(body, inputs[0], result)
    if isinstance(op, nd.BitcastOp):
        return _bitcast(body, inputs[0].value, signless(result))
    if isinstance(op, nd.CheckIndicesOp):
        return _check_index(body, inputs[0], integer(op.low), integer(op.high))
    row = ROWS.get(type(op))
    code = code_of(row) if row is not None else None
    if code is None or not isinstance(op, nd.Elementwise):
        raise IrcError(f"{op.name} cannot be computed in a kernel", op.location, "run decompose-nd first")
    body.fastmath = APPROXIMATE if is_relaxed(op) else None
    value = code(body, *inputs, **op.options())
    body.fastmath = None
    return value


def _check_index(body: Body, x: Scalar, low: int, high: int) -> SSAValue:
    """One comparison: what is less than low is large without its sign."""
    value, type = x.value, x.value.type
    least, most = element_of(x.source).limits()
    first, count = max(low, least), min(high, most + 1) - max(low, least)
    if count > most - least:
        return value
    offset = body(arith.SubiOp(value, body.constant(first, type))) if first else value
    return body(CheckIndexOp(value, body.compare("ult", offset, body.constant(count, type)), low, high))


def _bitcast(body: Body, value: SSAValue, target: Attribute) -> SSAValue:
    return value if value.type == target else body(arith.BitcastOp(value, target))


def combine(body: Body, monoid: str, source: Attribute, a: SSAValue, b: SSAValue) -> SSAValue:
    """The step of a reduction or scan."""
    x, y = Scalar(a, source), Scalar(b, source)
    match monoid:
        case "sum":
            return add(body, x, y)
        case "prod":
            return multiply(body, x, y)
        case "max":
            return body(arith.OrIOp(a, b)) if a.type == i1 else maximum(body, x, y)
        case "min":
            return body(arith.AndIOp(a, b)) if a.type == i1 else minimum(body, x, y)
        case "any":
            return body(arith.OrIOp(a, b))
        case _:
            return body(arith.AndIOp(a, b))


def first_extreme(body: Body, monoid: str, x: tuple[Scalar, SSAValue], y: tuple[Scalar, SSAValue]) -> SSAValue:
    """Whether y goes before x as the result of argmax or argmin: NaN before numbers, then
    the extreme, then the smaller index."""
    (a, i), (b, j) = x, y
    greater, equal = ("ogt", "oeq") if a.is_float else ("ugt" if a.is_unsigned else "sgt", "eq")
    if monoid == "argmin":
        greater = greater.replace("gt", "lt")
    better, same = body.compare(greater, b.value, a.value), body.compare(equal, b.value, a.value)
    if a.is_float:
        nan_a, nan_b = body.is_nan(a.value), body.is_nan(b.value)
        only_b = body(arith.AndIOp(nan_b, body(arith.XOrIOp(nan_a, body.constant(1, i1)))))
        better = body(arith.OrIOp(better, only_b))
        same = body(arith.OrIOp(same, body(arith.AndIOp(nan_a, nan_b))))
    earlier = body.compare("slt", j, i)
    return body(arith.OrIOp(better, body(arith.AndIOp(same, earlier))))
