"""Drawn tile programs are right on the simulator in every form, or refused by one message that names the op."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from drawing import long, seeds
from numerics.drawn_tiles import draw_program
from numerics.judged_tiles import judge
from numerics.sweep_tiles import main


@long(6)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24, first=7000))
def test_a_drawn_program(seed: int) -> None:
    _check(seed)


@long(4)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24, first=7500))
def test_loops_whose_bounds_depend_on_the_tile(seed: int) -> None:
    """One block has all tiles of those that persist."""
    _check(seed, values=True)


def _check(seed: int, *, values: bool = False) -> None:
    judged = judge(seed, values=values)
    assert judged.is_good, f"{judged.verdict}: {judged.reason}"


def test_the_table_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was found goes by form and by message. The exit status says whether something was wrong."""
    refused = {"verdict": "refused", "reason": "/tmp/x/drawn.mlir:6:1: drawn needs 281600 bytes\nand more"}
    found = [
        {"seed": 10, "values": True, "verdict": "right", "reason": ""},
        {"seed": 3, "values": False, **refused},
        {"seed": 4, "values": False, **refused, "reason": "drawn.mlir:7:2: drawn needs 9 bytes"},
        {"seed": 5, "values": False, "verdict": "wrong", "reason": "0.5 off, of 0.02 allowed"},
        {"seed": 5, "values": False, "verdict": "right", "reason": ""},
    ]
    records = tmp_path / "tiles.jsonl"
    records.write_text("".join(json.dumps(each) + "\n" for each in found))
    arguments = ["--count", "0", "--records", str(records), "--json", str(tmp_path / "table.json")]
    assert main(arguments) == 0
    content = json.loads((tmp_path / "table.json").read_text())
    assert (content["programs"], content["right"], content["refused"], content["wrong"]) == (4, 2, 2, 0)
    (message,) = content["messages"]
    assert message == {"verdict": "refused", "message": "drawn needs N bytes", "programs": 2, "seed": 3}
    assert "wgmma, persistent, 4 stages, bounds by tile" in capsys.readouterr().out
    records.write_text(records.read_text() + json.dumps(found[3]) + "\n")
    assert main(arguments) == 1


def test_a_consumer_whose_turn_never_comes() -> None:
    """Two consumers take turns in one tile: the second one has nothing to do."""
    _check(20010)
    assert 'schedule = "pingpong"' in draw_program(20010).config


@pytest.mark.parametrize("seed", [20220, 20291])
def test_slices_of_products_of_other_warps(seed: int) -> None:
    """An epilogue adds subtiles of two products, whose warps are split between rows and columns in two ways: as wide as
    each other, and of unequal steps of registers."""
    _check(seed)
    assert 'instruction = "mma"' in draw_program(seed).config


@pytest.mark.parametrize("seed", [10, 17])
def test_a_held_stage_that_no_dot_reads(seed: int) -> None:
    """Several tiles of a block have no step: their stage of the left operand is waited for and released at once, and a
    warp that is late must not miss it."""
    _check(seed, values=True)
    assert 'instruction = "wgmma"' in draw_program(seed, values=True).config
