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


def test_training_in_the_mode_of_graphs() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32)).cuda()
    twin, x = copy.deepcopy(model), torch.randn(16, 64, device="cuda")
    run = compiled(model, mode="reduce-overhead")
    for each in (run, twin):
        for _ in range(3):
            each(x).square().mean().backward()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4)
