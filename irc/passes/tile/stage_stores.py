"""stage-stores: results of products leave through shared memory, by TMA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.budgets import STORE_STAGES, aligned, block_memory, shared_left
from irc.analysis.configs import config_of, consumer_partitions
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import has_producer
from irc.analysis.programs import ProgramPass
from irc.analysis.tma import box_access
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.rewriting import Inserter
from irc.ir.targets import Target, target_of
from irc.layout_assignment.operand_layouts import SMALLEST_SWIZZLE
from irc.scheduling.channels import tile_bytes
from irc.scheduling.loops import trips
from irc.scheduling.operand_sources import is_of_a_dot
from irc.scheduling.shared_memory import expected_bytes


@dataclass(frozen=True)
class StageStoresPass(ProgramPass):
    """A store of a tile that a wgmma product ends in -> a write to a shared buffer and a store from there by TMA, where
    the access is a box of the view and the buffer fits beside the channel.

    The store runs beside what follows: in a loop over subtiles, subtiles take turns in two buffers, or in the config's
    `store_stages`, where there is room, and a buffer is waited for when it is written again. Stores along columns, or
    of a few elements, are left alone.
    """

    name: ClassVar[str] = "stage-stores"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        machine = target_of(program)
        if machine.has_tma and has_producer(program):
            for loop in [o for o in program.walk() if isinstance(o, tile.ForTilesOp)]:
                _stage(program, loop, machine)


def _stage(program: tile.ProgramOp, loop: tile.ForTilesOp, machine: Target) -> None:
    made = _from_products(loop)
    every = [op for op in loop.walk() if isinstance(op, tile.StoreOp)]
    stores = [op for op in every if op.tile in made and op.own_part is None and _fits_tma(op)]
    by_block: dict[Block, list[tile.StoreOp]] = {}
    for op in stores:
        assert op.parent is not None
        by_block.setdefault(op.parent, []).append(op)
    others = [op for op in every if op not in stores]
    sums = [op for op in stores if op.add is not None]
    if len(by_block) > 1 + len(sums):
        return
    for block, own in sorted(by_block.items(), key=lambda item: item[1][0].add is None):
        _stage_block(program, loop, machine, block, own, others)


def _stage_block(
    program: tile.ProgramOp,
    loop: tile.ForTilesOp,
    machine: Target,
    block: Block,
    stores: Sequence[tile.StoreOp],
    others: Sequence[tile.StoreOp],
) -> None:
    """Stages the stores of one block of a tile's code."""
    config = config_of(program)
    shapes = {shape_of(op.tile.type) for op in (*stores, *others)}
    loads = [op.result for op in block.ops if isinstance(op, tile.LoadOp) and shape_of(op.result.type) in shapes]
    exchanged = max((tile_bytes(v) for v in (*loads, *(op.tile for op in others))), default=0)
    room = shared_left(
        block_memory(machine, config.occupancy), expected_bytes(program), exchanged, consumer_partitions(program)
    )
    need = sum(aligned(tile_bytes(op.tile)) for op in stores)
    if need > room:
        return
    count = 1 if any(op.add is not None for op in stores) else config.store_stages or STORE_STAGES
    count = count if count * need <= room and _turns(block) % count == 0 else 1
    waits = [tile.StoreWaitOp((count - 1) * len(stores)), tile.StoreWaitOp()]
    for wait in waits:
        wait.location = stores[0].location
    Rewriter.insert_op(waits[0], InsertPoint.before(stores[0]))
    Rewriter.insert_op(waits[1], InsertPoint.after(loop))
    for store in stores:
        _write(program, block, store, count)
    for store in stores:
        store.detach()
        _append(block, store)


def _fits_tma(op: tile.StoreOp) -> bool:
    """Whether TMA can store the tile from rows of a swizzled buffer: a vector has none."""
    if not isinstance(op.tile.type, TensorType) or len(shape_of(op.tile.type)) != 2 or 1 in shape_of(op.tile.type):
        return False
    if op.own_end is not None:
        return False
    box = box_access(op, shape_of(op.tile.type))
    width = shape_of(op.tile.type)[1] * element_of(element_type_of(op.tile.type)).size
    return box is not None and box.inner == 1 and width >= SMALLEST_SWIZZLE


def _from_products(loop: tile.ForTilesOp) -> set[SSAValue]:
    """The values that depend on a product, behind its loop, and those of a step that its loop adds to sums."""
    found: set[SSAValue] = set()
    adding = [op.tile for op in loop.walk() if isinstance(op, tile.StoreOp) and op.add is not None]
    found.update(value for value in adding if is_of_a_dot(value))
    for op in loop.walk():
        inside = isinstance(op, scf.ForOp) and any(isinstance(o, tile.DotOp) for o in op.body.block.ops)
        if inside or any(v in found for v in op.operands):
            found.update(op.results)
    return found


def _turns(block: Block) -> int:
    """How often a tile runs through the block: 1, or the subtiles of a loop over them. 1 where it is not known."""
    parent = block.parent_op()
    known = trips(parent) if isinstance(parent, scf.ForOp) else None
    return 1 if known is None else known


def _write(program: tile.ProgramOp, block: Block, store: tile.StoreOp, count: int) -> None:
    """Puts a write to a buffer, or to the part of it whose turn it is, in the place of the store of a tile."""
    (rows, columns), element = shape_of(store.tile.type), element_type_of(store.tile.type)
    alloc = tile.AllocOp(tile.BufferType.of((rows, count * columns), element))
    alloc.location = store.location
    Rewriter.insert_op(alloc, InsertPoint.at_start(program.body.block))
    buffer, at = alloc.buffer, Inserter.before(store)
    if count > 1:
        parent = block.parent_op()
        assert isinstance(parent, scf.ForOp)
        zero, round = at.index(0), at.index(count * columns)
        begin = at.value(arith.RemUIOp(block.args[0], round))
        type = tile.BufferType.of((rows, columns), element)
        buffer = at.value(tile.SubviewOp(buffer, (0, 0), type, [zero, begin]))
    at(tile.WriteOp(store.tile, buffer))
    store.operands[list(store.operands).index(store.tile)] = buffer


def _append(block: Block, op: Operation) -> None:
    last = block.last_op
    if isinstance(last, scf.YieldOp):
        block.insert_op_before(op, last)
    else:
        block.add_op(op)
