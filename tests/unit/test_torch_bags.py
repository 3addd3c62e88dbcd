"""Bags of embeddings in torch.compile: results and gradients beside eager torch's, with nothing left to torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import embedding_bag

from irc.support.diagnostics import IrcError
from irc_frontend.torch import backend
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.ops import VIEWS

pytestmark = pytest.mark.usefixtures("fresh_torch")

OFFSETS = [0, 3, 3, 7]
"""The second bag is empty."""


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("sum", {}),
        ("sum", {"padding_idx": 2}),
        ("mean", {"padding_idx": 2}),
        ("mean", {"include_last_offset": True}),
        ("max", {}),
        ("max", {"padding_idx": 2, "include_last_offset": True}),
    ],
)
def test_bags_are_those_of_eager_torch(mode: str, options: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(6, 5, generator=generator, requires_grad=True)
    indices = torch.tensor([4, 2, 4, 2, 0, 1, 1, 2, 2])
    offsets = torch.tensor([*OFFSETS, *([len(indices)] if options.get("include_last_offset") else [])])

    def f(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return embedding_bag(indices, weight, offsets, mode=mode, **options)

    check(f, weight, indices, offsets)


def test_weights_of_what_is_in_a_bag_have_gradients() -> None:
    generator = torch.Generator().manual_seed(0)
    weight, parts = (torch.randn(shape, generator=generator, requires_grad=True) for shape in ((6, 5), (9,)))
    indices = torch.randint(0, 6, (9,), generator=generator)

    def f(weight: torch.Tensor, parts: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return embedding_bag(indices, weight, offsets, mode="sum", per_sample_weights=parts, padding_idx=1)

    check(f, weight, parts, indices, torch.tensor(OFFSETS))


@pytest.mark.parametrize(("row", "offsets"), [(6, [0]), (1, [1]), (1, [0, 3])])
def test_rows_that_are_not_there_are_an_error_as_in_torch(row: int, offsets: list[int]) -> None:
    """Nor may a bag begin behind the last row, or the first one behind the first."""

    def f(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return embedding_bag(indices, weight, offsets)

    inputs = torch.randn(6, 5), torch.tensor([1, row]), torch.tensor(offsets)
    for each in (f, torch.compile(f, backend=backend)):
        with pytest.raises((RuntimeError, IndexError, IrcError)):
            each(*inputs)


def check(f: Any, *inputs: torch.Tensor) -> None:
    seen: list[Compiled] = []
    with watching(lambda kind, graph: seen.append(graph)):
        results = [each(*inputs) for each in (torch.compile(f, backend=backend), f)]
        wanted = [x for x in inputs if x.requires_grad]
        grad = torch.randn(results[0].shape, generator=torch.Generator().manual_seed(1))
        gradients = [torch.autograd.grad(y, wanted, grad) for y in results]
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(gradients[0], gradients[1])
    left = [node for graph in seen for level in graph.division.left for node in level if node.target not in VIEWS]
    assert len(seen) == 2
    assert left == []


def test_matrices_that_do_not_lie_row_by_row() -> None:
    """torch keeps other things of such for the gradient."""
    seen: list[Compiled] = []
    gradients = []
    for function in (embedding_bag, torch.compile(embedding_bag, backend=backend)):
        weight = torch.arange(30.0).reshape(3, 10).T.requires_grad_()
        scales = torch.linspace(0, 1, 10)[::2]
        indices, offsets = torch.tensor([1, 0, 9, 1, 3]), torch.tensor([0, 2])
        with watching(lambda kind, compiled: seen.append(compiled)):
            sums = function(indices, weight, offsets, mode="sum", per_sample_weights=scales)
            gradients.append((sums, *torch.autograd.grad(sums.square().sum(), weight)))
    torch.testing.assert_close(gradients[1], gradients[0])
    assert len(seen) == 2 and not any(
        node.target not in VIEWS for each in seen for level in each.division.left for node in level
    )
