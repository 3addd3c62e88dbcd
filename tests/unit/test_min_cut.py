"""Minimum cuts against all cuts of small random networks."""

from __future__ import annotations

from itertools import combinations
from math import inf
from random import Random

import pytest
from drawing import seeds

from irc.analysis.min_cut import Network


def weight(edges: list[tuple[int, int, float]], sink_side: set[int]) -> float:
    return sum(capacity for a, b, capacity in edges if a not in sink_side and b in sink_side)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(60))
def test_the_cut_is_the_smallest_and_nearest_to_the_sink(seed: int):
    rng, count = Random(seed), 7
    edges = [
        (a, b, float(rng.choice((0, 1, 2, 3, 5))))
        for a in range(count)
        for b in range(count)
        if a != b and rng.random() < 0.5
    ]
    network: Network[int] = Network()
    for edge in edges:
        network.connect(*edge)
    found = network.sink_side(0, count - 1)
    inner = range(1, count - 1)
    cuts = [{*chosen, count - 1} for size in range(count - 1) for chosen in combinations(inner, size)]
    least = min(weight(edges, cut) for cut in cuts)
    assert weight(edges, found) == least
    assert all(len(found) <= len(cut) for cut in cuts if weight(edges, cut) == least)


def test_infinite_edges_are_not_cut():
    network: Network[str] = Network()
    network.connect("a", "b", inf)
    network.connect("b", "c", 2)
    network.connect("a", "c", 1)
    assert network.sink_side("a", "c") == {"c"}
    network.connect("b", "c", inf)
    with pytest.raises(ValueError, match="every cut is infinite"):
        network.sink_side("a", "c")
