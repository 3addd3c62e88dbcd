"""ONNX's RNN, GRU and LSTM beside torch's, and what of them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import irc_frontend as ir
from irc import IrcError
from irc_frontend.onnx import load

T, N, K, H = 5, 3, 4, 6
"""Steps, sequences, inputs and hidden elements."""

ORDERS = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}
"""ONNX's gates, by their numbers in torch."""


def _ordered(weight: torch.Tensor, order: list[int]) -> np.ndarray[Any, Any]:
    parts = weight.detach().chunk(len(order))
    return torch.cat([parts[number] for number in order]).numpy()


def _model(kind: str, layer: Any, lengths: list[int] | None, outputs: list[str], **attributes: Any) -> Any:
    """The model of a layer of torch, whose input and states are those of the model."""
    order, ends = ORDERS[kind], ["", "_reverse"]
    arrays = {
        "w": np.stack([_ordered(getattr(layer, f"weight_ih_l0{end}"), order) for end in ends]),
        "r": np.stack([_ordered(getattr(layer, f"weight_hh_l0{end}"), order) for end in ends]),
        "b": np.stack(
            [
                np.concatenate([_ordered(getattr(layer, f"bias_{side}_l0{end}"), order) for side in ("ih", "hh")])
                for end in ends
            ]
        ),
    }
    if lengths is not None:
        arrays["lengths"] = np.asarray(lengths, np.int32)
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    shapes = {"x": [T, N, K], **{name: [2, N, H] for name in states}}
    inputs = ["x", "w", "r", "b", "" if lengths is None else "lengths", *states]
    node = helper.make_node(kind, inputs, outputs, hidden_size=H, direction="bidirectional", **attributes)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    held = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph([node], "g", values, results, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def _layer(kind: str) -> Any:
    torch.manual_seed(0)
    return {"RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}[kind](K, H, bidirectional=True)


@pytest.mark.parametrize("lengths", [None, [5, 2, 4]], ids=["whole", "lengths"])
@pytest.mark.parametrize("kind", ORDERS)
def test_a_layer_of_torch(kind: str, lengths: list[int] | None) -> None:
    layer, x = _layer(kind), torch.randn(T, N, K)
    states = [torch.randn(2, N, H) for _ in range(2 if kind == "LSTM" else 1)]
    given: Any = x
    if lengths is not None:
        given = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
    with torch.no_grad():
        y, last = layer(given, tuple(states) if kind == "LSTM" else states[0])
    if lengths is not None:
        y = nn.utils.rnn.pad_packed_sequence(y, total_length=T)[0]
    expected = [y.reshape(T, N, 2, H).permute(0, 2, 1, 3), *(last if kind == "LSTM" else [last])]
    reset = {"linear_before_reset": 1} if kind == "GRU" else {}
    program = load(_model(kind, layer, lengths, ["y", "yh", "yc"][: len(expected)], **reset))
    with ir.target("interpret"):
        found: Any = program(x.numpy(), *(state.numpy() for state in states))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"activations": ["Affine", *["Tanh"] * 5]}, "LSTM y: the activation affine is not supported"),
        ({"activations": ["Tanh"]}, "LSTM y: expected 6 activations, found 1"),
        ({"activation_alpha": [0.5]}, "LSTM y: the attribute activation_alpha is not supported"),
    ],
)
def test_what_is_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(IrcError, match=message):
        load(_model("LSTM", _layer("LSTM"), None, ["y"], **attributes))
