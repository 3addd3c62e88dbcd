"""What a traced loop nest is: its program, and what is known of it to choose a config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from irc.dialects import tile
from irc_frontend.graph import Node
from irc_frontend.kernels.access import TileAccess
from irc_frontend.kernels.indices import LoopTile
from irc_frontend.kernels.ragged import Axes
from irc_frontend.tensor import Tensor

Numbers: TypeAlias = tuple[int | None, ...]
"""The numbers of the loops' tiles that the axes of a value are."""


@dataclass
class Launched:
    """A traced loop nest: the program, the arrays that it reads, the Tensors that it writes, and what is known of it to
    choose a config."""

    program: tile.ProgramOp
    reads: list[Node]
    writes: list[Tensor]
    facts: Facts


@dataclass(frozen=True)
class Product:
    """A product of tiles: the axes of its operands, element types, and whether each is loaded as it lies in memory.
    is_fed: whether an operand is made of what another product gave, or of what a loop carries."""

    lhs: Axes
    rhs: Axes
    shape: tuple[int, int, int]
    element: str
    loads: tuple[TileAccess | None, TileAccess | None]
    is_fed: bool = False


@dataclass
class Facts:
    """What a loop nest does, for the choice of a config. carried: for each loop inside the axes of what it carries
    behind an iteration. turned: accesses of arrays that the kernel sees permuted. walked: how often the outermost loop
    goes over its tiles, for all numbers of its ranges. stores: those of accesses that write. bounded: loops inside that
    begin or end where another one is. ended: those that end where data says."""

    outer: list[LoopTile] = field(default_factory=list[LoopTile])
    walked: int = 1
    inner: list[LoopTile] = field(default_factory=list[LoopTile])
    products: list[Product] = field(default_factory=list[Product])
    accesses: list[TileAccess] = field(default_factory=list[TileAccess])
    stores: list[TileAccess] = field(default_factory=list[TileAccess])
    carried: list[list[Numbers]] = field(default_factory=list[list[Numbers]])
    reduced: list[LoopTile] = field(default_factory=list[LoopTile])
    turned: list[TileAccess] = field(default_factory=list[TileAccess])
    bounded: list[LoopTile] = field(default_factory=list[LoopTile])
    ended: list[LoopTile] = field(default_factory=list[LoopTile])
