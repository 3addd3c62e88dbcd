"""The programs of a dataset: those of the benchmarks' suites, programs that are drawn, and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from irc.support.diagnostics import IrcError
from irc.support.files import read_text
from irc_tools.bench.suite import FOLDER, known_suites, load_suite

EXAMPLES = FOLDER.parent.parent / "examples"
"""Where a checkout has them."""

DRAWN = "random"
"""The suite of which others are drawn by each seed."""

GOLDEN = 0.618033988749895

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A program in the language. any_order: whether its sums may be added up in any order."""

    name: str
    text: str
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    any_order: bool = False


def sources(files: Sequence[Path], only: Sequence[str], seed: int) -> list[Source]:
    """Those of files; where there are none, of all suites and the examples, and programs that are drawn by the seed.
    Every beginning of the list has some of each kind. only: patterns of names, as of files. IrcError where none has
    one."""
    groups = [_of_files(files)] if files else [*_of_suites(seed), _of_files(sorted(EXAMPLES.glob("*.irc")))]
    found = [each for turn in zip_longest(*map(spread, groups)) for each in turn if each is not None]
    wanted = [each for each in found if not only or any(fnmatchcase(each.name, pattern) for pattern in only)]
    if not wanted:
        raise IrcError(f"no program is named {' or '.join(only)}", hint="names are SUITE/ROW or examples/NAME: gemm/*")
    return wanted


def _of_suites(seed: int) -> Iterable[list[Source]]:
    named = [(name, load_suite(name)) for name in known_suites()]
    for name, suite in [*named, (f"{DRAWN}-{seed}", load_suite(DRAWN, seed))]:
        yield [Source(f"{name}/{row.name}", row.program, row.dims, row.any_order) for row in suite.rows if row.program]


def _of_files(files: Sequence[Path]) -> list[Source]:
    return [Source(f"{path.parent.name}/{path.stem}", read_text(path)) for path in files]


def spread(items: Sequence[T]) -> list[T]:
    """In an order whose every beginning has some of all parts."""
    order = sorted(range(len(items)), key=lambda n: (n * GOLDEN) % 1)
    return [items[n] for n in order]
