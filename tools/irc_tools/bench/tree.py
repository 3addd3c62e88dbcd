"""What a tree of irc does for `irc-bench before`: it compiles rows, and times one of them when it is told to.

It runs by its path, with the packages of a tree that may be older than this file: of irc it uses only what trees have
had since 2026-11-27. Each line of its input is a request, a method of `Tree` and its arguments in JSON; each line of
its output is `{"value": ...}` or `{"error": ...}`. What the tree prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

from irc.driver.compiler import compile_artifact
from irc_tools.bench.suite import Row, load_suite

Given = Mapping[str, Any]
"""A row: what `Row` takes by name. One of a kernel in Python has the file of its suite instead of a program."""

LAUNCH = ("grid", "block", "shared_memory")


def row_of(given: Given) -> Row:
    """The row as this tree knows it."""
    if "program" in given:
        return Row(**given)
    (row,) = [row for row in load_suite(given["suite"]).rows if row.name == given["name"]]
    return replace(row, dims=given["dims"])


def kernels_of(given: Given, arch: str) -> list[dict[str, Any]]:
    """The machine code of each kernel of a row, in base 64, and how it is launched. It needs no GPU."""
    row = row_of(given)
    options: dict[str, Any] = {"dims": row.dims}
    program: Any = row.program
    if not row.program:
        program, options = row.kernel.module(row.dims), {}  # pyright: ignore[reportOptionalMemberAccess]
    artifact = compile_artifact(program, arch=arch, any_order=row.any_order, **options)
    launches = {kernel["name"]: kernel for kernel in artifact.manifest["kernels"]}
    return [
        {"cubin": b64encode(each.cubin).decode(), "launch": [launches[each.name][key] for key in LAUNCH]}
        for each in artifact.kernels
    ]


def answer_of(work: tuple[Given, str]) -> Any:
    """`kernels_of`, or the error as a text."""
    try:
        return kernels_of(*work)
    except Exception as error:  # another tree may fail where this one does not
        return f"{type(error).__name__}: {error}"


class Tree:
    """The requests."""

    def __init__(self) -> None:
        self._bench: Any = None
        self._case: Any = None
        self._variant: Any = None

    def compile(self, rows: list[Given], arch: str, processes: int) -> list[Any]:
        """Of each row its kernels, or why there are none. What was compiled is in the cache then."""
        works = [(row, arch) for row in rows]
        if processes < 2 or len(rows) < 2:
            return [*map(answer_of, works)]
        with ProcessPoolExecutor(min(processes, len(rows)), mp_context=get_context("spawn")) as pool:
            return [*pool.map(answer_of, works)]

    def open(self, given: Given, seed: int, block_seconds: float) -> int:
        """Makes a row's arrays, and warms it up; the calls of a block."""
        from irc.runtime.driver import device
        from irc.runtime.workbench import OwnArrays, Variant, Workbench
        from irc_tools.bench.case import Case

        if self._bench is None:
            self._bench = Workbench(device(), block_seconds=block_seconds)
        self._case = Case(self._bench, row_of(given), OwnArrays(self._bench), seed)
        self._variant = Variant("irc", self._case.irc())
        self._bench.prepare(self._variant)
        return self._variant.calls

    def time(self, blocks: int) -> list[float]:
        """Seconds of a call, block by block."""
        return [self._bench.block(self._variant) for _ in range(blocks)]

    def close(self) -> None:
        """Gives the row's arrays back."""
        case, self._case, self._variant = self._case, None, None
        if case is not None:
            case.free()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tree = Tree()
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = {"value": getattr(tree, name)(*arguments)}
        except Exception as error:  # of the tree, or of the driver: the rows after it may still run
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
