"""Recorded graphs with one more axis in front: what `vmap` makes of them.

Each op that depends on a batched input has a rule, which makes the op with the batch as an axis. An op that has none
(random numbers of several seeds, kernels, gradients of convolutions) is repeated for each element of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias, cast

from irc_frontend.elementwise import apply, astype, broadcast_to
from irc_frontend.elementwise_rows import rows
from irc_frontend.graph import CALL, HOST, LEAF, Attributes, Node, fail, sorted_nodes
from irc_frontend.host import HostCall, call_of
from irc_frontend.slicing import indexed
from irc_frontend.structure import concat, permute, reshape


class Batch:
    """A batch of `size`. whole: nodes that have it as their first axis, by those that they stand for."""

    def __init__(self, size: int, whole: Mapping[Node, Node]):
        self.size = size
        self._whole = dict(whole)
        self._calls: dict[Hashable, BatchedCall] = {}
        self._hosts: dict[Hashable, HostCall] = {}

    def has(self, node: Node) -> bool:
        """Whether it differs within the batch."""
        return node in self._whole

    def full(self, node: Node) -> Node:
        """The node with the batch as its first axis."""
        known = self._whole.get(node)
        return broadcast_to(node, (self.size, *node.shape)) if known is None else known

    def add(self, node: Node) -> None:
        """Finds what the node is in the batch."""
        if node.op == LEAF or not any(map(self.has, node.operands)):
            return
        if node.op == CALL:
            self._whole[node] = self._call(node)
            return
        if node.op == HOST:
            self._whole[node] = self._host(node)
            return
        rule = _rule(node)
        made = None if rule is None else rule(self, node, dict(node.attributes))
        self._whole[node] = self._repeated(node) if made is None else made

    def _call(self, node: Node) -> Node:
        """A call whose gradient is that of each element of the batch."""
        attributes = dict(node.attributes)
        key = attributes["call"], node.operands
        known = tuple(map(self.has, node.operands))
        call = self._calls.setdefault(key, BatchedCall(attributes["call"], self.size, known))
        made = (("call", call), ("results", attributes["results"]))
        operands = [self.full(each) for each in node.operands]
        return Node(CALL, operands, (self.size, *node.shape), node.element, made, result=node.result, place=node.place)

    def _host(self, node: Node) -> Node:
        """A function of the host, which works on arrays with axes in front."""
        attributes = dict(node.attributes)
        key = attributes["call"], node.operands
        call = self._hosts.setdefault(key, call_of(node).again())
        types = cast("Sequence[tuple[tuple[int, ...], str]]", attributes["results"])
        whole = [((self.size, *shape), element) for shape, element in types]
        return call.results([self.full(each) for each in node.operands], whole)[node.result]

    def _repeated(self, node: Node) -> Node:
        parts: list[Node] = []
        for number in range(self.size):
            operands = [
                indexed(self.full(each), self._one(each, number)) if self.has(each) else each for each in node.operands
            ]
            one = Node(node.op, operands, node.shape, node.element, node.attributes, None, node.result, node.place)
            parts.append(reshape(one, [1, *one.shape]))
        return concat(parts, 0) if parts else Node("constant", (), (0, *node.shape), node.element, (("value", 0),))

    @staticmethod
    def _one(node: Node, number: int) -> list[Any]:
        return [number, *[slice(None)] * node.rank]


class BatchedCall:
    """The gradient of a call in a batch. known: which operands of the call, its arrays and then its results, differ."""

    def __init__(self, call: Any, size: int, known: Sequence[bool]):
        self._call, self._size = call, size
        self._known = known

    def gradients(
        self, cotangents: Sequence[Node | None], results: Sequence[Node], arrays: Sequence[Node]
    ) -> Sequence[Node | None]:
        """Of arrays with the batch in front."""
        from irc_frontend.graph import ARGUMENT

        def one(node: Node | None) -> Node | None:
            return None if node is None else Node(ARGUMENT, (), node.shape[1:], node.element)

        given = [*cotangents, *results, *arrays]
        alone = [one(each) for each in given]
        parts = (
            alone[: len(cotangents)],
            alone[len(cotangents) :][: len(results)],
            alone[len(cotangents) + len(results) :],
        )
        found = self._call.gradients(*parts)
        wanted = [each for each in found if each is not None]
        pairs = [(x, whole) for x, whole in zip(alone, given, strict=True) if x is not None and whole is not None]
        made = iter(batched(wanted, [x for x, _ in pairs], [whole for _, whole in pairs], self._size))
        return [None if each is None else next(made) for each in found]


def batched(roots: Sequence[Node], inputs: Sequence[Node], values: Sequence[Node], size: int) -> list[Node]:
    """The roots with a first axis of `size`, where `values` with such an axis take the inputs' place."""
    batch = Batch(size, dict(zip(inputs, values, strict=True)))
    for node in sorted_nodes(roots):
        if not batch.has(node):
            batch.add(node)
    return [batch.full(root) for root in roots]


Known: TypeAlias = dict[str, Any]
Rule: TypeAlias = Callable[[Batch, Node, Known], Node | None]
"""The node with the batch in front, of the attributes that it has; None where it has to be repeated."""


def _made(batch: Batch, node: Node, operands: Sequence[Node], attributes: Known) -> Node:
    shape, found = (batch.size, *node.shape), cast("Attributes", tuple(attributes.items()))
    return Node(node.op, operands, shape, node.element, found, None, node.result, node.place)


def _same(batch: Batch, node: Node, known: Known) -> Node:
    return _made(batch, node, [batch.full(each) for each in node.operands], known)


def _axis(batch: Batch, node: Node, known: Known) -> Node:
    return _same(batch, node, {**known, "axis": known["axis"] + 1})


def _axes(name: str, first: bool = False) -> Rule:
    """Of a list of axes, which move on by one; with `first`, the batch is the first of them."""

    def rule(batch: Batch, node: Node, known: Known) -> Node:
        moved = tuple(axis + 1 for axis in known[name])
        return _same(batch, node, {**known, name: (0, *moved) if first else moved})

    return rule


def _in_front(**values: Callable[[int], int]) -> Rule:
    """Of lists with a number for each axis: that of the batch."""

    def rule(batch: Batch, node: Node, known: Known) -> Node | None:
        if any(map(batch.has, node.operands[1:])):
            return None
        more = {name: (value(batch.size), *known[name]) for name, value in values.items()}
        return _made(batch, node, [batch.full(node.operands[0]), *node.operands[1:]], {**known, **more})

    return rule


def _zero(size: int) -> int:
    return 0


def _one(size: int) -> int:
    return 1


def _all(size: int) -> int:
    return size


def _matmul(batch: Batch, node: Node, known: Known) -> Node:
    """The batch is an axis of both operands, or a free axis of the one that has it."""
    a, b = node.operands
    lists = ("lhs_batch", "lhs_contract"), ("rhs_batch", "rhs_contract")
    has = batch.has(a), batch.has(b)
    attributes = dict(known)
    for moved, names in zip(has, lists, strict=True):
        for name in names if moved else ():
            attributes[name] = tuple(axis + 1 for axis in known[name])
    operands = [batch.full(each) if moved else each for moved, each in zip(has, node.operands, strict=True)]
    if all(has):
        attributes |= {name: (0, *attributes[name]) for name in ("lhs_batch", "rhs_batch")}
        return _made(batch, node, operands, attributes)
    shared = len(known["lhs_batch"])
    at = shared if has[0] else shared + a.rank - shared - len(known["lhs_contract"])
    shape = (*node.shape[:at], batch.size, *node.shape[at:])
    made = Node("matmul", operands, shape, node.element, tuple(attributes.items()), place=node.place)
    return permute(made, [at, *(axis for axis in range(made.rank) if axis != at)])


def _numbered(batch: Batch, indices: Node, extent: int) -> Node:
    """Indices of each element of the batch as those of all of them in one axis."""
    inside = apply("clamp", astype(batch.full(indices), "i64"), 0, max(0, extent - 1))
    shape = (batch.size, *indices.shape)
    return apply("add", inside, apply("mul", Node("iota", (), shape, "i64", (("axis", 0),)), extent))


def _joined(whole: Node, axis: int) -> tuple[Node, list[int]]:
    """The batch and an axis of its elements as one axis in front, and the order of axes before they were joined."""
    order = [0, axis + 1, *(each for each in range(1, whole.rank) if each != axis + 1)]
    moved = permute(whole, order)
    return reshape(moved, [prod(moved.shape[:2]), *moved.shape[2:]]), order


def _take(batch: Batch, node: Node, known: Known) -> Node:
    from irc_frontend.indexed import take

    x, indices = node.operands
    axis: int = known["axis"]
    if not batch.has(indices):
        return _made(batch, node, [batch.full(x), indices], {**known, "axis": axis + 1})
    if not batch.has(x):
        made = take(x, batch.full(indices), axis, "clip")
        return permute(made, [axis, *(each for each in range(made.rank) if each != axis)])
    flat, _ = _joined(batch.full(x), axis)
    made = take(flat, _numbered(batch, indices, x.shape[axis]), 0, "clip")
    behind = 1 + indices.rank
    order = [0, *range(behind, behind + axis), *range(1, behind), *range(behind + axis, made.rank)]
    return permute(made, order)


def _scatter_add(batch: Batch, node: Node, known: Known) -> Node:
    from irc_frontend.indexed import scatter_add

    x, indices, updates = node.operands
    axis: int = known["axis"]
    if not batch.has(indices):
        return _made(batch, node, [batch.full(x), indices, batch.full(updates)], {**known, "axis": axis + 1})
    flat, order = _joined(batch.full(x), axis)
    whole = batch.full(updates)
    places = range(1 + axis, 1 + axis + indices.rank)
    turned = permute(whole, [0, *places, *(each for each in range(1, whole.rank) if each not in places)])
    made = scatter_add(flat, _numbered(batch, indices, x.shape[axis]), turned, 0, "clip")
    apart = reshape(made, [batch.size, x.shape[axis], *made.shape[1:]])
    return permute(apart, [order.index(each) for each in range(len(order))])


def _conv(batch: Batch, node: Node, known: Known) -> Node | None:
    """Images of all elements of the batch are images."""
    x, kernel = node.operands
    if batch.has(kernel) or any(known.get(name) for name in ("x_axes", "result_axes", "batch_groups", "parts")):
        return None
    images = reshape(batch.full(x), [batch.size * x.shape[0], *x.shape[1:]])
    shape = (batch.size * x.shape[0], *node.shape[1:])
    made = Node("conv", (images, kernel), shape, node.element, node.attributes, place=node.place)
    return reshape(made, [batch.size, *node.shape])


def _reshape(batch: Batch, node: Node, known: Known) -> Node:
    return reshape(batch.full(node.operands[0]), [batch.size, *node.shape])


def _unmarked(batch: Batch, node: Node, known: Known) -> Node:
    """What does not fall in each of a batch may fall from one to the next."""
    return batch.full(node.operands[0])


_RULES: dict[str, Rule] = {
    "ascending": _unmarked,
    "reshape": _reshape,
    "broadcast": _axes("dims", first=True),
    "permute": _axes("permutation", first=True),
    "flip": _axes("axes"),
    "slice": _in_front(starts=_zero, stops=_all, steps=_one),
    "pad": _in_front(low=_zero, high=_zero),
    "tile": _in_front(reps=_one),
    "reduce_window": _in_front(window=_one, strides=_one, low=_zero, high=_zero, dilation=_one, input_dilation=_one),
    "matmul": _matmul,
    "take": _take,
    "scatter_add": _scatter_add,
    "conv": _conv,
    **dict.fromkeys(["cast", "bitcast", "check_indices", "tril", "triu", "one_hot"], _same),
    **dict.fromkeys(["attention", "attention_log_sum_exp", "attention_weights"], _same),
    **dict.fromkeys(["sum", "prod", "mean", "var", "max", "min", "any", "all"], _axes("axes")),
    **dict.fromkeys(["argmax", "argmin", "cumsum", "cumprod", "sort", "topk", "concat", "take_along"], _axis),
    **dict.fromkeys(["softmax", "log_softmax", "layer_norm", "rms_norm"], _axis),
}


def _rule(node: Node) -> Rule | None:
    return _same if node.op in rows() else _RULES.get(node.op)


def check_size(sizes: Sequence[int]) -> int:
    """The one size of a batch. IrcError where there is none, or several."""
    if len(set(sizes)) != 1:
        raise fail(
            f"a batch has one size, found {sorted(set(sizes))}", "in_axes says which axis of each argument is it"
        )
    return sizes[0]
