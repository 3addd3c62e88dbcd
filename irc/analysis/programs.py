"""Passes on tile programs."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from irc.dialects import tile
from irc.ir.passes import Pass


class ProgramPass(Pass):
    """A pass that runs on each program of a module by itself."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in [each for each in op.body.block.ops if isinstance(each, tile.ProgramOp)]:
            self.run(program)

    def run(self, program: tile.ProgramOp) -> None:
        """Changes the program."""
        raise NotImplementedError
