"""Programs of torch.export as nd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_models import MODELS, first_tensor

import irc_frontend as ir
from irc import IrcError
from irc_frontend.torch import from_exported


class _Net(nn.Module):
    """Convolutions, norms, attention, an embedding, a constant and two results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.positions, self.head = nn.Embedding(64, 8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor, scale: float, tokens: torch.Tensor) -> Any:
        y = torch.relu(self.norm(self.conv(x))).flatten(2).transpose(1, 2)
        y = self.layer(y + self.positions(tokens) * torch.tensor([scale]))
        return {"classes": self.head(y.mean(1)).log_softmax(-1), "best": y.amax(-1).argmax(-1)}


def test_a_model_gives_what_torch_gives() -> None:
    torch.manual_seed(0)
    model, inputs = _Net().eval(), (torch.randn(2, 3, 8, 8), 0.5, torch.randint(0, 64, (2, 16)))
    program = from_exported(torch.export.export(model, inputs))
    assert list(program.inputs) == ["x", "tokens"]
    assert "conv_weight" in program.weights
    expected = model(*inputs)
    for target in ("interpret", "cpu"):
        with ir.target(target):
            classes, best = program(inputs[0], inputs[2])
        torch.testing.assert_close(classes, expected["classes"], rtol=1e-4, atol=1e-5)
        assert torch.equal(best, expected["best"])


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("how", [{"size": (3, 8)}, {"scale_factor": 1.5}], ids=["to a size", "by a factor"])
def test_resampling_of_images(mode: str, how: dict[str, Any]) -> None:
    """Ops of core ATen, which torch.compile takes apart and torch.export does not."""

    class Resampled(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return functional.interpolate(x, mode=mode, **how)

    x = torch.randn(2, 3, 6, 4)
    program = from_exported(torch.export.export(Resampled(), (x,)))
    with ir.target("interpret"):
        torch.testing.assert_close(program(x), Resampled()(x))


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(6, 5, 1, 1).to(memory_format=torch.channels_last),
        torch.randn(5)[::5],
        torch.randn(4, 6).T,
        torch.tensor(2.0),
        torch.zeros(0, 3),
    ],
    ids=["points with channels last", "one of five", "transposed", "a scalar", "empty"],
)
def test_bf16_is_read_however_it_lies(x: torch.Tensor) -> None:
    """Axes of one element may have any stride, and torch calls the tensor contiguous."""
    half = x.bfloat16()
    found = ir.Tensor(half).numpy()
    assert found.shape == tuple(x.shape)
    assert torch.equal(torch.from_numpy(found.astype("float32")), half.float())


@pytest.mark.parametrize("name", ["gpt2", "bert", "resnet18"])
def test_a_model_of_a_library(name: str) -> None:
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.eval()
    program = from_exported(torch.export.export(model, inputs))
    with ir.target("interpret"), torch.no_grad():
        found = program(*inputs)
        first = found[0] if isinstance(found, tuple) else found
        torch.testing.assert_close(first, first_tensor(model(*inputs)), rtol=1e-3, atol=1e-4)


def test_what_is_no_program_of_irc_says_why() -> None:
    class Sorted(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.eigvals(x)

    with pytest.raises(IrcError, match=r"linalg_eig.*no rule") as raised:
        from_exported(torch.export.export(Sorted(), (torch.randn(3, 3),)))
    assert "test_torch_export.py" in str(raised.value.location)
    with pytest.raises(IrcError, match="the program writes"):
        from_exported(torch.export.export(nn.BatchNorm1d(4), (torch.randn(3, 4),)))
    batch: Any = torch.export.Dim("batch", min=2, max=8)
    with pytest.raises(IrcError, match="which is not static"):
        from_exported(torch.export.export(nn.Linear(4, 4), (torch.randn(3, 4),), dynamic_shapes=({0: batch},)))
