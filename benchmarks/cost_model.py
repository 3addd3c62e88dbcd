"""Whether a learned cost model ranks configs better than the cost formula, by what was measured.

`python benchmarks/cost_model.py FILE.jsonl...` reads rows of `irc-tune dataset` or `irc-tune measurements`, trains
gradient-boosted trees on those of some kernels, and compares on kernels that were held out, for each kind of kernels:
Spearman's correlation of each kernel's configs with their seconds, and how much longer than the best the best of the
first 1, 8 and 16 takes. Kernels that differ by their shapes alone are held out together. `--save` trains on all kernels
and writes the model that the tuner ranks by (`irc/configs/learned.py`): for the kinds where it wins.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import numpy as np

from irc.analysis.product_problem import product_of
from irc.configs.alone import parse_config
from irc.configs.candidates import legal_config
from irc.configs.features import Features, Featurizer
from irc.configs.learned import FOLDER, RATIO, LearnedModel
from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.program import parse
from irc.ir.targets import target
from irc.support.diagnostics import IrcError
from irc_tools.dataset.rows import Row, read_rows
from irc_tools.dataset.trees import Boosting, boosted, centered

REGRETS = (1, 8, 16)
FOLDS = 8
FEWEST = 8
"""Timed configs of a kernel that is ranked, and kernels that there have to be for a comparison."""

ALL = "all"

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Sample:
    """A timed config. kernel: with its shapes, its chip and the GPU. estimate: seconds by the formula. heuristic:
    seconds of the heuristic's config."""

    kernel: Key
    kind: str
    features: Features
    estimate: float
    seconds: float
    heuristic: float

    @property
    def target(self) -> float:
        return log(self.seconds / self.heuristic)


def samples_of(rows: Sequence[Row]) -> list[Sample]:
    """What was timed, of kernels that irc fuses and whose heuristic's config was timed, too, but for products in groups
    whose ends are data."""
    kernels: dict[Key, list[Row]] = {}
    for row in rows:
        if row["seconds"] is not None and row["outcome"] in ("timed", "stopped"):
            gpu = row.get("machine", {}).get("gpu", "")
            kernels.setdefault((row["kernel"], row["shapes"], row["chip"], gpu), []).append(row)
    return [sample for key, own in kernels.items() for sample in _samples(key, own)]


def _samples(key: Key, rows: Sequence[Row]) -> Iterator[Sample]:
    machine = target(key[2])
    kernel = next((op for op in parse(rows[0]["text"], "dataset.mlir").walk() if isinstance(op, FusedOp)), None)
    if kernel is None or machine.exact_tiles or _is_grouped(kernel):
        return
    heuristic = legal_config(kernel, machine, None)
    seconds = {parse_config(row["config"]): row["seconds"] for row in rows}
    if heuristic not in seconds:
        return
    featurizer = Featurizer(kernel, machine, heuristic)
    for row in rows:
        config = parse_config(row["config"])
        try:
            features = featurizer.features(config)
        except (IrcError, KeyError):  # of an earlier irc
            continue
        yield Sample(key, kernel.kind.value, features, row["estimate"], row["seconds"], seconds[heuristic])


def _is_grouped(kernel: FusedOp) -> bool:
    """Whether the ends of its groups are data: those of rows before 2026-11-28 were 0, which left nothing to do."""
    return kernel.kind is Anchor.MATMUL and product_of(kernel).is_grouped


def trained(samples: Sequence[Sample], about: Mapping[str, Any]) -> LearnedModel:
    """For all kinds: the share of the formula with which it is nearest to what was measured, and trees for the rest."""
    names, weights = list(samples[0].features), _weights(samples)
    features = np.array([[each.features[name] for name in names] for each in samples])
    target = np.array([each.target for each in samples])
    formula = log(2) * features[:, names.index(RATIO)]
    kernels, kinds = _numbers(samples), np.array([each.kind for each in samples])
    left, explained = (centered(each, weights, kernels) for each in (target, formula))
    shares: dict[str, float] = {}
    for kind in sorted(set(kinds.tolist())):
        own = kinds == kind
        scale = float((weights * explained**2)[own].sum())
        share = float((weights * explained * left)[own].sum()) / scale if scale > 0 else 0.0
        shares[kind] = round(min(1.0, max(0.0, share)), 3)
        target[own] -= shares[kind] * formula[own]
    trees = boosted(features, target, weights, kernels, names, Boosting())
    return LearnedModel(about, shares, trees)


def _numbers(samples: Sequence[Sample]) -> Any:
    """Of each sample's kernel."""
    numbers: dict[Key, int] = {}
    return np.array([numbers.setdefault(each.kernel, len(numbers)) for each in samples])


def _weights(samples: Sequence[Sample]) -> Any:
    """Kernels count alike, configs that are near the best more than others."""
    counts: dict[Key, int] = {}
    best: dict[Key, float] = {}
    for each in samples:
        counts[each.kernel] = counts.get(each.kernel, 0) + 1
        best[each.kernel] = min(best.get(each.kernel, each.seconds), each.seconds)
    found = np.array([best[each.kernel] / each.seconds / counts[each.kernel] ** 0.5 for each in samples])
    return found / found.mean()


def predicted(model: LearnedModel, samples: Sequence[Sample]) -> list[float]:
    names = model.names
    found = [0.0] * len(samples)
    for kind, share in model.shares.items():
        own = [number for number, each in enumerate(samples) if each.kind == kind]
        matrix = np.array([[samples[n].features[name] for name in names] for n in own]).reshape(len(own), len(names))
        for number, value in zip(own, model.predict(matrix, names, share), strict=True):
            found[number] = float(value)
    return found


def held_out(samples: Sequence[Sample]) -> list[float]:
    """What models say that were trained on other kernels."""
    found = [0.0] * len(samples)
    for fold in _folds(samples):
        model = trained([each for each in samples if each.kernel[0] not in fold], {})
        numbers = [n for n, each in enumerate(samples) if each.kernel[0] in fold]
        for number, value in zip(numbers, predicted(model, [samples[n] for n in numbers]), strict=True):
            found[number] = value
    return found


def _folds(samples: Sequence[Sample]) -> list[set[str]]:
    """The kernels, without their shapes, in parts of about as many samples."""
    names = list(dict.fromkeys(each.kernel[0] for each in samples))
    Random(0).shuffle(names)
    names.sort(key=lambda name: -sum(each.kernel[0] == name for each in samples))
    folds: list[set[str]] = [set() for _ in range(min(FOLDS, len(names)))]
    sizes = [0] * len(folds)
    for name in names:
        least = sizes.index(min(sizes))
        folds[least].add(name)
        sizes[least] += sum(each.kernel[0] == name for each in samples)
    return folds


def ranking(samples: Sequence[Sample], scores: Sequence[float]) -> dict[str, float]:
    """The mean correlation over kernels, and the geometric means of the regrets. Empty where no kernel has enough
    configs."""
    kernels: dict[Key, list[tuple[float, float]]] = {}
    for each, score in zip(samples, scores, strict=True):
        kernels.setdefault(each.kernel, []).append((score, each.seconds))
    ranked = [sorted(own) for own in kernels.values() if len(own) >= FEWEST]
    if not ranked:
        return {}
    regrets = {
        f"regret {n}": exp(mean(log(min(s for _, s in own[:n]) / min(s for _, s in own)) for own in ranked))
        for n in REGRETS
    }
    return {"kernels": len(ranked), "correlation": mean(map(_correlation, ranked)), **regrets}


def _correlation(own: Sequence[tuple[float, float]]) -> float:
    """Spearman's; 0 where one side tells nothing apart."""
    ranks = [_ranks([pair[side] for pair in own]) for side in (0, 1)]
    deviations = [each - each.mean() for each in ranks]
    norm = float(np.sqrt((deviations[0] ** 2).sum() * (deviations[1] ** 2).sum()))
    return float((deviations[0] * deviations[1]).sum()) / norm if norm else 0.0


def _ranks(values: Sequence[float]) -> Any:
    """From the least on; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def compared(samples: Sequence[Sample]) -> dict[str, dict[str, dict[str, float]]]:
    """Both models, by kind and for all. SystemExit where there are too few kernels to hold some out."""
    if len({each.kernel for each in samples}) < FEWEST:
        raise SystemExit(f"expected rows of {FEWEST} kernels or more: irc-tune dataset writes them")
    scores = {"formula": [each.estimate for each in samples], "learned": held_out(samples)}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind in (ALL, *sorted({each.kind for each in samples})):
        chosen = [number for number, each in enumerate(samples) if kind in (ALL, each.kind)]
        of_kind = [samples[n] for n in chosen]
        found[kind] = {name: ranking(of_kind, [own[n] for n in chosen]) for name, own in scores.items()}
    return found


def wins(found: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether the learned model ranks better, and no regret of it is greater."""
    formula, learned = found["formula"], found["learned"]
    if not formula:
        return False
    is_no_worse = all(learned[f"regret {n}"] <= formula[f"regret {n}"] for n in REGRETS)
    return is_no_worse and learned["correlation"] > formula["correlation"]


def main(argv: Sequence[str] | None = None) -> dict[str, dict[str, dict[str, float]]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="rows of irc-tune dataset")
    parser.add_argument("--save", type=Path, nargs="?", const=FOLDER, metavar="FOLDER", help="write the model")
    args = parser.parse_args(argv)
    rows = [row for path in args.files for row in read_rows(path)]
    samples = samples_of(rows)
    found = compared(samples)
    print(f"{len(samples)} timed configs of {len({each.kernel for each in samples})} kernels, in {len(rows)} rows")
    for kind, models in found.items():
        for name, each in models.items():
            print(f"{kind:<8} {name:<8} " + ", ".join(f"{key} {value:.3f}" for key, value in each.items()))
    won = [kind for kind, models in found.items() if kind != ALL and wins(models)]
    print(f"the learned model wins for {', '.join(won)}" if won else "the formula stays")
    if args.save is not None and won:
        save(args.save, samples, won, rows)
    return found


def save(folder: Path, samples: Sequence[Sample], won: Sequence[str], rows: Sequence[Row]) -> None:
    """A file for the one chip of the samples."""
    (chip,) = {each.kernel[2] for each in samples}
    machines = [row["machine"] for row in rows if "machine" in row]
    about = {
        "rows": len(samples),
        "kernels": len({each.kernel for each in samples}),
        "machine": machines[-1] if machines else {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{chip}.json"
    model = trained(samples, about)
    path.write_text(replace(model, shares={kind: model.shares[kind] for kind in won}).text())
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
