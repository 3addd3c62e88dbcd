"""Rules of sampling images and volumes at places that a grid gives."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from irc_frontend.casts import wide
from irc_frontend.evaluation import current_target
from irc_frontend.graph import ARGUMENT, Node
from irc_frontend.grid_sampling import sampled
from irc_frontend.tensor import Tensor
from irc_frontend.torch.costs import MAX_COMPARISONS
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten


def _expect_elements(x: Tensor, grid: Tensor) -> None:
    if not x.size or not grid.size:
        raise Left("a sampling of nothing")


@rule(aten.grid_sampler_2d.default, aten.grid_sampler_3d.default)
def _sample(x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool) -> Tensor:
    _expect_elements(x, grid)
    return sampled(x, grid, interpolation, padding, align_corners, wide)


@rule(aten.grid_sampler_2d_backward.default, aten.grid_sampler_3d_backward.default)
def _gradients(
    g: Tensor,
    x: Tensor,
    grid: Tensor,
    interpolation: int,
    padding: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of x and of the grid, those that the mask has."""
    from irc.decomposition.indexed import comparisons  # imported late: both import xDSL
    from irc_frontend.reverse import reverse

    _expect_elements(x, grid)
    places, count = x.size // x.shape[1], grid.size // grid.shape[-1]
    is_many = comparisons(places, count, x.shape[1]) > MAX_COMPARISONS
    if output_mask[0] and is_many and current_target() == "cuda":
        raise Left(f"a scatter of {count} to {places} places, too many to compare")
    wanted = [each for each, is_wanted in zip((x, grid), output_mask, strict=True) if is_wanted]
    inputs = {each: Tensor.of(Node(ARGUMENT, (), each.shape, each.element)) for each in wanted}
    y = sampled(inputs.get(x, x), inputs.get(grid, grid), interpolation, padding, align_corners, wide)
    loss = (y * wide(g)).sum()
    found = reverse([loss.node], [each.node for each in inputs.values()], [each.node for each in inputs])[1]
    gradients = iter(found)
    return tuple(Tensor.of(next(gradients)) if is_wanted else None for is_wanted in output_mask)
