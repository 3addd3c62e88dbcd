"""Swizzles of lanes: every element of a run is taken once, and put where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from irc.layout.lane_swizzles import LANE_BITS, LaneSwizzle, best_lane_swizzle, exchanged, xored

LANES = np.arange(32)


@pytest.mark.parametrize("swizzle", [(), (0, 0, 0, 4, 2), (1, 0, 3, 0, 0), (6, 0, 6, 0, 1)])
def test_exchanges_put_a_run_in_order(swizzle: LaneSwizzle) -> None:
    run = 8
    moved = xored(LANES, swizzle)
    registers = np.arange(run) ^ moved[:, None]
    assert (np.sort(registers, axis=1) == np.arange(run)).all(), "each lane takes each element once"
    for by in exchanged(swizzle):
        registers = np.where((moved & by != 0)[:, None], registers[:, np.arange(run) ^ by], registers)
    assert (registers == np.arange(run)).all()


def test_only_distances_that_some_lane_moves_by_are_exchanged() -> None:
    assert list(exchanged((0, 6, 0, 0, 0))) == [2, 4]
    assert list(exchanged(())) == []


def most_in_a_bank(swizzle: LaneSwizzle) -> float:
    """16 lanes with runs of 8 elements of 2 bytes, a row of an odd pitch for each, and their neighbors."""
    rows = 8 * (LANES % 16) + xored(LANES, swizzle)
    banks = (rows * 65 + LANES // 16) // 2
    return float(np.bincount(banks % 32).max())


def test_swizzles_spread_lanes_over_all_banks() -> None:
    assert most_in_a_bank(()) == 2 + 2
    swizzle = best_lane_swizzle(8, most_in_a_bank, 1.0)
    assert most_in_a_bank(swizzle) <= 2
    assert len(swizzle) == LANE_BITS


def test_nothing_is_moved_where_there_is_nothing_to_gain() -> None:
    assert best_lane_swizzle(8, lambda swizzle: 1.0 + len(list(exchanged(swizzle))), 0.0) == ()
    assert best_lane_swizzle(8, lambda swizzle: 1.0 - sum(swizzle), 1.0) == (), "what is good enough is kept"
