"""The registers that a scheduled loop holds while its dots are in flight."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from irc.analysis.budgets import OTHER_REGISTERS, tile_registers
from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.targets import MAX_REGISTERS
from irc.scheduling.dependences import source_of
from irc.scheduling.schedules import Schedule, carried_tiles, dots_of


def registers_of(value: SSAValue) -> int:
    """A thread's registers for a tile, in flight or not."""
    type = tile.tile_type_of(value.type)
    fragment = tile.fragment_of(type)
    assert fragment is not None
    return tile_registers(fragment.values * element_of(tile.element_type_of(type)).size)


def held_registers(loop: scf.ForOp, schedule: Schedule) -> int:
    """A thread's registers for the accumulators of the loop's dots, their operands in registers and the tiles that an
    iteration leaves to the next."""
    dots = dots_of(loop)
    sources = [source for dot in dots if (source := source_of(dot.acc, loop)) is not None]
    accumulated = {source.value for source in sources if source.distance == 0}
    held = dict.fromkeys(dot.result for dot in dots if dot.result not in accumulated)
    held |= dict.fromkeys(dot.lhs for dot in dots if isinstance(dot.lhs.type, TensorType))
    held |= dict.fromkeys(s.value for s in carried_tiles(loop, schedule) if s.value not in accumulated)
    return sum(map(registers_of, held))


def allowed_registers(loop: scf.ForOp) -> int:
    """What a thread of the loop's partition has for tiles."""
    parent, number = _partition_of(loop)
    counts = () if parent is None else parent.register_counts
    return (counts[number] if counts else MAX_REGISTERS) - OTHER_REGISTERS


def _partition_of(loop: scf.ForOp) -> tuple[tile.PartitionsOp | None, int]:
    """The op whose partition a loop is in, and its number."""
    region = loop.parent_region()
    while region is not None and not isinstance(region.parent, tile.PartitionsOp):
        region = region.parent_region()
    if region is None or not isinstance(region.parent, tile.PartitionsOp):
        return None, 0
    return region.parent, list(region.parent.partitions).index(region)
