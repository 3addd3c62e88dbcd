"""The tanh approximation of gelu, written out: half of x * (1 + tanh(u)) as x * sigmoid(2 u).

The sigmoid keeps the digits that the sum loses for negative u, and takes half of its instructions.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table, defined_by, is_splat, splat_like
from irc.dialects import nd
from irc.ir.rewriting import Inserter


def halved_gate(op: nd.MulOp, at: Inserter) -> SSAValue | None:
    """(x * 0.5) * (tanh(u) + 1), and (tanh(u) + 1) * 0.5, of floats, where nothing else reads the tanh."""
    for factor, gate in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        u = _gated(gate)
        if u is None:
            continue
        if is_splat(factor, 0.5):
            return _sigmoid_of_twice(u, at)
        half = defined_by(factor, nd.MulOp)
        if half is not None and is_splat(half.rhs, 0.5):
            return at.value(nd.MulOp(half.lhs, _sigmoid_of_twice(u, at)))
    return None


def _gated(value: SSAValue) -> SSAValue | None:
    """u, where the value is tanh(u) + 1."""
    total = defined_by(value, nd.AddOp)
    if total is None or not is_splat(total.rhs, 1.0):
        return None
    tanh = defined_by(total.lhs, nd.TanhOp)
    return tanh.x if tanh is not None and tanh.result.has_one_use() and total.result.has_one_use() else None


def _sigmoid_of_twice(u: SSAValue, at: Inserter) -> SSAValue:
    return at.value(nd.SigmoidOp(at.value(nd.MulOp(u, splat_like(at, 2.0, u)))))


GATES: Table = {nd.MulOp: [halved_gate]}
