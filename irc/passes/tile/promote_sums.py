"""promote-sums: a tensor core sums one step of K, ordinary additions sum the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, FloatAttr
from xdsl.ir import Block, BlockArgument, Region

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import instruction_of
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import element_type_of
from irc.ir.dtypes import element_of
from irc.ir.rewriting import Inserter
from irc.layout.matrix_instructions import MatrixInstruction

SINGLE_PASS = ("tf32", "bf16")
"""Precisions whose operands are so short that truncated sums are as good as their products."""


@dataclass(frozen=True)
class PromoteSumsPass(ProgramPass):
    """A dot of f32 or f8 by wgmma, or of f32 by mma, that accumulates over a loop -> a dot from zero, and a map that
    adds its result.

    Tensor cores truncate what they add: on f32 to about 25 bits, on f8 to about 14. The error of a long sum grows with
    its length, always towards 0. A sum of one tile's depth (128 bytes of K) is short, and the additions of the map
    round to nearest: the result is as accurate as one of scalar multiply-adds (Ootomo and Yokota, "Recovering single
    precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", 2022). It costs a
    second accumulator. Products of 16-bit operands are promoted where they ask for `f32`. Those of integers, and those
    that ask for `tf32` or `bf16`, are left alone.
    """

    name: ClassVar[str] = "promote-sums"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        row = instruction_of(program)
        if row is None:
            return
        for dot in [op for op in program.walk() if isinstance(op, tile.DotOp)]:
            if _is_promoted(dot, row) and isinstance(dot.acc, BlockArgument):
                _promote(dot)


def _is_promoted(dot: tile.DotOp, row: MatrixInstruction) -> bool:
    """Whether the dot's sums over K are made in parts."""
    precision = None if dot.precision is None else dot.precision.data
    element = element_of(element_type_of(dot.lhs.type))
    is_asked = precision == "f32" and element.is_float and element.size == 2 and row.threads > 1
    return is_asked or (precision not in SINGLE_PASS and row.takes(element.name).sums > 1)


def _promote(dot: tile.DotOp) -> None:
    acc, type = dot.acc, dot.result.type
    element = element_type_of(type)
    assert isinstance(element, Float32Type)
    before = Inserter.before(dot)
    zero = before.value(arith.ConstantOp(FloatAttr(0.0, element)))
    dot.operands[2] = before.value(tile.SplatOp(zero, type))
    block = Block(arg_types=[element, element])
    total = arith.AddfOp(block.args[0], block.args[1])
    block.add_ops([total, tile.YieldOp(total.result)])
    added = Inserter.after(dot)(tile.MapOp([acc, dot.result], type, Region(block)))
    dot.result.replace_uses_with_if(added.result, lambda use: use.operation is not added)
