"""fuse-epilogues: elementwise work on what a tile program gives becomes a part of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.ir.passes import Pass
from irc.ir.rewriting import remove_dead_code
from irc.tiling.epilogue_stores import add_epilogue, takes_epilogue
from irc.tiling.epilogues import Epilogue, epilogue_of
from irc.tiling.launches import add_operands, drop_unused, move_before, own_program, programs_of, with_results


@dataclass(frozen=True)
class FuseEpiloguesPass(Pass):
    """Do elementwise work on the results of launched programs in the programs, before they store: a launch less.

    It is for kernels written in Python. Work is taken whose values would be stored otherwise: they are results of the
    function, or operands of products and of other launches. Reductions and moves are no such users, since
    `fuse-kernels` computes their operands. What the work reads beside the result has to be there before the launch. It
    is loaded at the places of the store, broadcast where it has fewer axes. The result itself is stored if others use
    it. A program that is launched several times is copied.
    """

    name: ClassVar[str] = "fuse-epilogues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for launch in [each for each in op.walk() if isinstance(each, LaunchOp)]:
            if launch.program_name in programs_of(op):
                _fuse(op, launch)


def _fuse(module: ModuleOp, launch: LaunchOp) -> None:
    is_changed = False
    for number in range(len(launch.outputs)):
        if not takes_epilogue(programs_of(module)[launch.program_name], number):
            continue
        if (epilogue := epilogue_of(launch, launch.outputs[number])) is not None:
            is_changed = True
            launch = _added(launch, own_program(module, launch), number, epilogue)
    if is_changed:
        remove_dead_code(module)
        drop_unused(launch, programs_of(module)[launch.program_name])
        remove_dead_code(module)


def _added(launch: LaunchOp, program: tile.ProgramOp, number: int, epilogue: Epilogue) -> LaunchOp:
    """The launch with what an epilogue gives, behind its results."""
    read = list(epilogue.read())
    move_before(launch, read)
    add_epilogue(program, number, epilogue, add_operands(launch, program, read))
    return with_results(launch, [*launch.outputs, *epilogue.needed])
