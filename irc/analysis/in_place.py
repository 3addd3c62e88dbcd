"""Which result of a tile program may be written over which operand."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from irc.dialects import tile
from irc.ir.walks import makers, makers_of, reached


def may_share(operand: SSAValue, result: SSAValue) -> bool:
    """Whether the result's view may be of the operand's memory."""
    if operand.type != result.type or operand.uses.get_length() != 1 or result.uses.get_length() != 1:
        return False
    (load,), (store,) = ([use.operation for use in value.uses] for value in (operand, result))
    if not isinstance(load, tile.LoadOp) or not isinstance(store, tile.StoreOp) or store.add is not None:
        return False
    same_place = (
        load.parent_block() is store.parent_block()
        and _tiles_are_apart(store)
        and tuple(load.offsets) == tuple(store.offsets)
        and tuple(load.symbols) == tuple(store.symbols)
        and load.map == store.map
    )
    return same_place and _depends(store.tile, load)


def is_overwritten(view: SSAValue) -> bool:
    """Whether a view of a program may be of an operand's memory."""
    program = view.block.parent_op() if isinstance(view, BlockArgument) else None
    if not isinstance(view, BlockArgument) or not isinstance(program, tile.ProgramOp):
        return False
    return any(view.index == result for _, result in program.shared_places)


def _tiles_are_apart(store: tile.StoreOp) -> bool:
    """Whether the store writes each element once: its map drops nothing but extents of one, and every offset of a loop
    of several tiles moves it."""
    loop = store.parent_op()
    if not isinstance(loop, tile.ForTilesOp) or not isinstance(store.tile.type, TensorType):
        return False
    kept = [expr.position for expr in store.access_map.results if isinstance(expr, AffineDimExpr)]
    extents = store.tile.type.get_shape()
    if len(kept) < len(store.access_map.results) or len(set(kept)) < len(kept):
        return False
    if any(extent > 1 for dim, extent in enumerate(extents) if dim not in kept):
        return False
    moving = {store.offsets[dim] for dim in kept}
    domain = zip(loop.body.block.args, loop.extent_values, loop.step_values, strict=True)
    return all(offset in moving or extent <= step for offset, extent, step in domain)


def _depends(value: SSAValue, on: Operation) -> bool:
    """Whether a value is computed from the results of an op of the same block."""
    block = on.parent_block()
    return on in reached(makers([value]), lambda op: makers_of(op) if op.parent_block() is block else ())
