"""propagate-shardings: how each value is divided among the ranks of the mesh, from what is said of some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from irc.ir.mesh import mesh_of, put_shardings, shard_arguments, shardings_of
from irc.ir.passes import Pass
from irc.sharding.propagation import Shardings


@dataclass(frozen=True)
class PropagateShardingsPass(Pass):
    """Give each value of the functions of a module with a mesh (`irc.mesh`) a sharding, in both directions, by the
    factors of each op's iteration (Shardy's rules), until nothing changes.

    What is said already (`irc.sharding` of arguments, `irc.shardings` of results and returns) stays. Elementwise ops
    and moves come first, so that they decide where others disagree. Where an axis of the mesh could divide several
    factors of an op, operands decide before results, and what is apart before what is reduced.
    """

    name: ClassVar[str] = "propagate-shardings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (mesh := mesh_of(op)) is None:
            return
        for function in [each for each in op.ops if isinstance(each, FuncOp) and not each.is_declaration]:
            shardings = Shardings(function, mesh)
            shardings.propagate()
            shard_arguments(function, [shardings[value] for value in function.body.block.args])
            for each in shardings.ops:
                put_shardings(each, [shardings[value] for value in each.results])
            terminator = function.body.block.last_op
            assert terminator is not None
            values = terminator.operands
            said = shardings_of(terminator, len(values))
            put_shardings(terminator, [shardings[v] if x is None else x for v, x in zip(values, said, strict=True)])
