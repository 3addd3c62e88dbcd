"""order-tiles: the tiles with the longest loops come first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from irc.analysis.index_values import opposite, slope, together
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.properties import numbers


@dataclass(frozen=True)
class OrderTilesPass(ProgramPass):
    """A loop over tiles, of which those further along a dimension have loops of more iterations -> one that is
    `reversed` along this dimension, as the tiles of causal attention are along its rows. Blocks begin in the order of
    tiles: what is left for the last ones is short (Graham's longest processing time first, 1969).

    Loops over tiles that say what is reversed, be it nothing, keep it. So do those whose tiles have the same number of
    iterations, or where it is not known to grow, as in a sliding window.
    """

    name: ClassVar[str] = "order-tiles"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [each for each in program.walk() if isinstance(each, tile.ForTilesOp)]:
            dims = [dim for dim, offset in enumerate(loop.offsets) if _grows(loop, offset)]
            if dims and loop.reverse is None:
                loop.reverse = numbers(dims)


def _grows(loop: tile.ForTilesOp, offset: SSAValue) -> bool:
    """Whether loops have more iterations the further on the tile is, and none has fewer. Of two loops of which one ends
    where the other begins, it matters where both begin and end."""
    inner = [op for op in loop.walk() if isinstance(op, scf.ForOp)]
    begins, ends = [(op.lb, op.step) for op in inner], [(op.ub, op.step) for op in inner]
    for place in [each for each in begins if each in ends]:
        begins.remove(place)
        ends.remove(place)
    slopes = [slope(end, offset) for end, _ in ends] + [opposite(slope(begin, offset)) for begin, _ in begins]
    return reduce(together, slopes, 0) == 1
