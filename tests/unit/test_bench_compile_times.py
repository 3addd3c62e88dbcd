"""irc-bench's suites of first calls, on the CPU: what a process times and checks, and what becomes of those that fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from drawing import slow

from irc.support.diagnostics import IrcError
from irc_tools.bench import compile_times, first_call
from irc_tools.bench.command import main
from irc_tools.bench.compile_times import CACHES, measure_compile_times, run_first_call
from irc_tools.bench.first_call import FirstCall, FirstResult
from irc_tools.bench.record import RowRecord, read_record
from irc_tools.bench.rows import Row
from irc_tools.bench.timing import Settings

torch = pytest.importorskip("torch")
graphs = pytest.importorskip("irc_frontend.torch.graphs")

MODEL = """
nn = torch.nn
return nn.Sequential(nn.Linear(width, width), nn.Dropout(0.5), nn.Linear(width, 3)), [torch.randn(16, width)]
"""
LOSS = "return model(*inputs).float().square().mean()"
CALL = FirstCall("m", MODEL, "irc", "cpu", dims={"width": 8})
ROW = Row("m", "", model=MODEL, dims={"width": 4096}, small={"width": 8}, peers=("compile",), clock="first call")
RIGHT = FirstResult(2.0, 1e-3, 1e-3)


@pytest.mark.parametrize("loss", ["", LOSS], ids=["forward", "training"])
def test_a_first_call_is_timed_and_checked(loss: str) -> None:
    torch._dynamo.reset()
    before = torch.get_float32_matmul_precision()
    result = first_call.measure(replace(CALL, loss=loss))
    assert result.seconds > 0
    assert torch.get_float32_matmul_precision() == before
    assert 0 < result.error <= result.tolerance and not result.wrong and not result.left


@pytest.mark.filterwarnings("ignore")
def test_a_wrong_result_and_what_is_not_compiled_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(torch: Any, model: Any, compiler: str) -> Any:
        def run(x: Any) -> Any:
            warnings.warn("no rule\nfor sort", graphs.NotCompiled, stacklevel=1)
            warnings.warn("of another kind", UserWarning, stacklevel=1)
            return model(x) / 2

        return run

    monkeypatch.setattr(first_call, "_compiled", halved)
    result = first_call.measure(CALL)
    assert result.wrong == f"error {result.error:.2e} over {result.tolerance:.2e}"
    assert result.left == ("no rule for sort",)
    unchecked = first_call.measure(replace(CALL, check=False))
    assert not unchecked.wrong and unchecked.left == result.left
    assert FirstResult(1.0, float("nan"), 1e-3).wrong


def test_only_torch_is_loaded_before_the_clock_starts() -> None:
    """Else a part of irc's first call would not be timed."""
    text = (
        "import sys, irc_tools.bench.first_call\n"
        "loaded = [name for name in sys.modules if name.split('.')[0] in ('irc', 'irc_frontend', 'xdsl', 'llvmlite')]\n"
        "print(*loaded)"
    )
    loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in loaded if not name.startswith("irc.support")} == {"irc"}


@slow
def test_a_process_finds_what_the_one_before_it_has_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the CPU, whatever the target of other programs is."""
    monkeypatch.setenv("IRC_TARGET", "interpret")
    cold = run_first_call(CALL, tmp_path, 100)
    entries = sorted((tmp_path / "irc_cache_dir").rglob("*"))
    assert cold.error <= cold.tolerance and entries
    run_first_call(CALL, tmp_path, 100)
    assert sorted((tmp_path / "irc_cache_dir").rglob("*")) == entries


def _as_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """A process of a first call is this script."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))


def test_a_process_that_takes_too_long_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_process(monkeypatch, tmp_path, f"sleep 60 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(IrcError, match=r"not done after 0.5 s"):
        run_first_call(CALL, tmp_path, 0.5)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    for _ in range(100):
        if not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        pytest.fail("what the process started runs on")


def test_a_process_that_dies_is_an_error_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _as_process(monkeypatch, tmp_path, "echo out of memory >&2; kill -9 $$")
    with pytest.raises(IrcError, match="the process ended with status -9: out of memory"):
        run_first_call(CALL, tmp_path, 100)


def test_a_process_writes_its_result_or_what_went_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, result = tmp_path / "call.json", tmp_path / "result.json"
    call.write_text(json.dumps(asdict(replace(CALL, model="import nowhere"))))
    assert first_call.main([str(call), str(result)]) == 0
    assert json.loads(result.read_text()) == {"failed": "ModuleNotFoundError: No module named 'nowhere'"}
    (tmp_path / "kept").write_text(result.read_text())
    _as_process(monkeypatch, tmp_path, f"cp {tmp_path}/kept $4")
    with pytest.raises(IrcError, match="ModuleNotFoundError: No module named 'nowhere'"):
        run_first_call(CALL, tmp_path, 100)
    monkeypatch.setattr(first_call, "measure", lambda call: replace(RIGHT, left=(call.name,)))
    assert first_call.main([str(call), str(tmp_path / "kept")]) == 0
    assert run_first_call(CALL, tmp_path, 100) == replace(RIGHT, left=("m",))


def test_every_cache_is_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CACHES:
        monkeypatch.setenv(name, "/elsewhere")
    _as_process(monkeypatch, tmp_path, "env >&2; echo TRITON_CACHE_DIR=$TRITON_CACHE_DIR >&2; exit 3")
    with pytest.raises(IrcError, match=f"status 3: TRITON_CACHE_DIR={tmp_path}"):
        run_first_call(CALL, tmp_path, 100)
    said = (tmp_path / "errors.txt").read_text()
    assert "/elsewhere" not in said and all(f"{name}={tmp_path}{os.sep}" in said for name in CACHES)


class Runs:
    """Stands for processes: those of the trial and of rows in their order, with what they give or fail by."""

    def __init__(self, **given: FirstResult | str):
        self.given = given
        self.calls: list[tuple[FirstCall, str]] = []

    def __call__(self, call: FirstCall, folder: Path, limit: float) -> FirstResult:
        state = "warm" if (folder / "seen").exists() else "cold"
        (folder / "seen").touch()
        self.calls.append((call, state))
        found = self.given.get(f"{call.compiler}_{state}", RIGHT)
        if isinstance(found, str):
            raise IrcError(found)
        return found


def _records(runs: Runs, repetitions: int = 1) -> dict[str, RowRecord]:
    found: list[RowRecord] = []
    settings = Settings(repetitions, peers=("eager", "compile"))
    measure_compile_times([ROW], settings, found.append, runs)
    return {record.name: record for record in found}


def test_a_row_gives_two_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_times, "is_present", lambda: False)
    runs = Runs(irc_warm=FirstResult(0.5, 2e-3, 2e-3), compile_cold=FirstResult(6.0), compile_warm=FirstResult(1.5))
    records = _records(runs, repetitions=2)
    assert {name: each.times for name, each in records.items()} == {
        "m, cold": {"irc": (2.0, 2.0), "compile": (6.0, 6.0)},
        "m, warm": {"irc": (0.5, 0.5), "compile": (1.5, 1.5)},
    }
    cold, warm = records.values()
    assert (cold.group, cold.ratios["compile"], warm.group, warm.ratios["compile"]) == ("cold", 3, "warm", 3)
    assert warm.checks[0]["error"] == 2e-3 and not warm.notes
    assert [(call.name, call.compiler, state) for call, state in runs.calls] == [
        ("trial", "irc", "cold"),
        ("trial", "compile", "cold"),
        *[("m", compiler, state) for compiler in ("irc", "compile") for state in ("cold", "warm")],
        *[("m", compiler, state) for compiler in ("compile", "irc") for state in ("cold", "warm")],
    ]
    assert runs.calls[-1][0].dims == {"width": 8} and runs.calls[-1][0].device == "cpu"


def test_on_a_gpu_dims_are_the_rows_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_times, "is_present", lambda: True)
    runs = Runs()
    assert _records(runs)["m, cold"].dims == {"width": 4096}
    assert runs.calls[-1][0].dims == {"width": 4096} and runs.calls[-1][0].device == "cuda"


def test_a_peer_that_fails_is_a_note() -> None:
    cold, warm = _records(Runs(compile_warm="no compiler")).values()
    assert set(cold.times) == {"irc", "compile"} and not cold.notes
    assert set(warm.times) == {"irc"} and warm.notes == ("compile, warm: no compiler",) and not warm.error
    runs = Runs(compile_cold="no compiler")
    cold, warm = _records(runs, repetitions=2).values()
    assert cold.notes == warm.notes == ("compile, cold: no compiler",)
    assert sum(call.compiler == "compile" and call.name == "m" for call, _ in runs.calls) == 1


def test_a_row_that_irc_fails_or_has_wrong_is_not_timed() -> None:
    runs = Runs(irc_cold="not done after 1 s")
    cold, warm = _records(runs).values()
    assert cold.error == warm.error == "irc, cold: not done after 1 s" and not cold.times
    assert [call.compiler for call, _ in runs.calls if call.name == "m"] == ["irc"]
    cold, warm = _records(Runs(irc_warm=FirstResult(1.0, 1.0, 1e-3))).values()
    assert cold.times and not warm.times
    assert warm.error == "wrong: error 1.00e+00 over 1.50e-03"


def test_what_irc_leaves_and_what_a_peer_has_wrong_are_notes() -> None:
    runs = Runs(irc_cold=replace(RIGHT, left=("sort",)), compile_cold=FirstResult(1.0, 1.0, 1e-3))
    assert _records(runs)["m, cold"].notes == ("left to torch: sort", "compile: error 1.00e+00 over 1.50e-03")


def test_the_command_writes_and_shows_both_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(
        f"clock = 'first call'\npeers = ['compile']\nbars = ['1.0 of compile']\n[[rows]]\nname = 'm'\nmodel = '''{MODEL}'''\n"
        "[[summaries]]\ngroup = 'cold'\nstatistic = 'least'\nbar = '1.0 of compile'\n"
    )
    runs = Runs(irc_warm=FirstResult(4.0, 2e-3, 2e-3))
    monkeypatch.setattr(compile_times, "run_first_call", runs)
    file = tmp_path / "r.json"
    assert main(["--suite", str(tmp_path / "s.toml"), "--peers", "all", "--limit", "7", "--json", str(file)]) == 0
    record = read_record(file)
    assert (record.settings["repetitions"], record.settings["limit_seconds"]) == (1, 7)
    assert json.loads(file.read_text())["rows"][1]["times"] == {"irc": [4.0], "compile": [2.0]}
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["m,", "cold", "2", "s", "2", "s", "compile", "1.00", "1.000", "1.000", "1.000", "ok"] in lines
    assert ["m,", "warm", "4", "s", "2", "s", "compile", "1.00", "0.500", "0.500", "0.500", "miss"] in lines
    assert ["cold", "1", "least", "1.00", "of", "compile", "1.000", "ok"] in lines
