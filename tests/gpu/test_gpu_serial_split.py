"""Parts of K that blocks add up in turn, on a GPU: exact where sums are, and the same bits at every run where they are
not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.driver import is_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

CASES: dict[str, tuple[dict[str, Any], tuple[int, int, int]]] = {
    "wgmma": ({}, (256, 8192, 384)),
    "more blocks than fit at once": ({"tile": {"m": 64, "n": 64, "k": 64}}, (2048, 4096, 2048)),
    "a transposed tile": ({"swap_ab": True}, (40, 8192, 384)),
    "mma": ({"instruction": "mma"}, (200, 4096, 136)),
    "fma": ({"instruction": "fma"}, (72, 1024, 40)),
}


@pytest.mark.parametrize("parts", [2, 8])
@pytest.mark.parametrize("name", CASES)
def test_parts_are_added_in_turn(name: str, parts: int) -> None:
    config, (m, k, n) = CASES[name]
    operation = ir.MatmulOperation(
        "f16", "f16", "f32", target="cuda", config={"split": parts, "split_sums": "serial", **config}
    )
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    np.testing.assert_array_equal(operation.run(x, w).sync(), x.astype(np.float32) @ w.astype(np.float32))
    x, w = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    first = np.array(operation.run(x, w).sync())
    assert np.abs(first - x.astype(np.float64) @ w.astype(np.float64)).max() < 0.02 * k**0.5
    for _ in range(20):
        np.testing.assert_array_equal(operation.run(x, w).sync(), first)


@pytest.mark.parametrize("instruction", ["wgmma", "mma"])
def test_parts_are_added_in_their_order(instruction: str) -> None:
    """In f32 the sum of 2^26, 1, -2^26 and 1 is 1 in this order; in others it is 0 or 2."""
    m, k, n = 256, 1024, 256
    x = np.zeros((m, k), np.float16)
    x[:, [0, k // 4, k // 2, 3 * k // 4]] = 2.0**15, 1, -(2.0**15), 1
    w = np.zeros((k, n), np.float16)
    w[[0, k // 4, k // 2, 3 * k // 4]] = np.array([[2.0**11], [1], [2.0**11], [1]], np.float16)
    config = {"split": 4, "split_sums": "serial", "instruction": instruction}
    operation = ir.MatmulOperation("f16", "f16", "f32", target="cuda", config=config)
    for _ in range(10):
        np.testing.assert_array_equal(operation.run(x, w).sync(), np.ones((m, n), np.float32))
