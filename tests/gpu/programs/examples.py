"""The programs of `examples`, and sizes for them that differ from those they are written with."""

from __future__ import annotations

import re
from pathlib import Path

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.irc"))
LITERAL_DIM = re.compile(r"(?<=[ ,])([A-Za-z_]\w*) *= *(\d+) *(?=,|#|$)")
"""A dim that is a plain number; those that are computed follow."""


def cut_dims(path: Path, most: int) -> dict[str, int]:
    """No dim is greater than `most`."""
    return {name: min(value, most) for name, value in _literal_dims(path).items()}


def odd_dims(path: Path, least: int) -> dict[str, int]:
    """Each dim its own odd number: nothing is a multiple of a tile or aligned for wide accesses."""
    dims = _literal_dims(path)
    return {name: min(value, least + 2 * index) for index, (name, value) in enumerate(dims.items())}


def _literal_dims(path: Path) -> dict[str, int]:
    """The dims of a program that are plain numbers."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("dim ")]
    return {name: int(value) for line in lines for name, value in LITERAL_DIM.findall(line)}
