"""A model's graph as a recorded one: node by node, by rules, or by what ONNX says that an operator is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto

from irc.support.diagnostics import IrcError, Span
from irc_frontend.dims import Dim, NotOne, known_dims, one_module
from irc_frontend.graph import ARGUMENT, Node
from irc_frontend.imported import Imported, imported
from irc_frontend.onnx.loops import CONTROL
from irc_frontend.onnx.model import OWN, Model, array_of, attributes_of, element_of, read_model, resolved
from irc_frontend.onnx.ops import RULES
from irc_frontend.place import recording
from irc_frontend.tensor import Tensor

if TYPE_CHECKING:
    from irc.support.extents import Dim as KnownDim

Size: TypeAlias = int | Dim

Scope: TypeAlias = dict[str, Tensor | None]
"""Values by their names; None of one that is left out."""

MAX_DEPTH = 32
"""Of functions in functions."""


def load(model: str | Path | ModelProto, dims: Mapping[str, Size] | None = None) -> Imported:
    """The program of an ONNX model: a path, or a ModelProto. dims: the sizes of extents that the model has a name for;
    a `Dim` is known when the program is called, and one program serves all its sizes.

    Raises IrcError for a file that is no model, an operator, an attribute or a type that irc does not have, and
    external data that is not there or not in the folder of the model; the message names the node or the array."""
    read = read_model(model)
    sizes = dict(dims or {})
    _refuse_unknown(read, sizes)
    inputs = {each.name: _shape(read, each, sizes) for each in _inputs(read.graph)}
    varying = known_dims(inputs.values())

    def recorded(numbers: Mapping[Dim, int], known: Sequence[KnownDim] = ()) -> Imported:
        def size(extent: Size) -> int:
            return numbers[extent] if isinstance(extent, Dim) else extent

        return _Recorder(read, {name: [size(each) for each in shape] for name, shape in inputs.items()}).program(known)

    if not varying:
        return recorded({})
    try:
        one_module(lambda numbers: recorded(numbers).module, varying)
    except NotOne as error:
        raise IrcError(f"{read.name} is not one program for all sizes: {error}", hint="give it one size") from error
    return recorded({dim: each.stand_in for dim, each in varying.items()}, list(varying.values()))


def _inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """Those that a call gives: older files list their weights among the inputs, too."""
    held = {each.name for each in graph.initializer}
    return [each for each in graph.input if each.name not in held]


def _shape(model: Model, value: ValueInfoProto, sizes: Mapping[str, Size]) -> list[Size]:
    """The shape of an input, with sizes for the names in it."""
    what = f"{model.name}: the input {value.name}"
    if not value.type.HasField("tensor_type"):
        raise IrcError(f"{what} is a {value.type.WhichOneof('value') or 'value of no type'}, not an array")
    if not value.type.tensor_type.HasField("shape"):
        raise IrcError(f"{what} has no shape", hint="irc compiles programs of known ranks and shapes")
    found: list[Size] = []
    for axis, extent in enumerate(value.type.tensor_type.shape.dim):
        if extent.HasField("dim_value"):
            found.append(extent.dim_value)
        elif extent.dim_param in sizes:
            found.append(sizes[extent.dim_param])
        else:
            name = extent.dim_param
            hint = f"give its size: dims={{{name!r}: 8}}, or -D {name}=8" if name else "give the model a shape"
            raise IrcError(f"{what} has no size for axis {axis}{f', {name}' if name else ''}", hint=hint)
    return found


def _refuse_unknown(model: Model, sizes: Mapping[str, Size]) -> None:
    extents = (extent for each in _inputs(model.graph) for extent in each.type.tensor_type.shape.dim)
    names = sorted({extent.dim_param for extent in extents} - {""})
    if unknown := sorted(set(sizes) - set(names)):
        raise IrcError(f"{model.name} has no extent {unknown[0]}", hint=f"it has {', '.join(names) or 'none'}")


class _Recorder:
    """Records a model for inputs of some shapes."""

    def __init__(self, model: Model, shapes: Mapping[str, Sequence[int]]):
        self._model = model
        self._names: dict[Node, str] = {}
        """Of values, as the model has them."""
        self._inputs: dict[str, Node] = {}
        for value in _inputs(model.graph):
            element = element_of(value.type.tensor_type.elem_type, f"{model.name}: the input {value.name}")
            self._inputs[value.name] = Node(ARGUMENT, (), shapes[value.name], element)

    def program(self, dims: Sequence[KnownDim] = ()) -> Imported:
        """The whole model."""
        with recording(Span(self._model.name, 1, 1)):
            scope: Scope = {name: Tensor.of(node) for name, node in self._inputs.items()}
            results = self._graph(self._model.graph, scope)
        for value, result in zip(self._model.graph.output, results, strict=True):
            self._check_result(value, result)
        outputs = {value.name: result.node for value, result in zip(self._model.graph.output, results, strict=True)}
        return imported(self._inputs, outputs, self._names, dims)

    def _check_result(self, value: ValueInfoProto, result: Tensor) -> None:
        declared = value.type.tensor_type
        what = f"{self._model.name}: the output {value.name}"
        if declared.elem_type and element_of(declared.elem_type, what) != result.element:
            raise IrcError(f"{what} is {element_of(declared.elem_type, what)}, and irc makes {result.node.type} of it")

    def _graph(self, graph: GraphProto, scope: Scope) -> list[Tensor]:
        """The results of a graph whose nodes see the values of a scope."""
        if graph.sparse_initializer:
            raise IrcError(f"{self._model.name}: sparse arrays are not supported")
        for tensor in graph.initializer:
            what = f"{self._model.name}: the array {tensor.name}"
            found = Tensor(array_of(tensor, self._model.folder, what))
            self._names[found.node] = tensor.name
            scope[tensor.name] = found
        for node in graph.node:
            self._record(node, scope, {}, 0)
        return [_value(scope, each.name, "an output of the graph") for each in graph.output]

    def _record(self, node: NodeProto, scope: Scope, given: Mapping[str, AttributeProto], depth: int) -> None:
        """Adds what a node computes to the scope. given: the attributes of the function that it is in."""
        try:
            found = self._results(resolved(node, given), scope, depth)
        except IrcError as error:
            if depth:
                raise
            place = Span(self._model.name, 1, 1)
            raise IrcError(f"{_text(node)}: {error.message}", place, error.hint) from error
        for name, value in zip(node.output, found, strict=False):
            if not name:
                continue
            scope[name] = value
            if value is not None and not depth:
                self._names.setdefault(value.node, name)

    def _results(self, node: NodeProto, scope: Scope, depth: int) -> Sequence[Tensor | None]:
        inputs = [_value(scope, name, "an input") if name else None for name in node.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        attributes = attributes_of(node, self._model.folder)
        if (function := self._model.functions.get((node.domain, node.op_type))) is not None:
            return self._call(function, node, inputs, depth)
        if node.domain not in OWN:
            raise IrcError(f"the domain {node.domain} of operators is not supported")
        if (control := CONTROL.get(node.op_type)) is not None:
            return control(inputs, attributes, lambda graph, values: self._graph(graph, {**scope, **values}))
        if (rule := RULES.get(node.op_type)) is not None:
            count = max((place + 1 for place, name in enumerate(node.output) if name), default=0)
            results = rule(inputs, attributes, {"outputs": count, "opset": self._model.opset})
            results = results if isinstance(results, tuple) else (results,)
            if len(results) < count:
                raise IrcError(f"irc has no result {len(results)} of it")
            return results  # pyright: ignore[reportUnknownVariableType]
        if (body := self._body(node, inputs)) is not None:
            return self._call(body, node, inputs, depth)
        raise IrcError("irc has no such operator", hint="docs/onnx.md has those that it has")

    def _body(self, node: NodeProto, inputs: Sequence[Tensor | None]) -> FunctionProto | None:
        """What ONNX says that an operator is made of, with these inputs; None where it does not."""
        try:
            schema: Any = onnx.defs.get_schema(node.op_type, self._model.opset, "")
        except onnx.defs.SchemaError:
            return None
        if schema.has_function:
            return schema.function_body
        if not schema.has_context_dependent_function:
            return None
        types = [_type_of(each).SerializeToString() for each in inputs]
        found = FunctionProto()
        found.ParseFromString(schema.get_context_dependent_function(node.SerializeToString(), types))
        return found

    def _call(
        self, function: FunctionProto, node: NodeProto, inputs: Sequence[Tensor | None], depth: int
    ) -> list[Tensor | None]:
        """The results of a function's nodes."""
        if depth >= MAX_DEPTH:
            raise IrcError(f"functions are nested {MAX_DEPTH} deep")
        scope: Scope = dict.fromkeys(function.input)
        scope.update(zip(function.input, inputs, strict=False))
        named: dict[str, AttributeProto] = {each.name: each for each in function.attribute_proto}
        named.update({name: onnx.helper.make_attribute(name, value) for name, value in _defaults(node).items()})
        named.update({each.name: each for each in node.attribute})
        for each in function.node:
            self._record(each, scope, named, depth + 1)
        return [scope.get(name) for name in function.output]


def _defaults(node: NodeProto) -> dict[str, Any]:
    """The attributes that an operator of ONNX's has where a node does not say them."""
    if node.domain not in OWN or not onnx.defs.has(node.op_type):
        return {}
    found = onnx.defs.get_schema(node.op_type).attributes.items()
    values = {name: each.default_value for name, each in found if each.default_value.type}
    return {name: onnx.helper.get_attribute_value(each) for name, each in values.items()}


def _type_of(x: Tensor | None) -> TypeProto:
    if x is None:
        return TypeProto()
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)), x.shape)


def _value(scope: Scope, name: str, what: str) -> Any:
    if name not in scope:
        raise IrcError(f"{what}, {name}, is not defined before")
    return scope[name]


def _text(node: NodeProto) -> str:
    """How a node is called in messages."""
    name = node.name or next((each for each in node.output if each), "")
    return f"{node.op_type} {name}".strip()
