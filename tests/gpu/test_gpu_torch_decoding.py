"""Steps of decoding with a static cache on a GPU, and graphs in inference as CUDA graphs."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

from irc.runtime.driver import is_present
from irc_tools.bench.suite import load_suite
from irc_tools.bench.torch_steps import body_function

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

SMALL = {"layers": 2, "width": 256, "heads": 4, "groups": 2, "inner": 512, "words": 512, "length": 128, "batch": 2}


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function: Any, **options: Any) -> Any:
    from irc_frontend.torch import backend

    return torch.compile(function, backend=backend, dynamic=False, **options)


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_the_model_of_the_suite_decodes_as_eager(batch: int, graphs: bool) -> None:
    row, sizes = load_suite("decode").rows[0], {**SMALL, "batch": batch}
    model, (token, _) = body_function(row.name, row.model, list(sizes), {"torch": torch})(**sizes)
    model = model.cuda().bfloat16()
    twin, wide = copy.deepcopy(model), copy.deepcopy(model).float()
    before = [x.data_ptr() for x in model.buffers()]
    run = compiled(model, fullgraph=True, options={"graphs": graphs})
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in (0, 1, 5, 77, 127):
            given = (token + place).cuda() % sizes["words"], torch.tensor([place]).cuda()
            found, rounded, wanted = run(*given), twin(*given), wide(*given)
            error, allowed = (found - wanted).abs().mean(), (rounded - wanted).abs().mean()
            assert error <= 1.5 * allowed + 1e-4, place
    assert before == [x.data_ptr() for x in model.buffers()]
    for (name, found), wanted in zip(model.named_buffers(), wide.buffers(), strict=True):
        torch.testing.assert_close(found.float(), wanted.float(), rtol=0.1, atol=0.1, msg=name)


def test_a_cache_that_is_no_place_of_its_own_is_written_too() -> None:
    """One that the kernels cannot use as it lies is copied, and copied back."""

    def step(cache: Any, place: Any, row: Any) -> Any:
        cache.index_copy_(1, place, row)
        return cache.float().sum(1)

    memory = torch.zeros(64 * 1024 * 2 + 4, device="cuda", dtype=torch.bfloat16)
    place, row = torch.tensor([3], device="cuda"), torch.ones(64, 1, 1024, device="cuda", dtype=torch.bfloat16)
    run = compiled(step)
    for cache in (memory[: 64 * 2048].view(64, 2, 1024), memory[4:].view(64, 2, 1024)):
        cache.zero_()
        torch.testing.assert_close(run(cache, place % 2, row), row.float().sum(1))
        assert bool((cache[:, 1] == 1).all()) and not bool(cache[:, 0].any())


def test_a_graph_follows_its_model() -> None:
    """Parameters that change in place, and ones that are others; results of a call stay when another is made."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32)).cuda()
    run, inputs = compiled(model, mode="reduce-overhead"), [torch.randn(16, 64, device="cuda") for _ in range(4)]
    with torch.no_grad():
        kept = [run(x) for x in inputs]
        for x, found in zip(inputs, kept, strict=True):
            torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-4)
        model[0].weight.mul_(2)
        torch.testing.assert_close(run(inputs[0]), model(inputs[0]), rtol=1e-4, atol=1e-4)
        model[2].weight.data = torch.randn(32, 64, device="cuda")
        for x in inputs:
            torch.testing.assert_close(run(x), model(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backward_passes", [1, 2])
def test_training_in_the_mode_of_graphs(backward_passes: int) -> None:
    """Losses that are kept, gradients of one and of two passes, and running statistics, of both replayed graphs."""
    from irc_frontend.torch.captures import CudaGraph

    torch.manual_seed(0)
    first = torch.nn.Sequential(
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.Conv2d(32, 16, 3)
    ).to("cuda", memory_format=torch.channels_last)
    xs = [torch.randn(8, 16, 32, 32, device="cuda").to(memory_format=torch.channels_last) for _ in range(12)]
    replayed: list[CudaGraph] = []
    replay = CudaGraph.replay

    def counted(graph: CudaGraph) -> None:
        replayed.append(graph)
        replay(graph)

    found: list[tuple[list[float], list[Any]]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CudaGraph, "replay", counted)
        for graphs in (False, True):
            torch._dynamo.reset()
            model = copy.deepcopy(first)
            losses: list[Any] = []
            optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
            run = compiled(model, options={"graphs": graphs})
            for number, x in enumerate(xs):
                with torch.autocast("cuda", torch.bfloat16):
                    losses.append(run(x).float().square().mean())
                losses[-1].backward()
                if (number + 1) % backward_passes == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            found.append(([x.item() for x in losses], [x.clone() for x in model.state_dict().values()]))
    assert len(set(replayed)) >= 2 and len(replayed) >= 16
    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-3, atol=1e-4)
    for a, b in zip(found[1][1], found[0][1], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)
