"""Graphs of torch that become CUDA graphs though nobody asked for it: results of ordinary calls, bit by bit."""

from __future__ import annotations

import copy
import threading
from collections.abc import Generator
from typing import Any

import pytest

from irc.runtime.driver import is_present

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

CALLS = 14
"""Of which those behind the first 9 may be replays."""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IRC_GRAPHS", raising=False)
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Generator[list[Any]]:
    """The graphs that are replayed."""
    from irc_frontend.torch.captures import UnnoticedGraph

    found: list[Any] = []
    replay = UnnoticedGraph.replay

    def counted(graph: Any) -> None:
        found.append(graph)
        replay(graph)

    monkeypatch.setattr(UnnoticedGraph, "replay", counted)
    yield found


def compiled(function: Any, **options: Any) -> Any:
    from irc_frontend.torch import backend

    return torch.compile(function, backend=backend, dynamic=False, **options)


def layers() -> Any:
    nn = torch.nn
    blocks = [nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU()) for _ in range(8)]
    return nn.Sequential(*blocks).cuda().bfloat16()


def images() -> Any:
    """Convolutions in f32, which stay with torch, and batch norms, whose statistics move."""
    nn = torch.nn
    blocks = [nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()) for _ in range(4)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten()).cuda()


def inputs_of(model: Any, count: int = CALLS) -> list[Any]:
    shape = (2, 16, 12, 12) if any(isinstance(x, torch.nn.Conv2d) for x in model.modules()) else (4, 64)
    dtype = next(model.parameters()).dtype
    return [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(count)]


@pytest.mark.parametrize("make", [layers, images])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference(make: Any, mode: Any, replayed: list[Any]) -> None:
    model = make().eval()
    xs = inputs_of(model)
    with mode():
        wanted = [compiled(model, options={"graphs": False})(x) for x in xs]
        assert not replayed
        torch._dynamo.reset()
        run = compiled(model)
        found = [run(x) for x in xs]
    assert len(replayed) >= CALLS - 10 and len(set(replayed)) == 1
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b) and a.stride() == b.stride()


@pytest.mark.parametrize("make", [layers, images])
def test_training(make: Any, replayed: list[Any]) -> None:
    """Losses, gradients that are kept, and running statistics; two forward passes before the backward passes."""
    first = make()
    xs, found = inputs_of(first, 2 * CALLS), list[Any]()
    torch.backends.cudnn.deterministic = True
    try:
        for options in ({"graphs": False}, {}):
            torch._dynamo.reset()
            replayed.clear()
            model = copy.deepcopy(first)
            optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
            run, kept = compiled(model, options=dict(options)), list[Any]()
            for number, x in enumerate(xs):
                losses = [run(x).float().square().mean()]
                losses += [run(xs[number - 1]).float().square().mean()] if number % 5 == 4 else []
                torch.stack(losses).sum().backward()
                kept += [losses[0], *(p.grad for p in model.parameters())]
                optimizer.step()
                optimizer.zero_grad()
            found.append([*kept, *model.state_dict().values()])
            assert bool(replayed) == (not options)
    finally:
        torch.backends.cudnn.deterministic = False
    assert len(set(replayed)) >= 2 and len(replayed) >= CALLS
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_other_threads_work_on_while_a_graph_is_captured(replayed: list[Any]) -> None:
    """They draw random numbers, wait for the device, and capture a graph of their own."""
    model = layers().eval()
    xs, errors, done = inputs_of(model), list[BaseException](), threading.Event()

    def other() -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                while not done.is_set():
                    total = torch.rand(1000, device="cuda").sum()
                    graph, y = torch.cuda.CUDAGraph(), torch.ones(10, device="cuda")
                    torch.cuda.current_stream().synchronize()
                    graph.capture_begin(capture_error_mode="thread_local")
                    z = y * 2
                    graph.capture_end()
                    graph.replay()
                    assert 300 < total.item() < 700 and z.sum().item() == 20
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=other)
    with torch.no_grad():
        run = compiled(model)
        run(xs[0])
        thread.start()
        try:
            found = [run(x) for x in xs]
        finally:
            done.set()
            thread.join()
        assert replayed and not errors
        for a, x in zip(found, xs, strict=True):
            torch.testing.assert_close(a, model(x), rtol=5e-2, atol=5e-2)


def test_a_caller_captures_it(replayed: list[Any]) -> None:
    model = layers().eval()
    (x, other, *_), graph = inputs_of(model), torch.cuda.CUDAGraph()
    with torch.no_grad():
        run = compiled(model)
        wanted = [run(other) for _ in range(CALLS)]
        before = len(replayed)
        assert before
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            y = run(x)
        assert len(replayed) == before
        x.copy_(other)
        graph.replay()
        assert torch.equal(y, wanted[-1])


def test_memory_goes_with_the_model(replayed: list[Any]) -> None:
    import gc

    from irc_frontend.torch.automatic import room

    def used() -> None:
        model = layers().eval()
        with torch.no_grad():
            run = compiled(model)
            for x in inputs_of(model):
                run(x)
        assert replayed

    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved(), sum(room._held.values())
    used()
    replayed.clear()
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    assert sum(room._held.values()) <= before[1]
    assert torch.cuda.memory_reserved() <= before[0] + (4 << 20)


def test_a_donated_cache_is_newer() -> None:
    """torch finds by it that something kept for a gradient has changed."""

    def step(cache: Any, place: Any, row: Any) -> Any:
        cache.index_copy_(1, place, row)
        return cache.float().sum(1)

    cache = torch.zeros(64, 2, 1024, device="cuda", dtype=torch.bfloat16)
    place, row = torch.tensor([1], device="cuda"), torch.ones(64, 1, 1024, device="cuda", dtype=torch.bfloat16)
    before = cache._version
    compiled(step)(cache, place, row)
    assert cache._version > before
