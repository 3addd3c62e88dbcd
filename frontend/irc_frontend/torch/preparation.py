"""What is changed in a graph of ATen ops before irc divides it, so that the convolutions which stay with torch have
their fast form."""

from __future__ import annotations

from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

aten = torch.ops.aten


def with_channels_last(module: GraphModule) -> GraphModule:
    """An inference graph of ATen ops whose convolutions on a GPU take and give channels last, in which cuDNN computes
    them; by itself it turns around what goes in and what comes out. Results of the graph have the strides that they
    had."""
    found = module.graph.find_nodes(op="call_function", target=aten.convolution.default)
    chosen = [node for node in found if _is_turned(node)]
    mode = detect_fake_mode([node.meta.get("val") for node in module.graph.find_nodes(op="placeholder")])
    if not chosen or mode is None:
        return module
    for node in chosen:
        for operand in dict.fromkeys(node.all_input_nodes[:2]):
            if operand.op == "placeholder" and _is_channels_last(operand):  # the weight of a convolution of points
                continue
            with module.graph.inserting_before(node):
                turned = module.graph.call_function(
                    aten.clone.default, (operand,), {"memory_format": torch.channels_last}
                )
            turned.meta = {**operand.meta, "stack_trace": node.meta.get("stack_trace")}
            node.replace_input_with(operand, turned)
    results = module.graph.output_node()
    before = {node: node.meta["val"].stride() for node in results.all_input_nodes if _is_tensor(node)}
    _propagate(module, mode)
    _drop_copies(module.graph)
    for node, stride in before.items():
        if node.meta["val"].stride() != stride:
            _restore(module.graph, node, results)
    _propagate(module, mode)
    module.recompile()
    return module


def _is_tensor(node: FxNode) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _is_turned(node: FxNode) -> bool:
    """Whether it is a convolution over two axes of floats that tensor cores multiply, and not channels last yet."""
    value = node.meta["val"]
    narrow = value.dtype in (torch.bfloat16, torch.float16)
    return narrow and value.is_cuda and value.ndim == 4 and not _is_channels_last(node.all_input_nodes[0])


def _is_channels_last(node: FxNode) -> bool:
    return node.meta["val"].is_contiguous(memory_format=torch.channels_last)


def _propagate(module: GraphModule, mode: Any) -> None:
    """Fake values of all nodes from those of the placeholders."""
    inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    traces = {node: node.meta.get("stack_trace") for node in module.graph.nodes}
    FakeTensorProp(module, mode).propagate_dont_convert_inputs(*inputs)
    for node, trace in traces.items():
        if trace is not None:
            node.meta["stack_trace"] = trace


def _drop_copies(graph: Graph) -> None:
    """Takes out the copies of what is channels last already."""
    for node in graph.find_nodes(op="call_function", target=aten.clone.default):
        if node.kwargs.get("memory_format") is not torch.channels_last:
            continue
        source = node.args[0]
        if source.op == "call_function" and _is_channels_last(source):
            node.replace_all_uses_with(source)
            graph.erase_node(node)


def _restore(graph: Graph, node: FxNode, results: FxNode) -> None:
    """Gives a result of the graph row-major strides again."""
    with graph.inserting_before(results):
        copy = graph.call_function(aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
    copy.meta = dict(node.meta)
    results.replace_input_with(node, copy)
