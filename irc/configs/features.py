"""A config of a kernel in numbers, as the learned cost model (`learned.py`) reads it.

Sizes and counts are logarithms to the base 2. What is about the config stands beside how far that is from the
heuristic's config of the same kernel, whose seconds the model knows nothing of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2, prod
from typing import Any

import numpy as np

from irc.analysis.op_classes import shape_of
from irc.analysis.product_problem import product_of
from irc.analysis.reduction_problem import reduction_of
from irc.configs.footprint import Estimator
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, TileSizes
from irc.ir.dtypes import element_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, Target
from irc.support.integers import ceil_div

COUNTS = ("stages", "warps", "group", "split", "occupancy", "unroll", "subtile", "load_stages", "store_stages", "lag")
"""Fields of a config that are numbers: logarithms, and -1 where nothing is chosen."""

WORDS: Mapping[str, Sequence[Any]] = {
    "schedule": ("grid", "persistent", "pingpong", "dynamic"),
    "instruction": ("fma", "mma", "wgmma", "direct", "columns"),
    "reduction": ("persistent", "looped"),
    "evict_last": ("inputs",),
    "indexing": ("tma", "pointer"),
    "swap_ab": (True,),
    "turns": (True,),
}

TILES = ("m", "n", "k", "d", "r", "s", "result", "operand")

COMPARED = ("estimate", "tiles", "threads", "registers", "shared", "flying", "moved", "resident", "elements", "full")
"""What is compared with the heuristic's."""

Features = dict[str, float]


def log(value: float) -> float:
    """To the base 2, from 0 on."""
    return log2(1 + max(0.0, value))


class Featurizer:
    """The features of configs of one kernel."""

    def __init__(self, kernel: FusedOp, machine: Target, heuristic: ConfigAttr):
        self._kernel, self._machine = kernel, machine
        self._estimator = Estimator(kernel, machine)
        self._of_kernel = _of_kernel(kernel)
        self._base = self._of_config(heuristic)

    def matrix(self, configs: Sequence[ConfigAttr], names: Sequence[str]) -> np.ndarray[Any, Any]:
        """A row for each config, a column for each name."""
        found = [self.features(config) for config in configs]
        return np.array([[each[name] for name in names] for each in found]).reshape(len(found), len(names))

    def features(self, config: ConfigAttr) -> Features:
        own = self._of_config(config)
        changes = {f"{name} / heuristic": own[name] - self._base[name] for name in COMPARED}
        same = {f"other {name}": float(own[name] != self._base[name]) for name in ("instruction=wgmma", "split")}
        return {**self._of_kernel, **own, **changes, **same}

    def _of_config(self, config: ConfigAttr) -> Features:
        fields, tile = config.data, config.tile or TileSizes()
        parts = self._estimator.parts(config)
        rounds, threads = parts["rounds"], parts["threads"]
        elements = prod(tile.values())
        counts = {name: -1.0 if (n := getattr(fields, name)) is None else log(n) for name in COUNTS}
        words = {
            f"{name}={word}": float(getattr(fields, name) == word) for name, known in WORDS.items() for word in known
        }
        cluster = config.cluster or (1, 1)
        return {
            **counts,
            **words,
            **{f"tile.{name}": log(tile.get(name, 0)) for name in TILES},
            "cluster": log(prod(cluster)),
            "elements": log(elements),
            "elements of a thread": log2(max(1, elements) / threads),
            "estimate": log2(self._estimator.seconds(config)),
            **{name: log(value) for name, value in parts.items() if name not in ("rounds", "rate", "flops", "bytes")},
            "rounds": log2(max(rounds, 1e-9)),
            "full": rounds / ceil(rounds) if rounds > 0 else 1.0,
            "threads of an SM": parts["resident"] * threads / self._machine.threads_per_sm,
            "flying of an SM": log(parts["resident"] * parts["flying"]),
            **self._waste(tile, config.split or 1),
        }

    def _waste(self, tile: TileSizes, parts: int) -> Features:
        """What tiles have beyond the extents, and steps along what is summed."""
        found = {"waste": 0.0, "steps": 0.0}
        if self._kernel.kind is Anchor.MATMUL:
            product = product_of(self._kernel)
            found["waste"] = log2(_covered(product.m, tile["m"]) * _covered(product.n, tile["n"]))
            found["steps"] = log(ceil_div(ceil_div(product.k, parts), tile["k"]))
        elif self._kernel.kind is Anchor.REDUCE:
            reduction = reduction_of(self._kernel)
            size = tile.get(reduction.role, 1)
            found["waste"] = log2(_covered(reduction.rows, tile.get("d", 1)) * _covered(reduction.extent, size))
            found["steps"] = log(ceil_div(ceil_div(reduction.extent, parts), size))
        return found


def _covered(extent: int, size: int) -> float:
    """How many times the extent tiles cover."""
    return ceil_div(extent, size) * size / max(1, extent)


def _of_kernel(kernel: FusedOp) -> Features:
    arrays = (*kernel.inputs, *kernel.outputs)
    sizes = [prod(shape_of(value)) for value in arrays]
    widths = [element_of(value.type).size for value in arrays]
    first, last = shape_of(arrays[0]) or (1,), shape_of(arrays[-1]) or (1,)
    row_bytes = first[-1] * widths[0], last[-1] * widths[-1]
    found = {f"kind={anchor.value}": float(kernel.kind is anchor) for anchor in Anchor}
    found |= {
        "arrays": float(len(arrays)),
        "ops": log(len(list(kernel.block.ops))),
        "bytes": log(sum(size * width for size, width in zip(sizes, widths, strict=True))),
        "largest": log(max(sizes)),
        "width": float(max(widths)),
        "row in": log(first[-1]),
        "row out": log(last[-1]),
        "aligned": float(all(size % TENSOR_MAP_ALIGNMENT == 0 for size in row_bytes)),
        "batch": 0.0,
        "rows": 0.0,
        "columns": 0.0,
        "summed": 0.0,
        "contiguous": 0.0,
        "read again": 0.0,
    }
    if kernel.kind is Anchor.MATMUL:
        product = product_of(kernel)
        found |= {
            "batch": log(product.batch),
            "rows": log(product.m),
            "columns": log(product.n),
            "summed": log(product.k),
        }
    if kernel.kind is Anchor.REDUCE:
        reduction = reduction_of(kernel)
        found |= {"rows": log(reduction.rows), "columns": log(reduction.columns), "summed": log(reduction.extent)}
        found |= {"contiguous": float(reduction.is_contiguous), "read again": float(reduction.returns)}
    return found
