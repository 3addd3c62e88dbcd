"""Drawn tile programs are right on the simulator in every form, or refused by one message that names the op."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from drawing import long, seeds
from numerics.drawn_tiles import Program, draw_program

import irc
from irc.driver.program import new_context
from irc.interpreters.sim import SimulationError
from irc.interpreters.tile import interpreter
from irc.ir import targets
from irc.ir.parser import parse_ir
from irc.support.diagnostics import IrcError


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24, first=7000))
def test_a_drawn_program(seed: int, tmp_path: Path) -> None:
    _compare(draw_program(seed), tmp_path)


@long(4)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24, first=7500))
def test_loops_whose_bounds_depend_on_the_tile(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block has all tiles of those that persist."""
    known = {t.name: t for t in targets.TARGETS}
    known["sm_90a"] = dataclasses.replace(known["sm_90a"], sms=1)
    monkeypatch.setattr(targets, "_by_name", lambda: known)
    _compare(draw_program(seed, values=True), tmp_path)


def _compare(program: Program, tmp_path: Path) -> None:
    (expected,) = interpreter.evaluate(parse_ir(new_context(), program.text, "drawn.mlir"), program.arguments)
    path = tmp_path / "drawn.mlir"
    path.write_text(program.text)
    try:
        result = np.asarray(irc.compile(path, target="sim")(*program.arguments))
    except SimulationError:
        raise
    except IrcError as error:
        assert error.location is not None
        assert "internal" not in str(error)
        return
    error = np.abs(result.astype(np.float64) - expected.astype(np.float64)).max()
    assert error < 2e-2 * max(1.0, float(np.abs(expected).max()))


def test_a_consumer_whose_turn_never_comes(tmp_path: Path) -> None:
    """Two consumers take turns in one tile: the second one has nothing to do."""
    test_a_drawn_program(20010, tmp_path)
    assert 'schedule = "pingpong"' in draw_program(20010).text


@pytest.mark.parametrize("seed", [20220, 20291])
def test_slices_of_products_of_other_warps(seed: int, tmp_path: Path) -> None:
    """An epilogue adds subtiles of two products, whose warps are split between rows and columns in two ways: as wide as
    each other, and of unequal steps of registers."""
    test_a_drawn_program(seed, tmp_path)
    assert 'instruction = "mma"' in draw_program(seed).text
