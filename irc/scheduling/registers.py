"""The registers that a scheduled loop holds while its dots are in flight."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from irc.analysis.budgets import ADDRESS_REGISTERS, OTHER_REGISTERS, tile_registers
from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.targets import MAX_REGISTERS
from irc.scheduling.dependences import source_of
from irc.scheduling.schedules import Schedule, carried_tiles, dots_of
from irc.support.diagnostics import IrcError


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


def registers_at_issue(loop: scf.ForOp, schedule: Schedule) -> int:
    """The most registers that a thread holds for tiles where it issues a dot of a loop in order: the sums that the loop
    carries, and what is there and still used, the dot's own operand too. What is computed between dots takes the place
    of what it reads, element by element."""
    place = {op: at.order.data for op, at in schedule.items()}
    values: list[SSAValue] = [*loop.body.block.args[1:], *(value for op in place for value in op.results)]
    spans = [(value, *_span(value, place)) for value in values if tile.fragment_of(value.type) is not None]
    dots = dots_of(loop)
    held = (
        sum(registers_of(v) for v, begin, end in spans if begin <= place[dot] <= end and v is not dot.acc)
        for dot in dots
    )
    return max(held, default=0)


def _span(value: SSAValue, place: Mapping[Operation, int]) -> tuple[int, int]:
    """The places of the ops in which a value is made and used last, beyond all where the loop carries it on."""
    begin = place[value.owner] if isinstance(value.owner, Operation) else -1
    return begin, max((place.get(use.operation, len(place)) for use in value.uses), default=begin)


def check_registers(loop: scf.ForOp) -> None:
    """Raises where a thread of the loop's partition has fewer registers than the accumulators and the left operand of a
    dot in flight take: ptxas cannot spill them."""
    for dot in dots_of(loop):
        need = registers_of(dot.result) + (registers_of(dot.lhs) if isinstance(dot.lhs.type, TensorType) else 0)
        if need > (has := _registers(loop)):
            raise IrcError(
                f"tile.dot holds {need} registers in each thread of its partition, which has {has}",
                dot.location,
                "smaller tiles in the program, or fewer warps in its #kernel.config",
            )


def registers_to_issue(loop: scf.ForOp) -> int:
    """What a thread of the loop's partition has for them."""
    return _registers(loop) - ADDRESS_REGISTERS


def allowed_registers(loop: scf.ForOp) -> int:
    """What a thread of the loop's partition has for tiles."""
    return _registers(loop) - OTHER_REGISTERS


def _registers(loop: scf.ForOp) -> int:
    parent, number = _partition_of(loop)
    counts = () if parent is None else parent.register_counts
    return counts[number] if counts else MAX_REGISTERS


def _partition_of(loop: scf.ForOp) -> tuple[tile.PartitionsOp | None, int]:
    """The op whose partition a loop is in, and its number."""
    region = loop.parent_region()
    while region is not None and not isinstance(region.parent, tile.PartitionsOp):
        region = region.parent_region()
    if region is None or not isinstance(region.parent, tile.PartitionsOp):
        return None, 0
    return region.parent, list(region.parent.partitions).index(region)
