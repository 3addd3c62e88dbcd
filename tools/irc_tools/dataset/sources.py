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

KERNEL_CALLS = (
    "matmul(bf16[4096, 4096], bf16[4096, 4096])",
    "matmul(f16[1024, 512], f16[512, 2048])",
    "matmul(f32[1024, 1024], f32[1024, 1024])",
    "dense(bf16[8192, 1024], bf16[1024, 4096], bf16[4096], bf16[8192, 4096])",
    "scaled_matmul(f8e4m3[4096, 56, 128], f8e4m3[32, 128, 56, 128], f32[56, 4096], f32[32, 56])",
    "batched_matmul(bf16[32, 1024, 128], bf16[32, 128, 1024])",
    "softmax(bf16[8192, 1024])",
    "softmax(f32[16384, 333])",
    "long_softmax(bf16[1024, 65536])",
    "layer_norm(bf16[16384, 768], bf16[768], bf16[768])",
    "rms_norm(bf16[8192, 4096], bf16[4096])",
    "rms_norm(f32[1000, 1000], f32[1000])",
    "cross_entropy(bf16[4096, 50304], i32[4096])",
    "attention(bf16[64, 2048, 64], bf16[64, 2048, 64], bf16[64, 2048, 64])",
    "attention(f16[16, 4096, 128], f16[16, 4096, 128], f16[16, 4096, 128])",
    "embedding(bf16[50304, 1024], i32[16384])",
    "running_sums(f32[16384, 2048])",
    "column_sums(bf16[32768, 1024])",
)
"""Of `examples/kernels.py`."""

GOLDEN = 0.618033988749895

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A program in the language, or the call of a kernel in Python: `softmax(bf16[8192, 1024])`. any_order: whether a
    program's sums may be added up in any order. file: of the kernel, None of a program."""

    name: str
    text: str
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    any_order: bool = False
    file: Path | None = None


def sources(files: Sequence[Path], only: Sequence[str], seed: int) -> list[Source]:
    """Those of files; where there are none, of all suites and the examples, and programs that are drawn by the seed.
    Every beginning of the list has some of each kind. only: patterns of names, as of files. IrcError where none has
    one."""
    groups = [_of_files(files)] if files else [*_of_suites(seed), *_of_examples()]
    found = [each for turn in zip_longest(*map(spread, groups)) for each in turn if each is not None]
    wanted = [each for each in found if not only or any(fnmatchcase(each.name, pattern) for pattern in only)]
    if not wanted:
        raise IrcError(f"no program is named {' or '.join(only)}", hint="names are SUITE/ROW or examples/NAME: gemm/*")
    return wanted


def _of_suites(seed: int) -> Iterable[list[Source]]:
    named = [(name, load_suite(name)) for name in known_suites()]
    for name, suite in [*named, (f"{DRAWN}-{seed}", load_suite(DRAWN, seed))]:
        yield [Source(f"{name}/{row.name}", row.program, row.dims, row.any_order) for row in suite.rows if row.program]


def _of_examples() -> Iterable[list[Source]]:
    yield _of_files(sorted(EXAMPLES.glob("*.irc")))
    if (file := EXAMPLES / "kernels.py").is_file():
        yield [Source(f"kernels/{call}", call, file=file) for call in KERNEL_CALLS]


def _of_files(files: Sequence[Path]) -> list[Source]:
    return [Source(f"{path.parent.name}/{path.stem}", read_text(path)) for path in files]


def spread(items: Sequence[T]) -> list[T]:
    """In an order whose every beginning has some of all parts."""
    order = sorted(range(len(items)), key=lambda n: (n * GOLDEN) % 1)
    return [items[n] for n in order]
