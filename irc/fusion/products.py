"""Clusters around matrix products: products that share an operand, the epilogue and its reductions, the prologue."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.block_sums import is_block_sum
from irc.analysis.op_classes import (
    cost_of,
    has_parts,
    is_cast,
    is_contraction,
    is_elementwise,
    is_grouped,
    is_permutation,
    is_product,
    is_splittable,
    is_transpose,
    is_view,
    reduced_axes,
    shape_of,
    size_of,
)
from irc.analysis.product_problem import multiplied
from irc.analysis.runs import LONGEST_COLUMN, is_held
from irc.dialects.kernel import Anchor
from irc.fusion.alignment import (
    absorb_elementwise,
    absorb_producers,
    absorb_tails,
    edges_into,
    grow_forward,
    spans,
    spans_domain,
)
from irc.fusion.graph import Cluster, FusionGraph, bits
from irc.fusion.prologue_cost import PrologueCost, is_streamed_right, prologue_cost
from irc.fusion.row_cost import RowCost, row_cost
from irc.ir.dtypes import element_of
from irc.ir.iteration import Pattern, is_broadcast, iteration_of, pattern_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT
from irc.ir.walks import makers, makers_of, reached

MAX_PRODUCTS = 3
"""Products in one kernel: their accumulators are in registers together."""

MAX_PLACES = 4
"""The same of one convolution at several places, which all multiply by one tile of its kernel."""

MAX_PROLOGUE_COST = 12
"""Cheap ops for an element of an operand: each tile of a row or column of tiles repeats them."""


def casts_to_store(block: Block) -> set[Operation]:
    """Casts of elements of 8 bits to operands of 16, where it pays to store what they give; others are repeated."""
    readers: dict[tuple[SSAValue, int], list[Operation]] = {}
    for op, side in [(op, side) for op in block.ops if is_contraction(op) for side in (0, 1)]:
        readers.setdefault((op.operands[side], side), []).append(op)
    found: set[Operation] = set()
    for (value, side), ops in readers.items():
        cast = value.owner
        if isinstance(cast, Operation) and is_cast(cast) and element_of(cast.operands[0].type).size == 1:
            alone = len(readers[ops[0].operands[0], 0]) == 1
            cost = prologue_cost(ops[0], len(ops), side, alone=alone)
            found |= set() if cost is None or cost.pays else {cast}
    return found


def ends_to_store(block: Block) -> set[Operation]:
    """What gives the ends of groups that are data: kernels read them as an array."""
    values = [value for op in block.ops if is_grouped(op) for value in op.operands[2:]]
    return {value.owner for value in values if isinstance(value.owner, Operation)}


def seed_products(graph: FusionGraph) -> list[Cluster]:
    """A cluster for each product, or for products that share an operand and meet in an elementwise op. Right operands
    of few tiles that are computed are faster in the transposed products of kernels of their own."""
    nodes = [i for i, op in enumerate(graph.ops) if is_contraction(op) and graph.is_free(i)]
    for i in nodes:
        cluster = graph.cluster_of[i]
        cluster.anchor = Anchor.MATMUL
        cluster.domain = shape_of(graph.ops[i].results[0])
        cluster.tags[i] = cluster.identity
    reach = {i: _elementwise_reach(graph, i) for i in nodes}
    for position, i in enumerate(nodes):
        for j in nodes[position + 1 :]:
            _pair(graph, i, j, reach)
    return list(dict.fromkeys(graph.cluster_of[i] for i in nodes))


def _pair(graph: FusionGraph, i: int, j: int, reach: dict[int, set[int]]) -> None:
    cluster, other = graph.cluster_of[i], graph.cluster_of[j]
    if cluster is other or not reach[i] & reach[j] or not _is_alike(graph, i, j):
        return
    if any(is_streamed_right(graph.ops[each]) for each in (i, j)):
        return
    most = MAX_PLACES if _is_moved(graph.ops[i], graph.ops[j]) else MAX_PRODUCTS
    if (cluster.members | other.members).bit_count() > most or not graph.can_merge(cluster, other):
        return
    if cluster.is_independent(other):
        graph.merge(cluster, other)


def _is_alike(graph: FusionGraph, i: int, j: int) -> bool:
    """Whether the products have the same dimension numbers and types, and one operand in common, in the same place; or
    are one convolution at several places."""
    a, b = graph.ops[i], graph.ops[j]
    if a.results[0].type != b.results[0].type or (a.properties != b.properties and not _is_moved(a, b)):
        return False
    if any(x.type != y.type for x, y in zip(a.operands, b.operands, strict=True)):
        return False
    (x, y, *own), (z, w, *other) = a.operands, b.operands
    return own == other and (x is z or y is w)


def _is_moved(a: Operation, b: Operation) -> bool:
    """Whether convolutions are of the same arrays, and differ in what is before and behind x alone."""
    if pattern_of(a) is not Pattern.CONVOLUTION or list(a.operands) != list(b.operands):
        return False
    names = {*a.properties, *b.properties}
    differing = {name for name in names if a.properties.get(name) != b.properties.get(name)}
    return bool(differing) and differing <= {"low", "high"}


def _elementwise_reach(graph: FusionGraph, i: int) -> set[int]:
    """The elementwise ops of the product's shape that a chain of such ops leads to."""
    shape = shape_of(graph.ops[i].results[0])

    def following(node: int) -> Iterator[int]:
        for edge in graph.users[node]:
            op = graph.ops[edge.user]
            if is_elementwise(op) and shape_of(op.results[0]) == shape and not any(map(is_broadcast, edge.path)):
                yield edge.user

    return set(reached(following(i), following))


def grow_epilogue(graph: FusionGraph, cluster: Cluster) -> list[RowCost]:
    """Takes the elementwise ops after the products, what they alone need, reductions of it, and stores that permute.
    Gives the costs that were compared."""
    grow_forward(graph, cluster, lambda i: absorb_elementwise(graph, i, cluster, lambda tags: tags == cluster.identity))
    absorb_producers(graph, cluster, lambda i: _is_elementwise_of(graph, i, cluster), _epilogue(graph, cluster))
    if _is_in_groups(graph, cluster):
        return []
    if _absorb_block_sum(graph, cluster):
        return []
    compared = _grow_rows(graph, cluster)
    for i in _reductions(graph, cluster):
        _absorb_reduction(graph, i, cluster)
    grow_forward(graph, cluster, lambda i: _accept_after_reduction(graph, i, cluster))
    absorb_tails(graph, cluster)
    return compared


def _absorb_block_sum(graph: FusionGraph, cluster: Cluster) -> bool:
    """Where the batch is blocks of K, whose products are scaled and added up: takes the sum, what scales need that are
    smaller, and the elementwise work behind the sum. Gives whether there is such a sum."""
    products = [i for i in bits(cluster.members) if is_contraction(graph.ops[i])]
    sums = [i for i in _reductions(graph, cluster) if is_block_sum(graph.ops[i], graph.ops[products[0]])]
    if len(products) != 1 or len(sums) != 1:
        return False
    (i,) = sums
    edges = edges_into(graph, i, cluster)
    outer = {edge.user for member in bits(cluster.members) for edge in graph.outer_users(member)}
    is_stored = any(member in graph.escaping for member in bits(cluster.members)) or outer != {i}
    if is_stored or not all(spans_domain(graph, edge, cluster) for edge in edges) or not graph.absorb(cluster, i):
        return False
    (block,) = reduced_axes(graph.ops[i])
    cluster.tags[i] = tuple(axis for axis in cluster.identity if axis != block)
    cluster.reduced.add(i)
    grow_forward(graph, cluster, lambda j: _accept_after_reduction(graph, j, cluster))
    absorb_producers(graph, cluster, lambda j: _is_small(graph, j, cluster), _epilogue(graph, cluster))
    absorb_tails(graph, cluster)
    return True


def _is_small(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Whether the op computes or permutes fewer elements than the products have."""
    op = graph.ops[i]
    return (is_elementwise(op) or is_permutation(op)) and size_of(op.results[0]) < prod(cluster.domain)


def _is_in_groups(graph: FusionGraph, cluster: Cluster) -> bool:
    """Whether data cuts what the products go over. Then their operands are arrays, and tiles store what they have."""
    return any(is_grouped(graph.ops[i]) for i in bits(cluster.members))


def _epilogue(graph: FusionGraph, cluster: Cluster) -> list[int]:
    return [i for i in bits(cluster.members) if not is_contraction(graph.ops[i])]


def _is_elementwise_of(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Whether the op can be computed beside the accumulator: elementwise, on no more elements than the result has."""
    return is_elementwise(graph.ops[i]) and size_of(graph.ops[i].results[0]) <= prod(cluster.domain)


def _reductions(graph: FusionGraph, cluster: Cluster) -> list[int]:
    users = {edge.user for i in bits(cluster.members) for edge in graph.users[i]}
    return sorted(i for i in users if graph.is_free(i) and _is_tiled(graph.ops[i]))


def _is_tiled(op: Operation) -> bool:
    """Whether the op is a reduction of which the tiles of a product can reduce parts."""
    return is_splittable(op) and has_parts(op)


def _grow_rows(graph: FusionGraph, cluster: Cluster) -> list[RowCost]:
    """Where whole rows are reduced and read again, and that pays in tiles of whole rows: takes such reductions, and the
    elementwise work on rows and their results."""
    batch, _, n = sides(graph, cluster)
    axes = tuple(sorted(n))
    if len(axes) != 1 or batch & n:
        return []
    again = [i for i in _reductions(graph, cluster) if reduced_axes(graph.ops[i]) == axes]
    if not any(_meets_result_again(graph, i, cluster) for i in again):
        return []
    products = [graph.ops[i] for i in bits(cluster.members) if is_contraction(graph.ops[i])]
    cost = row_cost(products[0], len(products), prod(cluster.domain[axis] for axis in axes))
    if cost is None:
        return []
    size = 0
    while cost.pays and size != cluster.members.bit_count():
        size = cluster.members.bit_count()
        grow_forward(
            graph,
            cluster,
            lambda i: _accept_row(graph, i, cluster, axes) or _accept_along_rows(graph, i, cluster, axes),
        )
        absorb_producers(graph, cluster, lambda i: _is_elementwise_of(graph, i, cluster), _epilogue(graph, cluster))
    return [cost]


def _accept_row(graph: FusionGraph, i: int, cluster: Cluster, axes: tuple[int, ...]) -> bool:
    """A reduction of whole rows of the domain."""
    op = graph.ops[i]
    if not _is_tiled(op) or reduced_axes(op) != axes or shape_of(op.operands[0]) != cluster.domain:
        return False
    rows = tuple(axis for axis in cluster.identity if axis not in axes)
    spanning = all(spans_domain(graph, edge, cluster) for edge in edges_into(graph, i, cluster))
    return spanning and graph.absorb(cluster, i, rows)


def _accept_along_rows(graph: FusionGraph, i: int, cluster: Cluster, axes: tuple[int, ...]) -> bool:
    """Elementwise work on the domain, or on one element for each row."""
    return absorb_elementwise(
        graph, i, cluster, lambda tags: spans(tags, cluster.domain) or not any(tag in axes for tag in tags)
    )


def _absorb_reduction(graph: FusionGraph, i: int, cluster: Cluster) -> None:
    op = graph.ops[i]
    axes = reduced_axes(op)
    edges = edges_into(graph, i, cluster)
    if len(edges) != 1 or not spans_domain(graph, edges[0], cluster) or not _crosses_whole_sides(graph, cluster, axes):
        return
    shape = shape_of(op.operands[0])
    is_short = is_held(shape, axes) or prod(shape[axis] for axis in axes) <= LONGEST_COLUMN
    kept = tuple(axis for axis in cluster.identity if axis not in axes)
    if not (is_short and _meets_result_again(graph, i, cluster)) and graph.absorb(cluster, i, kept):
        cluster.reduced.add(i)


def _crosses_whole_sides(graph: FusionGraph, cluster: Cluster, axes: tuple[int, ...]) -> bool:
    """Whether the axes are all of M, all of N, or both; the batch only together with both. Axes that have several
    groups of columns, or phases of places, are none."""
    batch, m, n = sides(graph, cluster)
    reduced = set(axes)
    if batch & n or batch & m & reduced:
        return False
    if any(0 < len(reduced & side) < len(side) for side in (batch, m, n)):
        return False
    return not (reduced & batch) or m | n <= reduced


def sides(graph: FusionGraph, cluster: Cluster) -> tuple[set[int], set[int], set[int]]:
    """The axes of the cluster's domain along b, m and n of its products; an axis of groups of columns is in two."""
    iteration = iteration_of(next(graph.ops[i] for i in bits(cluster.members) if is_contraction(graph.ops[i])))
    b, m, n = (set(iteration.touched(iteration.result, role)) for role in "bmn")
    return b, m, n


def _meets_result_again(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Whether something computed from the reduction also reads the cluster: then the kernel that reads both reduces,
    where its blocks hold what that takes."""
    outer = 0
    for member in bits(cluster.members):
        for edge in graph.outer_users(member):
            outer |= 1 << edge.user
    return bool(graph.cluster_of[i].downstream & outer)


def _accept_after_reduction(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Elementwise work on the results of reductions alone: the kernel that finishes them does it."""
    op = graph.ops[i]
    edges = edges_into(graph, i, cluster)
    if any(edge.producer not in cluster.reduced for edge in edges):
        return False
    if any(size_of(graph.ops[edge.producer].results[0]) != size_of(op.results[0]) for edge in edges):
        return False
    if not absorb_elementwise(graph, i, cluster):
        return False
    cluster.reduced.add(i)
    return True


def grow_prologue(graph: FusionGraph, cluster: Cluster) -> list[PrologueCost]:
    """Takes the elementwise ops that only the operands of the products need, up to `MAX_PROLOGUE_COST`, where that
    pays; and what puts them into the order of the operands of products of 16 bits, which are transposed on their way to
    registers. Gives the costs that were compared."""
    products = [i for i in bits(cluster.members) if is_contraction(graph.ops[i])]
    if _is_in_groups(graph, cluster):
        return []
    budget = MAX_PROLOGUE_COST
    readers: dict[tuple[SSAValue, int], list[Operation]] = {}
    for op, side in [(graph.ops[i], side) for i in products for side in (0, 1)]:
        readers.setdefault((op.operands[side], side), []).append(op)
    alone = len(products) == 1
    costs = [
        prologue_cost(ops[0], len(ops), side, alone=alone)
        for (value, side), ops in readers.items()
        if _has_free_maker(graph, value)  # else it is an array, and what made that are all layers before, perhaps
    ]
    compared = [cost for cost in costs if cost is not None]
    stored = {op for cost in compared if not cost.pays for op in cost.ops}
    narrow = all(is_product(graph.ops[i]) and multiplied(graph.ops[i], s).size == 2 for i in products for s in (0, 1))

    def accepts(op: Operation) -> bool:
        return is_elementwise(op) and cost_of(op) <= budget and op not in stored

    def accept(i: int) -> bool:
        nonlocal budget
        op = graph.ops[i]
        if is_transpose(op):
            row = shape_of(op.operands[0])[-1] * element_of(op.operands[0].type).size
            return narrow and row % TENSOR_MAP_ALIGNMENT == 0
        if _merges_axes(op):
            makers = [edge.producer for edge in graph.sources[i]]
            return all(graph.is_free(j) and accepts(graph.ops[j]) and _is_for(graph, j, i) for j in makers)
        if not accepts(op):
            return False
        budget -= cost_of(op)
        return True

    absorb_producers(graph, cluster, accept, products)
    return compared


def _has_free_maker(graph: FusionGraph, value: SSAValue) -> bool:
    """Whether a node that no kernel has yet gives the value, through views and ops that users repeat."""

    def is_free(op: Operation) -> bool:
        return op in graph.index and graph.is_free(graph.index[op])

    found = reached(makers([value]), lambda op: makers_of(op) if is_free(op) or graph.is_inlined(op) else ())
    return any(is_free(op) and not is_view(op) for op in found)


def _is_for(graph: FusionGraph, i: int, user: int) -> bool:
    """Whether nothing but one op reads the node: what others read is stored anyway."""
    return i not in graph.escaping and all(edge.user == user for edge in graph.users[i])


def _merges_axes(op: Operation) -> bool:
    """Whether the op is a reshape of what is computed that makes one of neighboring axes, as groups of K that have
    scales of their own: a reshape of an array is a view, and stays outside."""
    if not is_view(op) or not isinstance(op.operands[0].owner, Operation):
        return False
    left = list(shape_of(op.operands[0]))
    for extent in shape_of(op.results[0]):
        merged = 1
        while left and (merged < extent or left[0] == 1):
            merged *= left.pop(0)
        if merged != extent:
            return False
    return not left
