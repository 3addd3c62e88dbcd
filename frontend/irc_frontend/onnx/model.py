"""ONNX files as they are read: graphs, versions, and the arrays that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, external_data_helper
from onnx import numpy_helper as to_arrays

from irc.runtime.artifact import DTYPES, ELEMENT_NAMES
from irc.support.diagnostics import IrcError

Array = np.ndarray[Any, Any]

OPSETS = range(13, 29)
"""Versions of the operators whose meaning the rules have; models of older ones are converted by onnx."""

OWN = ("", "ai.onnx")
"""The domain of ONNX's operators."""


@dataclass(frozen=True)
class Model:
    """A model: its graph, the version of the operators, the functions that it defines, by domain and name, and where
    its external data lie."""

    name: str
    graph: GraphProto
    opset: int
    functions: Mapping[tuple[str, str], FunctionProto]
    folder: Path | None


def read_model(given: str | Path | ModelProto) -> Model:
    """A model from a file or as onnx has it. IrcError where it is none, or is of a version that irc does not read."""
    if isinstance(given, ModelProto):
        return _checked(given, "<model>", None)
    path = Path(given)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise IrcError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        found = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf has no public class of it
        raise IrcError(f"{path} is no ONNX model") from error
    if not found.HasField("graph") or not found.opset_import:
        raise IrcError(f"{path} is no ONNX model: it has no graph, or no version of its operators")
    return _checked(found, str(path), path.parent)


def _checked(model: ModelProto, name: str, folder: Path | None) -> Model:
    versions = {each.domain: each.version for each in model.opset_import}
    opset = next((versions[domain] for domain in OWN if domain in versions), None)
    if opset is None:
        raise IrcError(f"{name} does not say the version of ONNX's operators")
    if opset > OPSETS[-1]:
        raise IrcError(f"{name} has operators of opset {opset}", hint=f"irc reads opsets up to {OPSETS[-1]}")
    if opset < OPSETS[0]:
        try:
            return _checked(onnx.version_converter.convert_version(model, OPSETS[0]), name, folder)
        except RuntimeError as error:
            raise IrcError(f"{name}: onnx cannot convert opset {opset} to {OPSETS[0]}: {error}") from error
    functions = {(each.domain, each.name): each for each in model.functions}
    return Model(name, model.graph, opset, functions, folder)


def array_of(tensor: TensorProto, folder: Path | None, what: str) -> Array:
    """The elements of a tensor in the file, or beside it."""
    element_of(tensor.data_type, what)
    if external_data_helper.uses_external_data(tensor):
        tensor = _with_data(tensor, folder, what)
    try:
        return to_arrays.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise IrcError(f"{what}: {error}") from error


def _with_data(tensor: TensorProto, folder: Path | None, what: str) -> TensorProto:
    """The tensor with its external data, which lie in the folder of the model."""
    where = {entry.key: entry.value for entry in tensor.external_data}
    location = where.get("location", "")
    if folder is None:
        raise IrcError(
            f"{what}: its data are in the file {location}, and the model in none", hint="load it by its path"
        )
    try:
        path = (folder / location).resolve()
        is_inside = bool(location) and path.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a zero byte
        raise IrcError(f"{what}: its data are in {location!r}, which is no path: {error}") from error
    if not is_inside:
        raise IrcError(f"{what}: its data are in {location!r}, outside of the folder of the model")
    try:
        offset, count = int(where.get("offset", 0)), int(where.get("length", _nbytes(tensor)))
        if offset < 0 or count < 0:
            raise ValueError("a negative offset or length")
        if path.exists() and not path.is_file():
            raise ValueError("it is no regular file")
        size = _nbytes(tensor)
        held = min(size, max(0, path.stat().st_size - offset)) if count == size else count
        if held != size:
            raise IrcError(f"{what}: expected {size} bytes of data at {offset} of {path}, found {held}")
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(count)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise IrcError(f"{what}: cannot read its data from {path}: {reason}") from error
    found = TensorProto()
    found.CopyFrom(tensor)
    found.ClearField("external_data")
    found.data_location = TensorProto.DEFAULT
    found.raw_data = data
    return found


def _nbytes(tensor: TensorProto) -> int:
    size = int(np.prod(tensor.dims, dtype=np.int64))
    return size * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def element_of(data_type: int, what: str) -> str:
    """irc's name of an element type of ONNX's."""
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(data_type)
    except (KeyError, TypeError):
        dtype = None
    if dtype is None or dtype not in ELEMENT_NAMES:
        names = TensorProto.DataType
        name = names.Name(data_type).lower() if data_type in names.values() else f"number {data_type}"
        raise IrcError(f"{what}: irc has no element type {name}", hint=f"it has {', '.join(DTYPES)}")
    return ELEMENT_NAMES[dtype]


def resolved(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """The node with the attributes of the function that it is in, where its own stand for these."""
    if not any(each.ref_attr_name for each in node.attribute):
        return node
    found = NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            found.attribute.append(attribute)
        elif attribute.ref_attr_name in given:
            found.attribute.append(given[attribute.ref_attr_name])
            found.attribute[-1].name = attribute.name
    return found


def attributes_of(node: NodeProto, folder: Path | None) -> dict[str, Any]:
    """The attributes of a node as Python has them."""
    return {each.name: _attribute(each, folder) for each in node.attribute}


def _attribute(attribute: AttributeProto, folder: Path | None) -> Any:
    if attribute.type == AttributeProto.TENSOR:
        return array_of(attribute.t, folder, f"the attribute {attribute.name}")
    value: Any = onnx.helper.get_attribute_value(attribute)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
