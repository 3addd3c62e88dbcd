"""Models that torch exports as ONNX files, beside torch itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_models import MODELS, Made, first_tensor, resnet

import irc_frontend as ir
from irc_frontend.onnx import load


class _Net(nn.Module):
    """What the models of libraries are made of, in one small one."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.positions, self.head = nn.Embedding(16, 8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.conv(x)))
        y = torch.max_pool2d(y, 3, 2, 1)
        y = y.flatten(2).transpose(1, 2)
        places = torch.arange(y.shape[1]).expand(y.shape[0], y.shape[1])
        y = self.layer(y + self.positions(places))
        return torch.log_softmax(self.head(y.mean(1)), -1)


def _net() -> Made:
    model = _Net()
    nn.init.uniform_(model.norm.get_buffer("running_var"), 0.5, 2.0)
    return model, (torch.randn(2, 3, 16, 16),)


CASES: dict[str, Callable[[], Made]] = {
    "own": _net,
    "resnet50": partial(resnet, "resnet50"),
    **{name: MODELS[name] for name in ("bert", "gpt2", "llama", "vit")},
}


def export(model: nn.Module, inputs: tuple[torch.Tensor, ...], path: Path, **options: Any) -> None:
    """Writes the file, by torch's exporter of ATen graphs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, inputs, path, dynamo=True, opset_version=20, verbose=False, **options)


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_torch(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, inputs = CASES[name]()
    model.eval()
    export(model, inputs, tmp_path / "model.onnx")
    program = load(tmp_path / "model.onnx")
    with torch.no_grad():
        expected = first_tensor(model(*inputs)).numpy()
    for target in ("interpret", "cpu"):
        with ir.target(target):
            found: Any = program(*(x.numpy() for x in inputs))
        result = found[0] if isinstance(found, tuple) else found
        error = np.abs(result - expected).max() / np.abs(expected).max()
        assert error < 5e-5, (target, error)


def test_a_batch_that_is_known_when_the_program_is_called(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).eval()
    batch: Any = torch.export.Dim("batch", min=1, max=64)
    export(model, (torch.randn(2, 8),), tmp_path / "model.onnx", dynamic_shapes=({0: batch},))
    program = load(tmp_path / "model.onnx", dims={"batch": ir.Dim("batch", 1, 64)})
    with ir.target("interpret"):
        for size in (1, 7, 64):
            x = torch.randn(size, 8)
            np.testing.assert_allclose(program(x.numpy()), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
