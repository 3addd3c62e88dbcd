"""share-programs: launches of equal programs launch one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr

from irc.analysis.invariants import TILED
from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass


@dataclass(frozen=True)
class ShareProgramsPass(Pass):
    """Keep the first of programs that are equal but for their names and locations; launches of the others launch it.

    Layers that repeat are then compiled once, and their code stays in the instruction caches.
    """

    name: ClassVar[str] = "share-programs"
    requires = (TILED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kept: dict[object, list[tile.ProgramOp]] = {}
        shared: dict[str, str] = {}
        for program in [each for each in op.ops if isinstance(each, tile.ProgramOp)]:
            alike = kept.setdefault(_outline(program), [])
            equal = next((other for other in alike if _equal(program, other)), None)
            if equal is None:
                alike.append(program)
                continue
            shared[program.sym_name.data] = equal.sym_name.data
            program.detach()
            program.erase()
        for launch in [each for each in ops_in(op) if isinstance(each, LaunchOp)]:
            name = launch.program_name
            if name in shared:
                launch.callee = SymbolRefAttr(shared[name])


def _outline(program: tile.ProgramOp) -> object:
    """What equal programs have in common, quickly compared."""
    block = program.body.block
    return tuple(block.arg_types), tuple(op.name for op in ops_in(program))


def _equal(a: tile.ProgramOp, b: tile.ProgramOp) -> bool:
    renamed = a.clone()
    renamed.sym_name = StringAttr(b.sym_name.data)
    return renamed.is_structurally_equivalent(b)
