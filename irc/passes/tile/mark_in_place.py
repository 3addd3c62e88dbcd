"""mark-in-place: which results of a program may be written over which of its operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.dialects.tile.memory import ints
from irc.ir.donation import donations

IN_PLACE = "in_place"
"""The attribute of a program: pairs of the numbers of an operand and of a result, counted behind the operands."""


@dataclass(frozen=True)
class MarkInPlacePass(ModulePass):
    """Note on the programs of a function that has donated arguments which results may share memory with an operand.

    A result may be written over an operand of its type that is loaded once, where the result is stored once, at the
    same place of the same tile, if tiles of the loop do not meet and what is stored depends on what was loaded. Then
    each element is read before it is written, and by nobody after: no other iteration or block touches it. Operands
    that are read otherwise, in whole rows in several steps or as an operand of a product, are left alone.
    """

    name: ClassVar[str] = "mark-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, FuncOp) and donations(each)]
        launched = {
            launch.callee.root_reference.data
            for function in functions
            for launch in function.walk()
            if isinstance(launch, LaunchOp)
        }
        for program in op.ops:
            if isinstance(program, tile.ProgramOp) and program.sym_name.data in launched:
                _mark(program)


def _mark(program: tile.ProgramOp) -> None:
    pairs = [
        (operand, len(program.inputs) + result)
        for result, output in enumerate(program.outputs)
        for operand, value in enumerate(program.inputs)
        if may_share(value, output)
    ]
    if pairs:
        numbers = [number for pair in pairs for number in pair]
        program.attributes[IN_PLACE] = DenseArrayBase.from_list(i64, numbers)


def may_share(operand: SSAValue, result: SSAValue) -> bool:
    """Whether the result's view may be of the operand's memory."""
    if operand.type != result.type or operand.uses.get_length() != 1 or result.uses.get_length() != 1:
        return False
    (load,), (store,) = ([use.operation for use in value.uses] for value in (operand, result))
    if not isinstance(load, tile.LoadOp) or not isinstance(store, tile.StoreOp):
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
    pairs = None if program is None else program.attributes.get(IN_PLACE)
    if not isinstance(view, BlockArgument) or not isinstance(pairs, DenseArrayBase):
        return False
    return view.index in ints(pairs)[1::2]


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
    domain = zip(loop.body.block.args, ints(loop.extents), ints(loop.steps), strict=True)
    return all(offset in moving or extent <= step for offset, extent, step in domain)


def _depends(value: SSAValue, on: Operation) -> bool:
    """Whether a value is computed from the results of an op of the same block."""
    seen: set[Operation] = set()
    stack = [value.owner]
    while stack:
        owner = stack.pop()
        if owner is on:
            return True
        if not isinstance(owner, Operation) or owner in seen or owner.parent_block() is not on.parent_block():
            continue
        seen.add(owner)
        stack.extend(operand.owner for operand in owner.operands)
    return False
