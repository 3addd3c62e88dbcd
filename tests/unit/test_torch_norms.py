"""Norms of torch in training, by the statistics of a batch, an instance or a group: values and gradients on the cpu target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawing import long
from torch.nn import functional

from irc_frontend.torch import backend, explain

pytestmark = [
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
    pytest.mark.usefixtures("fresh_torch"),
]

Norm = Callable[..., torch.Tensor]

NORMS: dict[str, Norm] = {
    "group": lambda x, w, b: functional.silu(functional.group_norm(x, 4, w, b)),
    "group alone": lambda x, w, b: functional.group_norm(x, 2) + (w + b).sum(),
    "instance": lambda x, w, b: functional.instance_norm(x, weight=w, bias=b),
    "instance alone": lambda x, w, b: functional.relu(functional.instance_norm(x)) * w[:, None, None] + b.sum(),
    "batch": lambda x, w, b: functional.relu(functional.batch_norm(x, None, None, w, b, training=True)),
}
"""Of 8 channels."""


def gradients(function: Any, *arguments: torch.Tensor) -> list[torch.Tensor]:
    """The result, and the gradients of a sum of its elements with unequal factors."""
    result = function(*arguments)
    factors = torch.cos(torch.arange(result.numel(), dtype=torch.float64)).bfloat16().to(result.dtype)
    return [result, *torch.autograd.grad(result, arguments, factors.reshape(result.shape))]


@long(4)
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last], ids=["first", "last"])
@pytest.mark.parametrize(("dtype", "allowed"), [(torch.float32, 2e-6), (torch.bfloat16, 2e-2)], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", NORMS)
def test_norms_are_those_of_float64(name: str, dtype: torch.dtype, allowed: float, order: torch.memory_format) -> None:
    torch.manual_seed(0)
    x = (torch.randn(3, 8, 6, 10) * 2 + 3).to(dtype).to(memory_format=order)
    arguments = [x, torch.randn(8).to(dtype), torch.randn(8).to(dtype)]
    wide = [value.double().requires_grad_() for value in arguments]
    narrow = [value.requires_grad_() for value in arguments]
    expected = gradients(NORMS[name], *wide)
    found = gradients(torch.compile(NORMS[name], backend=backend), *narrow)
    for value, other in zip(found, expected, strict=True):
        assert value.dtype == dtype
        assert (value.double() - other).abs().max() <= allowed * other.abs().max()
    assert found[0].stride() == NORMS[name](*narrow).stride()


@pytest.mark.parametrize("name", NORMS)
def test_nothing_is_left(name: str) -> None:
    x = torch.randn(2, 8, 4, 4, requires_grad=True)
    found = explain(NORMS[name], x, torch.randn(8, requires_grad=True), torch.randn(8, requires_grad=True))
    assert not any(report.left for report in found.graphs)


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last], ids=["first", "last"])
def test_groups_between_convolutions_are_those_of_float64(order: torch.memory_format) -> None:
    """Values and gradients, also of an array that is concatenated beside what its norm becomes."""

    def layers(x: torch.Tensor, k: torch.Tensor, m: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = functional.conv2d(x, k, padding=1)
        z = functional.silu(functional.group_norm(y, 4, w, w))
        return functional.conv2d(torch.cat([z, y], 1), m, padding=1)

    torch.manual_seed(0)
    shapes = (2, 16, 6, 5), (16, 16, 3, 3), (16, 32, 3, 3), (16,)
    given = [torch.randn(shape) for shape in shapes]
    narrow = [each.to(memory_format=order) if each.ndim == 4 else each for each in given]
    expected = gradients(layers, *(each.double().requires_grad_() for each in given))
    found = gradients(torch.compile(layers, backend=backend), *(each.requires_grad_() for each in narrow))
    for value, other in zip(found, expected, strict=True):
        assert (value.double() - other).abs().max() <= 5e-6 * other.abs().max()


def test_a_mean_far_from_zero_costs_the_variance_and_the_gradient_nothing() -> None:
    x = torch.randn(2, 4, 64, dtype=torch.float64) + 500

    def norm(x: torch.Tensor) -> torch.Tensor:
        return functional.group_norm(x, 2)

    expected = gradients(norm, x.clone().requires_grad_())
    found = gradients(torch.compile(norm, backend=backend), x.float().requires_grad_())
    for value, other in zip(found, expected, strict=True):
        assert (value.double() - other).abs().max() <= 1e-4 * other.abs().max()


@pytest.mark.parametrize(("dtype", "allowed"), [(torch.float64, 1e-14), (torch.float32, 2e-6), (torch.bfloat16, 8e-3)])
@pytest.mark.parametrize("axis", [0, 2, None])
def test_weights_with_lengths_are_those_of_float64(axis: int | None, dtype: torch.dtype, allowed: float) -> None:
    """Along the first axis, the last, and all together, as `torch.nn.utils.parametrizations.weight_norm` asks for."""

    def weight(v: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._weight_norm(v, g, -1 if axis is None else axis)

    torch.manual_seed(0)
    shape = () if axis is None else [n if i == axis else 1 for i, n in enumerate((6, 5, 3))]
    narrow = [torch.randn(each).to(dtype).requires_grad_() for each in ((6, 5, 3), shape)]
    wide = [value.detach().double().requires_grad_() for value in narrow]
    expected = gradients(weight, *wide)
    assert not any(report.left for report in explain(weight, *narrow).graphs)
    for value, other in zip(gradients(torch.compile(weight, backend=backend), *narrow), expected, strict=True):
        assert value.dtype == dtype
        assert (value.double() - other).abs().max() <= allowed * other.abs().max()
