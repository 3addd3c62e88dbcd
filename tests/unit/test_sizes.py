"""Files and lines by folder, of the working tree and of a commit."""

from __future__ import annotations

import subprocess
from fnmatch import filter
from pathlib import Path

import pytest

from irc_tools.sizes import OTHER, SUBJECTS, main, subjects


def test_a_commit_and_the_working_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "irc" / "ir").mkdir(parents=True)
    (tmp_path / "irc" / "top.py").write_text("a\n" * 2)
    (tmp_path / "irc" / "ir" / "gone.py").write_text("b\n" * 5)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "irc" / "ir" / "gone.py").unlink()
    (tmp_path / "irc" / "codegen" / "deep").mkdir(parents=True)
    (tmp_path / "irc" / "codegen" / "deep" / "new.py").write_text("c\n" * 7)
    assert main(["--since", "HEAD"]) == 0
    rows = {row.split()[0]: row.split()[1:] for row in capsys.readouterr().out.splitlines()}
    assert rows == {
        "irc": ["2", "7", "2", "9", "+2"],
        "irc/ir": ["1", "5", "0", "0", "-5"],
        "irc/codegen": ["0", "0", "1", "7", "+7"],
    }


def test_every_subject_has_files_and_all_lines_of_irc_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    found = subjects()
    assert found.keys() == {"irc", OTHER, *SUBJECTS}
    files = [str(path) for path in Path("irc").rglob("*.py")]
    gone = {"irc/dialects/tile/ring.py", "irc/passes/tile/pipeline*.py", "irc/*/realigned.py", "irc/*/prelude_math.py"}
    gone |= {f"irc/passes/tile/{name}.py" for name in ("prefetch_loads", "rings")}
    assert {each for each in " ".join(SUBJECTS.values()).split() if not filter(files, each)} == gone
    assert found.pop("irc") == tuple(map(sum, zip(*found.values(), strict=True)))
