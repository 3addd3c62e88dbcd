"""Gradient boosting of regression trees by the squared error (Friedman, 2001), on features in bins."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irc.configs.learned import Node

BINS = 48
"""Of a feature, at quantiles."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Boosting:
    """count: of trees. rate: by which the value of each is multiplied. leaves: of a tree. fewest: rows of a leaf.
    shrinkage: added to the rows of a leaf, so that those of few are near 0. share: of features and of rows that a tree
    sees."""

    count: int = 200
    rate: float = 0.06
    leaves: int = 12
    fewest: int = 8
    shrinkage: float = 4.0
    share: float = 0.6


@dataclass(frozen=True)
class _Split:
    gain: float
    feature: int
    bin: int


class _Bins:
    """Features as numbers of bins, and the thresholds between these."""

    def __init__(self, features: Array):
        quantiles = np.linspace(0, 1, BINS + 1)[1:-1]
        self.edges = [_edges(column, quantiles) for column in features.T]
        columns = [np.searchsorted(edges, column) for edges, column in zip(self.edges, features.T, strict=True)]
        self.codes = np.stack(columns, axis=1) + BINS * np.arange(features.shape[1])


def _edges(column: Array, quantiles: Array) -> Array:
    """Values in the middle between neighbors, so that small errors change no bin."""
    known = np.unique(column)
    middles = (known[1:] + known[:-1]) / 2
    if len(middles) < BINS:
        return middles
    return np.unique(middles[np.searchsorted(middles, np.quantile(column, quantiles)).clip(max=len(middles) - 1)])


def boosted(
    features: Array, target: Array, weights: Array, groups: Array, names: Sequence[str], settings: Boosting
) -> list[Node]:
    """Trees whose sum is near the target, by the weighted squared error, but for what is the same for all rows of a
    group: what is compared is within one. groups: their numbers from 0."""
    random, bins = np.random.default_rng(0), _Bins(features)
    found: list[Node] = []
    total = np.zeros(len(target))
    for _ in range(settings.count):
        rows = np.flatnonzero(random.random(len(target)) < settings.share)
        allowed = random.random(features.shape[1]) < settings.share
        grown = _Tree(bins, centered(target - total, weights, groups), weights, allowed, settings)
        node = grown.grow(rows)
        total += grown.values(node, np.arange(len(target)))
        found.append(grown.named(node, names))
    return found


def centered(left: Array, weights: Array, groups: Array) -> Array:
    """Without the weighted mean of each group."""
    means = np.bincount(groups, left * weights) / np.bincount(groups, weights)
    return left - means[groups]


@dataclass
class _Node:
    """A node while a tree grows."""

    value: float
    split: _Split | None = None
    low: _Node | None = None
    high: _Node | None = None


class _Tree:
    def __init__(self, bins: _Bins, left: Array, weights: Array, allowed: Array, settings: Boosting):
        self._bins, self._left, self._weights, self._settings = bins, left * weights, weights, settings
        self._allowed = allowed

    def grow(self, rows: Array) -> _Node:
        """The leaf whose split gains most is split, until there are as many as are wanted."""
        root = self._leaf(rows)
        waiting: list[tuple[float, int, _Node, Array, _Split]] = []
        self._offer(waiting, root, rows)
        leaves = 1
        while waiting and leaves < self._settings.leaves:
            _, _, node, own, split = heapq.heappop(waiting)
            is_low = self._is_low(split, own)
            low, high = own[is_low], own[~is_low]
            node.split, node.low, node.high = split, self._leaf(low), self._leaf(high)
            self._offer(waiting, node.low, low)
            self._offer(waiting, node.high, high)
            leaves += 1
        return root

    def _is_low(self, split: _Split, rows: Array) -> Array:
        return self._bins.codes[rows, split.feature] - BINS * split.feature <= split.bin

    def _leaf(self, rows: Array) -> _Node:
        weight = self._weights[rows].sum() + self._settings.shrinkage
        return _Node(self._settings.rate * float(self._left[rows].sum() / weight))

    def _offer(self, waiting: list[Any], node: _Node, rows: Array) -> None:
        if (split := self._best(rows)) is not None:
            heapq.heappush(waiting, (-split.gain, id(node), node, rows, split))

    def _best(self, rows: Array) -> _Split | None:
        """The split with the greatest gain; None where there is none."""
        if len(rows) < 2 * self._settings.fewest:
            return None
        count = self._bins.codes.shape[1]
        codes, size = self._bins.codes[rows].ravel(), BINS * count

        def sums(values: Array | None) -> Array:
            repeated = None if values is None else np.repeat(values, count)
            return np.bincount(codes, repeated, size).reshape(count, BINS).cumsum(axis=1)

        number, weight, left = sums(None), sums(self._weights[rows]), sums(self._left[rows])
        shrinkage, fewest = self._settings.shrinkage, self._settings.fewest
        all_weight, all_left = weight[:, -1:], left[:, -1:]
        with np.errstate(invalid="ignore"):  # an empty side
            gain = left**2 / (weight + shrinkage) + (all_left - left) ** 2 / (all_weight - weight + shrinkage)
            gain -= all_left**2 / (all_weight + shrinkage)
        is_possible = (number >= fewest) & (number[:, -1:] - number >= fewest) & self._allowed[:, None]
        gain = np.where(is_possible, gain, 0)
        feature, bin = np.unravel_index(int(gain.argmax()), gain.shape)
        found = _Split(float(gain[feature, bin]), int(feature), int(bin))
        return found if found.gain > 1e-12 else None

    def values(self, node: _Node, rows: Array) -> Array:
        """Of rows."""
        if node.split is None or node.low is None or node.high is None:
            return np.full(len(rows), node.value)
        is_low, found = self._is_low(node.split, rows), np.empty(len(rows))
        found[is_low] = self.values(node.low, rows[is_low])
        found[~is_low] = self.values(node.high, rows[~is_low])
        return found

    def named(self, node: _Node, names: Sequence[str]) -> Node:
        """With thresholds of features in place of bins. Numbers of a leaf are short, as files have them."""
        if node.split is None or node.low is None or node.high is None:
            return float(f"{node.value:.4g}")
        threshold = float(f"{self._bins.edges[node.split.feature][node.split.bin]:.6g}")
        return names[node.split.feature], threshold, self.named(node.low, names), self.named(node.high, names)
