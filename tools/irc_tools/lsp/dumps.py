"""Which pass made an op, by the dumps beside a file: `--dump-dir DIR --print-debuginfo` writes one for each pass."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from irc.driver.program import new_context
from irc.ir.locations import innermost
from irc.ir.parser import parse_ir
from irc.support.diagnostics import IrcError
from irc.support.files import read_text

_DUMP = re.compile(r"((?:module\d+-)?)(\d\d)-(.+)\.mlir")


def maker_of(op: Operation, path: Path) -> str | None:
    """The pass of the first dump that has an op of that name from that place; None where the file is no dump, and where
    the op was there before any pass."""
    place, found = innermost(op.location), _DUMP.fullmatch(path.name)
    if place is None or found is None:
        return None
    for number, name, dump in _dumps(path.parent, found[1]):
        if number > int(found[2]):
            return None
        if (op.name, place) in _ops(dump, dump.stat().st_mtime):
            return name if number else None
    return None


def _dumps(folder: Path, prefix: str) -> list[tuple[int, str, Path]]:
    matches = [(each, _DUMP.fullmatch(each.name)) for each in folder.iterdir()] if folder.is_dir() else []
    return sorted(
        (int(found[2]), found[3], each) for each, found in matches if found is not None and found[1] == prefix
    )


@lru_cache(maxsize=256)
def _ops(path: Path, changed: float) -> frozenset[tuple[str, FileLineColLoc | None]]:
    """The ops of a dump by names and places; none where it cannot be read. changed: when it was written."""
    try:
        module = parse_ir(new_context(), read_text(path), str(path))
    except IrcError:
        return frozenset()
    return frozenset((op.name, innermost(op.location)) for op in module.walk())
