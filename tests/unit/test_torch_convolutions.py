"""Convolutions of torch through irc: results and gradients of eager, what a GPU leaves to cuDNN, and what is fused."""

from __future__ import annotations

import copy
import operator
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc_frontend.torch import backend, preparation, rules
from irc_frontend.torch.costs import why_slow_convolution
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.separation import separate_gradients

aten = torch.ops.aten

LAYERS = {
    "strides and groups": (nn.Conv2d(6, 8, 3, stride=2, padding=1, groups=2), (2, 6, 9, 10)),
    "depthwise": (nn.Conv2d(6, 12, (3, 1), groups=6, bias=False), (2, 6, 7, 5)),
    "one axis, dilated": (nn.Conv1d(6, 8, 3, dilation=2), (2, 6, 19)),
    "three axes": (nn.Conv3d(3, 4, (1, 3, 2), padding=(0, 1, 2)), (2, 3, 4, 5, 6)),
    "one image without a batch": (nn.Conv2d(3, 4, 3), (3, 6, 5)),
    "transposed": (nn.ConvTranspose2d(6, 8, 3, stride=2, padding=1, output_padding=1), (2, 6, 5, 4)),
    "transposed, in groups": (nn.ConvTranspose2d(6, 8, 4, stride=2, padding=1, groups=2), (2, 6, 5, 4)),
    "transposed, cut": (nn.ConvTranspose2d(6, 8, 2, stride=2, padding=3, dilation=2), (2, 6, 5, 4)),
    "transposed, one axis": (nn.ConvTranspose1d(4, 6, 5, stride=3, output_padding=2), (2, 4, 7)),
}


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_gradients(name: str) -> None:
    layer, shape = LAYERS[name]
    twin, seen = copy.deepcopy(layer), list[Compiled]()
    x = torch.randn(shape, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    with watching(lambda _, graph: seen.append(graph)):
        found = torch.compile(layer, backend=backend)(x)
        wanted = twin(other)
        weights = torch.randn_like(wanted)
        (found * weights).sum().backward()
        (wanted * weights).sum().backward()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(x.grad, other.grad, rtol=1e-4, atol=1e-4)
    for parameter, its in zip(layer.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, its.grad, rtol=1e-4, atol=1e-4)
    assert not any(graph.division.reasons for graph in seen)


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float64, torch.bfloat16])
def test_element_types(dtype: torch.dtype) -> None:
    x, w = (torch.randint(-9, 9, shape).to(dtype) for shape in ((2, 4, 8, 7), (6, 4, 3, 3)))
    found = torch.compile(lambda x, w: torch.conv2d(x, w, padding=1), backend=backend)(x, w)
    wanted = torch.conv2d(x.double(), w.double(), padding=1)
    torch.testing.assert_close(found, wanted.to(dtype) if dtype.is_floating_point else wanted.to(torch.int64).to(dtype))


# What a GPU leaves to cuDNN


def _step(layer: nn.Module, x: Any, g: Any) -> list[torch.Tensor]:
    return list(torch.autograd.grad(layer(x), [x, *layer.parameters()], g))


def _traced(layer: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> GraphModule:
    """The gradients of a layer of an array with channels last, on no device in particular."""
    layer = layer.to(dtype)
    last = [0, *range(2, len(shape)), 1]

    def array(shape: Any) -> torch.Tensor:
        return torch.empty([shape[axis] for axis in last], dtype=dtype).permute(
            [last.index(a) for a in range(len(last))]
        )

    x, g = array(shape), array(layer(array(shape)).shape)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(each) for each in (x, g)]
        return make_fx(lambda x, g: _step(layer, x.detach().requires_grad_(), g))(*fakes)


def reasons(layer: nn.Module, shape: tuple[int, ...], dtype: torch.dtype = torch.bfloat16) -> list[str | None]:
    """Why the convolution, and each of its gradients, are cuDNN's."""
    graph = _traced(layer, shape, dtype).graph
    found = [
        why_slow_convolution(node) for node in graph.find_nodes(op="call_function", target=aten.convolution.default)
    ]
    for node in graph.find_nodes(op="call_function", target=aten.convolution_backward.default):
        for position in range(2):
            mask = [at == position for at in range(3)]
            node.args = (*node.args[:10], mask)
            found.append(why_slow_convolution(node))
    return found


def test_what_is_quicker_on_a_gpu() -> None:
    forward, of_x, of_weight = reasons(nn.Conv2d(32, 48, 3, stride=2, padding=1, bias=False), (2, 32, 8, 8))
    assert forward is None and of_x is None
    assert of_weight == "the gradient of a convolution's weight, for which cuDNN is faster"
    assert reasons(nn.ConvTranspose2d(32, 48, 4, stride=2, padding=1), (2, 32, 8, 8))[:2] == [None, None]
    assert reasons(nn.Conv2d(3, 32, 7, stride=2), (2, 3, 16, 16)) == [None] * 3
    forward, *gradients = reasons(nn.Conv3d(3, 64, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3)), (2, 3, 4, 16, 16))
    assert forward is None and None not in gradients
    assert reasons(nn.Conv2d(144, 6, 1), (8, 144, 1, 1)) == [None] * 3
    assert reasons(nn.Conv2d(32, 32, 7, groups=32, padding=3), (2, 32, 8, 8)) == [None] * 3
    assert reasons(nn.Conv1d(32, 48, 3, padding=1), (2, 32, 8))[:2] == [None, None]
    assert reasons(nn.Conv3d(32, 48, 3, stride=(1, 2, 2)), (2, 32, 4, 8, 8))[:2] == [None, None]
    assert reasons(nn.ConvTranspose3d(32, 48, 2, stride=2), (2, 32, 4, 8, 8))[:2] == [None, None]


@pytest.mark.parametrize(
    ("layer", "shape", "dtype", "reason"),
    [
        (nn.Conv2d(32, 32, 3, groups=4), (2, 32, 8, 8), torch.bfloat16, "4 groups"),
        (nn.Conv2d(32, 32, 9, groups=32, padding=4), (2, 32, 8, 8), torch.bfloat16, "32 groups"),
        (nn.Conv2d(8, 32, 7, stride=2), (2, 8, 16, 16), torch.bfloat16, "8 channels, fewer than 16"),
        (nn.Conv2d(3, 8, 7, stride=2), (2, 3, 16, 16), torch.bfloat16, "3 channels, fewer than 16"),
        (nn.Conv2d(144, 6, 1), (2, 144, 64, 64), torch.bfloat16, "6 channels, fewer than 16"),
        (nn.Conv2d(32, 32, 3), (2, 32, 8, 8), torch.float32, "of float32"),
        (nn.Conv3d(3, 32, (3, 9, 9)), (2, 3, 4, 9, 9), torch.bfloat16, "3 channels, fewer than 16"),
        (nn.Conv3d(3, 32, 3, dilation=2), (2, 3, 6, 6, 6), torch.bfloat16, "3 channels, fewer than 16"),
        (nn.Conv3d(32, 32, 3, groups=4), (2, 32, 4, 4, 4), torch.bfloat16, "4 groups"),
    ],
)
def test_what_is_cudnns_on_a_gpu(layer: nn.Module, shape: tuple[int, ...], dtype: torch.dtype, reason: str) -> None:
    assert all(found is not None and reason in found for found in reasons(layer, shape, dtype)[:2])


def test_gradients_are_apart_where_torch_keeps_one(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _traced(nn.Conv2d(32, 48, 3), (2, 32, 8, 8), torch.bfloat16).graph
    separate_gradients(graph)
    (whole,) = graph.find_nodes(op="call_function", target=aten.convolution_backward.default)
    assert whole.args[10] == [True, True, True]  # irc has all of it on the cpu
    _as_on_a_gpu(monkeypatch)
    separate_gradients(graph)
    graph.lint()
    masks = [node.args[10] for node in graph.find_nodes(op="call_function", target=aten.convolution_backward.default)]
    assert sorted(masks) == [[False, True, False], [True, False, False]]
    assert len(graph.find_nodes(op="call_function", target=aten.sum.dim_IntList)) == 1


@pytest.mark.usefixtures("fresh_torch")
def test_a_step_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strided, transposed and of points: irc has the convolutions and the gradients of what they read, torch those of
    weights."""
    _as_on_a_gpu(monkeypatch)
    model = nn.Sequential(
        *(nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(48, 64, 1, stride=2, bias=False)),
        *(nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.Tanh()),
    )
    _step_of_both(model.bfloat16(), torch.randn(2, 32, 12, 12, dtype=torch.bfloat16, requires_grad=True))


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize("axes", [1, 3])
def test_a_step_over_one_axis_and_three(monkeypatch: pytest.MonkeyPatch, axes: int) -> None:
    """Volumes are turned to channels last, as images are; irc has all but the gradients of weights."""
    _as_on_a_gpu(monkeypatch)
    conv, norm = (nn.Conv1d, nn.BatchNorm1d) if axes == 1 else (nn.Conv3d, nn.BatchNorm3d)
    model = nn.Sequential(conv(16, 32, 3, stride=2, padding=1), norm(32), nn.ReLU(), conv(32, 16, 1)).bfloat16()
    leaf = torch.randn(2, 16, *[6] * axes, dtype=torch.bfloat16, requires_grad=True)
    _step_of_both(model, leaf)
    assert leaf.grad is not None and leaf.grad.is_contiguous()


@pytest.mark.usefixtures("fresh_torch")
def test_gradients_of_weights_of_few_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """irc has those of an image's and of depthwise convolutions, of many images: no window of TMA brings their pixels.
    It has all of a squeeze-and-excitation, whose arrays are small."""
    _as_on_a_gpu(monkeypatch)
    layers = nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3, groups=16), nn.AdaptiveAvgPool2d(1)
    model = nn.Sequential(*layers, nn.Conv2d(16, 6, 1), nn.SiLU(), nn.Conv2d(6, 16, 1)).bfloat16()
    graphs = dict[str, Compiled]()
    with watching(graphs.__setitem__):
        found = torch.compile(model, backend=backend)(torch.randn(24, 3, 32, 32, dtype=torch.bfloat16))
        found.float().square().mean().backward()
    assert not graphs["forward"].division.reasons and not graphs["backward"].division.reasons


def _step_of_both(model: nn.Module, leaf: torch.Tensor) -> None:
    """Expects irc to have all of a training step but the gradients of weights, with gradients near those of f32."""
    twin, graphs = copy.deepcopy(model).float(), dict[str, Compiled]()
    other = leaf.detach().float().requires_grad_()
    with watching(graphs.__setitem__):
        found, wanted = torch.compile(model, backend=backend)(leaf), twin(other)
        found.float().square().mean().backward()
        wanted.square().mean().backward()
    assert found.is_contiguous() and not graphs["forward"].division.reasons
    reasons = {why for node, why in graphs["backward"].division.reasons.items() if node.target is not operator.getitem}
    assert reasons == {"the gradient of a convolution's weight, for which cuDNN is faster"}
    torch.testing.assert_close(found.float(), wanted, rtol=3e-2, atol=3e-2)
    for a, b in zip([leaf, *model.parameters()], [other, *twin.parameters()], strict=True):
        assert a.grad is not None and b.grad is not None
        assert float((a.grad.float() - b.grad).norm()) <= 5e-2 * float(b.grad.norm()) + 1e-3


# What is fused


def _as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of the cpu are divided by the costs of a GPU; all convolutions over two axes and three are turned."""
    why_left = rules.why_left
    monkeypatch.setattr(rules, "_expect_plain", lambda node, target: None)
    monkeypatch.setattr(preparation, "_is_fast", lambda value: value.ndim in (4, 5))
    for module in ("division", "separation"):
        monkeypatch.setattr(f"irc_frontend.torch.{module}.why_left", lambda node, _: why_left(node, "cuda"))


class Bottleneck(nn.Module):
    """Of a ResNet: points, a window, points, and the sum with what came in."""

    def __init__(self, channels: int, inner: int):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Conv2d(i, o, taps, padding=taps // 2, bias=False), nn.BatchNorm2d(o))
            for i, o, taps in ((channels, inner, 1), (inner, inner, 3), (inner, channels, 1))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, third = self.layers
        return torch.relu(third(torch.relu(second(torch.relu(first(x))))) + x)


@pytest.mark.usefixtures("fresh_torch")
def test_a_bottleneck_is_three_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Norms, activations and the residual are in the epilogues; arrays between kernels have channels last. A fourth one
    turns the weight of the window."""
    _as_on_a_gpu(monkeypatch)
    model, x = Bottleneck(64, 32).bfloat16().eval(), torch.randn(8, 64, 14, 14, dtype=torch.bfloat16)
    seen: list[Compiled] = []
    with watching(lambda _, graph: seen.append(graph)), torch.no_grad():
        found = torch.compile(model, backend=backend)(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(found, model(x), rtol=2e-2, atol=2e-2)
    (graph,) = seen
    (program,) = graph.programs
    assert not graph.division.reasons
    kernels = [op for op in lower(program.module(), "kernel", arch="sm_90a").walk() if isinstance(op, FusedOp)]
    assert [op.kind.value for op in kernels if op.kind.value != "permute"] == ["matmul"] * 3
    for kernel in kernels[-3:]:
        (result,) = kernel.outputs
        assert result.type.get_shape()[-1] in (32, 64)  # pyright: ignore[reportAttributeAccessIssue]
        assert {"nd.rsqrt", "nd.relu"} <= {op.name for op in kernel.block.ops}
