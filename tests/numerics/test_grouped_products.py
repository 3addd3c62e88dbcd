"""Products in groups whose ends are data, on the simulator: right wherever groups end, however late copies land."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import examples, long, slow
from hypothesis import given
from hypothesis import strategies as st
from numerics.lowered import Lowered, lowered

ENDS = {
    "whole tiles": [64, 192, 256],
    "no tiles' ends": [70, 71, 200],
    "empty groups": [0, 0, 150],
    "rows of no group": [10, 90, 130],
    "no rows at all": [0, 0, 0],
    "rows one by one": [1, 2, 3],
    "beyond the array": [100, 300, 400],
}
ROWS, INNER, COLUMNS = 256, 72, 96
KERNELS: dict[str, tuple[str, tuple[int, int, int], dict[str, Any]]] = {
    "wgmma": ("bf16", (64, 32, 64), {}),
    "two warp groups": ("bf16", (128, 96, 64), {}),
    "subtiles by turns": ("bf16", (64, 128, 64), {"schedule": "pingpong"}),
    "pingpong": ("bf16", (64, 32, 64), {"schedule": "pingpong"}),
    "in clusters": ("bf16", (64, 32, 64), {"cluster": (2, 1)}),
    "by turns in clusters": ("bf16", (64, 32, 64), {"schedule": "pingpong", "cluster": (2, 1)}),
    "along N": ("bf16", (32, 64, 64), {"swap_ab": True}),
    "f32 by wgmma": ("f32", (64, 32, 32), {}),
    "mma": ("bf16", (64, 32, 32), {"instruction": "mma"}),
    "fma": ("f32", (32, 32, 8), {"instruction": "fma"}),
}

both_times = pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])


def rows_by_matrices(element: str, ends: list[int], tile: tuple[int, int, int] | None, **config: Any) -> Lowered:
    groups = len(ends)
    text = (
        f"func f(x: {element}[{ROWS}, {INNER}], w: {element}[{groups}, {INNER}, {COLUMNS}], e: i32[{groups}])"
        f" -> {element}[{ROWS}, {COLUMNS}] {{\n    return grouped_matmul(x, w, e)\n}}\n"
    )
    return lowered(text, tile, given={2: np.array(ends, np.int32)}, **config)


def over_rows(element: str, ends: list[int], tile: tuple[int, int, int] | None, **config: Any) -> Lowered:
    groups = len(ends)
    text = (
        f"func f(x: {element}[{ROWS}, {INNER}], y: {element}[{ROWS}, {COLUMNS}], e: i32[{groups}])"
        f" -> f32[{groups}, {INNER}, {COLUMNS}] {{\n    return grouped_matmul(transpose(x), y, e, dtype=f32)\n}}\n"
    )
    return lowered(text, tile, given={2: np.array(ends, np.int32)}, **config)


@long(24, of_all=3)
@both_times
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_by_the_matrix_of_their_group(kernel: str, ends: str, lazy: bool) -> None:
    element, tile, config = KERNELS[kernel]
    program = rows_by_matrices(element, ENDS[ends], tile, **config)
    program.check(lazy=lazy)
    (counts,) = program.counts()
    assert counts.conflicts == 0 or config.get("instruction") in ("mma", "fma")


@long(18, of_all=2)
@both_times
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(
    "kernel", [name for name in KERNELS if "turns" not in name and name not in ("pingpong", "along N")]
)
def test_products_over_the_rows_of_groups(kernel: str, ends: str, lazy: bool) -> None:
    element, tile, config = KERNELS[kernel]
    over_rows(element, ENDS[ends], tile, **config).check(lazy=lazy)


def test_only_tiles_with_rows_multiply() -> None:
    """A tile for each 64 rows of a group, and none for an empty one, or for what no group has."""
    program = rows_by_matrices("bf16", [0, 65, 192], (64, 32, 64))
    program.check()
    (counts,) = program.counts()
    tiles, steps = (2 + 2) * 3, 2
    assert counts.executions("cuda.wgmma") == tiles * steps * 4 * 4  # four depths of 16, four warps
    assert counts.executions("cuda.tma_load") == tiles * steps * 2


@slow
def test_turns_of_many_tiles_without_steps() -> None:
    """Warp groups that have nothing to multiply pass their turns on at once, three times each."""
    program = rows_by_matrices("bf16", [ROWS] * 128, (64, 32, 64), schedule="pingpong", instruction="wgmma")
    program.check()


def test_one_group_is_a_product() -> None:
    rows_by_matrices("bf16", [256], (64, 32, 64)).check()
    over_rows("bf16", [200], (64, 32, 32), instruction="mma").check()


@examples(6, one_in=2)
@given(st.lists(st.integers(0, ROWS + 10), min_size=1, max_size=9).map(sorted), st.sampled_from(["wgmma", "mma"]))
def test_groups_that_end_anywhere(ends: list[int], kernel: str) -> None:
    element, tile, config = KERNELS[kernel]
    rows_by_matrices(element, ends, tile, **config).check()
    over_rows(element, ends, tile, **config).check()


EPILOGUE = """
dim T = 200, K = 72, N = 96
func f(x: bf16[T, K], w: bf16[3, K, N], v: bf16[3, K, N], e: i32[3], b: bf16[N], s: f32[T], r: bf16[T, N]) -> bf16[T, N] {
    y = silu(grouped_matmul(x, w, e) + b) * grouped_matmul(x, v, e)
    return y * cast(expand_dims(s, 1), bf16) + r
}
"""


@both_times
@pytest.mark.parametrize("schedule", ["persistent", "pingpong"])
def test_what_follows_is_in_the_kernel(schedule: str, lazy: bool) -> None:
    """Two products of the same rows in the same groups, and a bias, a weight for each row and a residual behind them."""
    program = lowered(EPILOGUE, (64, 32, 64), schedule=schedule, given={3: np.array([70, 70, 190], np.int32)})
    program.check(lazy=lazy)
    (counts,) = program.counts()
    assert counts.executions("cuda.wgmma")


def test_products_in_other_groups_are_other_kernels() -> None:
    text = """
func f(x: bf16[128, 64], w: bf16[2, 64, 64], e: i32[2], d: i32[2]) -> bf16[128, 64] {
    return grouped_matmul(x, w, e) * grouped_matmul(x, w, d)
}
"""
    ends = {2: np.array([64, 128], np.int32), 3: np.array([1, 100], np.int32)}
    program = lowered(text, (64, 64, 64), given=ends)
    program.check()
    assert len(program.counts()) == 2


def test_ends_that_are_computed() -> None:
    """They are an array that another kernel stores: a sum of counts, and numbers of the program."""
    text = """
func f(x: bf16[200, 72], w: bf16[3, 72, 96], n: i64[3], y: bf16[200, 96]) -> (bf16[200, 96], bf16[3, 72, 96]) {
    return grouped_matmul(x, w, cast(cumsum(n, 0), i32)), grouped_matmul(transpose(x), y, array([3, 80, 190], i32))
}
"""
    lowered(text, given={2: np.array([70, 0, 90], np.int64)}).check()


@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])
def test_other_architectures(arch: str) -> None:
    program = rows_by_matrices("bf16", ENDS["no tiles' ends"], None, arch=arch)
    program.check()
    assert program.ops("cuda.mma")
    over_rows("bf16", ENDS["no tiles' ends"], None, arch=arch).check()


@pytest.mark.parametrize("instruction", ["wgmma", "mma"])
def test_what_is_outside_of_a_group_is_not_multiplied(instruction: str) -> None:
    """Rows of no group hold no numbers, as where memory is not initialized: sums over a group's rows have none of it."""
    _, tile, config = KERNELS[instruction]
    program = over_rows("bf16", [70, 71, 200], tile, **config)
    for array in program.arrays[:2]:
        array[200:] = np.nan
    program.check()
