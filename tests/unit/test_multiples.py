"""What index values are known to be multiples of."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from irc.analysis.multiples import multiple_of
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
