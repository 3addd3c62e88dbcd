"""raise-programs: what launched tile programs compute, as nd ops in the function that launches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.ir.passes import Pass
from irc.tiling.raising import is_whole, raised


@dataclass(frozen=True)
class RaiseProgramsPass(Pass):
    """Replace launches of tile programs by nd ops on whole arrays, where the programs' tiles cover their dimensions.

    It is in no pipeline: gradients of kernels written in Python are those of what they are raised to. A frontend traces
    a kernel with tiles of the whole extent for it, so that loops over tiles run once, and loads are slices. Loops over
    ranges, whose tiles have one element, become axes. Programs with other tiles are left alone. What has no meaning on
    whole arrays is an error at its line: bounds of loops that depend on the number of a loop over a range, stores of
    several tiles to one place, long loops that are walked one by one.
    """

    name: ClassVar[str] = "raise-programs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        programs = {each.sym_name.data: each for each in op.ops if isinstance(each, tile.ProgramOp) and is_whole(each)}
        for function in [each for each in op.ops if isinstance(each, FuncOp)]:
            for launch in [each for each in function.walk() if isinstance(each, LaunchOp)]:
                if (program := programs.get(launch.program_name)) is not None:
                    _raise(launch, program)
        for program in programs.values():
            program.detach()
            program.erase()


def _raise(launch: LaunchOp, program: tile.ProgramOp) -> None:
    values = raised(program, list(launch.inputs), launch)
    for result, value in zip(launch.outputs, values, strict=True):
        result.replace_all_uses_with(value)
    launch.detach()
    launch.erase()
