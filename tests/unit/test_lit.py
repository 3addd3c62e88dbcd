"""A FileCheck test shows one pass on IR that stands in its file; those of pipelines and commands have folders of their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irc.driver.pipelines import PIPELINES

LIT = Path(__file__).parents[1] / "lit"
LEVELS = ("nd", "kernel", "tile", "cuda", "host")
FILES = [path for level in LEVELS for path in sorted((LIT / level).rglob("*")) if path.suffix in (".mlir", ".irc")]


def _passes(line: str) -> list[str]:
    """The names of the passes that a RUN line asks for, without their options."""
    lists: list[str] = re.findall(r"(?:-p|--passes|--pipeline)[ =]+('[^']*'|\S+)", line)
    return [name.strip() for text in lists for name in re.sub(r"\{[^}]*\}", "", text.strip("'")).split(",")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LIT)))
def test_a_test_of_a_level_runs_one_pass_on_its_own_text(path: Path) -> None:
    for line in re.findall(r"RUN:(.*)", path.read_text()):
        assert len(set(_passes(line))) <= 1, (
            f"one pass in each RUN line; pipelines belong into tests/lit/pipelines: {line}"
        )
        assert not set(_passes(line)) & PIPELINES.keys(), f"a named pipeline belongs into tests/lit/pipelines: {line}"
        assert "%S/" not in line and "sed " not in line, f"what a test reads stands in its file: {line}"


def test_there_are_tests_of_every_level() -> None:
    assert all((LIT / level).is_dir() for level in (*LEVELS, "pipelines"))
    assert _passes("irc-opt %s -p 'a{x=1 y=2},b' | filecheck %s") == ["a", "b"]
