"""Rules of torch that find elements by their order, where elements are equal: torch's own samples have none."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import irc_frontend as ir
from irc_frontend.torch.rules import RULES

aten = torch.ops.aten


@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize(("shape", "dim"), [((), 0), ((1, 3), 0), ((40,), 0), ((5, 40), -1), ((40, 5), 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_the_mode_is_the_least_of_the_most_frequent(
    dtype: torch.dtype, shape: tuple[int, ...], dim: int, keepdim: bool
) -> None:
    x = torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    """Torch does not say which of equals the index is of."""
    values, _ = aten.mode(x, dim, keepdim)
    with ir.target("cpu"):
        found, where = RULES[aten.mode.default].record(ir.Tensor(x.numpy()), dim, keepdim)
    np.testing.assert_array_equal(found.numpy(), values.numpy())
    at = torch.from_numpy(where.numpy() if keepdim or not shape else np.expand_dims(where.numpy(), dim))
    np.testing.assert_array_equal(x.gather(dim, at).reshape(values.shape).numpy(), values.numpy())


def test_every_nan_is_a_mode_of_its_own() -> None:
    x = np.array([[np.nan, 1, np.nan, 1], [np.nan, 2, np.nan, 1]], np.float32)
    with ir.target("cpu"):
        found, where = RULES[aten.mode.default].record(ir.Tensor(x))
    np.testing.assert_array_equal(found.numpy(), [1, 1])
    np.testing.assert_array_equal(where.numpy(), [3, 3])
