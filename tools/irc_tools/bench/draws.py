"""Values of a benchmark's inputs. Zeros would hide unwritten results and run faster than data does, so all are drawn.

An input is `normal [DEVIATION]`, `uniform LOW HIGH`, `integers LOW HIGH` (HIGH excluded) or `ascending LOW HIGH`, which
are sorted, or where parts of TOTAL end that are equal, `even TOTAL`, or drawn, `parts TOTAL`. `begins TOTAL` and
`lengths TOTAL` are of parts that two inputs of one size share. Numbers may be names of the row's dims. Without one,
floats are standard normal, integers uniform in 0..9 and bools even, as irc-run draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from irc.runtime.artifact import ArraySpec
from irc.support.diagnostics import IrcError

Array = np.ndarray[Any, Any]

LARGEST_BLOCK = 16777213
"""Elements that are drawn at most: larger arrays repeat them. A prime below 2^24, so that no permuted index falls on an
equal value by the repetition alone."""

_KINDS = {
    "normal": (0, 1),
    "uniform": (2, 2),
    "integers": (2, 2),
    "ascending": (2, 2),
    "even": (1, 1),
    "parts": (1, 1),
    "begins": (1, 1),
    "lengths": (1, 1),
}
"""Least and most numbers that each kind takes."""


def draw_block(spec: ArraySpec, text: str, dims: Mapping[str, int], seed: int, index: int) -> Array:
    """The first `LARGEST_BLOCK` elements of an argument, flat; they depend on the seed and on the argument's number."""
    generator = np.random.default_rng((seed, index))
    count = min(spec.size, LARGEST_BLOCK)
    kind, numbers = _parse(text or _default(spec), dims, spec.name)
    if kind in ("integers", "ascending"):
        low, high = map(int, numbers)
        drawn = generator.integers(low, high, count, dtype=np.int64).astype(spec.dtype)
        return np.sort(drawn) if kind == "ascending" else drawn
    if kind == "even":
        return (np.arange(1, count + 1) * int(numbers[0]) // count).astype(spec.dtype)
    if kind == "parts":
        return _ends(int(numbers[0]), count, generator).astype(spec.dtype)
    if kind in ("begins", "lengths"):
        lengths = np.diff(_ends(int(numbers[0]), count, np.random.default_rng(seed)), prepend=0)
        return (lengths if kind == "lengths" else np.cumsum(lengths) - lengths).astype(spec.dtype)
    wide = np.float64 if spec.element == "f64" else np.float32
    if kind == "uniform":
        low, high = numbers
        return (generator.random(count, dtype=wide) * (high - low) + low).astype(spec.dtype)
    deviation = numbers[0] if numbers else 1
    return (generator.standard_normal(count, dtype=wide) * deviation).astype(spec.dtype)


def _ends(total: int, count: int, generator: np.random.Generator) -> Array:
    """Of so many parts."""
    inner = np.sort(generator.integers(0, total + 1, count - 1))
    return np.append(inner, total)


def _default(spec: ArraySpec) -> str:
    if spec.element == "bool":
        return "integers 0 2"
    return "integers 0 10" if np.issubdtype(spec.dtype, np.integer) else "normal"


def _parse(text: str, dims: Mapping[str, int], name: str) -> tuple[str, list[float]]:
    kind, *words = text.split()
    least, most = _KINDS.get(kind, (1, 0))
    if not least <= len(words) <= most:
        raise IrcError(
            f"input {name}: {text!r} is no distribution",
            hint="normal [DEVIATION], uniform LOW HIGH, integers LOW HIGH, ascending LOW HIGH, "
            "even TOTAL, parts TOTAL, begins TOTAL or lengths TOTAL",
        )
    return kind, [_number(word, dims, name) for word in words]


def _number(word: str, dims: Mapping[str, int], name: str) -> float:
    if word in dims:
        return dims[word]
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        raise IrcError(f"input {name}: {word} is neither a number nor a dim of the row") from None
