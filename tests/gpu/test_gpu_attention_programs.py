"""Attention as a user writes it at the tile level, on a GPU: every instruction, number of stages and schedule, right or
refused where the stages do not fit into shared memory, or a dot in flight into registers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numerics.attention_programs import EVERY, REFUSED, Attention

import irc
from irc.runtime.driver import is_present
from irc.support.diagnostics import IrcError

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

TILES = 300
"""More than a GPU has SMs, so that a block that persists has several."""


def _name(program: Attention) -> str:
    return f"{program.config.replace(' ', '')}-{program.rows}x{program.keys}x{program.head}"


@pytest.mark.parametrize("program", EVERY, ids=_name)
def test_every_instruction_number_of_stages_and_schedule(program: Attention, tmp_path: Path) -> None:
    program = replace(program, queries=TILES * program.rows)
    (tmp_path / "attention.mlir").write_text(program.text)
    try:
        executable = irc.compile(tmp_path / "attention.mlir", target="cuda")
    except IrcError as error:
        assert REFUSED.search(str(error)) and error.location is not None
        pytest.skip(error.message)
    arguments = program.arguments()
    expected = program.expected(arguments)
    result = np.asarray(executable(*arguments)).astype(np.float64)
    assert np.abs(result - expected).max() < 1e-2 * np.abs(expected).max()
