"""Loops whose threads reduce what they hold, and meet behind the loop: sums, maxima, and sums relative to a maximum."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import scf

import irc_frontend as ir
from irc.dialects import tile
from irc.driver.lowering import lower
from irc.interpreters.tile import interpreter

Array = np.ndarray[Any, Any]


@ir.kernel
def statistics(x: ir.Tensor):
    """The logarithm of the sum of exponentials of each row, its sum, and its minimum."""
    M, N = x.shape
    logs, sums, least = ir.empty(M), ir.empty(M), ir.empty(M)
    for m in ir.tiles(M):
        top, total, added, low = ir.full((m,), -np.inf), ir.zeros((m,)), ir.zeros((m,)), ir.full((m,), np.inf)
        for n in ir.tiles(N):
            row = x[m, n].astype("f32")
            new = ir.maximum(top, row.max(axis=1))
            total = total * ir.exp(top - new) + ir.exp(row - new[:, None]).sum(axis=1)
            top, added, low = new, added + row.sum(axis=1), ir.minimum(low, row.min(axis=1))
        logs[m], sums[m], least[m] = ir.log(total) + top, added, low
    return logs, sums, least


CONFIGS = [({"m": 1, "n": 4096}, 4), ({"m": 1, "n": 512}, 1), ({"m": 4, "n": 256}, 2), ({"m": 8, "n": 32}, 1)]
"""Threads side by side in a row, and rows side by side in a warp; elements of a row in one thread, or in several."""


def drawn(columns: int) -> Array:
    """Rows of which some begin or end with -inf, so that threads find nothing else, and one has nothing else."""
    x = 8 * np.random.default_rng(columns).standard_normal((9, columns))
    x[1, : columns // 2] = x[2, columns // 2 :] = x[3] = -np.inf
    x[4, 5:] = -np.inf
    x[5] += 1000
    x[6] = 40 * np.arange(columns) / columns
    return x.astype(ml_dtypes.bfloat16)


def expected(x: Array) -> tuple[Array, Array, Array]:
    wide = x.astype(np.float64)
    top = wide.max(1)
    with np.errstate(divide="ignore"):
        logs = np.log(np.exp(wide - np.where(np.isinf(top), 0, top)[:, None]).sum(1)) + top
    return logs, wide.sum(1), wide.min(1)


@pytest.mark.parametrize("columns", [1003, 1024])
@pytest.mark.parametrize(("tiles", "warps"), CONFIGS)
def test_threads_meet_behind_the_loop(tiles: dict[str, int], warps: int, columns: int) -> None:
    x = drawn(columns)
    kernel = statistics.with_config(tile=tiles, warps=warps)
    with ir.target("sim"):
        found = kernel(x)
    for result, wanted in zip(found, expected(x), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-3)


@pytest.mark.parametrize(("tiles", "warps"), CONFIGS)
def test_the_interpreter_folds_as_threads_do(tiles: dict[str, int], warps: int) -> None:
    x = drawn(1003)
    lowered = lower(statistics.with_config(tile=tiles, warps=warps).module(x), "tile", arch="sm_90a")
    (loop,) = (op for op in lowered.walk() if isinstance(op, scf.ForOp))
    kinds = [type(op) for op in loop.walk() if isinstance(op, tile.CombinerOp | tile.UnfoldOp)]
    assert sorted(each.name for each in kinds) == [*["tile.fold"] * 4, "tile.unfold"]
    for result, wanted in zip(interpreter.evaluate(lowered, [x]), expected(x), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-3)


def test_integers_are_added_up_by_threads() -> None:
    @ir.kernel
    def counts(x: ir.Tensor):
        M, N = x.shape
        out = ir.empty(M, "i32")
        for m in ir.tiles(M):
            total = ir.zeros((m,), "i32")
            for n in ir.tiles(N):
                total += (x[m, n] > 0).astype("i32").sum(axis=1)
            out[m] = total
        return out

    x = np.random.default_rng(0).standard_normal((3, 1003)).astype(np.float32)
    with ir.target("sim"):
        np.testing.assert_array_equal(counts.with_config(tile={"m": 1, "n": 256}, warps=2)(x), (x > 0).sum(1))
