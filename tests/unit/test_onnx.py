"""ONNX files as programs: what is read, what is refused, and what it is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irc_frontend as ir
from irc import IrcError
from irc_frontend.onnx import load
from irc_tools import opt, run

F32 = TensorProto.FLOAT


def model(
    nodes: list[Any], shapes: dict[str, list[Any]], arrays: dict[str, Any] | None = None, **options: Any
) -> onnx.ModelProto:
    """A model of f32 inputs that gives `y`."""
    inputs = [helper.make_tensor_value_info(name, F32, shape) for name, shape in shapes.items()]
    held = [numpy_helper.from_array(array, name) for name, array in (arrays or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", F32, None)], held)
    opsets = [helper.make_opsetid("", options.pop("opset", 20)), *options.pop("more_opsets", [])]
    return helper.make_model(graph, opset_imports=opsets, **options)


def dense() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["h"], name="/fc/Gemm", transB=1),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    arrays = {"fc.weight": _drawn(5, 8), "fc.bias": _drawn(5)}
    return model(nodes, {"x": [3, 8]}, arrays)


def _drawn(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def test_inputs_weights_and_results_have_names() -> None:
    program = load(dense())
    assert list(program.inputs) == ["x"]
    assert list(program.outputs) == ["y"]
    assert "fc_bias" in program.weights
    x = _drawn(3, 8)
    weight, bias = _drawn(5, 8), _drawn(5)
    with ir.target("interpret"):
        np.testing.assert_allclose(program(x=x), np.maximum(x @ weight.T + bias, 0), rtol=1e-5, atol=1e-6)
        with pytest.raises(IrcError, match="no input z is left to give"):
            program(z=x)
        with pytest.raises(IrcError, match="expected 1 inputs, found 2"):
            program(x, x)


def test_shape_computations_fold() -> None:
    """Shape, Gather, Concat and Reshape, as exporters write a view: what is left is one reshape."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    arrays = {"zero": np.asarray(0), "axes": np.asarray([0]), "rest": np.asarray([-1])}
    program = load(model(nodes, {"x": [2, 3, 4]}, arrays))
    assert not program.weights
    assert [op.name for op in program.module.walk() if op.name.startswith("nd.")] == ["nd.reshape"]
    with ir.target("interpret"):
        assert program(_drawn(2, 3, 4)).shape == (2, 12)


def test_a_known_condition_chooses_a_branch() -> None:
    def branch(op: str) -> onnx.GraphProto:
        result = helper.make_tensor_value_info("r", F32, None)
        return helper.make_graph([helper.make_node(op, ["x"], ["r"])], op, [], [result])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs"))
    program = load(model([node], {"x": [3]}, {"c": np.asarray(False)}))
    with ir.target("interpret"):
        np.testing.assert_array_equal(program(np.asarray([-1, 2, -3], np.float32)), [1, 2, 3])


def test_a_condition_that_is_an_input_chooses_elements() -> None:
    def branch(op: str) -> onnx.GraphProto:
        result = helper.make_tensor_value_info("r", F32, None)
        return helper.make_graph([helper.make_node(op, ["x"], ["r"])], op, [], [result])

    nodes = [
        helper.make_node("Greater", ["c", "zero"], ["p"]),
        helper.make_node("If", ["p"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs")),
    ]
    program = load(model(nodes, {"c": [1], "x": [3]}, {"zero": np.asarray(0, np.float32)}))
    x = np.asarray([-1, 2, -3], np.float32)
    for c, expected in ((1, -x), (-1, np.abs(x))):
        with ir.target("interpret"):
            np.testing.assert_array_equal(program(np.asarray([c], np.float32), x), expected)
    nodes[1] = helper.make_node("If", ["p"], ["y"], then_branch=branch("Neg"), else_branch=branch("NonZero"))
    with pytest.raises(IrcError, match="If y: "):
        load(model(nodes, {"c": [1], "x": [3]}, {"zero": np.asarray(0, np.float32)}))


def test_functions_of_a_model_are_opened() -> None:
    nodes = [
        helper.make_node("LeakyRelu", ["a"], ["b"]),
        helper.make_node("Add", ["b", "b"], ["c"]),
    ]
    nodes[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    opset = helper.make_opsetid("", 20)
    function = helper.make_function("own", "Twice", ["a"], ["c"], nodes, [opset], ["slope"])
    call = helper.make_node("Twice", ["x"], ["y"], domain="own", slope=0.5)
    whole = model([call], {"x": [2]}, more_opsets=[helper.make_opsetid("own", 1)], functions=[function])
    with ir.target("interpret"):
        np.testing.assert_array_equal(load(whole)(np.asarray([-1, 2], np.float32)), [-1, 4])


def test_older_operators_are_converted() -> None:
    """Softmax of opset 11 flattens the axes behind its axis."""
    x = _drawn(2, 3, 4)
    old = model([helper.make_node("Softmax", ["x"], ["y"], axis=1)], {"x": [2, 3, 4]}, opset=11)
    del old.graph.output[:]
    old.graph.output.append(helper.make_tensor_value_info("y", F32, [2, 3, 4]))
    with ir.target("interpret"):
        found = load(old)(x)
    e = np.exp(x)
    np.testing.assert_allclose(found, e / e.sum((1, 2), keepdims=True), rtol=1e-5)


def test_extents_with_names() -> None:
    named = model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", 4]})
    with pytest.raises(IrcError, match="no size for axis 0, batch") as raised:
        load(named)
    assert raised.value.hint is not None and "-D batch=8" in raised.value.hint
    with pytest.raises(IrcError, match="has no extent rows"):
        load(named, dims={"rows": 2})
    assert load(named, dims={"batch": 2}).inputs["x"].shape == (2, 4)


def test_a_size_that_is_computed_with_is_no_run_time_extent() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    flat = model(nodes, {"x": ["batch", 4]}, {"shape": np.asarray([-1, 2])})
    program = load(flat, dims={"batch": ir.Dim("batch", 1, 64)})
    with ir.target("interpret"):
        assert program(_drawn(3, 4)).shape == (6, 2)
    fixed = model([helper.make_node("Reshape", ["x", "shape"], ["y"])], {"x": ["batch", 4]}, {"shape": np.asarray([8])})
    with pytest.raises(IrcError):
        load(fixed, dims={"batch": ir.Dim("batch", 1, 64)})


def _graph(nodes: list[Any], inputs: list[str], outputs: list[str]) -> onnx.GraphProto:
    taken, given = ([helper.make_tensor_value_info(name, F32, None) for name in side] for side in (inputs, outputs))
    return helper.make_graph(nodes, "body", taken, given)


def test_a_loop_whose_steps_are_known() -> None:
    """Powers of x until the step after the third: its condition is computed from constants."""
    nodes = [
        helper.make_node("Mul", ["v", "x"], ["next"]),
        helper.make_node("Less", ["i", "three"], ["more"]),
        helper.make_node("Identity", ["next"], ["row"]),
    ]
    body = _graph(nodes, ["i", "c", "v"], ["more", "next", "row"])
    loop = helper.make_node("Loop", ["most", "", "x"], ["last", "y"], name="powers", body=body)
    x = np.asarray([2, -1], np.float32)
    for most, count in ((10, 4), (2, 2)):
        arrays = {"most": np.asarray(most), "three": np.asarray(3)}
        with ir.target("interpret"):
            found = load(model([loop], {"x": [2]}, arrays))(x)
        np.testing.assert_array_equal(found, [x ** (n + 2) for n in range(count)])


def test_loops_that_are_refused() -> None:
    free = _graph([helper.make_node("Greater", ["v", "v"], ["more"])], ["i", "c", "v"], ["more", "v"])
    bad = _graph([helper.make_node("Frobnicate", ["v"], ["w"], name="inner")], ["i", "c", "v"], ["c", "w"])
    empty = _graph([helper.make_node("Identity", ["v"], ["w"])], ["i", "c", "v"], ["c", "v", "w"])
    cases = {
        "Loop y: the condition of the next step depends on an input of the program": (["ten", "", "x"], free),
        "Loop y: the number of steps depends on an input of the program": (["x", "", "x"], free),
        "Loop y: Frobnicate inner: irc has no such operator": (["ten", "", "x"], bad),
        "Loop y: it has no step, and what its steps give has no shape": (["zero", "", "x"], empty),
        "Loop y: more than 1024 steps are not supported": (["", "", "x"], _graph([], ["i", "c", "v"], ["c", "v"])),
        "Loop y: its body takes 3 values and gives 2": (["ten", ""], bad),
    }
    arrays = {"ten": np.asarray(10), "zero": np.asarray(0)}
    for message, (inputs, body) in cases.items():
        loop = helper.make_node("Loop", inputs, ["", "y"] if body is empty else ["y"], body=body)
        with pytest.raises(IrcError, match=message):
            load(model([loop], {"x": []}, arrays))


def test_a_scan_from_the_end() -> None:
    """Sums of columns from the last one on, which lie along the second axis of the result."""
    body = _graph(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Identity", ["t"], ["u"])], ["s", "e"], ["t", "u"]
    )
    ways: dict[str, Any] = {
        "scan_input_axes": [1],
        "scan_input_directions": [1],
        "scan_output_axes": [1],
        "scan_output_directions": [1],
    }
    scan = helper.make_node("Scan", ["s", "x"], ["last", "y"], body=body, num_scan_inputs=1, **ways)
    x = _drawn(3, 5)
    with ir.target("interpret"):
        found = load(model([scan], {"s": [3], "x": [3, 5]}))(np.zeros(3, np.float32), x)
    np.testing.assert_allclose(found, np.cumsum(x[:, ::-1], 1)[:, ::-1], rtol=1e-6, atol=1e-6)
    ways["scan_input_axes"] = [1, 1]
    wrong = helper.make_node("Scan", ["s", "x"], ["last", "y"], body=body, num_scan_inputs=1, **ways)
    with pytest.raises(IrcError, match="Scan last: scan_input_axes has 2 numbers, expected 1"):
        load(model([wrong], {"s": [3], "x": [3, 5]}))


def test_errors_name_the_node() -> None:
    bad = {
        "Frobnicate bad: irc has no such operator": helper.make_node("Frobnicate", ["x"], ["y"], name="bad"),
        "Relu bad: the attribute slope is not supported": helper.make_node("Relu", ["x"], ["y"], name="bad", slope=1.0),
        "Relu bad: the domain other of operators": helper.make_node("Relu", ["x"], ["y"], name="bad", domain="other"),
        "Relu y: an input, z, is not defined": helper.make_node("Relu", ["z"], ["y"]),
        "Reshape bad: the shape depends on an input": helper.make_node("Reshape", ["x", "x"], ["y"], name="bad"),
        "Concat bad: ": helper.make_node("Concat", ["x", "x"], ["y"], name="bad", axis=5),
        "Cast bad: the type `to`: irc has no element type uint16": helper.make_node(
            "Cast", ["x"], ["y"], name="bad", to=4
        ),
    }
    for message, node in bad.items():
        with pytest.raises(IrcError, match=message.replace("`", ".")):
            load(model([node], {"x": [2, 3]}))


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with pytest.raises(IrcError, match="cannot read"):
        load(path)
    path.write_bytes(b"no model at all")
    with pytest.raises(IrcError, match="is no ONNX model"):
        load(path)
    path.write_bytes(dense().SerializeToString()[:50])
    with pytest.raises(IrcError, match="is no ONNX model"):
        load(path)
    path.write_bytes(b"")
    with pytest.raises(IrcError, match="is no ONNX model"):
        load(path)
    with pytest.raises(IrcError, match="operators of opset 99"):
        load(model([], {"y": [2]}, opset=99))


@pytest.mark.parametrize(
    ("location", "count", "message"),
    [
        ("w.bin", 160, ""),
        ("none.bin", 160, "cannot read its data from"),
        ("../w.bin", 160, "outside of the folder"),
        ("/etc/hostname", 160, "outside of the folder"),
        ("w.bin", 100, "expected 160 bytes of data"),
        ("w.bin", 10**17, "expected 160 bytes of data"),
        ("file.link", 160, "outside of the folder"),
        ("folder.link/w.bin", 160, "outside of the folder"),
        ("circle.link", 160, "which is no path|cannot read its data"),
        ("w\0.bin", 160, "which is no path"),
        ("", 160, "outside of the folder"),
        ("folder", 160, "it is no regular file"),
        ("pipe", 160, "it is no regular file"),
        ("w.bin", -1, "a negative offset or length"),
    ],
)
def test_external_data(location: str, count: int, message: str, tmp_path: Path) -> None:
    found = dense()
    weight = found.graph.initializer[0]
    (tmp_path / "w.bin").write_bytes(weight.raw_data)
    (tmp_path.parent / "w.bin").write_bytes(weight.raw_data)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.link").symlink_to(tmp_path.parent / "w.bin")
    (tmp_path / "folder.link").symlink_to(tmp_path.parent)
    (tmp_path / "circle.link").symlink_to(tmp_path / "circle.link")
    os.mkfifo(tmp_path / "pipe")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": str(count)}.items():
        weight.external_data.add(key=key, value=value)
    path = tmp_path / "m.onnx"
    path.write_bytes(found.SerializeToString())
    if not message:
        assert np.array_equal(load(path).arrays()["fc_weight"], _drawn(5, 8).T)
        return
    with pytest.raises(IrcError, match=message) as raised:
        load(path)
    assert "fc.weight" in raised.value.message


def test_the_commands_take_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(dense().SerializeToString())
    assert run.main([str(path), "--check", "--target", "interpret"]) == 0
    assert "fc_bias" in capsys.readouterr().out
    assert opt.main([str(path), "-p", "nd"]) == 0
    assert "nd.matmul" in capsys.readouterr().out
