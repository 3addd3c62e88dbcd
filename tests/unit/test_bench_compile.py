"""irc-bench-compile: what it times runs from a source tree alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from irc_tools import bench_compile


def test_a_command_is_timed_where_no_script_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert bench_compile._command(["opt", "--help"], tmp_path) > 0
