"""The README's worked example is what irc-opt prints, and its programs and those of docs/training.md run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc_frontend import nn
from irc_tools.opt import main

README = Path(__file__).parents[2] / "README.md"


def _blocks() -> list[tuple[str, str]]:
    """The code blocks of the README, each with the line of text before it."""
    return re.findall(r"([^\n]*)\n\n```\w*\n(.*?)```", README.read_text(), re.DOTALL)


def _shown_and_printed(passes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What the README shows of its program after the passes, and what irc-opt prints."""
    blocks = _blocks()
    program = next(code for _, code in blocks if code.startswith("# dense.irc"))
    shown = next(code for text, code in blocks if re.search(rf"-p '?{re.escape(passes)}'?`", text))
    path = tmp_path / "dense.irc"
    path.write_text(program)
    assert main([str(path), "-p", passes]) == 0
    return shown, capsys.readouterr().out


@pytest.mark.parametrize("passes", ["nd", "kernel,tile-kernels"])
def test_the_worked_example_is_real(passes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown, out = _shown_and_printed(passes, tmp_path, capsys)
    printed = {line.strip() for line in out.split("\n")}
    assert [line for line in shown.strip().split("\n") if line.strip() not in printed] == []


def test_the_config_of_the_worked_example_is_the_one_that_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, out = _shown_and_printed("kernel", tmp_path, capsys)
    (config,) = re.findall(r"config<.*?>", shown, re.DOTALL)
    assert " ".join(config.split()) in out


def test_the_tiles_of_the_worked_example_are_real(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown, out = _shown_and_printed("tile", tmp_path, capsys)
    printed = [line.strip() for line in out.split("\n")]
    wanted = [line.strip() for line in shown.split("\n") if line.strip() != "..."]
    assert [line for line in wanted if not any(each.startswith(line) for each in printed)] == []


def _run(path: Path, marker: str, values: dict[str, Any]) -> dict[str, Any]:
    """Runs the Python block that has the marker; what it leaves."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    code = next(block for block in blocks if marker in block)
    exec(compile(code, path.name, "exec"), values)
    return values


def _batch() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((8, 64)).astype(np.float32), rng.integers(0, 10, 8)


def test_the_first_program_of_the_readme_runs() -> None:
    with ir.target("cpu"):
        values = _run(README, "irc.compile(", {})
    assert values["y"].shape == (512, 512)
    assert (values["y"] == 257).all()


def test_the_numbers_of_the_readme_are_of_the_commits_that_it_names() -> None:
    named = re.findall(r"of (\d{4}-\d\d-\d\d) at commit (\w{7})\s+\(([^)]*)\)", README.read_text())
    suites = {suite: (date, commit) for date, commit, listed in named for suite in re.findall(r"[\w-]+", listed)}
    assert set(suites) == {"gemm", "memory", "torch-models", "torch-training"}
    for suite, (date, commit) in suites.items():
        record = README.parent / "benchmarks" / "results" / f"{date}-h200-{suite}.json"
        assert json.loads(record.read_text())["machine"]["commit"].startswith(commit)


SHOWN = {
    "x @ w, 8192": ("gemm", "8192^3"),
    "silu(x @ w1)": ("gemm", "swiglu 8192x14336x4096"),
    "gelu(x @ w + b) + r": ("gemm", "gelu_tanh(x@w+b)+r 8192x8192x2048"),
    "forward and backward of a gated unit": ("gemm", "gated_unit_step 4096"),
    "softmax of 16384 x 8192": ("memory", "softmax 16384x8192 bf16"),
    "permute (4,2,0,3,1)": ("memory", "(4,2,0,3,1) 24x32x40x48x56 bf16"),
    "forward pass of GPT-2": ("torch-models", "gpt2", "bert"),
    "training step of that GPT-2": ("torch-training", "gpt2", "llama"),
}
"""The row of a suite's record, or two, that each row of the table is of."""


def _measured(suite: str, name: str) -> tuple[list[str], list[str]]:
    """What irc and the fastest of torch were measured at, in every unit, and a copy."""
    date = next(found for found, listed in _named() if suite in re.findall(r"[\w-]+", listed))
    record = json.loads((README.parent / "benchmarks" / "results" / f"{date}-h200-{suite}.json").read_text())
    row = next(row for row in record["rows"] if row["name"] == name)
    times = {variant: median(values) for variant, values in row["times"].items()}
    best = min(seconds for variant, seconds in times.items() if variant not in ("irc", "copy", "read"))
    return _written(times["irc"], row["bytes"]), _written(best, row["bytes"])


def _written(seconds: float, bytes: int) -> list[str]:
    digits = [f"{each:#.3g}".rstrip(".") for each in (seconds * 1e3, seconds * 1e6)]
    return [f"{digits[0]} ms", f"{digits[1]} us", f"{bytes / seconds / 1e9:.0f} GB/s"]


def _named() -> list[tuple[str, str]]:
    return re.findall(r"of (\d{4}-\d\d-\d\d) at commit \w{7}\s+\(([^)]*)\)", README.read_text())


def test_the_speeds_of_the_readme_are_those_of_the_records() -> None:
    table = README.read_text().partition("| bf16 | irc | torch |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == len(SHOWN)
    for what, *cells in rows:
        suite, *names = next(found for start, found in SHOWN.items() if what.startswith(start))
        measured = [_measured(suite, name) for name in names]
        for column, cell in enumerate(cells):
            for shown, found in zip(cell.split(", "), measured, strict=True):
                assert shown in found[column], (what, shown, found[column])


def test_the_training_step_of_the_readme_trains() -> None:
    with ir.target("cpu"):
        values = _run(README, "from irc_frontend import nn, optim", {"ir": ir})
        params, (x, y) = values["model"].init(0), _batch()
        memory, losses = values["optimizer"].init(params), list[float]()
        for _ in range(20):
            params, memory, loss = values["step"](params, memory, x, y)
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 1.5


def test_the_programs_of_the_training_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = README.parent / "docs" / "training.md"
    monkeypatch.chdir(tmp_path)
    with ir.target("cpu"):
        values = _run(page, "for x, y in batches", {"batches": [_batch()] * 3})
        assert values["memory"]["step"].item() == 3
        assert (tmp_path / "model.safetensors").exists()
        values = _run(page, "class Mlp", {"ir": ir, "nn": nn, "dataclass": dataclass, "__name__": __name__})
        assert values["model"](values["model"].init(0), _batch()[0]).shape == (8, 10)
