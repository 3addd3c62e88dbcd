"""mark-in-place: which results of a program may be written over which of its operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp

from irc.analysis.in_place import may_share
from irc.analysis.invariants import TILED
from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.ir.donation import donations
from irc.ir.passes import Pass


@dataclass(frozen=True)
class MarkInPlacePass(Pass):
    """Note on the programs of a function that has donated arguments which results may share memory with an operand.

    A result may be written over an operand of its type that is loaded once, where the result is stored once, at the
    same place of the same tile, if tiles of the loop do not meet and what is stored depends on what was loaded. Then
    each element is read before it is written, and by nobody after: no other iteration or block touches it. Operands
    that are read otherwise, in whole rows in several steps or as an operand of a product, are left alone.
    """

    name: ClassVar[str] = "mark-in-place"
    requires = (TILED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, FuncOp) and donations(each)]
        launched = {
            launch.program_name for function in functions for launch in function.walk() if isinstance(launch, LaunchOp)
        }
        for program in op.ops:
            if isinstance(program, tile.ProgramOp) and program.sym_name.data in launched:
                _mark(program)


def _mark(program: tile.ProgramOp) -> None:
    pairs = [
        (operand, len(program.inputs) + result)
        for result, output in enumerate(program.outputs)
        for operand, value in enumerate(program.inputs)
        if may_share(value, output)
    ]
    if pairs:
        numbers = [number for pair in pairs for number in pair]
        program.in_place = DenseArrayBase.from_list(i64, numbers)
