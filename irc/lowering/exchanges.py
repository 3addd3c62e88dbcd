"""Accesses by way of shared memory: exchanges, and loads of whole words."""

from __future__ import annotations

from irc.dialects import tile
from irc.dialects.tile import fragment_layout
from irc.layout.exchange import exchange
from irc.layout.fragment import is_in_warps
from irc.lowering import loads
from irc.lowering.memory import read_shared, write_matrices, write_shared
from irc.lowering.staged import StagedLoad
from irc.lowering.values import Buffer, Code, element_bytes, tile_element


def lower_load(code: Code, op: tile.LoadOp) -> None:
    if op.through is None:
        loads.lower_load(code, op)
    else:
        StagedLoad(code, op, op.through.data).emit()


def lower_convert(code: Code, op: tile.ConvertOp) -> None:
    element = tile_element(op.result.type)
    source, target = code.tile(op.source), fragment_layout(op.result.type)
    if source.fragment == target:
        code.values[op.result] = source
        return
    registers = code.materialize(source, element)
    chosen = op.through.data if op.through is not None else None
    layout = chosen or exchange(registers.fragment, target, element_bytes(element)).layout
    size = layout.size * element_bytes(element)
    region = code.scratch(size)
    shape = target.shape
    buffer = Buffer(code.as_index(region.address), layout, element, (0,) * len(shape), shape)
    is_apart = is_in_warps(registers.fragment, target)
    each_warp = code.exchange_number(layout, target.warps) if is_apart else None
    code.access("write", region, each_warp)
    if not write_matrices(code, registers, buffer):
        write_shared(code, registers, buffer)
    code.access("read", region, each_warp)
    code.values[op.result] = read_shared(code, buffer, target, op.result.name_hint)
