"""The training examples, on the cpu target: what they reach, and that an interrupted run ends as one that was not."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import slow

from irc.support.diagnostics import IrcError

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES)
    pytest.importorskip("sklearn")
    return importlib.import_module


def test_digits_are_97_percent_right(load: Any, tmp_path: Path) -> None:
    assert load("train_digits").main(["--target", "cpu", "--out", str(tmp_path)]) >= 0.97
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint.safetensors", "loss.png"}
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_the_residual_network_learns(load: Any) -> None:
    assert load("train_resnet").main(["--target", "cpu", "--steps", "100"]) >= 0.95


def test_the_mixture_of_experts_learns(load: Any) -> None:
    assert load("train_experts").main(["--target", "cpu"]) >= 0.96


def test_breast_cancer(load: Any) -> None:
    assert load("train_cancer").main(["--target", "cpu"]) >= 0.96


def test_the_gpt_learns_and_goes_on_after_an_interruption(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load("train_gpt")
    for name, small in {"CONTEXT": 16, "WIDTH": 32, "HELD_OUT": 0.01, "WRITTEN": 20}.items():
        monkeypatch.setattr(module, name, small)
    options = ["--target", "cpu", "--steps", "120", "--save-every", "50"]
    whole = module.main([*options, "--out", str(tmp_path / "whole")])
    _, counts = np.unique(module.corpus()[1], return_counts=True)
    shares = counts / counts.sum()
    assert whole < -(shares * np.log(shares)).sum() - 0.3, "not much better than by the characters' frequencies"
    batch_of = module.batch_of

    def interrupted(text: Any, seed: int, number: int) -> Any:
        if number == 70:
            raise KeyboardInterrupt
        return batch_of(text, seed, number)

    monkeypatch.setattr(module, "batch_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        module.main([*options, "--out", str(tmp_path / "parts")])
    monkeypatch.setattr(module, "batch_of", batch_of)
    parts = module.main([*options, "--out", str(tmp_path / "parts"), "--resume"])
    assert parts == whole
    assert len({(tmp_path / name / "checkpoint.safetensors").read_bytes() for name in ("whole", "parts")}) == 1
    shown = capsys.readouterr().out
    assert shown.count("nats a character") == 2


def test_nothing_to_resume(load: Any, tmp_path: Path) -> None:
    with pytest.raises(IrcError, match="cannot read"):
        load("train_cancer").main(["--target", "cpu", "--out", str(tmp_path), "--resume"])


def test_no_gpu_is_one_line(load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(load("loop"), "is_present", lambda: False)
    with pytest.raises(SystemExit):
        load("train_resnet").main(["--target", "cuda"])
    assert capsys.readouterr().err.splitlines()[-1].endswith("without --target it runs on the CPU")


@slow
@pytest.mark.parametrize("mesh", [{"data": 2}, {"model": 2}, {"data": 2, "model": 2}])
def test_the_gpt_learns_alike_on_several_ranks(mesh: dict[str, int]) -> None:
    """Processes that exchange by gloo: the step is one function, and its loss that of one process."""
    pytest.importorskip("sklearn")
    pytest.importorskip("torch")
    options = [f"--{axis}={size}" for axis, size in mesh.items()]
    assert _loss(prod(mesh.values()), *options) == pytest.approx(_loss(1), abs=2e-3)


@cache
def _loss(ranks: int, *options: str) -> float:
    command = [sys.executable, "-m", "irc_tools.launch", "-n", str(ranks), str(EXAMPLES / "train_gpt_sharded.py")]
    found = subprocess.run(
        [*command, "--steps", "3", *options], env={**os.environ, "IRC_TARGET": "cpu"}, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    (loss,) = re.findall(r": ([\d.]+) nats a character", found.stdout)
    return float(loss)
