"""Random programs beyond a tile on the simulator, against the float64 reference."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from drawing import long, seeds
from numerics.drawn_programs import Drawn, draw_program, permute, product, reduction, scan
from numerics.harness import check_kernels

from irc.driver.program import parse

pytestmark = pytest.mark.fuzz


@long(6)
@pytest.mark.parametrize("family", [permute, reduction, scan, product], ids=lambda family: family.__name__)
@pytest.mark.parametrize("seed", seeds(12))
def test_drawn_programs(family: Callable[[Drawn], str], seed: int) -> None:
    check_kernels(draw_program(family, seed), seed)


@pytest.mark.parametrize("seed", seeds(6, 1000))
def test_drawn_products_before_warp_groups(seed: int) -> None:
    check_kernels(draw_program(product, seed), seed, "sm_80")


def test_every_draw_is_a_program() -> None:
    """Many are parsed, few are run."""
    for family in (permute, reduction, scan, product):
        for seed in range(60):
            parse(draw_program(family, seed), "drawn.irc").verify()
