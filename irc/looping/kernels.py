"""A tile program becomes a loop nest: ops on tiles become loops, or are computed inside of the loops of others."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from irc.dialects import tile
from irc.dialects.cpu import KernelOp
from irc.looping.control import CONTROL_RULES
from irc.looping.lowering import Lowering
from irc.looping.supported import check_supported
from irc.looping.tiles import TILE_RULES


def loops_of(program: tile.ProgramOp) -> KernelOp:
    """The kernel of a layout-free program; Unsupported where an op has no loops so far."""
    types = [_memory_type(arg.type) for arg in program.body.block.args]
    loops = [op for op in program.body.block.ops if isinstance(op, tile.ForTilesOp)]
    tiles = sum(prod(loop.tile_counts) for loop in loops)
    kernel = KernelOp(program.sym_name.data, types, program.result_count, tiles, location=program.location)
    Lowering(program, kernel, {**TILE_RULES, **CONTROL_RULES}).run()
    check_supported(kernel)
    return kernel


def _memory_type(type: Attribute) -> MemRefType:
    assert isinstance(type, tile.ViewType)
    reach = sum((n - 1) * s for n, s in zip(type.get_shape(), type.get_strides(), strict=True))
    return MemRefType(type.element_type, [0 if 0 in type.get_shape() else reach + 1])
