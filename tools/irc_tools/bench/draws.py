"""Values of a benchmark's inputs. Zeros would hide unwritten results and run faster than data does, so all are drawn.

An input is `normal [DEVIATION]`, `uniform LOW HIGH`, `integers LOW HIGH` (HIGH excluded), or where parts of TOTAL end
that are equal, `even TOTAL`, or drawn, `parts TOTAL`; numbers may be names of the row's dims. Without one, floats are
standard normal, integers uniform in 0..9 and bools even, as irc-run draws them.
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

_KINDS = {"normal": (0, 1), "uniform": (2, 2), "integers": (2, 2), "even": (1, 1), "parts": (1, 1)}
"""Least and most numbers that each kind takes."""


def draw_block(spec: ArraySpec, text: str, dims: Mapping[str, int], seed: int, index: int) -> Array:
    """The first `LARGEST_BLOCK` elements of an argument, flat; they depend on the seed and on the argument's number."""
    generator = np.random.default_rng((seed, index))
    count = min(spec.size, LARGEST_BLOCK)
    kind, numbers = _parse(text or _default(spec), dims, spec.name)
    if kind == "integers":
        low, high = map(int, numbers)
        return generator.integers(low, high, count, dtype=np.int64).astype(spec.dtype)
    if kind in ("even", "parts"):
        total = int(numbers[0])
        ends = np.arange(1, count + 1) * total // count
        if kind == "parts":
            ends[:-1] = np.sort(generator.integers(0, total + 1, count - 1))
        return ends.astype(spec.dtype)
    wide = np.float64 if spec.element == "f64" else np.float32
    if kind == "uniform":
        low, high = numbers
        return (generator.random(count, dtype=wide) * (high - low) + low).astype(spec.dtype)
    deviation = numbers[0] if numbers else 1
    return (generator.standard_normal(count, dtype=wide) * deviation).astype(spec.dtype)


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
            hint="normal [DEVIATION], uniform LOW HIGH, integers LOW HIGH, even TOTAL or parts TOTAL",
        )
    return kind, [_number(word, dims, name) for word in words]


def _number(word: str, dims: Mapping[str, int], name: str) -> float:
    if word in dims:
        return dims[word]
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        raise IrcError(f"input {name}: {word} is neither a number nor a dim of the row") from None
