"""Permutes of rows that begin within words, on the simulator: right, and with few bank conflicts."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from drawing import long

import irc
from irc.ir.dtypes import element_named

MOST: dict[tuple[str, tuple[int, ...], tuple[int, ...]], float] = {
    ("bf16", (17, 33, 65), (2, 1, 0)): 0.03,
    ("bf16", (17, 33, 65), (1, 0, 2)): 0.12,
    ("bf16", (17, 33, 65), (2, 0, 1)): 0.05,
    ("bf16", (257, 259), (1, 0)): 0.15,
    ("bf16", (131, 130), (1, 0)): 0.03,
    ("bf16", (130, 132), (1, 0)): 0.1,
    ("f32", (257, 259), (1, 0)): 0.05,
    ("f32", (7, 11, 13, 15), (3, 1, 2, 0)): 0.01,
    ("f32", (17, 33, 65), (2, 1, 0)): 0.33,
    ("u8", (131, 258), (1, 0)): 0.02,
    ("u8", (17, 33, 65), (2, 1, 0)): 0.2,
    ("f64", (129, 131), (1, 0)): 0.1,
}
"""The share of the wavefronts of shared memory that conflicts may take; without lane swizzles it was a quarter to two thirds
of them in all but two of these."""


@long(3)
@pytest.mark.parametrize(("dtype", "shape", "order"), MOST)
def test_few_wavefronts_are_conflicts(dtype: str, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    result = ", ".join(str(shape[axis]) for axis in order)
    text = (
        f"func f(x: {dtype}[{', '.join(map(str, shape))}]) -> {dtype}[{result}] {{ return permute(x, {list(order)}) }}"
    )
    executable = irc.compile(text, target="sim", arch="sm_90a")
    x = (np.arange(prod(shape)) % 251).reshape(shape).astype(element_named(dtype).dtype)
    np.testing.assert_array_equal(executable(x), x.transpose(order))
    (kernel,) = executable.statistics(x)
    assert kernel.conflicts <= MOST[dtype, shape, order] * kernel.wavefronts
