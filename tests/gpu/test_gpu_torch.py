"""`torch.compile(model, backend="irc")` on a GPU: results and gradients of eager, torch's streams, memory and graphs."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest

from irc.runtime.driver import is_present

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function: Callable[..., Any]) -> Any:
    from irc_frontend.torch import backend

    return torch.compile(function, backend=backend)


def mlp(dtype: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 32)).cuda().to(dtype)


@pytest.mark.parametrize("name, tolerance", [("float32", 1e-4), ("bfloat16", 4e-2)])
def test_training_step(name: str, tolerance: float) -> None:
    model = mlp(getattr(torch, name))
    twin, x = copy.deepcopy(model), torch.randn(16, 64, device="cuda", dtype=getattr(torch, name))
    for run in (compiled(model), twin):
        run(x).float().square().mean().backward()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=tolerance, atol=tolerance * float(b.grad.abs().max()))


def test_dropout_draws_what_eager_draws() -> None:
    x = torch.randn(64, 64, device="cuda")
    f = lambda x: torch.nn.functional.dropout(x.relu(), 0.3) * 2  # noqa: E731
    torch.manual_seed(5)
    found = compiled(f)(x)
    torch.manual_seed(5)
    torch.testing.assert_close(found, f(x))


def test_arguments_anywhere_in_memory() -> None:
    """Turned, cut, repeated, at any address; and results made from nothing."""
    f = lambda x: (torch.tanh(x) * 3, x.sum(-1), torch.tril(torch.ones(4, 4, device="cuda")))  # noqa: E731
    base = torch.randn(8, 9, 4, device="cuda")
    for x in (base, base.permute(2, 0, 1), base[:, 1:], base[:, 0, :1].expand(8, 5), base.flatten()[1:], base[:0]):
        found, wanted = compiled(f)(x), f(x)
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
        assert found[0].stride() == wanted[0].stride() or not x.is_contiguous()


def test_convolutions_are_given_channels_last() -> None:
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3))
    model = model.cuda().bfloat16().eval()
    x = torch.randn(2, 8, 16, 16, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        found, wanted = compiled(model)(x), model(x)
    assert found.stride() == wanted.stride()
    torch.testing.assert_close(found, wanted, rtol=3e-2, atol=3e-2)


def test_convolutions_are_trained_in_channels_last() -> None:
    from irc_frontend.torch.graphs import watching

    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(8, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3)),
        *(nn.Flatten(), nn.Linear(8 * 5 * 5, 4), nn.Tanh()),
    )
    model = model.cuda().bfloat16()
    twin, x = copy.deepcopy(model), torch.randn(2, 8, 16, 16, device="cuda", dtype=torch.bfloat16)
    graphs: dict[str, Any] = {}
    with watching(graphs.__setitem__):
        found, wanted = compiled(model)(x), twin(x)
        found.float().square().mean().backward()
        wanted.float().square().mean().backward()
    kept = [stride for stride in graphs["forward"].strides if stride is not None and len(stride) == 4]
    assert sum(stride[1] == 1 for stride in kept) >= 3
    torch.testing.assert_close(found, wanted, rtol=3e-2, atol=3e-2)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert a.grad is not None and b.grad is not None and a.grad.stride() == b.grad.stride()
        assert float((a.grad - b.grad).float().norm()) <= 5e-2 * float(b.grad.float().norm())


def lies(x: Any) -> list[int]:
    """The strides of the axes that have more than one place."""
    return [stride for stride, extent in zip(x.stride(), x.shape, strict=True) if extent > 1]


@pytest.mark.parametrize("is_last", [False, True], ids=["channels first", "channels last"])
def test_convolutions_of_many_channels_are_irc_s(is_last: bool) -> None:
    """Strided, transposed and of points, forward and their gradients; those of weights are cuDNN's."""
    from irc_frontend.torch.graphs import watching

    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(48, 64, 1, stride=2, bias=False)),
        *(nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.Tanh()),
    )
    model = model.cuda().bfloat16()
    x = torch.randn(4, 32, 28, 28, device="cuda", dtype=torch.bfloat16)
    if is_last:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    runs, graphs = [compiled(model), copy.deepcopy(model), copy.deepcopy(model).float()], dict[str, Any]()
    inputs = [each.clone().requires_grad_() for each in (x, x, x.float())]
    with watching(graphs.__setitem__):
        found = [gradients(run, each) for run, each in zip(runs, inputs, strict=True)]
    left = {
        str(node.target)
        for graph in graphs.values()
        for node in graph.division.reasons
        if "getitem" not in str(node.target)
    }
    assert left == {"aten.convolution_backward.default"}
    assert not graphs["forward"].division.reasons
    for ours, eager, exact in zip(*found, strict=True):
        assert lies(ours) == lies(eager)
        assert float((ours - exact).norm()) <= 1.25 * float((eager - exact).norm())


def gradients(model: Any, x: Any) -> list[Any]:
    """The result, and the gradients of its square."""
    y = model(x)
    y.float().square().mean().backward()
    return [y, x.grad, *(parameter.grad for parameter in model.parameters())]


def test_work_is_on_the_current_stream() -> None:
    run, stream = compiled(lambda x: (x * 2).relu().sum(0)), torch.cuda.Stream()
    x = torch.randn(2048, 2048, device="cuda")
    run(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        y = x
        for _ in range(20):
            y = y * 1.01
        found = run(y)
    stream.synchronize()
    torch.testing.assert_close(found, (y * 2).relu().sum(0), rtol=1e-4, atol=1e-2)


def test_a_cuda_graph_of_torch_captures_it() -> None:
    model, x = mlp(torch.bfloat16), torch.randn(16, 64, device="cuda", dtype=torch.bfloat16)
    run, graph = compiled(model), torch.cuda.CUDAGraph()
    with torch.no_grad():
        run(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            found = run(x)
        x.copy_(torch.randn_like(x))
        graph.replay()
        torch.testing.assert_close(found, model(x), rtol=4e-2, atol=4e-2)


@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="the memory that is free is of all processes")
def test_memory_is_torchs_and_stays() -> None:
    model, x = mlp(torch.float32), torch.randn(4096, 64, device="cuda")
    run = compiled(model)
    for _ in range(12):  # of which some become CUDA graphs, which have memory of their own
        run(x).sum().backward()
    torch.cuda.synchronize()
    free, kept = torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated()
    for _ in range(1000):
        run(x).sum().backward()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == kept
    assert torch.cuda.mem_get_info()[0] >= free - (8 << 20)
