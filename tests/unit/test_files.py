"""Writing aside: a file is there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irc.support.diagnostics import IrcError
from irc.support.files import make_directory, read_text, write_text, written_aside


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_text(path, "first")
    write_text(path, "second")
    assert path.read_text() == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_text(path, "kept")
    with pytest.raises(ZeroDivisionError), written_aside(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_text() == "kept"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    write_text(tmp_path / "out.txt", "x")
    plain = tmp_path / "plain.txt"
    plain.touch()
    assert (tmp_path / "out.txt").stat().st_mode == plain.stat().st_mode


def test_what_cannot_be_written_is_a_diagnostic(tmp_path: Path) -> None:
    with pytest.raises(IrcError, match="cannot write .*nowhere.*: No such file or directory"):
        write_text(tmp_path / "nowhere" / "out.txt", "x")
    (tmp_path / "file").touch()
    with pytest.raises(IrcError, match="cannot write"):
        make_directory(tmp_path / "file" / "below")


def test_what_cannot_be_read_is_a_diagnostic(tmp_path: Path) -> None:
    with pytest.raises(IrcError, match="No such file"):
        read_text(tmp_path / "absent")
    with pytest.raises(IrcError, match="Is a directory"):
        read_text(tmp_path)
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    with pytest.raises(IrcError, match="not UTF-8 text \\(byte 2\\)"):
        read_text(tmp_path / "bytes")
    with pytest.raises(IrcError, match="null"):
        read_text(Path("a\0b"))


def test_a_device_is_written_directly() -> None:
    write_text(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()
