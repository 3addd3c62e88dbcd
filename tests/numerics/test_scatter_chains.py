"""scatter_add as chains of updates, of axes first, last and in between, with places that many or none reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import long

import irc
from irc.decomposition import indexed as decompose_indexed


@long(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(("shape", "axis"), [((20, 96), 0), ((96, 20), 1), ((4, 20, 24), 1)])
def test_chains_add_what_searching_adds(
    target: str, shape: tuple[int, ...], axis: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompose_indexed, "_MANY", 0)
    count = 70
    updated = (*shape[:axis], count, *shape[axis + 1 :])
    text = f"""
func f(x: f32{list(shape)}, i: i64[{count}], u: bf16{list(updated)}) -> f32{list(shape)} {{
    return scatter_add(x, i, cast(u, f32), axis={axis})
}}
"""
    rng = np.random.default_rng(0)
    exe = irc.compile(text, target, strict_rounding=target == "cpu")
    x = rng.standard_normal(shape).astype(np.float32)
    u = rng.standard_normal(updated).astype(exe.arguments[2].dtype)
    indices = rng.integers(-3, 25, count)
    indices[: count // 2] = 7
    wanted: Any = np.moveaxis(x.astype(np.float64), axis, 0)
    np.add.at(wanted, np.clip(indices, 0, shape[axis] - 1), np.moveaxis(u.astype(np.float64), axis, 0))
    np.testing.assert_allclose(np.moveaxis(exe(x, indices, u), axis, 0), wanted, rtol=1e-5, atol=1e-5)
