"""From clusters to `kernel.fused`: each cluster becomes one op, in an order in which every kernel follows its
producers.

A value that another kernel reads is stored. One that is computed wider than it was declared (`nd.declared`) is
rounded at the end of the kernel that stores it, and widened where it is read.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from irc.analysis.op_classes import is_cast, is_view, shape_of
from irc.canonicalization.value_numbering import merge_in_block
from irc.dialects.kernel import Anchor, FusedOp, YieldOp
from irc.dialects.nd import CastOp, ReshapeOp
from irc.dialects.nd.declared import declared_element, relax
from irc.fusion.graph import Cluster, FusionGraph, bits, values_read
from irc.ir.discardable import DECLARED
from irc.ir.dtypes import element_of
from irc.ir.rewriting import fuse_locations, location_of, location_of_value


def outline(block: Block, graph: FusionGraph, name: str) -> list[FusedOp]:
    """Replaces the nodes of the block by kernels named `<name>_<i>`; ops that no kernel holds stay between them."""
    return _Outliner(block, graph, name).run()


class _Outliner:
    """The state while one function is rewritten. `_outer` maps a value to the stored array that stands for it."""

    def __init__(self, block: Block, graph: FusionGraph, name: str):
        self._block = block
        self._graph = graph
        self._name = name
        *self._old, end = block.ops
        self._end: Operation = end
        self._outer: dict[SSAValue, SSAValue] = {}
        self._kernels: list[FusedOp] = []

    def run(self) -> list[FusedOp]:
        for cluster in _in_order(self._graph):
            if cluster.anchor is None:
                self._keep_outside(self._graph.ops[next(bits(cluster.members))])
            else:
                self._build(cluster, cluster.anchor)
        self._end.operands = [self.outer(operand) for operand in self._end.operands]
        for op in reversed(self._old):
            if op.parent is not None and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        return self._kernels

    def _insert(self, op: Operation) -> None:
        self._block.insert_op_before(op, self._end)

    def outer(self, value: SSAValue) -> SSAValue:
        """The array between kernels that holds the value; its element type may be narrower."""
        return self._outer.get(value, value)

    def view(self, op: Operation) -> SSAValue:
        """The reshape of an array between kernels, made once."""
        result = op.results[0]
        if result not in self._outer:
            source = self.outer(op.operands[0])
            type = TensorType(_element(source), shape_of(result))
            view = ReshapeOp.create(
                operands=[source], result_types=[type], properties=op.properties, location=op.location
            )
            view.results[0].name_hint = result.name_hint
            self._insert(view)
            self._outer[result] = view.results[0]
        return self._outer[result]

    def _keep_outside(self, op: Operation) -> None:
        if is_view(op):
            self.view(op)
            return
        copy = op.clone({operand: self.outer(operand) for operand in values_read(op)})
        self._insert(copy)
        self._outer |= dict(zip(op.results, copy.results, strict=True))

    def _build(self, cluster: Cluster, anchor: Anchor) -> None:
        graph = self._graph
        nodes = list(bits(cluster.members))
        body = KernelBody(self)
        for i in nodes:
            body.add(graph.ops[i])
        stored = [i for i in nodes if graph.is_stored(i)]
        results = [body.stored(graph.ops[i].results[0], rounded=self._is_rounded(i)) for i in stored]
        given = [x.index for x in results if isinstance(x, BlockArgument)]
        if len(given) == len(results) and not any(i in graph.escaping for i in stored):
            # Casts of arrays that have the type already.
            self._outer |= {graph.ops[i].results[0]: body.operands[x] for i, x in zip(stored, given, strict=True)}
            return
        distinct = list(dict.fromkeys(results))
        location = fuse_locations(*(location_of(graph.ops[i]) for i in nodes))
        body.block.add_op(YieldOp(*distinct, location=location))
        merge_in_block(body.block)  # what differs in what it was declared as is the same now
        kernel = FusedOp(
            body.operands,
            [value.type for value in distinct],
            anchor,
            Region(body.block),
            sym_name=f"{self._name}_{len(self._kernels)}",
            location=location,
        )
        order_groups(kernel)
        self._insert(kernel)
        self._kernels.append(kernel)
        outputs = dict(zip(distinct, kernel.results, strict=True))
        for i, result in zip(stored, results, strict=True):
            value = graph.ops[i].results[0]
            self._outer[value] = outputs[result]
            outputs[result].name_hint = value.name_hint

    def _is_rounded(self, i: int) -> bool:
        """Whether only kernels read the stored value, directly or through views: then they widen it again."""
        graph = self._graph
        if i in graph.escaping:
            return False
        outer = {edge.user for edge in graph.outer_users(i)}
        views = [j for j in outer if graph.cluster_of[j].anchor is None]
        return all(is_view(graph.ops[j]) and self._is_rounded(j) for j in views)


class KernelBody:
    """The block of a kernel in the making: ops are copied in, with what they repeat, and operands become arguments."""

    def __init__(self, outliner: _Outliner):
        self._outliner = outliner
        self._graph = outliner._graph  # pyright: ignore[reportPrivateUsage]
        self._values: dict[SSAValue, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self.block = Block()
        self.operands: list[SSAValue] = []

    def add(self, op: Operation) -> None:
        """Copies a node, after what it reads."""
        if is_cast(op) and (same := self._stored_operand(op)) is not None:
            self._values[op.results[0]] = same
            return
        copy = op.clone({operand: self._value(operand) for operand in op.operands})
        if copy.attributes.pop(DECLARED, None) is not None:
            relax(copy)
        self.block.add_op(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self._values[old] = new
            new.name_hint = old.name_hint

    def stored(self, value: SSAValue, *, rounded: bool) -> SSAValue:
        """The value as the kernel stores it."""
        local = self._values[value]
        declared = declared_element(value) if rounded else None
        if declared is None or declared == _element(local):
            return local
        for use in local.uses:
            if is_cast(use.operation) and _element(use.operation.results[0]) == declared:
                return use.operation.results[0]
        return self._cast(local, declared, value)

    def _value(self, value: SSAValue) -> SSAValue:
        """The value inside the kernel."""
        if value in self._values:
            return self._values[value]
        owner = value.owner
        if isinstance(owner, Operation) and self._graph.is_inlined(owner):
            if is_view(owner) and self._is_outside(owner.operands[0]):
                self._values[value] = self._widened(value, self._outliner.view(owner))
            else:
                self.add(owner)
            return self._values[value]
        self._values[value] = self._widened(value, self._outliner.outer(value))
        return self._values[value]

    def _is_outside(self, value: SSAValue) -> bool:
        """Whether the value is an array between kernels, or a view of one."""
        if value in self._values and value not in self._outliner._outer:  # pyright: ignore[reportPrivateUsage]
            return False
        owner = value.owner
        if not isinstance(owner, Operation):
            return True
        if self._graph.is_inlined(owner):
            return is_view(owner) and self._is_outside(owner.operands[0])
        return value in self._outliner._outer  # pyright: ignore[reportPrivateUsage]

    def _stored_operand(self, cast: Operation) -> SSAValue | None:
        """The argument that already has what the cast would give: a stored value that was rounded to that type."""
        value = source = cast.operands[0]
        while isinstance(owner := source.owner, Operation) and is_view(owner):
            source = owner.operands[0]
        if value in self._values or not self._is_outside(value) or declared_element(source) is None:
            return None
        maker, array = value.owner, self._outliner.outer(value)
        if isinstance(maker, Operation) and is_view(maker):
            array = self._outliner.view(maker)
        return self._argument(array, value) if array.type == cast.results[0].type else None

    def _widened(self, value: SSAValue, array: SSAValue) -> SSAValue:
        argument = self._argument(array, value)
        element = _element(value)
        return argument if _element(argument) == element else self._cast(argument, element, value)

    def _argument(self, array: SSAValue, value: SSAValue) -> SSAValue:
        if array not in self._arguments:
            argument = self.block.insert_arg(array.type, len(self.block.args))
            argument.name_hint = value.name_hint or array.name_hint
            argument.location = location_of_value(array)
            self._arguments[array] = argument
            self.operands.append(array)
        return self._arguments[array]

    def _cast(self, value: SSAValue, element: Attribute, original: SSAValue) -> SSAValue:
        type = TensorType(element, shape_of(value))
        cast = CastOp.create(operands=[value], result_types=[type], location=location_of_value(original))
        cast.results[0].name_hint = original.name_hint
        self.block.add_op(cast)
        return cast.results[0]


def _element(value: SSAValue) -> Attribute:
    return element_of(value.type).type


def order_groups(kernel: FusedOp) -> None:
    """Moves the ops of the prologue before the core, and those of the epilogue after it; each group keeps its order."""
    rank = {"prologue": 0, "core": 1, "epilogue": 2}
    groups = kernel.groups()
    for op in sorted(groups, key=lambda op: rank[groups[op]]):
        op.detach()
        kernel.block.insert_op_before(op, kernel.yielded)


def _in_order(graph: FusionGraph) -> list[Cluster]:
    """The clusters, each after those that it reads; of several that could come next, the one with the first node."""
    clusters = graph.clusters()
    position = {cluster: i for i, cluster in enumerate(clusters)}
    readers: list[set[int]] = [set() for _ in clusters]
    waiting = [0] * len(clusters)
    for i, cluster in enumerate(clusters):
        producers = {position[graph.cluster_of[j]] for j in bits(cluster.inputs)} - {i}
        waiting[i] = len(producers)
        for j in producers:
            readers[j].add(i)
    ready = [i for i, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[Cluster] = []
    while ready:
        i = heappop(ready)
        order.append(clusters[i])
        for reader in sorted(readers[i]):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    return order
