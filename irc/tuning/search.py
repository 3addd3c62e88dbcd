"""Which configs to try next. A search is asked for generations, of configs that were not tried, until it has none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from irc.configs.space import ConfigSpace
from irc.dialects.kernel import ConfigAttr
from irc.support.diagnostics import unknown_name

GENERATION = 16
"""Configs of a generation."""

RANKED = 32
"""Configs that are tried in the order of the cost model, before steps from the best."""

BEST = 3
"""Configs whose neighbors are tried."""

POPULATION = 16

FACTOR, CROSSING = 0.8, 0.7
"""Of differential evolution: how far a mutant moves, and how many of its axes."""

STALE, GAIN = 3, 0.005
"""Generations without so much of a gain, after which evolution ends."""


@dataclass(frozen=True)
class Trial:
    """A config that was tried. seconds: of a call, where it is known. compiled: what can be timed again."""

    config: ConfigAttr
    outcome: str
    reason: str = ""
    seconds: float | None = None
    compiled: object = None


Trials = Mapping[ConfigAttr, Trial]


class Search(ABC):
    """Knows the space, and draws by a seed."""

    def __init__(self, space: ConfigSpace, seed: int):
        self.space, self.random = space, Random(seed)

    @abstractmethod
    def following(self, trials: Trials) -> list[ConfigAttr]:
        """The next generation; empty at the end."""

    def drawn(self, trials: Trials, count: int) -> list[ConfigAttr]:
        """Up to so many configs that were not tried."""
        found: dict[ConfigAttr, None] = {}
        for _ in range(4 * count):
            config = self.space.drawn(self.random)
            if config is not None and config not in trials and len(found) < count:
                found[config] = None
        return list(found)


def best_of(trials: Trials, count: int) -> list[Trial]:
    """The fastest, the best first."""
    timed = [(each.seconds, each) for each in trials.values() if each.seconds is not None]
    return [each for _, each in sorted(timed, key=lambda pair: pair[0])[:count]]


class RankedSearch(Search):
    """The heuristic's candidates and their neighbors, in the order of the cost model; half of them are its candidates
    as it ranks them."""

    def __init__(self, space: ConfigSpace, seed: int, most: int | None = None):
        super().__init__(space, seed)
        self._most = most
        nearby = (each for start in space.seeds[:BEST] for each in space.neighbors(start))
        ranked = space.ranked(list(dict.fromkeys([*space.seeds, *nearby])))
        self.order = list(dict.fromkeys([each for pair in _pairs(list(space.seeds), ranked) for each in pair]))

    def following(self, trials: Trials) -> list[ConfigAttr]:
        left = [each for each in self.order[: self._most] if each not in trials]
        return left[:GENERATION]


def _pairs(left: list[ConfigAttr], right: list[ConfigAttr]) -> list[tuple[ConfigAttr, ...]]:
    """By turns, to the end of the longer one."""
    most = max(len(left), len(right))
    return [(*left[n : n + 1], *right[n : n + 1]) for n in range(most)]


class PatternSearch(Search):
    """The neighbors of the best in each field, until none of them is better."""

    def following(self, trials: Trials) -> list[ConfigAttr]:
        for start in best_of(trials, BEST):
            if left := [each for each in self.space.neighbors(start.config) if each not in trials]:
                return left[:GENERATION]
        return []


class EvolutionSearch(Search):
    """Differential evolution (Storn and Price, 1997) of the best, in steps along the axes of the space."""

    def __init__(self, space: ConfigSpace, seed: int):
        super().__init__(space, seed)
        self._best, self._stale = float("inf"), 0

    def following(self, trials: Trials) -> list[ConfigAttr]:
        population = best_of(trials, POPULATION)
        if len(population) < 4:
            return self.drawn(trials, GENERATION)
        best = population[0].seconds or 0.0
        self._stale = 0 if best < self._best * (1 - GAIN) else self._stale + 1
        self._best = min(self._best, best)
        if self._stale > STALE:
            return []
        found: dict[ConfigAttr, None] = {}
        for each in population:
            others = [other.config for other in population if other is not each]
            mutant = self.space.mutant([each.config, *self.random.sample(others, 3)], FACTOR, CROSSING, self.random)
            if mutant is not None and mutant not in trials:
                found[mutant] = None
        return [*found, *self.drawn(trials, max(1, GENERATION - len(found)))]


class RandomSearch(Search):
    """Configs that are drawn."""

    def following(self, trials: Trials) -> list[ConfigAttr]:
        return self.drawn(trials, GENERATION)


class AutoSearch(Search):
    """The cost model's best, then steps from the best of these, then evolution."""

    def __init__(self, space: ConfigSpace, seed: int):
        super().__init__(space, seed)
        self._left: list[Search] = [
            RankedSearch(space, seed, RANKED),
            PatternSearch(space, seed),
            EvolutionSearch(space, seed),
        ]

    def following(self, trials: Trials) -> list[ConfigAttr]:
        while self._left:
            if found := self._left[0].following(trials):
                return found
            self._left.pop(0)
        return []


SEARCHES: dict[str, Callable[[ConfigSpace, int], Search]] = {
    "auto": AutoSearch,
    "ranked": RankedSearch,
    "pattern": PatternSearch,
    "evolution": EvolutionSearch,
    "random": RandomSearch,
}
"""By name."""


def check_search(name: str) -> None:
    """IrcError where there is no search of the name."""
    if name not in SEARCHES:
        raise unknown_name("search", name, list(SEARCHES))


def search_named(name: str, space: ConfigSpace, seed: int) -> Search:
    """IrcError where there is none of the name."""
    check_search(name)
    return SEARCHES[name](space, seed)
