"""partition-nd: from a program on whole arrays to the program of each rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from irc.ir.mesh import MESH, mesh_of
from irc.ir.passes import Pass
from irc.ir.rewriting import remove_dead_code
from irc.sharding.partition import Partition
from irc.sharding.propagation import Shardings


@dataclass(frozen=True)
class PartitionNdPass(Pass):
    """Replace the functions of a module with a mesh by what each rank runs, on its parts of the arrays.

    Every value is divided as its sharding says. An operand that has to be whole is gathered; sums of which each rank
    has a part are reduced over the ranks, and scattered where the result is divided; an iota begins where the rank's
    part does. All ranks run one program: a function gets a last argument, `mesh_coordinates`, an i64 for each axis of
    the mesh.
    """

    name: ClassVar[str] = "partition-nd"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (mesh := mesh_of(op)) is None:
            return
        for function in [each for each in op.ops if isinstance(each, FuncOp) and not each.is_declaration]:
            Partition(function, Shardings(function, mesh)).rewrite()
            remove_dead_code(function)
        del op.attributes[MESH]
