"""Pools and bilinear resampling of torch, their results and gradients beside eager torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "average": (lambda x: F.avg_pool2d(x, 3, 1, 1), (2, 3, 9, 11)),
    "average, ceil": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), (2, 3, 9, 12)),
    "average, apart": (lambda x: F.avg_pool2d(x, 11, 11), (2, 3, 25, 34)),
    "average, unequal": (lambda x: F.avg_pool2d(x, (7, 5), (2, 3), (2, 1)), (2, 3, 20, 22)),
    "average of volumes": (lambda x: F.avg_pool3d(x, 2, 1, 1), (2, 3, 4, 5, 6)),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 7), (2, 3, 49, 28)),
    "greatest": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 9, 12)),
    "greatest, ceil": (lambda x: F.max_pool2d(x, (2, 3), (2, 2), (0, 1), ceil_mode=True), (2, 3, 9, 12)),
    "greatest, dilated": (lambda x: F.max_pool2d(x, 3, 1, 1, dilation=2), (2, 3, 9, 12)),
    "greatest of many": (lambda x: F.max_pool2d(x, 7, 3, 3), (1, 2, 16, 15)),
    "twice as many": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 3, 5, 7)),
    "three and two times": (lambda x: F.interpolate(x, size=(15, 14), mode="bilinear"), (2, 3, 5, 7)),
    "of one row": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 3, 1, 7)),
    "half as many again": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), (2, 3, 5, 7)),
    "corners": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), (2, 3, 5, 7)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name: str) -> None:
    function, shape = CASES[name]
    torch._dynamo.reset()
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(shape, generator=generator, requires_grad=True)
    own = x.detach().clone().requires_grad_()
    expected, found = function(x), torch.compile(function, backend="irc")(own)
    torch.testing.assert_close(found, expected)
    g = torch.randn(expected.shape, generator=generator)
    expected.backward(g)
    found.backward(g)
    torch.testing.assert_close(own.grad, x.grad)
