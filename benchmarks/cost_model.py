"""Whether a learned cost model ranks configs better than the cost formula, by what was measured.

`python benchmarks/cost_model.py FILE.jsonl...` reads rows of `irc-tune dataset` or `irc-tune measurements`, trains
gradient-boosted trees on those of some kernels, and compares on kernels that were held out: Spearman's correlation of
each kernel's configs with their seconds, and how much longer than the best the best of the first 1, 8 and 16 takes. The
model learns what the formula leaves: the logarithm of seconds over its seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, inf, log, log2
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold
from threadpoolctl import threadpool_limits

from irc.configs.alone import parse_config
from irc.configs.footprint import Estimator
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp
from irc.driver.program import parse
from irc.ir.targets import target

REGRETS = (1, 8, 16)
FOLDS = 5
FEWEST = 8
"""Timed configs of a kernel that is ranked, and kernels that there have to be for a comparison."""

TREES: dict[str, Any] = {"max_iter": 200, "learning_rate": 0.05, "max_leaf_nodes": 15, "min_samples_leaf": 10}

NUMBERS = ("stages", "warps", "group", "split", "occupancy", "unroll", "subtile", "load_stages", "store_stages")
WORDS: Mapping[str, Sequence[str | None]] = {
    "schedule": ("grid", "persistent", "pingpong"),
    "instruction": ("fma", "mma", "wgmma", "direct", "columns"),
    "reduction": ("persistent", "looped"),
}
SIZES = ("m", "n", "k", "d", "r", "s", "result", "operand")


@dataclass(frozen=True)
class Sample:
    """A timed config. kernel: with its shapes and chip. estimate: seconds by the formula."""

    kernel: tuple[str, str, str]
    features: tuple[float, ...]
    estimate: float
    seconds: float


def samples_of(rows: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """What was timed, of kernels that irc fuses; what the formula says nothing of is left out."""
    found: list[Sample] = []
    for row in rows:
        if row["seconds"] is None or row["outcome"] not in ("timed", "stopped"):
            continue
        features = features_of(row["text"], row["chip"], row["config"])
        if features is not None and 0 < row["estimate"] < inf:
            kernel = row["kernel"], row["shapes"], row["chip"]
            found.append(Sample(kernel, features, row["estimate"], row["seconds"]))
    return found


def features_of(text: str, chip: str, config: str) -> tuple[float, ...] | None:
    """The kernel in numbers, its config, and what this takes of an SM; None of what irc did not fuse."""
    kernel = _kernel(text)
    if kernel is None:
        return None
    estimator, chosen = _estimator(text, chip), parse_config(config)
    taken = estimator.footprint(chosen)
    resident = taken.resident(target(chip))
    of_sm = (taken.tiles, taken.threads, taken.registers, taken.shared, taken.flying, taken.moved, resident)
    sizes = [_size(value.type) for value in (*kernel.inputs, *kernel.outputs)]
    anchors = [float(kernel.kind is anchor) for anchor in Anchor]
    of_kernel = [log2(1 + sum(sizes)), log2(1 + max(sizes)), len(sizes), len(list(kernel.block.ops))]
    return (*anchors, *of_kernel, *_config(chosen), *(log2(1 + max(0, n)) for n in of_sm), taken.rounds(target(chip)))


@cache
def _kernel(text: str) -> FusedOp | None:
    return next((op for op in parse(text, "dataset.mlir").walk() if isinstance(op, FusedOp)), None)


@cache
def _estimator(text: str, chip: str) -> Estimator:
    kernel = _kernel(text)
    assert kernel is not None
    return Estimator(kernel, target(chip))


def _size(type: Any) -> int:
    return int(np.prod(type.get_shape(), dtype=np.int64))


def _config(config: ConfigAttr) -> list[float]:
    fields = config.data
    numbers = [float(getattr(fields, name) or 0) for name in NUMBERS]
    words = [float(getattr(fields, name) == word) for name, known in WORDS.items() for word in known]
    sizes = [log2(1 + (config.tile or {}).get(name, 0)) for name in SIZES]
    cluster = [float(n) for n in config.cluster or (1, 1)]
    return [*numbers, *words, *sizes, *cluster, float(bool(config.swap_ab))]


def held_out(samples: Sequence[Sample]) -> list[float]:
    """Seconds by models that were trained on other kernels."""
    features = np.array([each.features for each in samples])
    left = np.array([log(each.seconds / each.estimate) for each in samples])
    numbers: dict[tuple[str, str, str], int] = {}
    groups = [numbers.setdefault(each.kernel, len(numbers)) for each in samples]
    found = np.zeros(len(samples))
    folds = GroupKFold(min(FOLDS, len(numbers)))
    with threadpool_limits(1):  # Rows are few: threads would wait for each other.
        for trained, tested in folds.split(features, left, groups):
            model = HistGradientBoostingRegressor(random_state=0, **TREES).fit(features[trained], left[trained])
            found[tested] = model.predict(features[tested])
    return [each.estimate * exp(off) for each, off in zip(samples, found, strict=True)]


def ranking(samples: Sequence[Sample], predicted: Sequence[float]) -> dict[str, float]:
    """The mean correlation over kernels, and the geometric means of the regrets."""
    kernels: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for each, seconds in zip(samples, predicted, strict=True):
        kernels.setdefault(each.kernel, []).append((seconds, each.seconds))
    ranked = [sorted(own) for own in kernels.values() if len(own) >= FEWEST]
    correlations = [_correlation(own) for own in ranked]
    regrets = {
        f"regret {n}": exp(mean(log(min(s for _, s in own[:n]) / min(s for _, s in own)) for own in ranked))
        for n in REGRETS
    }
    return {"kernels": len(ranked), "correlation": mean(correlations), **regrets}


def _correlation(own: Sequence[tuple[float, float]]) -> float:
    predicted, seconds = zip(*own, strict=True)
    if len(set(predicted)) == 1 or len(set(seconds)) == 1:
        return 0.0
    statistic: Any = spearmanr(predicted, seconds)[0]
    return float(statistic)


def compared(samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """Both models. SystemExit where there are too few kernels to hold some out."""
    if len({each.kernel for each in samples}) < FEWEST:
        raise SystemExit(f"expected rows of {FEWEST} kernels or more: irc-tune dataset writes them")
    return {
        "formula": ranking(samples, [each.estimate for each in samples]),
        "learned": ranking(samples, held_out(samples)),
    }


def wins(found: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether the learned model ranks better, and no regret of it is greater."""
    formula, learned = found["formula"], found["learned"]
    is_no_worse = all(learned[f"regret {n}"] <= formula[f"regret {n}"] for n in REGRETS)
    return is_no_worse and learned["correlation"] > formula["correlation"]


def main(argv: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="rows of irc-tune dataset")
    args = parser.parse_args(argv)
    rows = [json.loads(line) for path in args.files for line in path.read_text().splitlines()]
    samples = samples_of(rows)
    found = compared(samples)
    print(f"{len(samples)} timed configs of {len({each.kernel for each in samples})} kernels, in {len(rows)} rows")
    for name, each in found.items():
        print(f"{name:<8} " + ", ".join(f"{key} {value:.3f}" for key, value in each.items()))
    print("the learned model wins" if wins(found) else "the formula stays")
    return found


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
