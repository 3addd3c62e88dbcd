"""The configs that a tuner may try for a kernel: axes with the values that a field can have, and steps along them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import inf
from random import Random
from typing import Any

import numpy as np

from irc.analysis.reduction_problem import reduction_of
from irc.configs.candidates import candidates, legal_config
from irc.configs.check import check_config
from irc.configs.features import Featurizer
from irc.configs.footprint import Estimator
from irc.configs.learned import learned_model
from irc.configs.wgmma_cycles import GROUPS
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import GROUP_WARPS, WGMMA_ROWS
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div, power_of_two

TILE = "tile."
"""Before the name of a dimension, whose size is an axis."""

SEEDS = 64
"""Of the heuristic's candidates."""

LADDER = 4
"""Doublings and halvings of a size that are tried."""

ATTEMPTS = 64
"""Draws of a config until one is legal."""

Axes = Mapping[str, Sequence[Any]]
"""The values that fields, and sizes of the tile, can have."""


def value_of(config: ConfigAttr, axis: str) -> Any:
    """What a config has on an axis; None where it is open."""
    if axis.startswith(TILE):
        return (config.tile or TileSizes()).get(axis.removeprefix(TILE))
    return getattr(config.data, axis)


def with_value(config: ConfigAttr, axis: str, value: Any) -> ConfigAttr:
    """The config with another value on an axis."""
    if axis.startswith(TILE):
        return config.replace(tile=TileSizes({**(config.tile or {}), axis.removeprefix(TILE): value}))
    return config.replace(**{axis: value})


def ladder(size: int, high: int = 1 << 20) -> list[int]:
    """The size, and what is some doublings and halvings away."""
    doubled = [size << n for n in range(LADDER + 1)]
    halved = [ceil_div(size, 1 << n) for n in range(1, LADDER + 1)]
    return sorted(n for n in {*doubled, *halved} if n <= high)


class ConfigSpace(ABC):
    """The configs of one kernel. `seeds` has those of the heuristic, the best first, at least one."""

    seeds: Sequence[ConfigAttr]

    @abstractmethod
    def axes(self, config: ConfigAttr) -> Axes:
        """What can differ from a config."""

    @abstractmethod
    def settled(self, config: ConfigAttr) -> ConfigAttr | None:
        """The config, with what follows from the rest of it; None where it is not legal."""

    @abstractmethod
    def estimate(self, config: ConfigAttr) -> float:
        """Seconds by a cost model."""

    def parts(self, config: ConfigAttr) -> dict[str, float]:
        """What the estimate is made of, where that is known."""
        return {}

    def neighbors(self, config: ConfigAttr) -> list[ConfigAttr]:
        """The legal configs that are one step away on one axis, those that should be fastest first."""
        found = {self.settled(each): None for each in self._steps(config)}
        return self.ranked([each for each in found if each is not None and each != config])

    def _steps(self, config: ConfigAttr) -> Iterator[ConfigAttr]:
        for axis, values in self.axes(config).items():
            current = value_of(config, axis)
            if current not in values:
                yield from (with_value(config, axis, value) for value in values)
                continue
            at = values.index(current)
            yield from (with_value(config, axis, values[n]) for n in (at - 1, at + 1) if 0 <= n < len(values))

    def drawn(self, random: Random) -> ConfigAttr | None:
        """A legal config with values on some axes that are drawn; None where none is found."""
        for _ in range(ATTEMPTS):
            config = random.choice(self.seeds)
            axes = self.axes(config)
            for axis in random.sample(sorted(axes), random.randint(1, len(axes))) if axes else []:
                config = with_value(config, axis, random.choice(axes[axis]))
            if (found := self.settled(config)) is not None:
                return found
        return None

    def mutant(
        self, parents: Sequence[ConfigAttr], factor: float, crossing: float, random: Random
    ) -> ConfigAttr | None:
        """By differential evolution (Storn and Price, 1997), of a target and three others: on some axes, the second
        moved by `factor` of the difference of the last two, in steps along the axis; on the rest the target. None where
        that is not legal."""
        target, base, left, right = parents
        config = target
        for axis, values in self.axes(target).items():
            places = [
                values.index(v) if (v := value_of(each, axis)) in values else None for each in (base, left, right)
            ]
            if random.random() >= crossing or any(place is None for place in places):
                continue
            start, to, back = (place or 0 for place in places)
            at = round(start + factor * (to - back))
            config = with_value(config, axis, values[max(0, min(len(values) - 1, at))])
        return self.settled(config)

    def ranked(self, configs: Sequence[ConfigAttr]) -> list[ConfigAttr]:
        """Those that should be fastest first."""
        return sorted(configs, key=self.estimate)


class KernelSpace(ConfigSpace):
    """The configs of a fused kernel, around what its own config sets."""

    def __init__(self, kernel: FusedOp, machine: Target):
        self._kernel, self._machine = kernel, machine
        self._given = kernel.config or ConfigAttr.of()
        self._names = kernel.tile_names()
        self._estimates: dict[ConfigAttr, float] = {}
        self._estimator = Estimator(kernel, machine)
        self.seeds = self._seeds()

    def _seeds(self) -> list[ConfigAttr]:
        first = legal_config(self._kernel, self._machine, None)
        found = {first: None}
        for instruction in self._instructions(first):
            chosen = candidates(self._kernel, self._machine, instruction)
            settled = (self.settled(self._given.completed(each)) for each in chosen)
            found |= dict.fromkeys(islice((each for each in settled if each is not None), SEEDS))
        return list(found)

    def _instructions(self, first: ConfigAttr) -> list[str | None]:
        """What may multiply; the heuristic's choice first."""
        if self._machine.exact_tiles or first.instruction is None:
            return [None]
        return [None, *(name for name in ("wgmma", "mma", "direct") if name != first.instruction)]

    def estimate(self, config: ConfigAttr) -> float:
        if config not in self._estimates:
            self._estimates[config] = self._estimator.seconds(config)
        return self._estimates[config]

    def parts(self, config: ConfigAttr) -> dict[str, float]:
        return self._estimator.parts(config)

    def settled(self, config: ConfigAttr) -> ConfigAttr | None:
        """Warps follow from the rows of warp groups; a channel has as many stages as there is room for."""
        config = self._with_whole_rows(self._with_warps(config))
        for stages in range(config.stages or 1, 0, -1):
            fewer = config if config.stages is None else config.replace(stages=stages)
            if self._is_legal(fewer):
                return fewer
            if self._given.stages is not None:
                return None
        return None

    def _is_legal(self, config: ConfigAttr) -> bool:
        try:
            check_config(self._kernel, config, self._machine)
        except IrcError:
            return False
        return self.estimate(config) < inf

    def _with_warps(self, config: ConfigAttr) -> ConfigAttr:
        if config.instruction != "wgmma" or config.tile is None or self._given.warps is not None:
            return config
        rows = config.tile["n" if config.swap_ab else "m"]
        if self._kernel.kind is Anchor.CASCADE:
            return config.replace(warps=max(1, rows // WGMMA_ROWS) * GROUP_WARPS)
        groups = 1 if config.schedule == "pingpong" else GROUPS.get(rows, max(1, rows // WGMMA_ROWS))
        return config.replace(warps=groups * GROUP_WARPS)

    def _with_whole_rows(self, config: ConfigAttr) -> ConfigAttr:
        """A row that is held is one step."""
        if self._kernel.kind is not Anchor.REDUCE or config.reduction != "persistent" or config.tile is None:
            return config
        role = reduction_of(self._kernel).role
        return config.replace(tile=TileSizes({**config.tile, role: self._row}), unroll=None)

    @cached_property
    def _row(self) -> int:
        """Elements of a tile that holds a whole row."""
        reduction = reduction_of(self._kernel)
        extent = max(1, reduction.extent // reduction.together)
        return extent if self._machine.exact_tiles else power_of_two(extent)

    def ranked(self, configs: Sequence[ConfigAttr]) -> list[ConfigAttr]:
        """By the learned model of the chip, where there is one for kernels of this kind."""
        model = learned_model(self._machine.name)
        share = None if model is None else model.shares.get(self._kernel.kind.value)
        if model is None or share is None or not configs:
            return super().ranked(configs)
        scores = model.predict(self._featurizer.matrix(configs, model.names), model.names, share)
        return [configs[number] for number in np.argsort(scores, kind="stable")]

    @cached_property
    def _featurizer(self) -> Featurizer:
        return Featurizer(self._kernel, self._machine, self.seeds[0])

    def axes(self, config: ConfigAttr) -> Axes:
        found = self._tiles(config)
        if not self._machine.exact_tiles:
            found |= self._fields(config)
        elif self._kernel.kind is Anchor.REDUCE and config.split is not None:
            found["split"] = ladder(config.split, high=256)
        fixed = {f"{TILE}{name}" for name in self._given.tile or ()}
        return {
            axis: values
            for axis, values in found.items()
            if axis not in fixed and (axis.startswith(TILE) or getattr(self._given.data, axis) is None)
        }

    def _tiles(self, config: ConfigAttr) -> dict[str, Sequence[Any]]:
        sizes = {name: size for name, size in (config.tile or {}).items() if name in self._names}
        found: dict[str, Sequence[Any]] = {TILE + name: ladder(size) for name, size in sizes.items()}
        if self._kernel.kind is Anchor.REDUCE and config.reduction == "persistent":
            found.pop(TILE + reduction_of(self._kernel).role, None)
        if self._kernel.kind is Anchor.CASCADE and config.instruction == "wgmma":
            found |= {f"{TILE}m": (64, 128, 192), f"{TILE}k": (16, 32, 48, 64, 80, 96, 128, 160)}
        if self._kernel.kind is Anchor.MATMUL and config.instruction == "wgmma":
            tall, wide = ("n", "m") if config.swap_ab else ("m", "n")
            found |= {
                TILE + tall: (64, 128, 192, 256),
                TILE + wide: (16, 32, 48, 64, 80, 96, 112, *range(128, 257, 16)),
            }
        return found

    def _fields(self, config: ConfigAttr) -> dict[str, Sequence[Any]]:
        match self._kernel.kind:
            case Anchor.MATMUL if config.instruction == "wgmma":
                return {
                    "stages": range(1, 13),
                    "cluster": ((1, 1), (2, 1), (1, 2), (4, 1)),
                    "schedule": ("persistent", "pingpong", "dynamic"),
                    "group": (1, 2, 4, 8, 16, 32),
                    "split": (None, 2, 3, 4, 6, 8, 16, 32),
                    "subtile": (None, 16, 32, 64),
                    "load_stages": (None, 2, 3, 4, 6),
                    "store_stages": (None, 1, 2, 4),
                }
            case Anchor.MATMUL:
                return {
                    "warps": (1, 2, 4, 8, 16),
                    "group": (1, 2, 4, 8, 16, 32),
                    "split": (None, 2, 3, 4, 6, 8, 16, 32),
                    "occupancy": (None, 1, 2, 3, 4, 6),
                    **({"stages": range(1, 7)} if config.instruction == "mma" else {}),
                }
            case Anchor.CASCADE if config.instruction == "wgmma":
                return {
                    "stages": range(1, 5),
                    "schedule": ("grid", "persistent", "dynamic"),
                    "turns": (None, True),
                    "lag": (None, 8),
                    "occupancy": (None, 2, 3),
                    "store_stages": (None, 1, 2),
                    "split": (None, 2, 4, 8, 16, 32),
                }
            case Anchor.CASCADE:
                return {"stages": range(1, 5), "warps": (1, 2, 4, 8), "split": (None, 2, 4, 8, 16, 32)}
            case Anchor.REDUCE:
                split = {"split": (None, 2, 4, 8, 16, 32, 64, 128, 256)}
                steps = {"unroll": (1, 2, 4, 8)} if config.reduction == "looped" else {}
                return {**self._memory_fields(), **split, **steps, "reduction": ("persistent", "looped")}
            case _:
                return self._memory_fields()

    @staticmethod
    def _memory_fields() -> dict[str, Sequence[Any]]:
        return {
            "warps": (1, 2, 4, 8, 16, 32),
            "occupancy": (1, 2, 3, 4, 6, 8, 12, 16),
            "evict_last": (None, "inputs"),
        }
