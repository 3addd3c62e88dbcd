"""irc-bench without a GPU: statistics, records, tables, plots, and one diagnostic for every mistake."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from drawing import long

from irc.runtime.driver import is_present
from irc_tools.bench.bars import HOST, LIMITS, PEERS, RIVAL, parse_bar
from irc_tools.bench.command import main
from irc_tools.bench.plot import COLORS
from irc_tools.bench.record import Record, RowRecord, read_record, write_record
from irc_tools.bench.statistics import opponent, reached, spread, summarize

TIMES: dict[str, tuple[float, ...]] = {
    "irc": (2e-3, 1e-3, 4e-3),
    "copy": (1.9e-3, 0.98e-3, 3.6e-3),
    "eager": (4e-3, 3e-3, 4.4e-3),
    "compile": (3e-3, 2e-3, 9e-3),
}
ROW = RowRecord("scale", "pointwise", "func f ...", {}, "return x", ("0.95 of copy", "1.00 of best"), "device", 10**9)


@pytest.fixture
def record() -> Record:
    machine = {
        "gpu": "NVIDIA H200",
        "driver": "580",
        "packages": {"torch": "2.11"},
        "date": "2026-11-21",
        "commit": "ab",
    }
    rows = (replace(ROW, times=TIMES), replace(ROW, name="broken", error="wrong: result 0: error 1", bars=()))
    summaries = ({"group": "pointwise", "statistic": "median", "bar": "0.90 of copy"},)
    return Record("s", "a suite", "bandwidth", machine, {"repetitions": 3}, rows, summaries)


def test_a_spread_is_the_median_and_the_quartiles() -> None:
    found = spread([4, 1, 3, 2, 5])
    assert (found.low, found.median, found.high) == (2, 3, 4)
    assert spread([7]) == replace(found, median=7, low=7, high=7)


def test_a_ratio_is_taken_in_each_repetition() -> None:
    """The median of the ratios, not the ratio of the medians: all of a repetition runs on the same clock."""
    found = reached(parse_bar("0.95 of copy"), TIMES)
    assert found is not None
    assert found.median == pytest.approx(0.95)
    inverse = reached(parse_bar("<= 1.0 of copy"), TIMES)
    assert inverse is not None
    assert inverse.median == pytest.approx(2 / 1.9)
    assert reached(parse_bar("0.9 of read"), TIMES) is None


def test_bars_of_the_hosts_time_are_in_microseconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = {"irc": (9e-6, 8e-6, 20e-6), "launches": (2e-6, 2.5e-6, 3e-6), "bound": (5.2e-6, 5e-6, 6e-6)}
    row = replace(ROW, times=times, clock="host", bars=("<= 12.00 us beyond launches", "<= 5.00 us for bound"))
    (beyond, reached_beyond), (bound, reached_bound) = row.verdicts()
    assert reached_beyond is not None and reached_bound is not None
    assert reached_beyond.median == pytest.approx(7)
    assert reached_bound.median == pytest.approx(5.2)
    assert beyond.holds(12.1) and not beyond.holds(12.2)
    assert not bound.holds(reached_bound.median)
    path = tmp_path / "r.json"
    write_record(path, Record("calls", "calls", "time", {}, {"repetitions": 3}, (row,)))
    assert main(["show", str(path), "--plot", str(tmp_path / "p.svg")]) == 0
    lines = capsys.readouterr().out.splitlines()
    (first,) = (line for line in lines if line.startswith(" scale"))
    assert first.split()[1:] == ["9", "us", "2.5", "us", "5.2", "us", "launches", "<=", "12.00", "us", "7.000", "6.250", "12.000", "ok"]  # fmt: skip
    assert lines[lines.index(first) + 1].split() == ["bound", "<=", "5.00", "us", "5.200", "5.100", "5.600", "miss"]


def test_the_best_is_the_fastest_peer_and_no_limit() -> None:
    assert opponent("best", TIMES) == "compile"
    assert opponent("best", {name: TIMES[name] for name in ("irc", "copy")}) is None
    assert opponent("eager", TIMES) == "eager"


def test_statistics_of_groups() -> None:
    assert summarize("median", [0.5, 0.9, 1.0], of_time=False) == 0.9
    assert summarize("geomean", [0.5, 2.0], of_time=False) == pytest.approx(1)
    assert summarize("least", [0.5, 2.0], of_time=False) == 0.5
    assert summarize("least", [0.5, 2.0], of_time=True) == 2.0


def test_a_record_comes_back_from_its_file(record: Record, tmp_path: Path) -> None:
    write_record(tmp_path / "r.json", record)
    assert read_record(tmp_path / "r.json") == record


def test_show_prints_speeds_ratios_and_verdicts(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "r.json", record)
    assert main(["show", str(tmp_path / "r.json")]) == 0
    out = capsys.readouterr().out
    scale = next(line for line in out.splitlines() if line.startswith(" scale"))
    assert scale.split() == ["scale", "500", "526", "250", "333", "copy", "0.95", "0.950", "0.925", "0.965", "ok"]
    assert next(line for line in out.splitlines() if "best" in line).split()[:3] == ["best", "1.00", "2.000"]
    assert "NVIDIA H200, driver 580, torch 2.11, 2026-11-21, commit ab" in out
    assert "broken: wrong: result 0: error 1" in out
    assert next(line for line in out.splitlines() if "median " in line).split()[-2:] == ["0.950", "ok"]
    assert "2 bars hold, 0 are missed, 0 not judged, 1 rows failed" in out


def test_show_prints_errors_beside_torchs(record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checks = tuple({"error": error, "tolerance": 2e-5, "reason": ""} for error in (1.5e-6, 0.0))
    several = replace(ROW, times=TIMES, checks=checks, eager_errors=(3e-4, 0.0))
    one = replace(several, name="sum", checks=checks[:1], eager_errors=(0.0,))
    without = replace(several, name="no torch", eager_errors=())
    write_record(tmp_path / "r.json", replace(record, rows=(several, one, without)))
    assert main(["show", str(tmp_path / "r.json")]) == 0
    table = capsys.readouterr().out.partition("errors against float64")[2]
    assert "scale, result 0   1.5e-06   3.0e-04       2e-05" in table
    assert "sum               1.5e-06   0.0e+00       2e-05" in table
    assert "result 1" not in table and "no torch" not in table
    write_record(tmp_path / "r.json", record)
    assert main(["show", str(tmp_path / "r.json")]) == 0
    assert "errors against" not in capsys.readouterr().out


def test_compare_prints_what_changed(record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faster = {**TIMES, "irc": tuple(seconds / 2 for seconds in TIMES["irc"])}
    write_record(tmp_path / "old.json", record)
    write_record(tmp_path / "new.json", replace(record, rows=(replace(ROW, times=faster),)))
    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines() if line.startswith(" scale")]
    own = ["scale", "2", "ms", "1", "ms", "2.00"]
    assert lines == [
        [*own, "0.95", "of", "copy", "0.950", "1.900", "2.000", "ok"],
        [*own, "1.00", "of", "best", "2.000", "4.000", "2.000", "ok"],
    ]
    assert "2 ratios, 0 below 0.99: least 2.000, geometric mean 2.000" in out
    assert "in the old record alone: broken" in out


def test_compare_puts_the_ratio_that_got_worst_first(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By what both records have: a bar of the new one, that of a row's group, and the best of the peers of both."""
    with_bars = replace(ROW, bars=("<= 0.60 of best",), times=TIMES)
    of_group = replace(ROW, name="of a group", bars=(), times=TIMES)
    other = replace(ROW, name="other", group="elsewhere", bars=(), times=TIMES)
    write_record(tmp_path / "old.json", replace(record, rows=(replace(with_bars, bars=()), of_group, other)))
    slower = {name: seconds for name, seconds in TIMES.items() if name != "compile"}
    slower |= {"irc": tuple(2 * seconds for seconds in TIMES["irc"])}
    faster = {**TIMES, "irc": tuple(seconds / 4 for seconds in TIMES["irc"])}
    rows = (replace(other, times=faster), replace(of_group, times=faster), replace(with_bars, times=slower))
    write_record(tmp_path / "new.json", replace(record, rows=rows))
    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0
    out = capsys.readouterr().out
    first, second, third = (line.split() for line in out.splitlines() if line.startswith((" scale", " of", " other")))
    assert first[0] == "scale" and first[-5:] == ["best", "0.500", "1.000", "0.500", "miss"]
    assert second[:3] == ["of", "a", "group"] and second[-5:] == ["copy", "0.950", "3.800", "4.000", "ok"]
    assert third == ["other", "2", "ms", "500", "us", "4.00"]
    assert "2 ratios, 1 below 0.99: least 0.500" in out


def test_parts_of_a_suite_are_joined(record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bars of groups are judged on the rows of all of them."""
    half = {**TIMES, "copy": tuple(seconds / 4 for seconds in TIMES["copy"])}
    parts = {
        "a.json": replace(record, rows=record.rows[:1]),
        "b.json": replace(
            record, rows=(replace(ROW, name="slow", times=half),), machine=record.machine | {"date": "later"}
        ),
    }
    for name, part in parts.items():
        write_record(tmp_path / name, part)
    names, whole = [str(tmp_path / name) for name in parts], tmp_path / "whole.json"
    assert main(["join", *names, "--json", str(whole)]) == 0
    assert read_record(whole) == replace(record, rows=(*parts["a.json"].rows, *parts["b.json"].rows))
    groups = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(" pointwise")]
    assert groups == [["pointwise", "2", "median", "0.90", "of", "copy", "0.594", "miss"]]
    for other, message in (
        (replace(record, suite="t"), "has another suite than"),
        (replace(record, machine=record.machine | {"gpu": "NVIDIA H100"}), "has another gpu than"),
        (replace(record, settings={"repetitions": 5}), "has another setting than"),
        (record, "row 'scale' is in a file before it too"),
    ):
        write_record(tmp_path / "b.json", other)
        assert main(["join", *names, "--json", str(whole)]) == 1
        assert message in capsys.readouterr().err


def test_every_variant_has_a_color() -> None:
    assert {"irc", RIVAL, *HOST, *LIMITS, *PEERS} == set(COLORS)


@pytest.mark.parametrize("name", ["plot.svg", "plot.png"])
def test_a_plot_is_written(name: str, record: Record, tmp_path: Path) -> None:
    write_record(tmp_path / "r.json", record)
    assert main(["show", str(tmp_path / "r.json"), "--plot", str(tmp_path / name)]) == 0
    content = (tmp_path / name).read_bytes()
    if name.endswith("png"):
        assert content.startswith(b"\x89PNG")
    else:
        assert ElementTree.fromstring(content).tag.endswith("svg")


def test_without_matplotlib_a_plot_says_so(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_record(tmp_path / "r.json", record)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["show", str(tmp_path / "r.json"), "--plot", str(tmp_path / "p.svg")]) == 1
    assert (
        "--plot needs matplotlib, which is not installed\nhint: pip install 'irc-compiler[bench]'"
        in capsys.readouterr().err
    )


def test_list_shows_rows_and_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--suite", "memory", "--list", "--filter", "softmax"]) == 0
    out = capsys.readouterr().out
    assert "softmax 16384x8192 bf16" in out
    assert "0.95 of copy; 1.00 of compile" in out
    assert "layer_norm" not in out


def test_the_name_of_a_row_is_that_row_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--suite", "compile-torch", "--list", "--filter", "bert"]) == 0
    out = capsys.readouterr().out
    assert "bert " in out
    assert "bert, training" not in out


@pytest.mark.skipif(is_present(), reason="a GPU is present")
def test_without_a_gpu_a_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--filter", "softmax"]) == 1
    assert capsys.readouterr().err.startswith("error: no CUDA GPU is present\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "nothing"], "unknown suite nothing"),
        (["--suite", "nothing.toml"], "cannot read nothing.toml"),
        (["--filter", "no such row"], "no row of memory has no such row in its name"),
        (["--repetitions", "0"], "--repetitions 0: expected a positive number"),
        (["--seed", "-1"], "--seed -1: expected a number that is not negative"),
        (["--limit", "0"], "--limit 0: expected a positive number of seconds"),
        (["--peers", "eager,jax"], "--peers: unknown 'jax'"),
        (["--plot", "picture.gif"], "--plot picture.gif: expected a file that ends in .svg or .png"),
        (["--suite", "memory", "--suite", "gemm", "--json", "x"], "--json and --plot take one suite at a time"),
        (["show", "missing.json"], "cannot read missing.json"),
        (["compare", "a.json"], "the following arguments are required: NEW"),
        (["join", "a.json"], "the following arguments are required: --json"),
        (["bench"], "unrecognized arguments: bench"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is no record of irc-bench"),
        ('{"format": 99}', "is no record of irc-bench"),
        ('{"format": 1, "rows": [{"name": "x"}]}', "is no whole record"),
        ('{"format": 1, "rows": [], "summaries": []}', "is no whole record"),
    ],
)
def test_files_that_are_no_records(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    assert main(["show", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_record_is_plain_json(record: Record, tmp_path: Path) -> None:
    write_record(tmp_path / "r.json", record)
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["rows"][0]["times"]["copy"] == [0.0019, 0.00098, 0.0036]


RESULTS = sorted((Path(__file__).parents[2] / "benchmarks" / "results").glob("*.json"))


@long(8)
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_show_reads_every_record_of_the_repository(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row is there, by its name."""
    assert main(["show", str(path)]) == 0
    printed = capsys.readouterr().out
    lists = [value for value in json.loads(path.read_text()).values() if isinstance(value, list)]
    names = [row["name"] for rows in lists for row in rows if isinstance(row, dict) and "name" in row]
    folded = json.loads(path.read_text()).get("format") is not None  # irc-bench's own tables have a width
    assert [name for name in names if name.split()[0] not in printed or not (folded or name in printed)] == []


def test_show_refuses_what_is_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, message in (
        ("{}", "nor of another benchmark"),
        ("[1]", "nor of another benchmark"),
        ("{", "not JSON"),
    ):
        (tmp_path / "r.json").write_text(text)
        assert main(["show", str(tmp_path / "r.json")]) == 1
        assert message in capsys.readouterr().err
