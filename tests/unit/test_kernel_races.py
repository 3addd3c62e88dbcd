"""Kernels in Python whose blocks write to one place: the simulator finds them, at the line that stores, and says what to
write instead. What it says is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import python_kernels

import irc_frontend as ir
from irc.interpreters.sim import SimulationError
from irc.support.diagnostics import render

X = np.random.default_rng(0).standard_normal((32, 96)).astype(np.float32)
HALF = np.random.default_rng(1).standard_normal((128, 128)).astype(np.float16)
SMALL = {"tile": {"m": 16, "n": 32}}


@ir.kernel(config=SMALL)
def sums_of_parts(x: Any) -> Any:
    M, N = x.shape
    out = ir.empty(M)
    for m, n in ir.tiles(M, N):
        out[m] = x[m, n].sum(axis=1)  # here
    return out


@ir.kernel(config={"tile": {"m": 16}})
def one_number(x: Any) -> Any:
    out = ir.empty(1)
    for m in ir.tiles(x.shape[0]):
        out[0] = x[m, 0].max()  # here
    return out


@ir.kernel(config={"tile": {"n": 32}})
def last_of_a_range(x: Any) -> Any:
    M, N = x.shape
    out = ir.empty(N)
    for m, n in ir.tiles(range(M), N):
        out[n] = x[m, n]  # here
    return out


@ir.kernel(config={"tile": {"n": 32}})
def place_from_data(x: Any, rows: Any, at: Any) -> Any:
    out = ir.copy_of(x)
    for b, n in ir.tiles(range(rows.shape[0]), x.shape[1]):
        out[at[0:1], n] = rows[b, n][None, :]  # here
    return out


@ir.kernel(config={"tile": {"m": 64, "n": 64, "k": 64}})
def parts_of_a_product(x: Any, w: Any) -> Any:
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n, k in ir.tiles(M, N, K):
        out[m, n] = x[m, k] @ w[k, n]  # here
    return out


@ir.kernel(config={"tile": {"m": 128, "n": 64, "k": 64}, "schedule": "persistent"})
def products_of_one_place(x: Any, w: Any) -> Any:
    """Stored by TMA."""
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for b, m, n in ir.tiles(range(2), M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[m, k], w[k, n])
        out[m, n] = acc * b.value.astype("f32")  # here
    return out


@pytest.mark.parametrize(
    ("kernel", "arrays", "blocks"),
    [
        (sums_of_parts, [X], "from blocks 0 and 1"),
        (one_number, [X], "from blocks 0 and 1"),
        (last_of_a_range, [X], "from blocks 0 and 3"),
        (place_from_data, [X, X, np.array([0], np.int32)], "from blocks 0 and 3"),
        (parts_of_a_product, [HALF, HALF], "from blocks 0 and 1"),
        (products_of_one_place, [HALF, HALF], "a TMA store of thread 128 of block 0 has written"),
    ],
    ids=["sums of parts", "one number", "a range", "a place from data", "parts of a product", "TMA"],
)
def test_blocks_that_write_to_one_place_are_found(kernel: Any, arrays: list[Any], blocks: str) -> None:
    with ir.target("sim"), pytest.raises(SimulationError, match="byte 0 of result 0") as caught:
        kernel(*arrays)
    assert caught.value.kind == "race"
    assert blocks in caught.value.message
    shown = render(caught.value)
    assert shown.startswith(f"{__file__}:")
    assert "# here" in shown.split("\n")[1]
    assert "a loop inside of the block" in shown and "`atomic_add(out, place, tile)`" in shown


def test_blocks_of_a_grid_that_do_not_run_at_the_same_time_are_found() -> None:
    """The first ones write what is there already, which is no race."""
    x = np.ones((64, 256), np.float32)
    x[40:] = 2.0
    kernel = last_of_a_range.with_config(tile={"n": 256}, warps=8)
    message = "writes byte 0 of result 0, which thread 0 of block .* has written .* \\(block 40, thread"
    with ir.target("sim"):
        with pytest.raises(SimulationError, match=message) as caught:
            kernel(x)
        np.testing.assert_array_equal(kernel(np.ones_like(x)), np.ones(256))
    assert "`atomic_add(out, place, tile)`" in (caught.value.hint or "")


# What the hint says to write


sums_in_a_loop = ir.kernel(config=SMALL)(python_kernels.row_sums)


@ir.kernel(config=SMALL)
def sums_by_atomics(x: Any) -> Any:
    M, N = x.shape
    out = ir.empty(M)
    for m, n in ir.tiles(M, N):
        ir.atomic_add(out, m, x[m, n].sum(axis=1))
    return out


@pytest.mark.parametrize("kernel", [sums_in_a_loop, sums_by_atomics], ids=["a loop", "atomics"])
def test_what_the_hint_says_is_no_race(kernel: Any) -> None:
    with ir.target("sim"):
        np.testing.assert_allclose(kernel(X), X.sum(axis=1), rtol=1e-4, atol=1e-5)
