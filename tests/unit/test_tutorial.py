"""docs/first-tile-pass.md followed word for word: every file saved, every command run, every printed text compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawing import ALL

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "first-tile-pass.md"
PASS = "irc/passes/tile/drop_identity_maps.py"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", ".pytest_cache", ".ruff_cache", ".hypothesis", "__pycache__"
)


def _blocks() -> Iterator[tuple[str, str]]:
    """What is in each fence, with the text since the one before."""
    for text, block in re.findall(r"(.*?)^```\w*\n(.*?)^```\n", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        yield text.strip(), block


class _Reader:
    """Who does what the page says, in a copy of the checkout."""

    def __init__(self, copy: Path) -> None:
        self.copy = copy
        rooms = os.pathsep.join(str(copy / room) for room in (".", "frontend", "tools"))
        path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
        self.environment = {**os.environ, "PYTHONPATH": rooms, "PATH": path, "NO_COLOR": "1"}
        self.printed = ""

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """The page's environment is this one's: make sets none up."""
        if command.startswith("make "):
            command += " RUNTIME= TESTING="
        return subprocess.run(
            command,
            shell=True,
            cwd=self.copy,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def follow(self, text: str, block: str) -> None:
        saved = re.search(r"[Ss]ave this as `([^`]+)`", text)
        added = re.search(r"Add this \w+ to .*`([^`]+\.\w+)`, before (``? ?)(.+?) ?\2:", text)
        if saved:
            (self.copy / saved[1]).write_text(block)
        elif added:
            self._add(self.copy / added[1], added[3], block)
        elif text in ("prints", ""):
            assert self.printed == block
        else:
            self._do(block)

    def _add(self, path: Path, before: str, block: str) -> None:
        lines = path.read_text().splitlines(keepends=True)
        (place,) = (number for number, line in enumerate(lines) if line.strip().startswith(before))
        path.write_text("".join([*lines[:place], block, *lines[place:]]))

    def _do(self, block: str) -> None:
        for command in block.splitlines():
            done = self.run(command)
            self.printed = done.stdout
            assert done.returncode == ("assign-layouts" in command), f"{command}\n{done.stdout}"


@pytest.mark.skipif(not ALL, reason="a minute or two: IRC_TESTS=all runs it")
def test_the_tutorial_holds_word_for_word(tmp_path: Path) -> None:
    copy = tmp_path / "irc"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    (copy / ".venv").symlink_to(sys.prefix)
    reader = _Reader(copy)
    assert reader.run("python -c 'import irc; print(irc.__file__)'").stdout.startswith(str(copy))
    first, *blocks = _blocks()
    assert first[1].startswith("make .venv")
    for text, block in blocks:
        reader.follow(text, block)
        if block.startswith("lit -v "):
            assert "Passed: 1" in reader.printed
            _see_it_fail(reader, block)
    assert (
        reader.run(
            "python -m pytest -q -n 0 tests/unit/test_docs.py tests/unit/test_lit.py tests/unit/test_universe.py"
        ).returncode
        == 0
    )


def _see_it_fail(reader: _Reader, lit: str) -> None:
    """Without the comparison of types the map that broadcasts goes, too."""
    path = reader.copy / PASS
    text = path.read_text()
    guard = "        if source.type == op.result.type:\n    "
    assert guard in text
    path.write_text(text.replace(guard, ""))
    done = reader.run(lit)
    assert done.returncode == 1
    assert 'Couldn\'t match "tile.map"' in done.stdout
    path.write_text(text)
