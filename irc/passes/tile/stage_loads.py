"""stage-loads: arrays that the epilogue of a product reads come through shared memory, by TMA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf

from irc.analysis.budgets import LOAD_STAGES, block_memory, shared_left
from irc.analysis.configs import config_of, consumer_partitions
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import has_producer
from irc.analysis.programs import ProgramPass
from irc.analysis.tma import is_swizzled_load, is_vector_load
from irc.dialects import tile
from irc.ir.targets import Target, target_of
from irc.layout_assignment.operand_layouts import SMALLEST_SWIZZLE
from irc.scheduling.channels import tile_bytes
from irc.scheduling.shared_memory import expected_bytes
from irc.scheduling.streamed_operands import copied


@dataclass(frozen=True)
class StageLoadsPass(ProgramPass):
    """A load of a subtile in the epilogue of a wgmma product -> a copy by TMA to a buffer that is read at once, where
    the access is a box of the view and a few such buffers fit beside the stages of the operands: 4, or as many as the
    config has `load_stages`.

    The warp that issues TMA is ahead of the threads that multiply: the first subtiles arrive beside the last products.
    Vectors come so where the config has `load_stages`. Left alone are others, and kernels whose consumers take turns,
    whose epilogues run beside products anyway.
    """

    name: ClassVar[str] = "stage-loads"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        machine = target_of(program)
        if has_producer(program) and machine.has_tma and consumer_partitions(program) == 1:
            for loop in [o for o in program.walk() if isinstance(o, tile.ForTilesOp)]:
                _stage(program, loop, machine)


def _stage(program: tile.ProgramOp, loop: tile.ForTilesOp, machine: Target) -> None:
    config = config_of(program)
    for subtiles in [op for op in loop.body.block.ops if isinstance(op, scf.ForOp) and not _multiplies(op)]:
        loads = [op for op in subtiles.body.block.ops if isinstance(op, tile.LoadOp)]
        loads = [op for op in loads if _is_staged(op, with_vectors=config.load_stages is not None)]
        if not loads:
            continue
        sizes = {op.result.type: tile_bytes(op.result) for op in loads}.values()
        held = LOAD_STAGES * max(sizes) if config.load_stages is None else config.load_stages * sum(sizes)
        stored = max((tile_bytes(op.tile) for op in subtiles.body.block.ops if isinstance(op, tile.StoreOp)), default=0)
        room = block_memory(machine, config.occupancy)
        if held > shared_left(room, expected_bytes(program), exchanged=stored):
            continue
        for load in loads:
            copied(load, subtiles)


def _is_staged(load: tile.LoadOp, *, with_vectors: bool) -> bool:
    return is_swizzled_load(load, SMALLEST_SWIZZLE) or (with_vectors and is_vector_load(load))


def _multiplies(loop: scf.ForOp) -> bool:
    return any(isinstance(op, tile.DotOp) for op in loop.body.block.ops)
