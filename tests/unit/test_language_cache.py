"""The grammar's tables are cached in a folder of the user: written atomically, rebuilt when damaged, not needed at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from drawing import long

PROGRAM = "from irc.language import parse; parse('func f(x: f32[]) -> f32[] { return x }'); print('parsed')"


def run(home: Path) -> None:
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "parsed\n"


def cached(home: Path) -> list[Path]:
    return list(home.rglob("grammar-*.lark"))


def test_the_tables_are_cached_and_reused(tmp_path: Path) -> None:
    run(tmp_path)
    (path,) = cached(tmp_path)
    before = path.stat().st_mtime_ns
    run(tmp_path)
    assert cached(tmp_path) == [path] and path.stat().st_mtime_ns == before


@long(3)
@pytest.mark.parametrize("damage", [b"", b"not a pickle", b"x" * 100])
def test_damaged_tables_are_rebuilt(tmp_path: Path, damage: bytes) -> None:
    run(tmp_path)
    (path,) = cached(tmp_path)
    whole = path.read_bytes()
    for broken in (damage, whole[: len(whole) // 2]):
        path.write_bytes(broken)
        run(tmp_path)
        assert len(path.read_bytes()) > len(whole) // 2


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")  # a file in place of the folder, which stops root too
    run(blocked)
