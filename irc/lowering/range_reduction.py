"""Maps with sines, cosines and tangents: a branch for large angles once for some elements of a thread.

The approximate functions reduce angles of 2 ** 24 and more by a table (`irc/expansion/angles.py`). A branch to that
for each element is three instructions of about a dozen, and keeps the machine from working on several elements at once.
So a few elements are computed side by side: their functions as if their angles were small, and again where one is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, UnitAttr, f32
from xdsl.ir import Operation, SSAValue

from irc.dialects import cuda, tile
from irc.expansion.angles import FAR
from irc.expansion.code import is_approximate
from irc.expansion.device_functions import PERIODIC
from irc.ir.discardable import NEAR
from irc.lowering.inline import known
from irc.lowering.values import Code, Registers, Tile

TOGETHER = 4
"""Elements side by side, at most: more take registers."""


def needs_range_reduction(op: tile.MapOp) -> bool:
    """Whether the body has approximate functions of angles."""
    return any(map(_is_periodic, op.body.block.ops))


def _is_periodic(op: Operation) -> bool:
    return type(op) in PERIODIC and op.results[0].type == f32 and is_approximate(op)


def lower_periodic(code: Code, op: tile.MapOp, inputs: Sequence[Tile], result: Registers) -> None:
    """The body, for a few elements at a time."""
    fragment = result.fragment
    count = min(fragment.values[0].size, TOGETHER) if fragment.values else 1
    with code.each(fragment, count) as at:
        places = [[code.e.add(at[0], n), *at[1:]] if at else [] for n in range(count)]
        values = [[code.element(each, fragment, place) for each in inputs] for place in places]
        for place, value in zip(places, _side_by_side(code, op, values), strict=True):
            code.set(result, place, value)


def _side_by_side(code: Code, op: tile.MapOp, arguments: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
    """What the body yields for each list of arguments."""
    block = op.body.block
    mappings: list[dict[SSAValue, SSAValue]] = [dict(zip(block.args, each, strict=True)) for each in arguments]
    *body, last = block.ops
    for inner in body:
        with code.e.at(inner.location):
            for mapping in mappings:
                known(code, inner, mapping)
            if _is_periodic(inner):
                made = _reduced(code, inner, [mapping[inner.operands[0]] for mapping in mappings])
            else:
                made = [code.e.value(inner.clone(mapping)) for mapping in mappings]
            for mapping, value in zip(mappings, made, strict=True):
                mapping[inner.results[0]] = value
    return [mapping.get(last.operands[0], last.operands[0]) for mapping in mappings]


def _reduced(code: Code, op: Operation, angles: Sequence[SSAValue]) -> list[SSAValue]:
    """A function of some angles."""
    e = code.e
    array = e.value(cuda.RegistersOp(len(angles), f32))
    limit = e.value(arith.ConstantOp(FloatAttr(FAR, f32)))
    far: SSAValue | None = None
    for at, angle in enumerate(angles):
        is_far = e.value(arith.CmpfOp(e.value(math.AbsFOp(angle)), limit, "oge"))
        far = is_far if far is None else e.value(arith.OrIOp(far, is_far))
        near = op.clone({op.operands[0]: angle})
        near.attributes[NEAR] = UnitAttr()
        e.insert(cuda.SetOp(array, e.index(at), e.value(near)))
    with e.when(far):
        for at, angle in enumerate(angles):
            e.insert(cuda.SetOp(array, e.index(at), e.value(op.clone({op.operands[0]: angle}))))
    return [e.value(cuda.GetOp(array, e.index(at))) for at in range(len(angles))]
