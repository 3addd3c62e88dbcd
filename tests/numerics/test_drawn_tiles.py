"""Drawn tile programs are right on the simulator in every form, or refused by one message that names the op."""

from __future__ import annotations

import pytest
from drawing import long, seeds
from numerics.drawn_tiles import draw_program
from numerics.judged_tiles import judge


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24, first=7000))
def test_a_drawn_program(seed: int) -> None:
    _check(seed)


@long(4)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24, first=7500))
def test_loops_whose_bounds_depend_on_the_tile(seed: int) -> None:
    """One block has all tiles of those that persist."""
    _check(seed, values=True)


def _check(seed: int, *, values: bool = False) -> None:
    judged = judge(seed, values=values)
    assert judged.is_good, f"{judged.verdict}: {judged.reason}"


def test_a_consumer_whose_turn_never_comes() -> None:
    """Two consumers take turns in one tile: the second one has nothing to do."""
    _check(20010)
    assert 'schedule = "pingpong"' in draw_program(20010).config


@pytest.mark.parametrize("seed", [20220, 20291])
def test_slices_of_products_of_other_warps(seed: int) -> None:
    """An epilogue adds subtiles of two products, whose warps are split between rows and columns in two ways: as wide as
    each other, and of unequal steps of registers."""
    _check(seed)
    assert 'instruction = "mma"' in draw_program(seed).config


@pytest.mark.parametrize("seed", [10, 17])
def test_a_held_stage_that_no_dot_reads(seed: int) -> None:
    """Several tiles of a block have no step: their stage of the left operand is waited for and released at once, and a
    warp that is late must not miss it."""
    _check(seed, values=True)
    assert 'instruction = "wgmma"' in draw_program(seed, values=True).config
