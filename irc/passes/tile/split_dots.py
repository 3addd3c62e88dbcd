"""split-dots: f32 products on tensor cores, as three products of tf32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, TensorType, f32
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import instruction_of
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.expansion.tf32 import high, rounded
from irc.tiling.map_body import finish
from irc.tiling.scalar_body import Body


@dataclass(frozen=True)
class SplitDotsPass(ProgramPass):
    """A wgmma dot of f32 -> three dots of tf32 on the parts of its operands, a = hi + lo: lo x hi, hi x lo, hi x hi.

    hi is a rounded to the 11 bits of tf32, lo = a - hi is exact and has 12 bits, of which wgmma reads 11. What is left
    out, lo x lo and the last bit of lo, is as large as the rounding of an f32 product. The large product comes last, so
    that the small ones are summed exactly enough. An infinity is split into 1 and itself and a NaN likewise, so that
    products with them are what they are in f32; numbers above 0.9998 of the largest have 11 bits. A product
    with the precision `tf32` stays one, on rounded operands: wgmma itself would cut their last bits off. So would
    tcgen05, which has no other products of f32.
    """

    name: ClassVar[str] = "split-dots"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        row = instruction_of(program)
        if row is None or "shared" not in row.rhs:
            return
        parts: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
        for dot in [o for o in program.walk() if isinstance(o, tile.DotOp)]:
            if not isinstance(element_type_of(dot.lhs.type), Float32Type):
                continue
            if dot.precision is not None and dot.precision.data == "tf32":
                for at, value in enumerate((dot.lhs, dot.rhs)):
                    made = _map([value], rounded, dot)
                    Rewriter.insert_op(made, InsertPoint.before(dot))
                    dot.operands[at] = made.result
            elif row.takes("f32").parts > 1:
                _split(dot, parts)


def _split(dot: tile.DotOp, parts: dict[SSAValue, tuple[SSAValue, SSAValue]]) -> None:
    for value in (dot.lhs, dot.rhs):
        if value not in parts:
            parts[value] = _parts(value, dot)
    (a_high, a_low), (b_high, b_low) = parts[dot.lhs], parts[dot.rhs]
    products: list[tile.DotOp] = []
    acc = dot.acc
    for a, b in ((a_low, b_high), (a_high, b_low), (a_high, b_high)):
        product = tile.DotOp(a, b, acc, precision="tf32", location=dot.location)
        products.append(product)
        acc = product.result
    Rewriter.replace_op(dot, products, [acc])


def _parts(value: SSAValue, dot: tile.DotOp) -> tuple[SSAValue, SSAValue]:
    """The high and the low part of an operand, put before the dot. Those of a concatenation are concatenated."""
    owner = value.owner
    if isinstance(owner, tile.ConcatOp):
        pairs = [_parts(part, dot) for part in owner.inputs]
        joined = [
            tile.ConcatOp([pair[at] for pair in pairs], owner.axis_value, value.type, location=owner.location)
            for at in (0, 1)
        ]
        Rewriter.insert_op(joined, InsertPoint.before(dot))
        return joined[0].result, joined[1].result
    first = _map([value], high, dot)
    low = _map([value, first.result], lambda body, x, hi: body(arith.SubfOp(x, hi)), dot)
    for op, suffix in ((first, "high"), (low, "low")):
        op.result.name_hint = f"{value.name_hint or 'x'}_{suffix}"
    Rewriter.insert_op([first, low], InsertPoint.before(dot))
    return first.result, low.result


def _map(inputs: list[SSAValue], build: Callable[..., SSAValue], dot: tile.DotOp) -> tile.MapOp:
    block = Block(arg_types=[f32] * len(inputs))
    body = Body(block, dot.location)
    finish(body, build(body, *block.args))
    return tile.MapOp(inputs, TensorType(f32, shape_of(inputs[0].type)), Region(block), location=dot.location)
