"""irc-tune dataset: which programs and configs it takes, what becomes of them, and files that were cut off."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from dataset_benches import BROKEN, CRAWLS, DIES, FAILS, HANGS, LIES

from irc.configs.alone import parse_config
from irc.configs.check import check_config
from irc.dialects.kernel import FusedOp
from irc.driver.program import parse
from irc.ir.targets import target
from irc.support.diagnostics import IrcError
from irc.tuning.bench import CRASHED, FAILED, HUNG, STOPPED, TIMED, WRONG
from irc.tuning.session import Settings
from irc.tuning.workers import Setup
from irc_tools.bench.suite import known_suites
from irc_tools.dataset import building, command
from irc_tools.dataset.planning import DatasetCompiler, PlanJob, plans
from irc_tools.dataset.rows import COMPILED, FIELDS, append_rows, read_rows
from irc_tools.dataset.sources import Source, sources
from irc_tools.tune import main

CHIP = "sm_90a"
PRODUCT = "func dense(x: bf16[512, 256], w: bf16[256, 512]) -> bf16[512, 512] { return relu(x @ w) }"
MAP = "func f(x: f32[512, 512], y: f32[512, 512]) -> f32[512, 512] { return relu(x) * y }"
OUTCOMES = {FAILS: FAILED, DIES: CRASHED, LIES: WRONG, CRAWLS: STOPPED}


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(building, "COMPILING", Setup("dataset_benches:FakeCompiler"))
    monkeypatch.setattr(building, "TIMING", Setup("dataset_benches:FakeTimer"))
    monkeypatch.setattr("irc.runtime.driver.is_present", lambda: True)
    monkeypatch.setattr("irc.driver.compiler.resolve_arch", lambda arch: CHIP)


def build(tmp_path: Path, *options: str, **programs: str) -> list[Any]:
    for name, text in programs.items():
        (tmp_path / f"{name}.irc").write_text(text)
    files = [str(path) for path in sorted(tmp_path.glob("*.irc"))]
    file = tmp_path / "rows.jsonl"
    assert main(["dataset", str(file), *files, "--workers", "1", "--candidates", "6", *options]) == 0
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.usefixtures("fakes")
def test_every_candidate_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What fails, dies, lies and crawls too; what is timed has the seconds of the last comparison."""
    found = build(tmp_path, "--workers", "2", a="one two", b=BROKEN, c="two three")
    assert {row["program"].partition("/")[2] for row in found} == {"a", "c"}
    kernels = [row["text"].split()[0] for row in found]
    assert sorted(kernels) == sorted(7 * ["one", "two", "three"]), "a kernel of two programs is timed once"
    for row in found:
        stages = parse_config(row["config"]).stages or 0
        outcome = OUTCOMES.get(stages, TIMED)
        assert row["outcome"] == outcome
        assert row["seconds"] == {TIMED: 0.5e-4 / stages, STOPPED: 1.0}.get(outcome)
        assert row["resources"] == ({} if stages in (FAILS, DIES) else {"registers": 32})
        assert row["parts"] == {"tiles": 0.333333}
        assert set(FIELDS) <= set(row)
    out = capsys.readouterr().out
    assert "/b: failed: no program" in out
    assert "crashed=1 failed=1 stopped=1 timed=3 wrong=1, the best 7.000x" in out
    assert "21 rows of 3 kernels were added" in out


@pytest.mark.usefixtures("fakes")
def test_a_file_goes_on_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also after a line that was cut off. What was only compiled is timed."""
    found = build(tmp_path, "--compile-only", a="one")
    assert [row["outcome"] for row in found].count(COMPILED) == 5
    file = tmp_path / "rows.jsonl"
    file.write_bytes(file.read_bytes()[:-10])
    build(tmp_path, b="two")
    again = read_rows(file)
    assert len(again) == 14
    assert not [row for row in again if row["outcome"] == COMPILED]
    capsys.readouterr()
    before = file.read_bytes()
    build(tmp_path)
    assert "0 rows of 0 kernels were added" in capsys.readouterr().out
    assert file.read_bytes() == before


@pytest.mark.usefixtures("fakes")
def test_a_kernel_that_cannot_be_timed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irc.tuning.session.Settings", lambda **options: Settings(run_timeout=0.5, **options))
    found = build(tmp_path, "--candidates", "1", a=f"{HANGS}s one")
    outcomes = {(row["text"].split()[0], row["config"]): row["outcome"] for row in found}
    assert outcomes == {("hangs", "stages = 1"): HUNG, ("one", "stages = 1"): TIMED, ("one", "stages = 2"): TIMED}


@pytest.mark.usefixtures("fakes")
def test_the_budget_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(tmp_path, "--budget", "0.01s", a="one")
    assert "0 rows of 0 kernels" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "kind"), [(PRODUCT, "matmul"), (MAP, "map")])
def test_plans_are_of_legal_configs(text: str, kind: str) -> None:
    """The heuristic's first; the same by the same seed, and others by another one."""
    found, again, others = (plans(PlanJob(Source("f", text), CHIP, 12, seed)) for seed in (0, 0, 1))
    assert found == again
    (plan,) = found
    assert plan.kind == kind
    configs = [candidate.config for candidate in plan.candidates]
    assert len(configs) == len(set(configs)) == 13
    assert others[0].candidates[0] == plan.candidates[0]
    assert {each.config for each in others[0].candidates} != set(configs)
    kernel = next(op for op in parse(plan.key.text, "kernel.mlir").walk() if isinstance(op, FusedOp))
    for candidate in plan.candidates:
        check_config(kernel, parse_config(candidate.config), target(CHIP))
        assert candidate.estimate > 0
        assert {"tiles", "registers", "shared", "resident", "flops", "bytes"} <= set(candidate.parts)


def test_kernels_in_python_are_planned_as_calls() -> None:
    """Of each there is a call. The kernel's own tile program is what rows have."""
    calls = [each for each in sources([], ["kernels/*"], 0) if each.file is not None]
    assert {each.text.partition("(")[0] for each in calls} >= {"matmul", "softmax", "attention", "embedding"}
    (call,) = [each for each in calls if each.text == "column_sums(bf16[32768, 1024])"]
    (plan,) = plans(PlanJob(call, CHIP, 6, 0))
    assert (plan.kind, plan.chip) == ("language", CHIP)
    assert "tile.program" in plan.key.text
    assert "32768x1024" in plan.key.shapes
    assert len({each.config for each in plan.candidates}) == 7
    for each in plan.candidates:
        assert each.parts["tiles"] * (parse_config(each.config).tile or {})["n"] == 1024
        assert each.config in each.job.text


def test_candidates_are_compiled_with_what_they_use() -> None:
    (plan,) = plans(PlanJob(Source("f", MAP), CHIP, 0, 0))
    built: Any = DatasetCompiler().compile(plan.candidates[0].job)
    assert built.compiled.artifact
    assert built.resources["registers"] > 8
    assert (built.resources["kernels"], built.resources["spills"]) == (1, 0)


def test_programs_are_of_all_kinds_from_the_first() -> None:
    found = sources([], [], 0)
    suites = {name for name in known_suites() if any(each.name.startswith(f"{name}/") for each in found)}
    assert suites >= {"gemm", "memory", "attention", "convolution", "random"}
    first = {each.name.partition("/")[0] for each in found[: len(suites) + 3]}
    assert first == {*suites, "random-0", "examples", "kernels"}
    assert len({each.name for each in found}) == len(found)
    assert {each.name.partition("/")[0] for each in sources([], ["gemm/*", "examples/soft*"], 0)} == {
        "gemm",
        "examples",
    }
    assert [each.text for each in sources([], ["random-1/*"], 1)] != [
        each.text for each in sources([], ["random/*"], 1)
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--candidates", "-1"], "--candidates -1: expected a number of at least 0"),
        (["--workers", "0"], "--workers 0: expected a number of at least 1"),
        (["--budget", "soon"], "--budget soon: expected a time"),
        (["--only", "nothing/*"], "no program is named nothing/*"),
        (["--arch", "cpu"], "the architecture cpu is no GPU's"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", str(tmp_path / "rows.jsonl"), "--compile-only", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_times_need_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("irc.runtime.driver.is_present", lambda: False)
    assert main(["dataset", str(tmp_path / "rows.jsonl")]) == 1
    assert "no GPU is here to time configs" in capsys.readouterr().err


def test_lines_that_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"kernel"\n{}\n')
    with pytest.raises(IrcError, match="rows.jsonl:1: "):
        read_rows(path)
    path.write_text("{}\n")
    with pytest.raises(IrcError, match="rows.jsonl:1: expected an object with kernel, shapes"):
        read_rows(path)
    row: dict[str, Any] = dict.fromkeys(FIELDS, "")
    path.unlink()
    append_rows(path, [row, {**row, "outcome": TIMED}])
    assert [each["outcome"] for each in read_rows(path)] == [TIMED], "the last of equal ones"
    with pytest.raises(IrcError):
        append_rows(tmp_path / "nowhere" / "rows.jsonl", [])


def test_files_may_be_compressed(tmp_path: Path) -> None:
    row: dict[str, Any] = dict.fromkeys(FIELDS, "")
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(row) + "\n").encode()))
    assert read_rows(path) == [row]
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(IrcError, match="rows.jsonl.gz: "):
        read_rows(path)
    path.write_text("no gzip")
    with pytest.raises(IrcError, match="rows.jsonl.gz: "):
        read_rows(path)


def test_the_machine_is_named() -> None:
    assert set(command.machine_here()) <= {"commit", "gpu", "driver", "compiler"}
