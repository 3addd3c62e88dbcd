"""Pools, resampling and sampling of torch, their results and gradients beside eager torch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from drawing import long

import irc_frontend as ir
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.rules import RULES, Left, argument


@pytest.fixture
def graphs() -> Iterator[dict[str, Compiled]]:
    torch._dynamo.reset()
    found: dict[str, Compiled] = {}
    with watching(found.__setitem__):
        yield found


CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "average": (lambda x: F.avg_pool2d(x, 3, 1, 1), (2, 3, 9, 11)),
    "average, ceil": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), (2, 3, 9, 12)),
    "average, apart": (lambda x: F.avg_pool2d(x, 11, 11), (2, 3, 25, 34)),
    "average, unequal": (lambda x: F.avg_pool2d(x, (7, 5), (2, 3), (2, 1)), (2, 3, 20, 22)),
    "average of volumes": (lambda x: F.avg_pool3d(x, 2, 1, 1), (2, 3, 4, 5, 6)),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 7), (2, 3, 49, 28)),
    "adaptive, of volumes": (lambda x: F.adaptive_avg_pool3d(x, (2, 3, 2)), (2, 3, 4, 5, 6)),
    "greatest": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 9, 12)),
    "greatest, ceil": (lambda x: F.max_pool2d(x, (2, 3), (2, 2), (0, 1), ceil_mode=True), (2, 3, 9, 12)),
    "greatest, dilated": (lambda x: F.max_pool2d(x, 3, 1, 1, dilation=2), (2, 3, 9, 12)),
    "greatest, far apart": (lambda x: F.max_pool2d(x, (2, 3), (3, 4)), (2, 3, 11, 14)),
    "greatest, padded by a step": (lambda x: F.max_pool2d(x, 5, 2, 2), (2, 3, 9, 12)),
    "greatest of volumes": (lambda x: F.max_pool3d(x, 3, 2, 1), (1, 2, 5, 6, 7)),
    "greatest of many": (lambda x: F.max_pool2d(x, 7, 3, 3), (1, 2, 16, 15)),
    "twice as many": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 3, 5, 7)),
    "three and two times": (lambda x: F.interpolate(x, size=(15, 14), mode="bilinear"), (2, 3, 5, 7)),
    "of one row": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 3, 1, 7)),
    "half as many again": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), (2, 3, 5, 7)),
    "cubic": (lambda x: F.interpolate(x, (9, 4), mode="bicubic"), (2, 3, 5, 7)),
    "cubic, by a factor": (
        lambda x: F.interpolate(x, scale_factor=(1.3, 2.7), mode="bicubic", recompute_scale_factor=True),
        (2, 3, 5, 7),
    ),
    "cubic, corners": (lambda x: F.interpolate(x, (9, 4), mode="bicubic", align_corners=True), (2, 3, 5, 7)),
    "nearest": (lambda x: F.interpolate(x, scale_factor=(2.3, 3), mode="nearest"), (2, 3, 5, 7)),
    "nearest, exact": (lambda x: F.interpolate(x, (3, 11), mode="nearest-exact"), (2, 3, 5, 7)),
    "linear": (lambda x: F.interpolate(x, 11, mode="linear"), (2, 3, 7)),
    "volumes": (lambda x: F.interpolate(x, scale_factor=(0.6, 1.5, 2), mode="trilinear"), (2, 3, 5, 4, 3)),
    "squares": (lambda x: F.lp_pool2d(x, 2, 3, 2), (2, 3, 9, 12)),
    "cubes along one axis": (lambda x: F.lp_pool1d(x.abs() + 0.1, 3, 4, 2), (2, 3, 13)),
    "folded": (lambda x: F.fold(x, (6, 7), (3, 2), padding=1, stride=(1, 2), dilation=(2, 1)), (2, 12, 16)),
    "antialiased": (lambda x: F.interpolate(x, (5, 4), mode="bilinear", antialias=True), (2, 3, 13, 9)),
    "antialiased cubic": (
        lambda x: F.interpolate(x, (5, 19), mode="bicubic", antialias=True, align_corners=True),
        (2, 3, 13, 9),
    ),
    "antialiased cubic, by a factor": (
        lambda x: F.interpolate(x, scale_factor=(0.4, 1.3), mode="bicubic", antialias=True),
        (2, 3, 13, 9),
    ),
    "corners": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), (2, 3, 5, 7)),
}


WINDOWS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "means": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (2, 15, 7, 8)),
    "means of one row more": (lambda x: F.adaptive_avg_pool2d(x, (2, 5)), (2, 15, 7, 8)),
    "means of more places than elements": (lambda x: F.adaptive_avg_pool2d(x, (9, 3)), (2, 15, 7, 8)),
    "means of volumes": (lambda x: F.adaptive_avg_pool3d(x, (2, 2, 3)), (2, 3, 5, 7, 8)),
    **{name: case for name, case in CASES.items() if "antialiased" in name},
    "antialiased, more": (lambda x: F.interpolate(x, (23, 9), mode="bilinear", antialias=True), (2, 3, 7, 8)),
    "antialiased cubic, one": (
        lambda x: F.interpolate(x, (1, 2), mode="bicubic", antialias=True, align_corners=True),
        (2, 3, 7, 8),
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_what_is_not_finite_stays_in_its_windows(name: str) -> None:
    """Of an array, and of a gradient."""
    function, shape = WINDOWS[name]
    x = torch.randn(shape)
    x[(0,) * x.ndim], x[tuple(extent - 1 for extent in shape)] = float("nan"), float("inf")
    x = x.requires_grad_()
    found, expected = torch.compile(function, backend="irc")(x), function(x)
    torch.testing.assert_close(found, expected, equal_nan=True)
    grad = torch.randn(expected.shape)
    grad[(0,) * x.ndim], grad[tuple(extent // 2 for extent in grad.shape)] = float("nan"), float("inf")
    found, expected = (torch.autograd.grad(each, x, grad) for each in (found, expected))
    torch.testing.assert_close(found, expected, equal_nan=True)


TURNED = torch.tensor([[[0.8, -0.7, 0.1], [0.7, 0.9, -0.4]], [[1.5, 0.0, 0.3], [0.2, 1.1, 0.0]]])


@long(3)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling(mode: str, padding: str) -> None:
    """With gradients of the image and of the places, some of them outside."""

    def sampled(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
        grid = F.affine_grid(turn, [2, 3, 4, 5], align_corners=False)
        return F.grid_sample(x, grid, mode, padding, align_corners=False)

    _check(sampled, torch.randn(2, 3, 6, 7, generator=torch.Generator().manual_seed(1)), TURNED)


def test_a_gradient_of_many_places_is_left_on_a_gpu_alone(graphs: dict[str, Compiled]) -> None:
    x, grid = torch.randn(1, 1, 400, 400, requires_grad=True), torch.rand(1, 300, 300, 2) * 2 - 1
    torch.compile(lambda x: F.grid_sample(x, grid, align_corners=False), backend="irc")(x).sum().backward()
    assert not graphs["forward"].division.reasons
    assert not graphs["backward"].division.reasons
    other = x.detach().clone().requires_grad_()
    F.grid_sample(other, grid, align_corners=False).sum().backward()
    torch.testing.assert_close(x.grad, other.grad, rtol=0, atol=1e-4)  # places are f32 of up to 400
    rule = RULES[torch.ops.aten.grid_sampler_2d_backward.default]
    arrays = [argument(each.shape, each.dtype) for each in (x.new_empty(1, 1, 300, 300), x, grid)]
    with ir.target("cuda"), pytest.raises(Left, match="too many to compare"):
        rule.record(*arrays, 0, 0, False, [True, False])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_gradients_of_resampling_add_to_no_computed_places(mode: str, graphs: dict[str, Compiled]) -> None:
    x = torch.randn(2, 3, 5, 7, requires_grad=True)
    torch.compile(lambda x: F.interpolate(x, (8, 9), mode=mode), backend="irc")(x).sum().backward()
    division = graphs["backward"].division
    targets = {str(node.target) for level in division.subgraphs for each in level for node in each.body}
    assert any("mm" in target for target in targets)
    assert not any("put" in target or "scatter" in target for target in targets)
    assert not division.reasons


def test_resampled_channels_stay_last() -> None:
    """A view of the result that torch's own would have."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=2, mode="bilinear").permute(0, 2, 3, 1).view(-1, 3)

    x = torch.randn(2, 3, 5, 7).to(memory_format=torch.channels_last)
    torch.testing.assert_close(torch.compile(function, backend="irc")(x), function(x))


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pools(rank: int) -> None:
    """Windows lie where the random numbers say, and the indices are torch's."""
    pool: Any = F.fractional_max_pool2d if rank == 2 else F.fractional_max_pool3d
    samples = torch.rand(2, 3, rank, generator=torch.Generator().manual_seed(2))
    x = torch.randn(2, 3, 9, 11, 7, generator=torch.Generator().manual_seed(1))[..., : 7 if rank == 3 else 1]
    x = x if rank == 3 else x[..., 0]
    counts = (4, 5, 1) if rank == 3 else (4, 5)

    def pooled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return pool(x, (2, 3, 2)[:rank], output_size=counts, return_indices=True, _random_samples=samples)

    torch._dynamo.reset()
    for found, expected in zip(torch.compile(pooled, backend="irc")(x), pooled(x), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    _check(lambda x: pooled(x)[0], x)


@long(4)
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name: str) -> None:
    function, shape = CASES[name]
    _check(function, torch.randn(shape, generator=torch.Generator().manual_seed(1)))


def _check(function: Callable[..., torch.Tensor], *arrays: torch.Tensor) -> None:
    """The result, and the gradients of all arrays, beside eager torch's: sums of up to some hundred elements."""
    torch._dynamo.reset()
    given, own = ([x.detach().clone().requires_grad_() for x in arrays] for _ in range(2))
    expected, found = function(*given), torch.compile(function, backend="irc")(*own)
    torch.testing.assert_close(found, expected)
    g = torch.randn(expected.shape, generator=torch.Generator().manual_seed(3))
    expected.backward(g)
    found.backward(g)
    for a, b in zip(own, given, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=2e-5, atol=1e-4)
