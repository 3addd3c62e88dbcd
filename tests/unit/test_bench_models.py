"""Rows of irc-bench that are models of torch, on the CPU: what is checked, and what a timed step leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from irc.runtime.workbench import Variant
from irc_tools.bench import models
from irc_tools.bench.models import measure_model
from irc_tools.bench.record import RowRecord
from irc_tools.bench.rows import Row
from irc_tools.bench.timing import Settings
from irc_tools.bench.torch_steps import Training

torch = pytest.importorskip("torch")

MODEL = """
model = torch.nn.Sequential(
    torch.nn.Linear(width, width), torch.nn.BatchNorm1d(width), torch.nn.Dropout(0.5), torch.nn.Linear(width, 3)
)
model.register_parameter("unused", torch.nn.Parameter(torch.ones(2)))
return model, [torch.randn(16, width)]
"""
FORWARD = Row("m", "", model=MODEL, dims={"width": 8})
TRAINING = Row("m", "", model=MODEL, dims={"width": 8}, loss="return model(*inputs).float().square().mean()")


@pytest.mark.parametrize("row", [FORWARD, TRAINING], ids=["forward", "training"])
def test_a_model_is_checked_and_timed(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def stay(self: Any) -> Any:
        made.append(self)
        return self

    def time(bench: Any, clock: str, variants: Sequence[Variant], repetitions: int) -> dict[str, tuple[float, ...]]:
        for variant in variants:
            variant.enqueue(0)
            assert all(p.grad is None for p in made[0].parameters())
        return {variant.name: (1.0,) for variant in variants}

    monkeypatch.setattr(torch.nn.Module, "cuda", stay)
    monkeypatch.setattr(torch.Tensor, "cuda", stay)
    monkeypatch.setattr(models, "time_variants", time)
    torch._dynamo.reset()
    bench: Any = None
    record = measure_model(bench, row, RowRecord.of(row), Settings())
    assert not record.error
    assert list(record.times) == ["eager", "irc"]
    assert 0 < record.checks[0]["error"] <= record.checks[0]["tolerance"]
    assert made[0].training == bool(row.loss)
    assert made[0][2].p == 0.5
    assert made[0][0].weight.dtype == torch.bfloat16


def test_gradients_are_all_parameters_and_have_no_dropout() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.9), torch.nn.Linear(4, 2))
    model.register_parameter("unused", torch.nn.Parameter(torch.ones(3)))
    x = torch.randn(5, 4)
    found = Training(torch, model.train(), TRAINING.name, TRAINING.loss).result(model, [x])
    assert all(p.grad is None for p in model.parameters())
    model.eval()(x).square().mean().backward()
    parts = [torch.zeros(3) if p.grad is None else p.grad.flatten() for p in model.parameters()]
    assert torch.equal(found, torch.cat(parts))
