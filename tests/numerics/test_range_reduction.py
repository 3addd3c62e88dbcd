"""Sines and cosines of 16-bit elements on the simulator: large angles beside small ones, infinities, numbers of
elements that no vector divides."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

import irc

LARGEST = {"bf16": 30.0, "f16": 4.0}
"""Decimal exponents of the largest angles."""


@pytest.mark.parametrize("element", ["bf16", "f16"])
@pytest.mark.parametrize("shape", [(3,), (40, 33), (1000,), (64, 32)])
def test_angles_of_all_sizes(element: str, shape: tuple[int, ...]) -> None:
    type = bfloat16 if element == "bf16" else np.float16
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(type) for _ in range(2))
    is_far = rng.random(shape) < 0.1
    x[is_far] = (10.0 ** rng.uniform(0, LARGEST[element], is_far.sum())).astype(type)
    x.flat[1:3] = np.inf, np.nan
    extents = ", ".join(map(str, shape))
    text = f"""func f(x: {element}[{extents}], y: {element}[{extents}]) -> {element}[{extents}] {{
  return sin(cos(x) + y)
}}
"""
    got = np.asarray(irc.compile(text, target="sim")(x, y)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        wanted = np.sin(np.cos(x.astype(np.float64)) + y.astype(np.float64))
    np.testing.assert_allclose(got, wanted, atol=2.0**-8 if element == "bf16" else 2.0**-11)
