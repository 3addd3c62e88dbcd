"""What is changed in a graph of ATen ops before irc divides it, so that the convolutions which stay with torch have
their fast form."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any
from unittest.mock import patch

import torch
from torch._guards import detect_fake_mode
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule, Interpreter
from torch.fx import Node as FxNode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.traceback import preserve_node_meta
from torch.utils._pytree import tree_leaves

from irc_frontend.torch.costs import LAST, is_channels_last, is_map_of_windows

aten = torch.ops.aten

OPERANDS: dict[Any, int] = {aten.convolution.default: 2, aten.convolution_backward.default: 3}
"""The convolutions, and how many arrays each has that are turned: input and weight; what is behind them before both."""


def with_channels_last(module: GraphModule, inputs: Sequence[Any] = (), visible: int | None = None) -> GraphModule:
    """A graph of ATen ops whose convolutions on a GPU take and give channels last, in which cuDNN computes them; by
    itself it turns around what goes in and what comes out.

    inputs: example arguments whose strides differ from what the graph was traced with, as those that a forward graph
    keeps for its backward one do. visible: how many of the results are to have the strides that they had; all by
    default. The others of a forward graph are kept for its backward one: as they are, and where a convolution took a
    copy of one that is the copy.
    """
    before = [strides_of(node) for node in results_of(module.graph)]
    placed = _place(module.graph, inputs)
    chosen = _chosen(module.graph, is_trained=visible is not None)
    mode = detect_fake_mode([node.meta.get("val") for node in module.graph.find_nodes(op="placeholder")])
    if not (chosen or placed) or mode is None:
        return module
    turned: dict[FxNode, FxNode] = {}
    for node in chosen:
        for operand in dict.fromkeys(_operands(node)):
            if operand.op == "placeholder" and _is_channels_last(operand):  # the weight of a convolution of points
                continue
            if operand not in turned:
                turned[operand] = _copy(module.graph, node, operand, LAST[operand.meta["val"].ndim])
            node.replace_input_with(operand, turned[operand])
    dense: list[FxNode] = []
    for node in module.graph.find_nodes(op="call_function", target=aten.view.default):
        operand = node.all_input_nodes[0]
        dense.append(_copy(module.graph, node, operand, torch.contiguous_format))
        node.replace_input_with(operand, dense[-1])
    _propagate(module, mode, placed)
    changed = _drop_copies(module.graph)
    changed += _drop_dense(mode, dense)
    _propagate(module, mode, changed)
    if visible is not None:
        _keep_copies(module.graph, visible, turned)
    is_gradient = any(node.target is aten.convolution_backward.default for node in chosen)
    _restore(module.graph, before[:visible], is_gradient)
    _propagate(module, mode)
    module.recompile()
    return module


def drop_new_strides(graph: Graph) -> None:
    """Has `as_strided` that gives the same elements as what they are, the array itself or a view of it. So torch means
    all places of channels last: along axes of extent 1 the result has their strides. In its gradient, it writes all
    elements of a row of zeros, and cuts that row."""
    for node in graph.find_nodes(op="call_function", target=aten.as_strided.default):
        operand, size = node.args[:2]
        source, value = _value(operand), _value(node)
        if source is None or value is None or not _are_equal(source.storage_offset(), value.storage_offset()):
            continue
        if _are_same_elements(source, value):
            node.target, node.args, node.kwargs = aten.alias.default, (operand,), {}
        elif _are_all_in_rows(source, value.shape, value.stride()):
            node.target, node.args, node.kwargs = aten.view.default, (operand, size), {}
    for node in graph.find_nodes(op="call_function", target=aten.as_strided_scatter.default):
        (operand, written, size, stride), offset = node.args[:4], node.args[4] if len(node.args) > 4 else None
        source, value = _value(operand), _value(written)
        if source is None or value is None or not is_row_major(value.shape, value.stride()):
            continue
        is_static = all(isinstance(extent, int) for extent in (*source.shape, *size, *stride))
        if is_static and offset in (None, source.storage_offset()) and _are_all_in_rows(source, size, stride):
            with graph.inserting_before(node):
                view = graph.call_function(aten.view.default, (written, list(source.shape)))
            view.meta = dict(node.meta)
            node.target, node.args, node.kwargs = aten.clone.default, (view,), {}  # an array of its own


def _are_same_elements(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether two views of one memory from one offset on have the same elements at the same indices."""
    if x.ndim != y.ndim:
        return False
    axes = zip(x.shape, y.shape, x.stride(), y.stride(), strict=True)
    return all(_are_equal(n, m) and (_are_equal(n, 1) or _are_equal(a, b)) for n, m, a, b in axes)


def _are_all_in_rows(x: torch.Tensor, size: Sequence[Any], stride: Sequence[Any]) -> bool:
    """Whether an array is row-major, and such a view of its memory has all of it, row-major too."""
    is_whole = _are_equal(prod(x.shape), prod(size))
    return is_whole and is_row_major(x.shape, x.stride()) and is_row_major(size, stride)


def is_row_major(size: Sequence[Any], stride: Sequence[Any]) -> bool:
    """Whether that is known for all sizes."""
    inner: Any = 1
    for extent, step in zip(reversed(size), reversed(stride), strict=True):
        if not _are_equal(extent, 1) and not _are_equal(step, inner):
            return False
        inner *= extent
    return True


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two numbers are equal for all sizes."""
    return statically_known_true(a == b)


def results_of(graph: Graph) -> list[Any]:
    """The results of a graph, in order."""
    found: Any = graph.output_node().args[0]
    return list(found) if isinstance(found, list | tuple) else [found]


def _value(node: Any) -> torch.Tensor | None:
    """The fake tensor of a node, where it has one."""
    value = node.meta.get("val") if isinstance(node, FxNode) else None
    return value if isinstance(value, torch.Tensor) else None


def strides_of(node: Any) -> tuple[int, ...] | None:
    value = _value(node)
    return None if value is None else tuple(value.stride())


def order_of(x: torch.Tensor, rank: int | None = None) -> list[int]:
    """The first `rank` axes of an array, all of them by default, as they lie in memory, the outermost first."""
    return sorted(range(x.ndim if rank is None else rank), key=lambda axis: (-x.stride(axis), -x.shape[axis]))


def _place(graph: Graph, inputs: Sequence[Any]) -> list[FxNode]:
    """Gives the arguments of a graph the strides of these examples; those that had others."""
    changed: list[FxNode] = []
    for node, example in zip(graph.find_nodes(op="placeholder"), inputs, strict=False):
        if isinstance(example, torch.Tensor) and strides_of(node) not in (None, tuple(example.stride())):
            node.meta["val"] = example
            changed.append(node)
    return changed


def _chosen(graph: Graph, is_trained: bool) -> list[FxNode]:
    """The convolutions that are turned, in order: none in a graph that looks at strides, nor in training where one has
    groups that are cuDNN's, which does not do well by their gradients in channels last."""
    found = [node for node in graph.nodes if node.target in OPERANDS]
    is_trained |= any(node.target is aten.convolution_backward.default for node in found)
    if is_trained and any(map(_has_slow_groups, found)):
        return []
    if graph.find_nodes(op="call_function", target=aten.as_strided.default):
        return []
    return [node for node in found if _is_turned(node)]


def _has_slow_groups(node: FxNode) -> bool:
    groups: Any = node.args[OPERANDS[node.target] + 6]
    return groups != 1 and not is_map_of_windows(_operands(node)[-1].meta["val"].shape, groups)


def _operands(node: FxNode) -> list[FxNode]:
    """The arrays of a convolution that are to be channels last."""
    return [operand for operand in node.args[: OPERANDS[node.target]] if isinstance(operand, FxNode)]


def _is_turned(node: FxNode) -> bool:
    """Whether it is a convolution over two or three axes of floats that tensor cores multiply, and not of channels last
    yet."""
    operands = _operands(node)
    return _is_fast(operands[0].meta["val"]) and not all(map(_is_channels_last, operands[:-1]))


def _is_fast(value: torch.Tensor) -> bool:
    """Whether channels last are fast for a convolution of the array."""
    return value.is_cuda and value.ndim in LAST and value.dtype in (torch.bfloat16, torch.float16)


def _is_channels_last(node: FxNode) -> bool:
    return is_channels_last(node.meta["val"])


def _copy(graph: Graph, user: FxNode, operand: FxNode, memory_format: torch.memory_format) -> FxNode:
    """A copy of an operand for its user, without a value yet."""
    with graph.inserting_before(user):
        copy = graph.call_function(aten.clone.default, (operand,), {"memory_format": memory_format})
    copy.meta = {**_without_value(operand), "stack_trace": user.meta.get("stack_trace")}
    return copy


def _without_value(node: FxNode) -> dict[str, Any]:
    """What is known of a node, for one whose value `_propagate` finds."""
    return {name: value for name, value in node.meta.items() if name != "val"}


class _Propagation(FakeTensorProp):
    """Fake values of the nodes that have none, and of those that read another value than before."""

    def __init__(self, module: GraphModule, mode: Any, changed: Iterable[FxNode]):
        super().__init__(module, mode)
        self._changed = set(changed)

    def run_node(self, n: FxNode) -> Any:
        before = n.meta.get("val")
        if n.op == "call_function" and before is not None and self._changed.isdisjoint(n.all_input_nodes):
            return before
        trace = n.meta.get("stack_trace")
        result = super().run_node(n)
        if trace is not None:
            n.meta["stack_trace"] = trace
        if n.op != "call_function":
            return result
        if before is not None and _lie_alike(before, n.meta.get("val")):
            n.meta["val"] = before
            return before
        self._changed.add(n)
        return result


def _lie_alike(one: Any, other: Any) -> bool:
    """Whether two fake values are arrays, or several, of the same strides."""
    ours, theirs = tree_leaves(one), tree_leaves(other)
    if len(ours) != len(theirs) or not all(isinstance(x, torch.Tensor) for x in (*ours, *theirs)):
        return False
    return all(
        (a.shape, a.stride(), a.storage_offset()) == (b.shape, b.stride(), b.storage_offset())
        for a, b in zip(ours, theirs, strict=True)
    )


def _propagate(module: GraphModule, mode: Any, changed: Iterable[FxNode] = ()) -> None:
    """Finds the fake values of nodes that have none, as of those that read them or one of the `changed` nodes, whose
    values have other strides than what their readers read before."""
    inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    _Propagation(module, mode, changed).propagate_dont_convert_inputs(*inputs)


def _drop_copies(graph: Graph) -> list[FxNode]:
    """Takes out the copies of what is channels last already; what is read in their places, where that has other
    strides, along axes of extent 1."""
    changed: list[FxNode] = []
    for node in graph.find_nodes(op="call_function", target=aten.clone.default):
        if node.kwargs.get("memory_format") not in LAST.values():
            continue
        source = node.args[0]
        if source.op == "call_function" and _is_channels_last(source):
            if strides_of(node) != strides_of(source):
                changed.append(source)
            node.replace_all_uses_with(source)
            graph.erase_node(node)
    return changed


def _drop_dense(mode: Any, copies: Sequence[FxNode]) -> list[FxNode]:
    """Takes out the copies for views that torch makes without; what is read in their places."""
    changed: list[FxNode] = []
    for node in copies:
        source, (user,) = node.all_input_nodes[0], node.users
        try:
            with mode:
                source.meta["val"].view(user.args[1])
        except (RuntimeError, ValueError):
            continue
        node.replace_all_uses_with(source)
        node.graph.erase_node(node)
        changed.append(source)
    return changed


def _keep_copies(graph: Graph, visible: int, turned: Mapping[FxNode, FxNode]) -> None:
    """Keeps the copies that convolutions took of arguments, weights for instance, for their gradients."""
    results = results_of(graph)
    for place, node in enumerate(results[visible:], visible):
        copy = turned.get(node) if isinstance(node, FxNode) else None
        if copy is not None and copy.users:  # else it was dropped
            results[place] = copy
    graph.output_node().args = (results,)


def _restore(graph: Graph, strides: Sequence[tuple[int, ...] | None], is_gradient: bool) -> None:
    """Gives the first results of the graph these strides again; row-major ones where there would be gaps. That takes
    copies, which have no values yet."""
    results = results_of(graph)
    copies: dict[FxNode, FxNode] = {}
    for place, stride in enumerate(strides):
        node, value = results[place], _value(results[place])
        if value is None or stride is None or value.stride() == stride:
            continue
        wanted = torch.empty_strided(value.shape, stride, device="meta")
        if is_gradient and value.is_contiguous() and wanted.is_contiguous():  # differ where torch does not look
            continue
        if node not in copies:
            copies[node] = _laid_out(graph, node, wanted)
        results[place] = copies[node]
    graph.output_node().args = (results,)


def _laid_out(graph: Graph, node: FxNode, wanted: torch.Tensor) -> FxNode:
    """A copy of a result that lies as the wanted tensor does."""
    output = graph.output_node()
    if wanted.ndim in LAST and not wanted.is_contiguous() and is_channels_last(wanted):
        return _copy(graph, output, node, LAST[wanted.ndim])
    order = order_of(wanted)
    if wanted.is_contiguous() or not wanted.permute(order).is_contiguous():
        return _copy(graph, output, node, torch.contiguous_format)
    with graph.inserting_before(output):
        rows = graph.call_function(aten.permute.default, (node, order))
    rows.meta = _without_value(node)
    copy = _copy(graph, output, rows, torch.contiguous_format)
    with graph.inserting_before(output):
        back = graph.call_function(aten.permute.default, (copy, [order.index(axis) for axis in range(wanted.ndim)]))
    back.meta = _without_value(node)
    return back


def traced(module: GraphModule, mode: FakeTensorMode, fakes: Sequence[Any]) -> GraphModule:
    """The graph of a run with these arguments, without results that nothing uses: of the statistics that a batch norm
    in inference has on a GPU, which no rule gives, the graph had none. Meanwhile other threads may call what is
    compiled: torch takes that for a part of what is traced, unless it knows that something is being compiled."""
    compiling = patch.object(torch.compiler, "_is_compiling_flag", True)
    with mode, torch.no_grad(), preserve_node_meta(), compiling:
        found = make_fx(Interpreter(module).run)(*fakes)
    for node in found.graph.find_nodes(op="call_function", target=operator.getitem):
        if not node.users:
            found.graph.erase_node(node)
    found.recompile()
    return found
