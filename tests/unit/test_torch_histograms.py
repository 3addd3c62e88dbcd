"""Histograms as irc makes them, beside torch's: of given and of found ranges, weighted, over several axes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from irc_frontend.torch.histograms import HISTOGRAMS

aten = torch.ops.aten

X = torch.tensor([0.0, 0.25, 0.5, 0.5, 1.0, -1.0, 3.0, 0.999, 0.1, -0.0])
WEIGHT = torch.linspace(-1, 2, 10)
POINTS = torch.stack([X, X.flip(0) * 2], -1)


def expect_same(op: Any, *args: Any, **options: Any) -> None:
    torch.testing.assert_close(HISTOGRAMS[op](*args, **options), op(*args, **options))


@pytest.mark.parametrize(
    "x", [X, X.reshape(2, 5), torch.tensor(0.3), torch.empty(0), torch.tensor([0.5, float("nan")])]
)
@pytest.mark.parametrize("range", [(0, 1), (-1, 3), (5, 6)])
def test_counts_between_given_bounds(x: Tensor, range: tuple[float, float]) -> None:
    for bins in (1, 2, 7):
        expect_same(aten.histc.default, x, bins, *range)
        expect_same(aten.histogram.bin_ct, x, bins, range=range)


@pytest.mark.parametrize("x", [X, torch.tensor(0.3), torch.ones(4), torch.empty(0)])
def test_counts_between_the_extremes(x: Tensor) -> None:
    """A margin around them where they are one number."""
    for bins in (1, 2, 5):
        expect_same(aten.histc.default, x, bins)
        expect_same(aten.histogram.bin_ct, x, bins)


@pytest.mark.parametrize("density", [False, True])
def test_weights_and_densities(density: bool) -> None:
    options = {"weight": WEIGHT, "density": density}
    edges = torch.tensor([-1.0, 0.0, 0.1, 0.5, 2.0])
    expect_same(aten.histogram.bin_ct, X, 4, **options)
    expect_same(aten.histogram.bins_tensor, X, edges, **options)
    expect_same(aten._histogramdd_from_bin_cts.default, POINTS, [2, 3], **options)
    expect_same(aten._histogramdd_from_bin_cts.default, POINTS, [2, 3], range=[0.0, 1.0, -1.0, 1.0], **options)
    expect_same(aten._histogramdd_from_bin_tensors.default, POINTS, [edges, edges[1:]], **options)


def test_edges_of_several_axes() -> None:
    expect_same(aten._histogramdd_bin_edges.default, POINTS, [2, 3])
    expect_same(aten._histogramdd_bin_edges.default, POINTS, [2, 3], range=[0.0, 1.0, -1.0, 1.0])


def test_a_program_has_all_of_it() -> None:
    def function(x: Tensor) -> Any:
        return torch.histogram(x * 2, 4)[0] + torch.histc(x, 4), torch.histogramdd(x.reshape(5, 2), [2, 2])[0]

    torch.testing.assert_close(torch.compile(function, backend="irc", fullgraph=True)(X), function(X))
