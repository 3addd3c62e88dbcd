"""Clusters around cascades: products, with the reductions and the elementwise work between them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.cascades import MIN_ROWS, Cascade, cascade_of
from irc.analysis.op_classes import is_elementwise, is_product, is_transparent, is_view, precision_of, shape_of
from irc.analysis.product_problem import multiplied
from irc.dialects import nd
from irc.dialects.kernel import Anchor
from irc.fusion.alignment import absorb_elementwise, absorb_producers, absorb_tails, grow_forward
from irc.fusion.cascade_cost import CascadeCost, cascade_cost
from irc.fusion.graph import Cluster, FusionGraph, bits
from irc.ir.iteration import iteration_of
from irc.ir.targets import Target, target_of

MAX_HELD = 256
"""What a block holds whole: the contracted extent of the scores, and the columns of all results."""

MULTIPLE = 16
"""Of either: the depth of an instruction."""


SUMMED = 128
"""Of which the columns of sums that tiles add to are a multiple: warp groups divide them."""

FEW_SUMMED, MIN_WALKED = 64, 2048
"""The same where warp groups divide the columns of a step, which has 128 of them then: without masks, whose branches
spill beside such steps, along as many columns of the scores or more. On an H100 the gradients of attention with heads
of 64 and 2048 positions take 0.77 of the time that they take without such sums, with 512 positions 1.03, masked 1.06
(`benchmarks/results/2026-11-28-h100-notes.md`)."""


def fits(cascade: Cascade, machine: Target) -> bool:
    """Whether a block can hold rows of all products, of matrix instructions on operands of 16 bits that are arrays.
    Sums that a program asks for, f16 or promoted ones, are those of products by themselves."""
    products = (*cascade.scores, *cascade.products, *cascade.across)
    narrow = all(multiplied(op, side).size == 2 for op in products for side in (0, 1))
    if not narrow or not machine.mma or any(precision_of(op) in ("f16", "f32") for op in products):
        return False
    first, last = ([iteration_of(op) for op in ops] for ops in (cascade.scores, cascade.products))
    depths, columns = [each.extents("k") for each in first], [each.extents("n") for each in last]
    if any(len(extents) != 1 or extents[0] % MULTIPLE for extents in (*depths, *columns)):
        return False
    is_few = last[0].extent("k") >= MIN_WALKED and not any(isinstance(op, nd.WhereOp) for op in cascade.between)
    if any(iteration_of(op).extent("n") % (FEW_SUMMED if is_few else SUMMED) for op in cascade.across):
        return False
    if sum(extent for (extent,) in columns) > MAX_HELD or max(depths) > (MAX_HELD,):
        return False
    return last[0].extent("k") >= MIN_ROWS and all(map(_is_array, cascade.operands))


def is_one_kernel(cascade: Cascade, machine: Target) -> bool:
    """Whether a kernel computes all products, if reductions can be rescaled: where a block can hold them, and it
    pays."""
    return fits(cascade, machine) and cascade_cost(cascade, machine).pays


def cascades_in(op: ModuleOp | Block) -> Iterator[Cascade]:
    """The cascades that a kernel computes, if reductions can be rescaled. Each is looked for once those before it have
    been rewritten."""
    machine = target_of(op)
    seen: set[Operation] = set()
    for product in [inner for inner in op.walk() if is_product(inner)]:
        cascade = None if product in seen else cascade_of(product)
        if cascade is not None and is_one_kernel(cascade, machine):
            seen |= {*cascade.products, *cascade.across}
            yield cascade


def _is_array(value: SSAValue) -> bool:
    """Whether a product reads the value from memory: what users repeat is computed anew for each tile."""
    owner = value.owner
    while isinstance(owner, Operation) and is_view(owner):
        owner = owner.operands[0].owner
    return not isinstance(owner, Operation) or not is_transparent(owner)


def seed_cascades(graph: FusionGraph) -> list[CascadeCost]:
    """Makes a cluster of each cascade that one kernel computes, with what lies between and the elementwise work behind
    it. Gives the costs that were compared."""
    costs: list[CascadeCost] = []
    clusters: list[Cluster] = []
    for product in [op for op in graph.ops if is_product(op)]:
        cascade = cascade_of(product) if graph.is_free(graph.index[product]) else None
        if cascade is None or product is not cascade.products[0] or not fits(cascade, graph.machine):
            continue
        costs.append(cascade_cost(cascade, graph.machine))
        if costs[-1].pays and cascade.is_rolled and (cluster := _joined(graph, cascade)) is not None:
            clusters.append(cluster)
    for cluster in clusters:
        _grow(graph, cluster)
    return costs


def _joined(graph: FusionGraph, cascade: Cascade) -> Cluster | None:
    """One cluster of the cascade, unless nodes outside depend on it and feed it."""
    ops = (*cascade.scores, *cascade.between, *cascade.products, *cascade.across)
    nodes = [graph.index[op] for op in ops if op in graph.index]
    if not all(graph.is_free(i) for i in nodes):
        return None
    parts = [graph.cluster_of[i] for i in nodes]
    members = downstream = inputs = 0
    for part in parts:
        members, downstream, inputs = members | part.members, downstream | part.downstream, inputs | part.inputs
    if downstream & inputs & ~members:
        return None
    cluster, *others = parts
    for other in others:
        graph.merge(cluster, other)
    cluster.anchor = Anchor.CASCADE
    cluster.domain = shape_of(cascade.products[0].results[0])
    _label(graph, cascade, cluster)
    return cluster


def _label(graph: FusionGraph, cascade: Cascade, cluster: Cluster) -> None:
    """What lies along the results, and along their rows."""
    iteration = iteration_of(cascade.products[0])
    columns = iteration.axes(iteration.result, "n")
    rows = tuple(axis for axis in cluster.identity if axis not in columns)
    cluster.tags = {graph.index[op]: rows for op in cascade.reductions}
    cluster.tags |= {graph.index[op]: cluster.identity for op in cascade.products}


def _grow(graph: FusionGraph, cluster: Cluster) -> None:
    """Takes what is computed element by element of the result, or of one element of each of its rows, and what the
    cascade alone reads beside its products."""
    grow_forward(graph, cluster, lambda i: absorb_elementwise(graph, i, cluster))
    beside = [i for i in bits(cluster.members) if not is_product(graph.ops[i])]
    absorb_producers(graph, cluster, lambda i: is_elementwise(graph.ops[i]), beside)
    absorb_tails(graph, cluster)
