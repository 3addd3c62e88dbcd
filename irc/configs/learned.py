"""The learned cost model: gradient-boosted trees that rank configs of a kernel.

A model says by how much a config is slower than the heuristic's of the same kernel: the logarithm of the ratio of
their seconds. That is a share of what the formula says, and what trees add. It is trained on rows that were measured on
one chip (`benchmarks/cost_model.py`), and ranks where candidates of that chip are ranked; other chips have the formula
(`footprint.py`) alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import log
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "models"
"""A file for each chip that rows were measured on."""

RATIO = "estimate / heuristic"
"""The feature that has the formula's logarithm, to the base 2."""

Node = float | tuple[str, float, "Node", "Node"]
"""A leaf has a value; another node the feature and the threshold up to which the third is taken, else the fourth."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LearnedModel:
    """about: what it was trained on. shares: of the formula's logarithm, for kernels of the anchors whose configs the
    model ranks better than the formula does."""

    about: Mapping[str, Any]
    shares: Mapping[str, float]
    trees: Sequence[Node]

    @cached_property
    def names(self) -> list[str]:
        """The features that it reads."""
        return sorted({RATIO, *(name for tree in self.trees for name in _names(tree))})

    def predict(self, matrix: Array, names: Sequence[str], share: float) -> Array:
        """For each row of a matrix, whose columns have the names."""
        at = {name: number for number, name in enumerate(names)}
        total = share * log(2) * matrix[:, at[RATIO]]
        for tree in self.trees:
            _add(total, tree, matrix, at, np.arange(len(matrix)))
        return total

    def text(self) -> str:
        """As a file has it: a tree in each line."""
        trees = ",\n".join(f"  {json.dumps(tree)}" for tree in self.trees)
        given = f' "about": {json.dumps(dict(self.about))},\n "shares": {json.dumps(dict(self.shares))},\n'
        return f'{{\n{given} "trees": [\n{trees}\n ]\n}}\n'

    @staticmethod
    def of(text: str) -> LearnedModel:
        content = json.loads(text)
        return LearnedModel(content["about"], content["shares"], [_node(each) for each in content["trees"]])


def _names(node: Node) -> set[str]:
    return {node[0], *_names(node[2]), *_names(node[3])} if isinstance(node, tuple) else set()


def _node(content: Any) -> Node:
    if not isinstance(content, list):
        return float(content)
    name, threshold, low, high = content
    return str(name), float(threshold), _node(low), _node(high)


def _add(total: Array, node: Node, matrix: Array, at: Mapping[str, int], rows: Array) -> None:
    """Adds the values of a tree to those of the rows."""
    if not isinstance(node, tuple):
        total[rows] += node
        return
    name, threshold, low, high = node
    is_low = matrix[rows, at[name]] <= threshold
    for child, chosen in ((low, rows[is_low]), (high, rows[~is_low])):
        if len(chosen):
            _add(total, child, matrix, at, chosen)


@cache
def learned_model(chip: str) -> LearnedModel | None:
    """The model of a chip; None where nothing was measured there."""
    path = FOLDER / f"{chip}.json"
    return LearnedModel.of(path.read_text()) if path.is_file() else None
