"""`fuse-kernels`: from a function of `nd` ops to kernels, each a region of ops that run together.

Anchors are placed in the order cascade, matmul, reduction, map: a product whose left operand is computed from the rows
of another is in one kernel with that, a product takes the elementwise work after it, a reduction what surrounds it, a
product what feeds it alone, and the rest becomes maps and permutations. A reduction leaves what ends the work of a
window (a depthwise convolution's bias), or joins several, beside that, where fewer bytes are stored so. A row that all
rows of a reduction meet, normalized before, is computed by the reductions that read it. Work on a product and on
arguments that is wider than the product is done again by the kernels behind it. Last, cheap work goes to the kernel
that reads it, where that saves an array. No merge makes a cycle between kernels. A reduction over other axes of the
same values is a kernel of its own.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from irc.analysis.invariants import FUSED
from irc.dialects.kernel import FusedOp
from irc.fusion.cascades import seed_cascades
from irc.fusion.explain import explain
from irc.fusion.graph import FusionGraph
from irc.fusion.maps import grow_maps
from irc.fusion.outline import outline
from irc.fusion.pages import copy_pages
from irc.fusion.parts import copy_parts
from irc.fusion.products import casts_to_store, ends_to_store, grow_epilogue, grow_prologue, seed_products
from irc.fusion.recomputation import copy_across_kernels, copy_behind_cascades, copy_behind_phases
from irc.fusion.reductions import grow_reductions
from irc.fusion.repeated import copy_escaping, find_repeated
from irc.fusion.row_copies import copy_rows
from irc.fusion.sink_into_consumer import sink_into_consumers
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass
from irc.ir.rewriting import remove_dead_code


@dataclass(frozen=True)
class FuseKernelsPass(Pass):
    """Groups nd ops into kernels (kernel.fused)."""

    name = "fuse-kernels"
    establishes = (FUSED,)
    max_recomputations: int = 3
    """Cheap ops that several kernels may repeat for a value instead of reading it, in a chain."""
    explain: bool = False
    """Print the kernels to stderr, with their core, mainloop and epilogue."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [inner for inner in ops_in(op) if isinstance(inner, FuncOp)]:
            if function.is_declaration:
                continue
            remove_dead_code(function)
            compared: list[str] = []
            kernels = fuse_block(function.body.block, function.sym_name.data, self.max_recomputations, compared)
            if self.explain:
                print(explain(kernels), *(f"{line}\n" for line in compared), sep="", end="", file=sys.stderr)


def fuse_block(
    block: Block, name: str, max_recomputations: int = 3, compared: list[str] | None = None
) -> list[FusedOp]:
    """Turns the `nd` ops of a function's block, none of them dead, into kernels named `<name>_<i>`, which it gives.
    Costs that were compared are described in `compared`, where there is one."""
    copies = copy_across_kernels(block) | copy_behind_cascades(block) | copy_behind_phases(block)
    copies |= copy_pages(block) | copy_parts(block)
    copy_rows(block)
    copy_escaping(block)
    stored = casts_to_store(block) | ends_to_store(block)
    graph = FusionGraph(block, copies | find_repeated(block, max_recomputations), stored)
    costs: list[object] = [*seed_cascades(graph)]
    products = seed_products(graph)
    for cluster in products:
        costs += grow_epilogue(graph, cluster)
    grow_reductions(graph)
    for cluster in products:
        costs += grow_prologue(graph, cluster)
    if compared is not None:
        compared += map(str, costs)
    grow_maps(graph)
    sink_into_consumers(graph)
    return outline(block, graph, name)
