"""tile-arrays: arrays of a tile program become tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irc.analysis.invariants import FUSED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.tiling.program_arrays import lower_arrays


@dataclass(frozen=True)
class TileArraysPass(ProgramPass):
    """nd ops in a `tile.program`, which frontends trace kernels to -> maps, reductions and dots of tiles.

    Elementwise ops with one user are a part of its map; an addition to a product is the dot's accumulator. Extents that
    are no powers of two are rounded up: accesses test the ends of the view, and what is reduced or multiplied is masked
    beyond them. Programs without nd ops are left alone.
    """

    name: ClassVar[str] = "tile-arrays"
    requires = (FUSED,)

    def run(self, program: tile.ProgramOp) -> None:
        lower_arrays(program)
