"""Random modules go through every pass to source, and mean after the tile passes what they mean as fused kernels."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from drawing import long, seeds
from numerics import generators
from numerics.harness import Array, assert_close, draw_arguments, result_elements, tolerances

from irc.codegen import print_cuda
from irc.driver.lowering import passes_of
from irc.driver.pipelines import CUDA
from irc.driver.program import new_context
from irc.interpreters.nd.interpreter import evaluate

CONTEXT = new_context()
pytestmark = pytest.mark.fuzz
COMPARED = ("split-reductions", "tile-kernels", "plan-shared")


def check_lowering(seed: int) -> None:
    rng = Random(seed)
    module = generators.random_module(rng, rng.randint(1, 14))
    arguments, elements, limits = draw_arguments(module, seed), result_elements(module), tolerances(module)
    expected: tuple[Array, ...] = ()
    for each in passes_of(CUDA):
        each.apply(CONTEXT, module)
        if each.name == "fuse-kernels":
            expected = evaluate(module, arguments)
        if each.name in COMPARED:
            module.verify()
            found = evaluate(module, arguments)
            for index, (a, b, element) in enumerate(zip(expected, found, elements, strict=True)):
                assert_close(a, b, element, limits, f"result {index} after {each.name}")
    module.verify()
    assert print_cuda(module)


@long(18)
@pytest.mark.parametrize("seed", seeds(100))
def test_small_extents(seed: int) -> None:
    with np.errstate(all="ignore"):
        check_lowering(seed)


@long(36, of_all=2)
@pytest.mark.parametrize("seed", seeds(150, 1000))
def test_extents_beyond_a_tile(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 16 and 32 reach over the ends of 17, 33 and 40 by different amounts."""
    monkeypatch.setattr(generators, "EXTENTS", (1, 2, 3, 8, 17, 33, 40))
    with np.errstate(all="ignore"):
        check_lowering(seed)
