"""Files and lines of Python by folder: of the working tree and, with --since REV, of a commit beside it."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOMS = ("irc", "frontend", "tools", "tests")

Sizes = dict[str, tuple[int, int]]
"""Files and lines of each folder; a room has those of all its folders."""


def sizes(revision: str | None = None) -> Sizes:
    """Of a commit, or of the working tree with what git does not know yet. Empty files do not count."""
    where = ["--untracked", "-e", ""] if revision is None else ["-e", "", revision]
    command = ["git", "grep", "--count", *where, "--", *(f"{room}/**.py" for room in ROOMS)]
    found: Sizes = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        path, _, lines = line.removeprefix(f"{revision}:").rpartition(":")
        for folder in {Path(path).parts[0], "/".join(Path(path).parts[:-1][:2])}:
            files, so_far = found.get(folder, (0, 0))
            found[folder] = files + 1, so_far + int(lines)
    return found


def table(now: Sizes, before: Sizes | None = None) -> str:
    """A row for each folder, a room before those in it: files and lines, before and now, and the lines that came."""
    rows: list[str] = []
    folders: list[str] = sorted(now.keys() | before.keys() if before else now)
    for folder in folders:
        files, lines = now.get(folder, (0, 0))
        row = f"{files:5} {lines:7}"
        if before is not None:
            files_before, lines_before = before.get(folder, (0, 0))
            row = f"{files_before:5} {lines_before:7} {row} {lines - lines_before:+7}"
        rows.append(f"{folder:28}{row}")
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command, to be run in the root of a checkout; `make sizes SINCE=REV` runs it."""
    parser = argparse.ArgumentParser(prog="python -m irc_tools.sizes", description=__doc__)
    parser.add_argument("--since", metavar="REV", help="the commit to compare with")
    since: str | None = parser.parse_args(argv).since
    print(table(sizes(), sizes(since) if since else None))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
