"""The comparison of a learned cost model with the formula: a model learns what the formula misses on other kernels, and
the formula stays where it is right."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from irc.configs.alone import alone, config_text, key_of
from irc.configs.learned import LearnedModel
from irc.configs.space import KernelSpace
from irc.dialects.kernel import ConfigAttr
from irc.driver.compiler import Options
from irc.driver.program import parse
from irc.driver.tuning import tunable_kernels
from irc.ir.printer import print_ir
from irc.ir.targets import set_target, target

CHIP = "sm_90a"
KERNELS, CONFIGS = 8, 12

Factor = Callable[[ConfigAttr, Random], float]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("cost_model")


def rows(factor: Factor) -> list[dict[str, Any]]:
    """Rows of products whose configs take what the formula says, times a factor."""
    found: list[dict[str, Any]] = []
    for number in range(KERNELS):
        m, n, k = 256 << number % 4, 512 << number % 3, 512 + 256 * number
        text = f"func f(x: bf16[{m}, {k}], w: bf16[{k}, {n}]) -> bf16[{m}, {n}] {{\n    return x @ w\n}}"
        module = parse(text, "product")
        set_target(module, CHIP)
        (tunable,) = tunable_kernels(module, Options(CHIP))
        kernel, machine, random = tunable.kernel, target(CHIP), Random(number)
        key, space = key_of(kernel, machine), KernelSpace(kernel, machine)
        draws = (space.drawn(random) for _ in range(3 * CONFIGS))
        similar = (each for each in draws if each is not None and each.instruction == "wgmma")
        drawn = dict.fromkeys([space.seeds[0], *similar])
        for config in list(drawn)[:CONFIGS]:
            estimate = space.estimate(config)
            row = {"kernel": key.kernel, "shapes": key.shapes, "chip": CHIP, "config": config_text(config)}
            row |= {"text": print_ir(alone(kernel, machine)), "outcome": "timed", "reason": "", "estimate": estimate}
            found.append({**row, "seconds": estimate * factor(config, random)})
        found.append({**found[-1], "config": "stages = 99", "outcome": "failed", "seconds": None})
    return found


def turns_pay(config: ConfigAttr, random: Random) -> float:
    return (1.0 if config.schedule == "pingpong" else 3.0) * random.uniform(0.98, 1.02)


def test_a_model_learns_what_the_formula_misses(model: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And is written for the kinds where it wins."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(turns_pay)))
    found = model.main([str(path), "--save", str(tmp_path)])["matmul"]
    assert found["learned"]["kernels"] == KERNELS
    assert found["learned"]["correlation"] > found["formula"]["correlation"]
    assert found["learned"]["regret 1"] < found["formula"]["regret 1"]
    assert "the learned model wins for matmul" in capsys.readouterr().out
    saved = LearnedModel.of((tmp_path / f"{CHIP}.json").read_text())
    assert list(saved.shares) == ["matmul"]
    assert saved.about == {"rows": KERNELS * CONFIGS, "kernels": KERNELS, "machine": {}}
    assert "schedule=pingpong" in saved.names


def test_the_formula_stays_where_it_is_right(model: Any, tmp_path: Path) -> None:
    samples = model.samples_of(rows(lambda config, random: 1.0))
    found = model.compared(samples)
    assert found["all"]["formula"]["correlation"] == pytest.approx(1)
    assert found["all"]["formula"]["regret 1"] == 1
    assert not model.wins(found["all"])


def test_kernels_that_differ_by_their_shapes_are_held_out_together(model: Any) -> None:
    samples = model.samples_of(rows(turns_pay))
    assert len({each.kernel for each in samples}) == KERNELS
    assert [len(fold) for fold in model._folds(samples)] == [1] * len({each.kernel[0] for each in samples})


def test_kernels_whose_own_config_is_not_timed_are_left_out(model: Any) -> None:
    found = rows(turns_pay)
    assert model.samples_of(found[1 : CONFIGS + 1]) == []
    assert len(model.samples_of(found[: CONFIGS + 1])) == CONFIGS


def test_correlations_are_of_ranks(model: Any) -> None:
    assert model._correlation([(1, 1), (2, 10), (3, 100)]) == pytest.approx(1)
    assert model._correlation([(1, 100), (2, 10), (3, 1)]) == pytest.approx(-1)
    assert model._correlation([(1, 1), (1, 2), (2, 3)]) == pytest.approx(0.75**0.5)
    assert model._correlation([(1, 5), (1, 6)]) == 0


def test_few_kernels_are_no_comparison(model: Any) -> None:
    samples = model.samples_of(rows(turns_pay)[: CONFIGS + 1])
    with pytest.raises(SystemExit, match="8 kernels"):
        model.compared(samples)
