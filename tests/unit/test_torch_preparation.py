"""How convolutions get channels last: on fake tensors of a GPU, and on the host as if they were fast there."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ND
from irc_frontend.torch import backend, preparation
from irc_frontend.torch.division import divide
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.preparation import with_channels_last
from irc_frontend.torch.program import CompiledSubgraph

aten = torch.ops.aten


def two_convolutions(x: torch.Tensor, wide: torch.Tensor, point: torch.Tensor) -> torch.Tensor:
    return torch.conv2d(torch.relu(torch.conv2d(x, wide)), point)


def traced(dtype: torch.dtype, device: str = "cuda") -> GraphModule:
    with FakeTensorMode(), torch.no_grad():
        shapes = [(2, 8, 16, 16), (24, 8, 3, 3), (8, 24, 1, 1)]
        return make_fx(two_convolutions)(*(torch.empty(shape, dtype=dtype, device=device) for shape in shapes))


def test_arguments_that_do_not_lie_so_are_copied() -> None:
    """What a convolution gives lies so on a GPU alone: `test_gpu_torch.py` has that."""
    graph = with_channels_last(traced(torch.bfloat16)).graph
    copies = graph.find_nodes(op="call_function", target=aten.clone.default)
    turned = [node.args[0] for node in copies if node.args[0].op == "placeholder"]
    assert [node.name.removesuffix("_1") for node in turned] == ["x", "wide"], (
        "not the weight of a convolution of points"
    )
    assert all(node.kwargs["memory_format"] is torch.channels_last for node in copies)


@pytest.mark.parametrize(("dtype", "device"), [(torch.float32, "cuda"), (torch.bfloat16, "cpu")])
def test_others_stay(dtype: torch.dtype, device: str) -> None:
    assert not with_channels_last(traced(dtype, device)).graph.find_nodes(op="call_function", target=aten.clone.default)


class Residual(nn.Module):
    """Convolutions around a norm, a pool and a sum; then all places of all channels in one row."""

    def __init__(self, groups: int = 1):
        super().__init__()
        self.first, self.norm, self.pool = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.MaxPool2d(2)
        self.second, self.point = nn.Conv2d(8, 8, 3, padding=1, groups=groups), nn.Conv2d(8, 4, 1, bias=False)
        self.line = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x: torch.Tensor) -> Sequence[torch.Tensor]:
        x = self.pool(torch.relu(self.norm(self.first(x))))
        x = x + self.second(x)
        y = self.point(x)
        return x, y, self.line(y.flatten(1))


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Compiled]:
    """The graphs that are compiled, where every convolution over two axes is to have channels last."""
    monkeypatch.setattr(preparation, "_is_fast", lambda value: value.ndim == 4)
    return {}


def trained(model: nn.Module, graphs: dict[str, Compiled], **options: Any) -> None:
    """Compares results, gradients and statistics of a step with eager's, and how all of them lie in memory."""
    twin, x = copy.deepcopy(model), torch.randn(2, 3, 8, 8)
    steps: list[list[torch.Tensor]] = []
    with watching(graphs.__setitem__):
        for run, module in ((torch.compile(model, backend=backend, **options), model), (twin, twin)):
            leaf = x.clone().requires_grad_()
            results = run(leaf)
            torch.stack([each.square().mean() for each in results]).sum().backward()
            grads: list[Any] = [leaf.grad, *(each.grad for each in module.parameters())]
            steps.append([*(each.detach() for each in results), *grads, *module.buffers()])
    for found, wanted in zip(*steps, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        assert found.is_contiguous() == wanted.is_contiguous()


def turned(compiled: Compiled) -> int:
    """How many results of a graph are channels last."""
    return sum(stride is not None and len(stride) == 4 and stride[1] == 1 < stride[3] for stride in compiled.strides)


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize("groups", [1, 2])
def test_values_are_those_of_the_graph_as_it_is(
    graphs: dict[str, Compiled], monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    """Whatever copies came or went: a walk through the whole graph finds the same shapes and strides."""
    checked: list[int] = []

    def checking(module: GraphModule, *arguments: Any) -> GraphModule:
        module = with_channels_last(module, *arguments)
        nodes = [node for node in module.graph.nodes if isinstance(node.meta.get("val"), torch.Tensor)]
        before = [tuple(node.meta["val"].stride()) for node in nodes]
        places = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
        FakeTensorProp(module, nodes[0].meta["val"].fake_mode).propagate_dont_convert_inputs(*places)
        assert [tuple(node.meta["val"].stride()) for node in nodes] == before
        checked.append(len(nodes))
        return module

    monkeypatch.setattr("irc_frontend.torch.graphs.with_channels_last", checking)
    model: Any = Residual(groups)
    trained(copy.deepcopy(model), graphs)
    trained(model.to(memory_format=torch.channels_last), graphs)
    assert len(checked) == 4


@pytest.mark.usefixtures("fresh_torch")
def test_training_keeps_channels_last(graphs: dict[str, Compiled]) -> None:
    """What a forward graph keeps is as its convolutions take it; what it and the backward graph give is row-major."""
    trained(Residual(), graphs)
    assert turned(graphs["forward"]) >= 3
    backward: list[Any] = [node for program in graphs["backward"].programs for node in program.subgraph.own]
    taken = [node.args[:3] for node in backward if node.target is aten.convolution_backward.default]
    assert len(taken) == 3
    assert all(each.op == "placeholder" for _, x, weight in taken for each in (x, weight)), (
        "copied by the forward graph"
    )
    (forward,) = graphs["forward"].programs
    assert permutes(forward) == 5, "of x, two weights and two results: what lies between them is in one order"


def permutes(program: CompiledSubgraph) -> int:
    """How many permutes a program's kernels have."""
    module = program.module()
    run_passes(module, passes_of(ND))
    return sum(op.name == "nd.permute" for op in module.walk())


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize(("groups", "options"), [(4, {}), (1, {"dynamic": True})])
def test_training_of_groups_and_of_dynamic_shapes_stays(
    graphs: dict[str, Compiled], groups: int, options: dict[str, Any]
) -> None:
    trained(Residual(groups), graphs, **options)
    assert not turned(graphs["forward"])


@pytest.mark.usefixtures("fresh_torch")
def test_training_of_depthwise_convolutions_is_turned(graphs: dict[str, Compiled]) -> None:
    trained(Residual(8), graphs)
    assert turned(graphs["forward"])


@pytest.mark.usefixtures("fresh_torch")
def test_results_in_any_order_of_axes(graphs: dict[str, Compiled]) -> None:
    layer, x = nn.Conv2d(3, 8, 3), torch.randn(2, 3, 8, 8)

    def f(x: torch.Tensor) -> list[torch.Tensor]:
        y = layer(x)
        return [y, y.permute(0, 2, 3, 1), y.transpose(2, 3) * 2, y.flatten(2).transpose(1, 2), y.sum(0).mT]

    with watching(graphs.__setitem__), torch.no_grad():
        found, wanted = torch.compile(f, backend=backend)(x), f(x)
    assert list(graphs) == ["inference"]
    assert [each.stride() for each in found] == [each.stride() for each in wanted]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("fresh_torch")
def test_a_view_of_channels_last(graphs: dict[str, Compiled]) -> None:
    """torch has no view of a whole row of one: it is copied first."""
    model, x = Residual().eval(), torch.randn(2, 3, 8, 8)
    with watching(graphs.__setitem__), torch.no_grad():
        found, wanted = torch.compile(model, backend=backend)(x), model(x)
    assert [each.stride() for each in found] == [each.stride() for each in wanted]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


class Excited(nn.Module):
    """Channels that are scaled by what a convolution makes of their means."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(self.scale(nn.functional.adaptive_avg_pool2d(x, 1)))


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize("dynamic", [False, True])
def test_new_strides_of_the_same_elements_leave_one_program(dynamic: bool) -> None:
    """Of a mean over the places of channels last: torch sets the strides of two axes of extent 1."""
    model, x = Excited(), torch.randn(2, 8, 4, 4).to(memory_format=torch.channels_last)
    found: list[Compiled] = []
    with watching(lambda _, compiled: found.append(compiled)), torch.no_grad():
        result, wanted = torch.compile(model, backend=backend, dynamic=dynamic)(x), model(x)
    assert [(len(each.programs), each.division.reasons) for each in found] == [(1, {})]
    assert result.stride() == wanted.stride()
    torch.testing.assert_close(result, wanted)


@pytest.mark.usefixtures("fresh_torch")
def test_gradients_of_means_of_channels_last_leave_one_program(graphs: dict[str, Compiled]) -> None:
    """torch writes the gradient of the mean into all places of a row of zeros."""
    model = Excited()
    twin, x = copy.deepcopy(model), torch.randn(2, 8, 4, 4).to(memory_format=torch.channels_last)
    gradients: list[list[Any]] = []
    with watching(graphs.__setitem__):
        for run, module in ((torch.compile(model, backend=backend), model), (twin, twin)):
            leaf = x.clone().requires_grad_()
            run(leaf).square().sum().backward()
            gradients.append([leaf.grad, *(each.grad for each in module.parameters())])
    assert {kind: (len(each.programs), each.division.reasons) for kind, each in graphs.items()} == {
        "forward": (1, {}),
        "backward": (1, {}),
    }
    torch.testing.assert_close(*gradients)


@pytest.mark.usefixtures("fresh_torch")
@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [((4, 6), (1, 4), 0), ((4, 3), (6, 1), 0), ((3, 6), (6, 1), 6), ((24,), (1,), 0)],
    ids=["turned", "narrow", "shifted", "a row"],
)
def test_new_strides_of_other_elements_stay(size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    x = torch.arange(24.0).reshape(4, 6)

    def f(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).as_strided(size, stride, offset) + 1

    assert torch.equal(torch.compile(f, backend=backend)(x), f(x))


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [((4, 6), (6, 1), 0), ((24,), (1,), 0), ((6, 4), (1, 6), 0), ((3, 6), (6, 1), 6), ((2, 3), (6, 1), 0)],
)
def test_what_is_written_through_new_strides(size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    x, y = torch.zeros(4, 6), torch.randn(size)

    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.as_strided_scatter(x, y, size, stride, offset)

    module = make_fx(f, tracing_mode="fake")(x, y)
    preparation.drop_new_strides(module.graph)
    module.recompile()
    assert torch.equal(module(x, y), f(x, y))
    assert module(x, y).untyped_storage().data_ptr() != y.untyped_storage().data_ptr()
    kept = module.graph.find_nodes(op="call_function", target=aten.as_strided_scatter.default)
    assert bool(kept) == (stride == (1, 6) or offset > 0 or size == (2, 3))


@pytest.mark.parametrize(("extent", "is_dropped"), [(1, True), (4, False)])
def test_new_strides_with_symbolic_extents(extent: int, is_dropped: bool) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        n, c, *_ = x.shape
        return x.as_strided((n, c, extent, 1), (c * extent, 1, c, c)) + 1

    graph = make_fx(f, tracing_mode="symbolic")(torch.randn(3, 8, extent, 1)).graph
    preparation.drop_new_strides(graph)
    assert (not graph.find_nodes(op="call_function", target=aten.as_strided.default)) == is_dropped


def test_statistics_of_a_norm_that_nothing_uses_are_not_traced_again() -> None:
    """On a GPU a batch norm in inference has statistics of its channels, on a CPU empty ones, as irc's rule."""

    def normalized(x: torch.Tensor, ones: torch.Tensor) -> torch.Tensor:
        return torch.relu(aten._native_batch_norm_legit_no_training(x, ones, ones, ones, ones, 0.1, 1e-5)[0])

    with FakeTensorMode() as mode, torch.no_grad():
        fakes = torch.empty(2, 8, 4, 4, device="cuda"), torch.empty(8, device="cuda")
        graph = preparation.traced(make_fx(normalized)(*fakes), mode, fakes).graph
    (norm,) = graph.find_nodes(op="call_function", target=aten._native_batch_norm_legit_no_training.default)
    assert norm.meta["val"][1].shape == (8,)
    assert [node.args[1] for node in norm.users] == [0]
    assert not divide(graph, {}).reasons
