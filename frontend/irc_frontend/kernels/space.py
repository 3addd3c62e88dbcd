"""The configs that a tuner may try for a kernel's loop nests: sizes of their tiles, and what else applies to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from math import inf, prod
from typing import Any

from irc.analysis.budgets import OTHER_REGISTERS, PRODUCER_WARPS, REDUCTION_BYTES, launched_registers
from irc.configs.footprint import Footprint, Work, host_seconds, parts_of, seconds_of
from irc.configs.space import SEEDS, TILE, Axes, ConfigSpace, ladder
from irc.dialects.kernel import STAYING, ConfigAttr, ConfigFields, TileSizes
from irc.dialects.kernel.config import checks
from irc.ir.dtypes import element_named
from irc.ir.targets import Target
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div
from irc_frontend.kernels.access import TileAccess
from irc_frontend.kernels.facts import Facts
from irc_frontend.kernels.loops import Choice
from irc_frontend.kernels.sizes import check, choices, choose, elements_of, one_product, sums_of

LARGEST = 1024
"""Elements of a tile along one loop, at most."""

HELD = 1 << 16
"""Elements of a tile that a block holds, at most: 64 in each of 1024 threads."""

WORD = 4
"""Bytes of a register."""


class NestSpace(ConfigSpace):
    """The configs of one call of a kernel, whose nests share one; what `given` sets stays."""

    def __init__(self, nests: Sequence[Facts], given: ConfigAttr, machine: Target):
        self._nests, self._given, self._machine = nests, given, machine
        self._estimates: dict[ConfigAttr, float] = {}
        first = _shared([choose(facts, given) for facts in nests])
        found = {first: None}
        if len(nests) == 1:
            others = (self.settled(_shared([choice])) for choice in islice(choices(nests[0], given), SEEDS))
            found |= dict.fromkeys(each for each in others if each is not None)
        self.seeds = list(found)

    def axes(self, config: ConfigAttr) -> Axes:
        extents = {dim.name: dim.extent for facts in self._nests for dim in (*facts.outer, *facts.inner)}
        found: dict[str, Sequence[Any]] = {
            TILE + name: ladder(size, high=max(size, min(LARGEST, 2 * extents[name])))
            for name, size in (config.tile or {}).items()
            if name not in (self._given.tile or ())
        }
        fields = self._fields(config)
        return found | {name: values for name, values in fields.items() if getattr(self._given.data, name) is None}

    def _fields(self, config: ConfigAttr) -> dict[str, Sequence[Any]]:
        if self._machine.exact_tiles:
            return {}
        occupancy = (None, 1, 2, 3, 4, 6, 8)
        if not any(facts.products for facts in self._nests):
            return {
                "warps": (1, 2, 4, 8, 16, 32),
                "occupancy": occupancy,
                "schedule": ("grid", "persistent", "dynamic"),
            }
        if config.instruction != "wgmma":
            return {"warps": (1, 2, 4, 8, 16), "stages": range(1, 6), "occupancy": occupancy, "group": (1, 2, 4, 8, 16)}
        pingpong = ("pingpong",) if self._is_one_product else ()
        return {
            "warps": (4, 8, 12),
            "stages": range(1, 9),
            "schedule": ("grid", "persistent", "dynamic", *pingpong),
            "group": (1, 2, 4, 8, 16, 32),
            **({"cluster": ((1, 1), (2, 1), (1, 2))} if self._is_one_product else {}),
        }

    @property
    def _is_one_product(self) -> bool:
        return len(self._nests) == 1 and one_product(self._nests[0]) is not None

    def settled(self, config: ConfigAttr) -> ConfigAttr | None:
        """What the tracer takes, and a block has room for; the rest is found when it compiles."""
        try:
            check(config, self._nests)
            for facts in self._nests:
                choose(facts, config)
        except IrcError:
            return None
        return config if self.estimate(config) < inf else None

    def estimate(self, config: ConfigAttr) -> float:
        if config not in self._estimates:
            self._estimates[config] = sum(self._seconds(facts, config) for facts in self._nests)
        return self._estimates[config]

    def parts(self, config: ConfigAttr) -> dict[str, float]:
        """Of the nest that takes longest."""
        longest = max(self._nests, key=lambda facts: self._seconds(facts, config))
        taken, work, _ = self._taken(longest, config)
        return parts_of(taken, work, self._machine)

    def _seconds(self, facts: Facts, config: ConfigAttr) -> float:
        sizes = choose(facts, config).sizes
        if max((elements_of(access, sizes) for access in facts.accesses), default=1) > HELD:
            return inf
        taken, work, is_persistent = self._taken(facts, config)
        if self._machine.exact_tiles:
            loaded = sum(_bytes(access, sizes) for access in facts.accesses)
            return host_seconds(taken.tiles, loaded, taken.moved, work, self._machine)
        return seconds_of(taken, work, self._machine, is_persistent=is_persistent)

    def _taken(self, facts: Facts, config: ConfigAttr) -> tuple[Footprint, Work, bool]:
        """What a nest takes, what it does, and whether its blocks stay for several tiles."""
        choice = choose(facts, config)
        chosen, sizes = config if choice.config is None else choice.config, choice.sizes
        loaded = sum(_bytes(access, sizes) for access in facts.accesses)
        steps = prod(ceil_div(dim.extent, sizes[dim.name]) for dim in facts.inner)
        tiles = facts.walked * prod(ceil_div(dim.extent, sizes[dim.name]) for dim in facts.outer)
        arrays = {access.array: _nbytes(access) for access in facts.accesses}
        flops = sum(2 * prod(product.shape) for product in facts.products)
        work = Work(flops, self._rate(facts, chosen), sum(arrays.values()))
        taken = self._footprint(facts, chosen, sizes, tiles, loaded, steps)
        return taken, work, chosen.schedule in STAYING

    def _rate(self, facts: Facts, config: ConfigAttr) -> float:
        flops = self._machine.flops
        if not facts.products or config.instruction == "fma":
            return flops["f32"]
        return flops.get(facts.products[0].element, flops["f32"])

    def _footprint(
        self, facts: Facts, config: ConfigAttr, sizes: Mapping[str, int], tiles: int, loaded: int, steps: int
    ) -> Footprint:
        machine, by_wgmma = self._machine, config.instruction == "wgmma"
        warps = (2 if config.schedule == "pingpong" else 1) * (config.warps or 8)
        threads = machine.warp_size * (warps + (PRODUCER_WARPS if by_wgmma else 0))
        if facts.products:
            step = sum(_bytes(load, sizes) for product in facts.products for load in product.loads if load is not None)
            shared, flying = (config.stages or 1) * step, max(1, (config.stages or 1) - 1) * step
            words = max(sums_of(facts, sizes), default=0) // (machine.warp_size * warps)
        else:
            shared, flying = REDUCTION_BYTES, min(loaded, threads * machine.costs.kernels.thread_bytes)
            words = loaded // WORD // threads
        registers = min(machine.registers_per_thread, words + OTHER_REGISTERS)
        if by_wgmma:
            registers = launched_registers(machine, warps, config.occupancy or 1)
        return Footprint(tiles, threads, registers, shared, flying, tiles * steps * loaded)


def _nbytes(access: TileAccess) -> int:
    """Of the array."""
    return prod(access.array.shape) * element_named(access.array.element).size


def _bytes(access: TileAccess, sizes: Mapping[str, int]) -> int:
    return elements_of(access, sizes) * element_named(access.array.element).size


def _shared(chosen: Sequence[Choice]) -> ConfigAttr:
    """The config of several nests that gives each what was chosen for it: the sizes of all loops, and the fields that
    are the same for all."""
    configs = [ConfigAttr.of() if each.config is None else each.config for each in chosen]
    fields = {name: {getattr(each.data, name) for each in configs} for name in checks() if name != "tile"}
    alike = {name: next(iter(values)) for name, values in fields.items() if len(values) == 1}
    sizes = {name: size for each in chosen for name, size in each.sizes.items()}
    return ConfigAttr(ConfigFields(**alike, tile=TileSizes(sizes) if sizes else None))


class ListSpace(ConfigSpace):
    """Configs that somebody listed, and no others; the first is what others are compared with."""

    def __init__(self, configs: Sequence[ConfigAttr]):
        self.seeds = list(dict.fromkeys(configs))

    def axes(self, config: ConfigAttr) -> Axes:
        return {}

    def settled(self, config: ConfigAttr) -> ConfigAttr | None:
        return config if config in self.seeds else None

    def estimate(self, config: ConfigAttr) -> float:
        return float(self.seeds.index(config))
