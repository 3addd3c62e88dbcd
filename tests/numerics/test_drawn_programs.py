"""Random programs beyond a tile on the simulator, against the float64 reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import seeds
from numerics.drawn_programs import Drawn, draw_program, permute, product, reduction, scan
from numerics.harness import assert_close, draw_arguments, result_elements, tolerances

import irc
from irc.interpreters.nd import evaluate
from irc.program import isolate, parse

pytestmark = pytest.mark.fuzz


def check(text: str, seed: int, arch: str = "sm_90a") -> None:
    module = isolate(parse(text, "drawn.irc"))
    arrays, elements, limits = draw_arguments(module, seed), result_elements(module), tolerances(module)
    with np.errstate(all="ignore"):
        expected = evaluate(module, arrays, precision="float64")
        found = irc.compile(text, target="sim", arch=arch)(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for index, (a, b, element) in enumerate(zip(expected, found, elements, strict=True)):
        assert_close(a, b, element, limits, f"result {index} of\n{text}")


@pytest.mark.parametrize("family", [permute, reduction, scan, product], ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", seeds(12))
def test_drawn_programs(family: Callable[[Drawn], str], seed: int) -> None:
    check(draw_program(family, seed), seed)


@pytest.mark.parametrize("seed", seeds(6, 1000))
def test_drawn_products_before_warp_groups(seed: int) -> None:
    check(draw_program(product, seed), seed, "sm_80")


def test_every_draw_is_a_program() -> None:
    """Many are parsed, few are run."""
    for family in (permute, reduction, scan, product):
        for seed in range(60):
            parse(draw_program(family, seed), "drawn.irc").verify()
