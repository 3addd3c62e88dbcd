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
    pytest.importorskip("sklearn")
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
        drawn = {config: None for _ in range(3 * CONFIGS) if (config := space.drawn(random)) is not None}
        for config in list(drawn)[:CONFIGS]:
            estimate = space.estimate(config)
            row = {"kernel": key.kernel, "shapes": key.shapes, "chip": CHIP, "config": config_text(config)}
            row |= {"text": print_ir(alone(kernel, machine)), "outcome": "timed", "reason": "", "estimate": estimate}
            found.append({**row, "seconds": estimate * factor(config, random)})
        found.append({**found[-1], "outcome": "failed", "seconds": None})
    return found


def turns_pay(config: ConfigAttr, random: Random) -> float:
    return (1.0 if config.schedule == "pingpong" else 1.5) * random.uniform(0.98, 1.02)


def test_a_model_learns_what_the_formula_misses(model: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(turns_pay)))
    found = model.main([str(path)])
    assert found["learned"]["kernels"] == KERNELS
    assert found["learned"]["correlation"] > found["formula"]["correlation"]
    assert found["learned"]["regret 1"] < found["formula"]["regret 1"]
    assert capsys.readouterr().out.splitlines()[-1] == "the learned model wins"


def test_the_formula_stays_where_it_is_right(model: Any) -> None:
    found = model.compared(model.samples_of(rows(lambda config, random: 1.0)))
    assert found["formula"]["correlation"] == pytest.approx(1)
    assert found["formula"]["regret 1"] == 1
    assert not model.wins(found)


def test_few_kernels_are_no_comparison(model: Any) -> None:
    samples = model.samples_of(rows(turns_pay))
    with pytest.raises(SystemExit, match="8 kernels"):
        model.compared([each for each in samples if each.kernel == samples[0].kernel])
