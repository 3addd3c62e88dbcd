"""order-tiles: the tiles with the longest loops come first, those that share sectors of memory one after another."""

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
from irc.ir.dtypes import element_of
from irc.ir.properties import numbers
from irc.layout.requests import SECTOR_BYTES

SECTORS = 8
"""That neighbors which share some are less than apart: of rows, one sector in so many, or more, has the end of one and
the beginning of the next."""


@dataclass(frozen=True)
class OrderTilesPass(ProgramPass):
    """A loop over tiles, of which those further along a dimension have loops of more iterations -> one that is
    `reversed` along this dimension, as the tiles of causal attention are along its rows. Blocks begin in the order of
    tiles: what is left for the last ones is short (Graham's longest processing time first, 1969).

    Loops over tiles that say what is reversed, be it nothing, keep it. So do those whose tiles have the same number of
    iterations, or where it is not known to grow, as in a sliding window.

    Where tiles of a product along a dimension before the last two store to the same sectors, it is one of the
    `fastest`: phases of transposed convolutions with channels first, elements between each other's, and groups of few
    outputs with channels last. Sectors are whole before they leave the L2 cache, and what else is read there, or in
    other channels of the same pixels, is read once. So are phases of short rows that end inside of a sector. Where
    phases differ in their iterations, `lower-schedule` has blocks go on to another one.
    """

    name: ClassVar[str] = "order-tiles"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [each for each in program.walk() if isinstance(each, tile.ForTilesOp)]:
            dims = [dim for dim, offset in enumerate(loop.offsets) if _grows(loop, offset)]
            if dims and loop.reverse is None:
                loop.reverse = numbers(dims)
            shared = [dim for dim, offset in enumerate(loop.offsets[:-2]) if _shares_sectors(loop, offset)]
            if shared and loop.fastest is None:
                loop.fastest = numbers(shared)


def _shares_sectors(loop: tile.ForTilesOp, offset: SSAValue) -> bool:
    """Whether tiles of a product that are neighbors along a dimension store to the same sectors: elements of theirs, or
    short rows, are no whole sectors apart."""
    if not any(isinstance(op, tile.DotOp) for op in loop.walk()):
        return False
    stores = [op for op in loop.walk() if isinstance(op, tile.StoreOp) and offset in (*op.offsets, *op.symbols)]
    return any((apart := _apart(store, offset)) < SECTORS * SECTOR_BYTES and apart % SECTOR_BYTES for store in stores)


def _apart(store: tile.StoreOp, offset: SSAValue) -> int:
    """Bytes between the first elements of a tile and of the next one along a dimension."""
    map, view = store.access_map, store.view_type
    zeros = [0] * map.num_dims, [0] * map.num_symbols
    ones = [int(value is offset) for value in store.offsets], [int(value is offset) for value in store.symbols]
    moved = (b - a for a, b in zip(map.eval(*zeros), map.eval(*ones), strict=True))
    apart = sum(stride * by for stride, by in zip(view.get_strides(), moved, strict=True))
    return abs(apart) * element_of(view.element_type).size


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
