"""What index values are known to be multiples of, and whether they grow with the offset of a tile."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from irc.analysis.index_values import multiple_of, slope
from irc.dialects import tile
from irc.driver.program import parse


@pytest.mark.parametrize(
    ("bound", "multiple"),
    [
        ("arith.subi %i, %c96", 32),
        ("arith.maxsi %i, %c96", 32),
        ("arith.minsi %i, %c96", 32),
        ("arith.muli %i, %c96", 64 * 96),
        ("arith.remui %i, %c96", 1),
    ],
)
def test_a_loop_from_what_is_computed_from_the_tile(bound: str, multiple: int) -> None:
    text = f"""tile.program @f(%x: !tile.view<256x4xf32>) {{results = 1 : i64}} {{
      tile.for_tiles (%i) extents [256] steps [64] {{
        %c96 = arith.constant 96 : index
        %low = {bound} : index
        scf.for %j = %low to %c96 step %c96 {{}}
      }}
    }}"""
    (loop,) = (op for op in parse(text, "f.mlir").walk() if isinstance(op, scf.ForOp))
    assert multiple_of(loop.lb) == multiple


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("arith.addi %i, %c96", 1),
        ("arith.subi %c96, %i", -1),
        ("arith.subi %i, %i", None),
        ("arith.minsi %c96, %i", 1),
        ("arith.maxsi %back, %c96", -1),
        ("arith.muli %i, %c96", 1),
        ("arith.muli %i, %minus", -1),
        ("arith.muli %i, %i", None),
        ("arith.muli %c96, %c96", 0),
        ("arith.floordivsi %i, %c96", 1),
        ("arith.floordivsi %c96, %i", None),
        ("arith.remsi %i, %c96", None),
        ("arith.remsi %c96, %minus", 0),
        ("arith.addi %i, %back", None),
    ],
)
def test_what_is_computed_from_the_tile(bound: str, expected: int | None) -> None:
    text = f"""tile.program @f(%x: !tile.view<256x4xf32>) {{results = 1 : i64}} {{
      tile.for_tiles (%i) extents [256] steps [64] {{
        %c96 = arith.constant 96 : index
        %minus = arith.constant -2 : index
        %back = arith.subi %c96, %i : index
        %low = {bound} : index
        scf.for %j = %low to %c96 step %c96 {{}}
      }}
    }}"""
    module = parse(text, "f.mlir")
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    (tiles,) = (op for op in module.walk() if isinstance(op, tile.ForTilesOp))
    assert slope(loop.lb, tiles.offsets[0]) == expected
    assert slope(loop.body.block.args[0], tiles.offsets[0]) is None


def test_a_value_that_others_share_is_looked_at_once() -> None:
    shared = "\n".join(f"%v{n + 1} = arith.addi %v{n}, %v{n} : index" for n in range(100))
    apart = "\n".join(f"%w{n + 1} = arith.remsi %w{n}, %w{n} : index" for n in range(100))
    text = f"""tile.program @f(%x: !tile.view<256x4xf32>) {{results = 1 : i64}} {{
      tile.for_tiles (%i) extents [256] steps [64] {{
        %v0 = arith.constant 96 : index
        %w0 = arith.addi %v0, %v0 : index
        {shared}
        {apart}
        scf.for %j = %v100 to %w100 step %v0 {{}}
      }}
    }}"""
    module = parse(text, "f.mlir")
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    (tiles,) = (op for op in module.walk() if isinstance(op, tile.ForTilesOp))
    assert multiple_of(loop.lb) == 96
    assert slope(loop.ub, tiles.offsets[0]) == 0
