"""Programs of torch.export as `nd`, by the rules of ATen's ops: no op stays with torch."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind, TensorArgument
from torch.fx import Graph
from torch.fx import Node as FxNode

from irc.support.diagnostics import IrcError
from irc_frontend.graph import ARGUMENT, Node
from irc_frontend.imported import Imported, imported
from irc_frontend.tensor import Tensor
from irc_frontend.torch.decompositions import decompositions
from irc_frontend.torch.rules import element_of, place_of, record, value_of


def from_exported(program: ExportedProgram) -> Imported:
    """The program of `torch.export.export(model, inputs)`: called with the tensors of the inputs, in the order in which
    torch flattens them, it gives those of the results. Its parameters and buffers are weights.

    Raises IrcError, at the user's line where torch knows it, for an op that irc has no rule for, for shapes that are
    not static, and for a program that writes a buffer or an input."""
    table = decompositions()
    table.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
    lowered = program.run_decompositions(table)
    graph = lowered.graph_module.graph
    reader = _Reader(lowered, graph)
    for node in graph.nodes:
        if node.op not in ("placeholder", "output") and node.users:
            reader.known[node] = _recorded(node, reader.known)
    return imported(reader.inputs, reader.results(graph.output_node()), reader.names)


class _Reader:
    """The signature of a program. inputs: what a call gives; names: of the tensors that the program holds; known: what
    nodes are."""

    def __init__(self, program: ExportedProgram, graph: Graph):
        self._program = program
        self.inputs: dict[str, Node] = {}
        self.names: dict[Node, str] = {}
        self.known: dict[FxNode, Any] = {}
        specs = program.graph_signature.input_specs
        for node, spec in zip(graph.find_nodes(op="placeholder"), specs, strict=True):
            self.known[node] = self._placeholder(node, spec)

    def _placeholder(self, node: FxNode, spec: InputSpec) -> Any:
        if isinstance(spec.arg, ConstantArgument):
            return spec.arg.value
        if not isinstance(spec.arg, TensorArgument):
            raise IrcError(f"the input {node.name} is no tensor", hint="export the program for one value of it")
        if spec.kind is not InputKind.USER_INPUT:
            return self._held(node, spec)
        value = value_of(node)
        if any(isinstance(extent, torch.SymInt) for extent in value.shape):
            raise IrcError(
                f"the input {node.name} has the shape {list(value.shape)}, which is not static",
                hint="export without dynamic_shapes, or torch.compile the model",
            )
        found = Tensor.of(Node(ARGUMENT, (), tuple(value.shape), element_of(value.dtype)))
        self.inputs[node.name] = found.node
        return found

    def _held(self, node: FxNode, spec: InputSpec) -> Tensor:
        """A parameter, a buffer or a constant of the program."""
        target = spec.target or ""
        tensor = self._program.state_dict.get(target)
        tensor = self._program.constants.get(target) if tensor is None else tensor
        if not isinstance(tensor, torch.Tensor):
            raise IrcError(f"the program has no tensor {target}, which it takes as {node.name}")
        found = Tensor(tensor.detach().contiguous())
        self.names[found.node] = target
        return found

    def results(self, output: FxNode) -> dict[str, Node]:
        """What the program gives, by the names of torch's nodes."""
        found: dict[str, Node] = {}
        values: Any = output.args[0]
        for node, spec in zip(values, self._program.graph_signature.output_specs, strict=True):
            if spec.kind is not OutputKind.USER_OUTPUT:
                what = spec.target or getattr(spec.arg, "name", "")
                raise IrcError(f"the program writes {what}", hint="export it in inference: model.eval()")
            if not isinstance(node, FxNode):
                raise IrcError(f"a result of the program is {node!r}, no tensor")
            name = node.name if node.name not in found else f"{node.name}_{len(found)}"
            found[name] = self.known[node].node
        return found


def _recorded(node: FxNode, known: dict[FxNode, Any]) -> Any:
    try:
        return record(node, known)
    except IrcError as error:
        raise IrcError(f"{node.name} ({node.target}): {error.message}", place_of(node), error.hint) from error
