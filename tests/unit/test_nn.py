"""Layers and losses against float64 numpy, on the cpu target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render
from irc_frontend import nn

RNG = np.random.default_rng(5)


pytestmark = pytest.mark.usefixtures("on_cpu")


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape)


def randomized(params: Any) -> Any:
    """Other numbers, float64, so that scales of 1 and biases of 0 hide nothing."""
    return ir.tree_map(lambda p: drawn(*p.shape), params)


def experts(params: Any, x: np.ndarray[Any, Any], chosen: int) -> np.ndarray[Any, Any]:
    """One position and one expert at a time."""
    found, rows = np.zeros_like(x.reshape(-1, x.shape[-1])), x.reshape(-1, x.shape[-1])
    for row, result in zip(rows, found, strict=True):
        scores = row @ params["router"]
        best = np.argsort(-scores)[:chosen]
        for expert, weight in zip(best, softmax(scores[best]), strict=True):
            gate = row @ params["gate"][expert]
            result += weight * (gate / (1 + np.exp(-gate)) * (row @ params["up"][expert])) @ params["down"][expert]
    return found.reshape(x.shape)


def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(params: Any, x: np.ndarray[Any, Any], heads: int, causal: bool) -> np.ndarray[Any, Any]:
    """One head and one example at a time."""
    inputs, outputs = params["inputs"], params["outputs"]
    wide = x @ inputs["weight"] + inputs["bias"]
    width, size = x.shape[-1], x.shape[-1] // heads
    mixed = np.zeros_like(x)
    for example in np.ndindex(x.shape[:-2]):
        for head in range(heads):
            q, k, v = (wide[example][:, i * width + head * size :][:, :size] for i in range(3))
            scores = q @ k.T / np.sqrt(size)
            if causal:
                scores[np.triu(np.ones(scores.shape, bool), 1)] = -np.inf
            mixed[example][:, head * size :][:, :size] = softmax(scores) @ v
    return mixed @ outputs["weight"] + outputs["bias"]


def layer_norm(params: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * params["scale"] + params[
        "shift"
    ]


def transformer_block(params: Any, x: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    x = x + attention(params["attention"], layer_norm(params["before"], x), heads, True)
    hidden = layer_norm(params["between"], x) @ params["up"]["weight"] + params["up"]["bias"]
    hidden = hidden / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)))
    return x + hidden @ params["down"]["weight"] + params["down"]["bias"]


def convolution(params: Any, x: np.ndarray[Any, Any], stride: int, padding: int, groups: int = 1) -> Any:
    """Over two axes, one tap after the other."""
    weight = params["weight"]
    outputs, rows, columns, inputs = weight.shape
    x = np.pad(x, [(0, 0), (padding, padding), (padding, padding), (0, 0)])
    height, width = ((n - taps) // stride + 1 for n, taps in zip(x.shape[1:3], (rows, columns), strict=True))
    y = np.zeros((len(x), height, width, groups, outputs // groups))
    for r, s in np.ndindex(rows, columns):
        pixels = x[:, r : r + height * stride : stride, s : s + width * stride : stride][:, :height, :width]
        kernel = weight[:, r, s].reshape(groups, outputs // groups, inputs)
        y += np.einsum("nhwgc,goc->nhwgo", pixels.reshape(*pixels.shape[:3], groups, inputs), kernel)
    return y.reshape(*y.shape[:3], outputs) + params["bias"]


def transposed(params: Any, x: np.ndarray[Any, Any], stride: int, padding: int, more: int) -> Any:
    """Over one axis: each element is spread over the window."""
    weight, count = params["weight"], x.shape[1]
    outputs, taps, _ = weight.shape
    y = np.zeros((len(x), (count - 1) * stride + taps + more, outputs))
    for place, tap in np.ndindex(count, taps):
        y[:, place * stride + tap] += x[:, place] @ weight[:, tap].T
    return y[:, padding : y.shape[1] - padding] + params["bias"]


LAYERS: dict[str, tuple[nn.Layer, Any, Callable[[Any, Any], Any]]] = {
    "linear": (nn.Linear(7, 5), drawn(3, 7), lambda p, x: x @ p["weight"] + p["bias"]),
    "linear of rows of rows": (nn.Linear(7, 5), drawn(2, 3, 4, 7), lambda p, x: x @ p["weight"] + p["bias"]),
    "linear of one row": (nn.Linear(7, 5, bias=False), drawn(7), lambda p, x: x @ p["weight"]),
    "convolution": (nn.Conv(4, 6, (3, 2), 2, 1), drawn(2, 6, 7, 4), lambda p, x: convolution(p, x, 2, 1)),
    "convolution in groups": (
        nn.Conv(4, 6, (3, 3), groups=2),
        drawn(2, 5, 6, 4),
        lambda p, x: convolution(p, x, 1, 0, 2),
    ),
    "transposed convolution": (
        nn.ConvTranspose(3, 5, (4,), 2, 1, 1),
        drawn(2, 6, 3),
        lambda p, x: transposed(p, x, 2, 1, 1),
    ),
    "embedding": (nn.Embedding(11, 6), RNG.integers(0, 11, (4, 3)), lambda p, x: p["table"][x]),
    "layer norm": (nn.LayerNorm(9), drawn(4, 5, 9) * 3 + 1, layer_norm),
    "rms norm": (
        nn.RMSNorm(9),
        drawn(4, 5, 9) * 3 + 1,
        lambda p, x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * p["scale"],
    ),
    "experts": (nn.MixtureOfExperts(6, 5, 4), drawn(3, 5, 6), lambda p, x: experts(p, x, 2)),
    "an expert for each position": (nn.MixtureOfExperts(6, 5, 9, 1), drawn(7, 6), lambda p, x: experts(p, x, 1)),
    "causal attention": (nn.MultiHeadAttention(12, 3), drawn(2, 5, 12), lambda p, x: attention(p, x, 3, True)),
    "attention": (
        nn.MultiHeadAttention(8, 2, causal=False),
        drawn(5, 8),
        lambda p, x: attention(p, x, 2, False),
    ),
    "transformer block": (nn.TransformerBlock(8, 2), drawn(2, 5, 8), lambda p, x: transformer_block(p, x, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    layer, x, meaning = LAYERS[name]
    params = randomized(layer.init(seed=1))
    wanted = meaning(params, x)
    found = layer(params, x)
    assert found.element == "f64"
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-9)
    narrow = ir.tree_map(lambda p: p.astype(np.float32) if p.dtype.kind == "f" else p, (params, x))
    np.testing.assert_allclose(layer(*narrow).numpy(), wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_layers(name: str) -> None:
    """Along a random direction, against a central difference."""
    layer, x, meaning = LAYERS[name]
    params = randomized(layer.init(seed=1))
    direction, weights = randomized(params), drawn(*meaning(params, x).shape)
    gradients = ir.grad(lambda p: (layer(p, x) * weights).sum())(params)
    slope = sum((d * g.numpy()).sum() for d, g in zip(*map(ir.tree_leaves, (direction, gradients)), strict=True))

    def along(step: float) -> float:
        moved = ir.tree_map(lambda p, d: p + step * d, params, direction)
        return float((meaning(moved, x) * weights).sum())

    np.testing.assert_allclose(slope, (along(1e-5) - along(-1e-5)) / 2e-5, rtol=1e-6)


def test_parameters_have_the_shapes_and_the_spread_that_layers_say() -> None:
    weight = nn.Linear(100, 80).init(3)["weight"].numpy()
    assert weight.shape == (100, 80)
    assert weight.dtype == np.float32
    assert abs(weight).max() <= 0.1
    np.testing.assert_allclose(weight.std(), 0.1 / np.sqrt(3), rtol=0.03)
    table = nn.Embedding(300, 40, deviation=0.5).init(3)["table"].numpy()
    np.testing.assert_allclose(table.std(), 0.5, rtol=0.03)
    assert nn.LayerNorm(4, dtype="bf16").init(0)["scale"].element == "bf16"


@dataclass(frozen=True)
class Mlp(nn.Layer):
    layers: tuple[nn.Linear, ...]
    dropout: nn.Dropout
    name: str = "mlp"

    def __call__(self, params: nn.Params, x: Any, seed: Any = None) -> ir.Tensor:
        first, *others = zip(self.layers, params["layers"], strict=True)
        x = first[0](first[1], x)
        for layer, own in others:
            x = layer(own, self.dropout({}, ir.relu(x), seed))
        return x


def test_layers_of_layers() -> None:
    model = Mlp((nn.Linear(4, 4), nn.Linear(4, 4)), nn.Dropout(0.5))
    params = model.init(0)
    assert list(params) == ["layers", "dropout"]
    first, second = (p["weight"].numpy() for p in params["layers"])
    assert (first != second).all()
    np.testing.assert_array_equal(model.init(0)["layers"][1]["weight"].numpy(), second)
    assert (model.init(1)["layers"][1]["weight"].numpy() != second).all()
    x = drawn(3, 4).astype(np.float32)
    np.testing.assert_allclose(model(params, x).numpy(), np.maximum(x @ first, 0) @ second, rtol=1e-5, atol=1e-6)


def test_seeds_of_parts_differ() -> None:
    seeds = {nn.fold(nn.fold(seed, a), b) for seed in range(10) for a in range(10) for b in range(10)}
    assert len(seeds) == 1000
    assert all(-(2**63) <= seed < 2**63 for seed in seeds)
    for seed in (-1, 0, 2**63 - 1):
        tensor = nn.fold(nn.fold(ir.Tensor(np.int64(seed)), 3), 0)
        assert tensor.item() == nn.fold(nn.fold(seed, 3), 0)
    assert nn.fold(0, 0) == 0xE220A8397B1DCDAF - 2**64  # the first number of SplitMix64 from 0, as published


def test_dropout() -> None:
    layer, x = nn.Dropout(0.25), np.full((200, 100), 3, np.float32)
    dropped = layer({}, x, seed=7).numpy()
    assert set(np.unique(dropped)) == {0, 4}
    assert abs((dropped == 0).mean() - 0.25) < 0.01
    assert layer({}, x).numpy() is not None
    np.testing.assert_array_equal(layer({}, x).numpy(), x)
    np.testing.assert_array_equal(nn.Dropout(0)({}, x, seed=1).numpy(), x)
    gradient = ir.grad(lambda x: layer({}, x, seed=7).sum())(x).numpy()
    np.testing.assert_allclose(gradient, (dropped != 0) / 0.75, rtol=1e-6)


def test_dropout_draws_anew_in_each_call_of_one_program() -> None:
    calls: list[int] = []

    @ir.jit
    def dropped(x: Any, seed: Any) -> Any:
        calls.append(1)
        return nn.Dropout(0.5)({}, x, nn.fold(seed, 2))

    x = np.ones(64, np.float32)
    results = [dropped(x, np.int64(seed)).numpy() for seed in (1, 2, 1)]
    np.testing.assert_array_equal(results[0], results[2])
    assert (results[0] != results[1]).any()
    np.testing.assert_array_equal(results[0], nn.Dropout(0.5)({}, x, nn.fold(1, 2)).numpy())
    assert len(calls) == 1


def test_losses() -> None:
    logits, labels = drawn(4, 6, 5) * 3, RNG.integers(0, 5, (4, 6))
    rows, columns = np.indices(labels.shape)
    wanted = -np.log(softmax(logits)[rows, columns, labels]).mean()
    np.testing.assert_allclose(nn.cross_entropy(logits, labels).numpy(), wanted, rtol=1e-12)
    narrow = nn.cross_entropy(ir.Tensor(logits, "bf16"), labels.astype(np.int32))
    assert narrow.element == "f32"
    np.testing.assert_allclose(narrow.numpy(), wanted, rtol=1e-2)
    np.testing.assert_allclose(nn.cross_entropy(logits * 1e4, logits.argmax(-1)).numpy(), 0, atol=1e-6)
    x, y = drawn(3, 4), drawn(3, 4)
    np.testing.assert_allclose(nn.mse(x, y).numpy(), ((x - y) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(nn.accuracy(logits, labels).numpy(), (logits.argmax(-1) == labels).mean(), rtol=1e-6)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: nn.cross_entropy(drawn(3, 4), np.zeros(4, np.int64)), "found f64[3, 4] and i64[4]"),
        (lambda: nn.cross_entropy(drawn(3, 4), drawn(3)), "labels are integers"),
        (lambda: nn.mse(drawn(3), drawn(3, 1)), "arrays of one shape, found f64[3] and f64[3, 1]"),
        (lambda: nn.MultiHeadAttention(8, 3), "3 heads do not divide a width of 8"),
        (lambda: nn.MixtureOfExperts(8, 4, 2, 3), "takes 1 to 2 of as many experts, found chosen = 3"),
        (lambda: nn.Linear(4, 3)(nn.Linear(4, 3).init(0), np.zeros((2, 5), np.float32)), "cannot multiply f32[2, 5]"),
        (
            lambda: nn.Dropout(0.5)({}, drawn(3), ir.Tensor(np.int32(1))),
            "a seed is an integer or an i64[], found i32[]",
        ),
    ],
)
def test_errors_name_the_users_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(IrcError) as caught:
        call()
    assert message in render(caught.value)
    assert "test_nn.py" in render(caught.value)
