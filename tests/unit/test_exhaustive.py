"""irc-tune exhaustive: which kernels and configs it takes, in which order, and what it says of what was timed."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from exhaustive_benches import BEST, FAILS, LIES, REFUSED, candidate, seconds, stages_of

from irc.configs.alone import parse_config
from irc.configs.check import check_config
from irc.dialects.kernel import FusedOp
from irc.driver.measuring import CudaCompiler
from irc.driver.program import parse
from irc.ir.targets import target
from irc.runtime.artifact import Artifact
from irc.support.diagnostics import IrcError
from irc.tuning.bench import FAILED, TIMED, WRONG
from irc.tuning.workers import Setup
from irc_tools.dataset import building
from irc_tools.dataset.planning import Built
from irc_tools.dataset.rows import read_rows
from irc_tools.dataset.sources import Source
from irc_tools.exhaustive import command, compiling, kernels
from irc_tools.exhaustive.compiling import ExhaustiveCompiler, Listed, ListJob, NearJob
from irc_tools.exhaustive.rounds import WAVES
from irc_tools.exhaustive.summary import findings, lines, means
from irc_tools.tune import main

CHIP = "sm_90a"
PRODUCT = "func dense(x: bf16[512, 256], w: bf16[256, 512]) -> bf16[512, 512] { return relu(x @ w) }"
LINE = re.compile(r"\[.*s\] (\w+): (\d+) configs")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(compiling, "COMPILING", Setup("exhaustive_benches:FakeCompiler"))
    monkeypatch.setattr(building, "TIMING", Setup("exhaustive_benches:FakeTimer"))
    monkeypatch.setattr("irc.runtime.driver.is_present", lambda: True)
    monkeypatch.setattr("irc.driver.compiler.resolve_arch", lambda arch: CHIP)


def search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: str, *options: str) -> list[Any]:
    """Rows of kernels of such names, each of a group of its own, after a call."""
    chosen = [(f"group of {name}", Source(name, "")) for name in names.split()]
    monkeypatch.setattr("irc_tools.exhaustive.kernels.selected", lambda only: chosen)
    file = tmp_path / "rows.jsonl"
    assert main(["exhaustive", str(file), "--workers", "1", "--candidates", "20", *options]) == 0
    return list(read_rows(file)) if file.exists() else []


@pytest.mark.usefixtures("fakes")
def test_every_kernel_has_its_first_candidates_timed_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then the rest of what is listed, then neighbors of the best, until none is new."""
    search(monkeypatch, tmp_path, "one two three")
    waves = [(name, int(count)) for name, count in LINE.findall(capsys.readouterr().out)]
    assert sorted(waves[:3]) == [(name, WAVES[0]) for name in ("one", "three", "two")]
    assert sorted(waves[3:6]) == [(name, 20 - (WAVES[0] or 0)) for name in ("one", "three", "two")]
    assert sum(count for name, count in waves if name == "two") > 20


@pytest.mark.usefixtures("fakes")
def test_the_best_is_found_and_compared_by_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It lies behind what is listed: neighbors lead there. Losers are stopped, and what fails is a row, too."""
    rows = search(monkeypatch, tmp_path, "one")
    by_stages = {stages_of(row["config"]): row for row in rows}
    assert set(range(1, BEST + 2)) <= set(by_stages)
    best = by_stages[BEST]
    assert (best["seconds"], best["beside"], best["by_turns"]) == (seconds(BEST) / 2, seconds(1) / 2, True)
    assert by_stages[1]["by_turns"]
    assert (by_stages[FAILS]["outcome"], by_stages[LIES]["outcome"]) == (FAILED, WRONG)
    assert by_stages[2]["seconds"] == seconds(2)
    assert (by_stages[3]["order"], by_stages[20]["order"], by_stages[BEST]["order"]) == (2, None, None)
    (found,) = findings(rows)
    assert found.gain == pytest.approx(seconds(1) / seconds(BEST))
    assert found.first == pytest.approx([seconds(BEST) / seconds(n) for n in (1, 8, 16)])
    assert (found.best, found.order, found.ranked) == (f"stages = {BEST}", None, 30)


@pytest.mark.usefixtures("fakes")
def test_a_call_goes_on_where_the_last_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = search(monkeypatch, tmp_path, "one two")
    file = tmp_path / "rows.jsonl"
    kept = [row for row in rows if row["program"] == "one" or stages_of(row["config"]) < 7]
    file.write_text("".join(json.dumps(row) + "\n" for row in kept) + '{"program": "cut o')
    capsys.readouterr()
    again = search(monkeypatch, tmp_path, "one two")
    timed = {name for name, _ in LINE.findall(capsys.readouterr().out)}
    assert timed == {"two"}
    assert {(row["program"], row["config"]) for row in again} == {(row["program"], row["config"]) for row in rows}
    assert [each.gain for each in findings(again)] == pytest.approx([each.gain for each in findings(rows)])


@pytest.mark.usefixtures("fakes")
def test_rows_beside_something_else_are_not_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another heuristic's config, or another GPU."""
    rows = search(monkeypatch, tmp_path, "one two")
    file = tmp_path / "rows.jsonl"
    first = [{**row, "config": "warps = 9"} if row["program"] == "one" and row["order"] == 0 else row for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in first))
    assert len(search(monkeypatch, tmp_path, "one two")) == len(rows)
    assert "one: its rows are beside another heuristic's config" in capsys.readouterr().out
    file.write_text(json.dumps({**rows[0], "machine": {"gpu": "another"}}) + "\n")
    assert main(["exhaustive", str(file)]) == 1
    assert "has rows of another GPU, another" in capsys.readouterr().err


@pytest.mark.usefixtures("fakes")
def test_a_kernel_without_a_reference_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = search(monkeypatch, tmp_path, f"{REFUSED} one")
    assert [row["outcome"] for row in rows if row["program"] == REFUSED and row["config"] == "stages = 1"] == [WRONG]
    assert not [row for row in rows if row["program"] == REFUSED and row["outcome"] == TIMED]
    assert [each.name for each in findings(rows)] == ["one"]


@pytest.mark.usefixtures("fakes")
def test_what_a_tuner_found_is_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the best, by turns, though others are faster."""
    monkeypatch.setattr(command, "_tuned_product", lambda *_: {"one": (candidate("one", 19), 10.0)})
    rows = search(monkeypatch, tmp_path, "one")
    (row,) = [row for row in rows if "tuned" in row]
    assert (row["config"], row["tuned"], row["by_turns"]) == ("stages = 19", 10.0, True)
    (found,) = findings(rows)
    assert found.tuned == pytest.approx(seconds(BEST) / seconds(19))
    assert "one tuned, within 1.02: 1.500 MISSED" in capsys.readouterr().out


@pytest.mark.usefixtures("fakes")
def test_the_budget_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not search(monkeypatch, tmp_path, "one", "--budget", "0.01s")


@pytest.mark.usefixtures("fakes")
def test_without_a_gpu_everything_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("irc.runtime.driver.is_present", lambda: False)
    assert not search(monkeypatch, tmp_path, "one two", "--compile-only")
    assert "40 configs" in capsys.readouterr().out.splitlines()[-1]
    assert main(["exhaustive", str(tmp_path / "rows.jsonl")]) == 1
    assert "no GPU is here" in capsys.readouterr().err
    assert main(["exhaustive", str(tmp_path / "rows.jsonl"), "--compile-only", "--product", "long"]) == 1
    assert "--product long: expected a time" in capsys.readouterr().err


def row(name: str, order: int | None, gain: float, **more: Any) -> dict[str, Any]:
    return {
        "program": name,
        "group": f"group of {name[0]}",
        "kernel": name,
        "shapes": "8",
        "chip": CHIP,
        "text": "",
        "config": f"stages = {order if order is not None else 99}",
        "outcome": TIMED,
        "reason": "",
        "seconds": 1e-5 / gain,
        "beside": 1e-5,
        "estimate": 1e-5,
        "order": order,
        "ranked": 50,
        "by_turns": True,
        **more,
    }


def test_summaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was timed alone is none of the best. The file may be compressed."""
    rows = [
        *(row("a", order, gain) for order, gain in ((0, 1.0), (6, 1.02), (12, 1.1), (40, 1.25))),
        row("a", 41, 2.0, by_turns=False),
        row("b", 0, 1.0),
        row("b", 1, 0.9),
        row("c", 0, 1.0, by_turns=False),
    ]
    of_a, of_b = findings(rows)
    assert (of_a.name, of_a.gain, of_a.order, of_a.configs) == ("a", pytest.approx(1.25), 40, 5)
    assert of_a.first == pytest.approx((0.8, 1.02 / 1.25, 1.1 / 1.25))
    assert (of_b.gain, of_b.order, of_b.first) == (pytest.approx(1.0), 0, pytest.approx((1.0, 1.0, 1.0)))
    assert means([of_a, of_b])["all"] == pytest.approx((2, 1.25**0.5, (1.02 / 1.25) ** 0.5, (1.1 / 1.25) ** 0.5))
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in rows).encode()))
    assert main(["exhaustive", str(file), "--show"]) == 0
    out = capsys.readouterr().out
    assert "a: 1.250, first 8 and 16 0.816 0.880, 5 configs, the best is number 41 of 50: stages = 40" in out
    assert "the heuristic's configs within 1.06 of the best: 1.118 MISSED" in out
    assert "16 candidates reach 0.97: 0.938 MISSED" in out
    assert lines([]) == ["no kernel was timed by turns with its heuristic's config"]


def test_the_kernels() -> None:
    """60 of all kinds, of which a run that is cut has some of each."""
    found = kernels.selected()
    assert len({source.name for _, source in found}) == len(found) == 60
    assert {group for group, _ in found[: len(kernels.KERNELS)]} == set(kernels.KERNELS)
    assert [source.name for _, source in kernels.selected(["gemm/4096*"])] == [kernels.PRODUCT]
    with pytest.raises(IrcError, match="no kernel is named nothing"):
        kernels.selected(["nothing"])


@pytest.fixture(scope="module")
def product() -> tuple[ListJob, Listed]:
    job = ListJob("products", Source("f", PRODUCT), CHIP, 24, 0)
    found = ExhaustiveCompiler().compile(job)
    assert isinstance(found, Listed)
    return job, found


def test_what_is_listed_is_legal(product: tuple[ListJob, Listed]) -> None:
    """The heuristic's config, what the model puts first, and others that are drawn."""
    _, found = product
    configs = [each.config for each in found.plan.candidates]
    assert len(set(configs)) == len(configs) == 24
    assert list(found.orders[:16]) == list(range(16))
    assert any(place is not None and place >= 24 for place in found.orders)
    assert all(place is None or place < found.ranked for place in found.orders)
    kernel = next(op for op in parse(found.plan.key.text, "kernel.mlir").walk() if isinstance(op, FusedOp))
    for each in configs:
        check_config(kernel, parse_config(each), target(CHIP))


def test_neighbors_of_the_best_come_first(product: tuple[ListJob, Listed]) -> None:
    job, found = product
    first, second, *_ = [each.config for each in found.plan.candidates]
    near = ExhaustiveCompiler().compile(NearJob(job, (first, second), frozenset({first}), 5))
    again = ExhaustiveCompiler().compile(NearJob(job, (first, second), frozenset({first, near[0].config}), 5))  # pyright: ignore[reportIndexIssue, reportUnknownMemberType]
    assert len(near) == len(again) == 5  # pyright: ignore[reportArgumentType]
    assert [each.config for each in again[:4]] == [each.config for each in near[1:]]  # pyright: ignore


def test_what_was_compiled_is_kept(
    product: tuple[ListJob, Listed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    job = product[1].plan.candidates[0].job
    built = ExhaustiveCompiler().compile(job)
    monkeypatch.delattr(CudaCompiler, "compile")
    assert ExhaustiveCompiler().compile(job) == built
    assert isinstance(built, Built)
    assert built.resources["registers"] > 0
    (kernel,) = Artifact.from_bytes(built.compiled.artifact).kernels
    assert kernel.cubin.startswith(b"\x7fELF")
