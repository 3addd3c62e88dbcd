"""`irc-bench before`: what is compiled and timed of two trees of irc, with processes that only note what they are asked."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from irc.codegen.nvrtc import compile_source
from irc.runtime.driver import is_present
from irc.support.diagnostics import IrcError
from irc_tools.bench import before, tree
from irc_tools.bench.bars import BEFORE
from irc_tools.bench.before import TreeProcess, TreeRow, compare_trees, rows_of
from irc_tools.bench.command import main
from irc_tools.bench.record import RowRecord
from irc_tools.bench.rows import Row
from irc_tools.bench.statistics import IRC
from irc_tools.bench.suite import load_suite
from irc_tools.bench.timing import Settings
from irc_tools.machine_code import ROOT, environment_of

PROGRAM = "func f(x: f32[64]) -> f32[64] { return exp(x) }"
SETTINGS = Settings(repetitions=2, block_seconds=1e-3, check=False)


def cubin(name: str, value: int) -> str:
    """The machine code of a kernel that stores a value, in base 64."""
    source = f'extern "C" __global__ void {name}(int *x) {{ *x = {value}; }}'
    return b64encode(compile_source(source, "sm_90a").cubin).decode()


class Noted:
    """The process of a tree with given kernels, whose blocks take `seconds`."""

    def __init__(self, kernels: list[Any], seconds: float, asked: list[str], failing: str = ""):
        self._kernels, self._seconds, self._asked, self._failing = kernels, seconds, asked, failing

    def send(self, name: str, rows: list[Any], arch: str, processes: int) -> None:
        assert name == "compile" and len(rows) == len(self._kernels) and processes > 0

    def answer(self) -> Any:
        return self._kernels

    def ask(self, name: str, *arguments: Any) -> Any:
        self._asked.append(f"{name} {self._seconds:g}")
        if name == self._failing:
            raise IrcError("no memory")
        return [self._seconds] * arguments[0] if name == "time" else None

    def close(self) -> None:
        self._asked.append("killed")


def compared(
    monkeypatch: pytest.MonkeyPatch, mine: list[Any], other: list[Any], *, is_timed: bool = True, failing: str = ""
) -> tuple[list[RowRecord], list[str]]:
    """The records of rows that two trees compile to these kernels, and what the trees were asked."""
    asked: list[str] = []

    def process(root: Path) -> Noted:
        return Noted(mine, 1.0, asked) if root == ROOT else Noted(other, 2.0, asked, failing)

    monkeypatch.setattr(before, "TreeProcess", process)
    rows = [TreeRow("memory", Row(f"row {number}", PROGRAM)) for number in range(len(mine))]
    records: list[RowRecord] = []
    compare_trees(Path("other"), rows, SETTINGS, records.append, is_timed=is_timed)
    return records, asked


def test_only_rows_of_other_machine_code_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    one, renamed, two = ([{"cubin": cubin(*kernel), "launch": [1, 32, 0]}] for kernel in (("f", 1), ("g", 1), ("f", 2)))
    wider = [{**one[0], "launch": [2, 32, 0]}]
    records, asked = compared(monkeypatch, [one, one, one], [renamed, two, wider])
    assert [record.name for record in records] == ["memory: row 1", "memory: row 2"]
    assert records[0].times == {IRC: (1.0,) * 6, BEFORE: (2.0,) * 6}
    ((bar, reached),) = records[0].verdicts()
    assert (bar.text, reached and reached.median) == ("1.00 of before", 2.0)
    turns = ["time 2", "time 1", "time 1", "time 2"]
    assert asked == [*["open 1", "open 2", *turns, "close 1", "close 2"] * 2, "killed", "killed"]


def test_without_times_rows_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = ([{"cubin": cubin("f", value), "launch": []}] for value in (1, 2))
    records, asked = compared(monkeypatch, [one], [two], is_timed=False)
    assert [(record.name, record.times, record.error) for record in records] == [("memory: row 0", {}, "")]
    assert asked == ["killed", "killed"]


def test_what_a_tree_does_not_compile_or_run_is_an_error_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = ([{"cubin": cubin("f", value), "launch": []}] for value in (1, 2))
    records, asked = compared(monkeypatch, [one, one], ["IrcError: no such op", two], failing="open")
    assert [record.error for record in records] == ["before: IrcError: no such op", "no memory"]
    assert asked == ["open 1", "open 2", "close 1", "close 2", "killed", "killed"]


def test_rows_of_models_and_of_calls_are_left_out() -> None:
    rows = [Row("a", PROGRAM), Row("b", PROGRAM, clock="calls"), Row("c", "", model="return m, []")]
    assert [each.name for each in rows_of({"x": rows})] == ["x: a"]


def test_a_tree_compiles_programs_and_kernels_in_python() -> None:
    kernel = next(row for row in load_suite("kernels").rows if row.kernel is not None)
    given = [TreeRow("memory", Row("exp", PROGRAM)).given, TreeRow("kernels", kernel).given]
    answers = tree.Tree().compile([*given, {**given[0], "program": "func"}], "sm_90a", 1)
    assert [len(kernels) for kernels in answers[:2]] == [1, 1]
    assert set(answers[0][0]) == {"cubin", "launch"}
    assert "expected" in answers[2]


@pytest.mark.skipif(is_present(), reason="a GPU would time the row")
def test_processes_of_this_tree_answer() -> None:
    process = TreeProcess(ROOT)
    row = TreeRow("memory", Row("exp", PROGRAM)).given
    try:
        ((kernel,),) = process.ask("compile", [row], "sm_90a", 1)
        assert before.code_of([kernel]) == before.code_of(tree.kernels_of(row, "sm_90a"))
        with pytest.raises(IrcError, match="no CUDA GPU"):
            process.ask("open", row, 0, 1e-3)
        process.ask("close")
    finally:
        process.close()


def test_libraries_of_pythonpath_are_found_by_other_trees(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tools"), "", str(tmp_path / "site")]))
    folders = [str(tmp_path / name) for name in (".", "frontend", "tools", "site")]
    assert environment_of(tmp_path)["PYTHONPATH"].split(os.pathsep) == folders


def test_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["before", str(tmp_path), "--list", "--suite", "memory"]) == 1
    assert "is no checkout of irc" in capsys.readouterr().err
    assert main(["before", str(tmp_path), "--list", "--filter", "nothing"]) == 1
    assert "no row that irc compiles has nothing in its name" in capsys.readouterr().err
