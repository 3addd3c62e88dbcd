"""irc-bench-compile: what it times runs from a source tree alone, and suites are compiled."""

from __future__ import annotations

import json
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


SUITE = """\
[[rows]]
name = "norm"
program = '''
func f(x: bf16[64, 128]) -> (bf16[64, 128], f32[]) {
    y = softmax(x)
    return y, sum(cast(transpose(y), f32))
}
'''

[[rows]]
name = "model"
model = "return None"
"""


def test_the_programs_of_a_suite_are_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    out = tmp_path / "r.json"
    assert bench_compile.main(["--suite", str(tmp_path / "suite.toml"), "--json", str(out)]) == 0
    (row,) = json.loads(out.read_text())["rows"]
    assert (row["name"], row["passes"] > 0) == ("norm", True)
    assert len(row["kernels"]) > 1
    assert all(seconds > 0 for seconds in row["kernels"].values())
    shown = capsys.readouterr().out
    assert all(name in shown for name in row["kernels"])
    longest = max(row["kernels"], key=lambda name: row["kernels"][name])
    assert f"NVRTC: the longest {row['kernels'][longest]:.3f} s, {longest} of norm" in shown


def test_a_suite_without_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models.toml").write_text(SUITE[SUITE.rindex("[[rows]]") :])
    assert bench_compile.main(["--suite", str(tmp_path / "models.toml")]) == 1
    assert "is a program" in capsys.readouterr().err
