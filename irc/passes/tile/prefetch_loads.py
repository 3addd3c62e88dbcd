"""prefetch-loads: a producer that computes operands loads those of the next step before it computes this one's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from irc.dialects import tile
from irc.dtypes import element_of
from irc.passes.tile.attributes import fragment_layout
from irc.passes.tile.loops import with_carried
from irc.rewriting import give_location

REGISTER_BYTES = 4
MOST_REGISTERS = 96
"""Registers of a thread that hold the loaded tiles from step to step, at most."""


@dataclass(frozen=True)
class PrefetchLoadsPass(ModulePass):
    """A producer's loop that loads several operands and writes what it computes from them -> one that carries the
    loaded tiles: each operand is computed and written, then its tiles of the next step are loaded into the registers
    that are free again, while the next operand is computed.

    A load takes several hundred cycles, which the producer would wait for in each step. The last step loads its own
    tiles again, so that no load is outside. A loop with one written operand has nothing to do meanwhile and is left
    alone; so is one whose loads take many registers, or depend on what the step computes.
    """

    name: ClassVar[str] = "prefetch-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for roles in [o for o in op.walk() if isinstance(o, tile.RolesOp)]:
            for loop in [o for o in roles.roles[0].walk() if isinstance(o, scf.ForOp)]:
                if not loop.iter_args and any(isinstance(o, tile.AcquireOp) for o in loop.body.block.ops):
                    _prefetch(loop)


def _prefetch(loop: scf.ForOp) -> None:
    block = loop.body.block
    loads = [op for op in block.ops if isinstance(op, tile.LoadOp)]
    needed = {op: _addresses(op, block) for op in loads}
    groups = _groups(block, loads)
    if len(groups) < 2 or sum(_registers(op.result) for op in loads) > MOST_REGISTERS:
        return
    if any(found is None for found in needed.values()):
        return
    address = [op for op in block.ops if any(found is not None and op in found for found in needed.values())]
    first = _copies([*address, *loads], {block.args[0]: loop.lb})
    Rewriter.insert_op(first, InsertPoint.before(loop))
    following = arith.AddiOp(block.args[0], loop.step)
    inside = arith.CmpiOp(following.result, loop.ub, "ult")
    at = arith.SelectOp(inside.result, following.result, block.args[0])
    for op in (following, inside, at):
        give_location(op, loop.location)
    mapping: dict[SSAValue, SSAValue] = {block.args[0]: at.result}
    Rewriter.insert_op([following, inside, at, *_copies(address, mapping)], InsertPoint.at_start(block))
    last = block.last_op
    assert last is not None
    loaded = {load: copy for group in groups for load, copy in _put_together(block, group, loads, mapping).items()}
    for load in loads:
        carried = block.insert_arg(load.result.type, len(block.args))
        carried.name_hint = load.result.name_hint
        load.result.replace_all_uses_with(carried)
        Rewriter.erase_op(load)
    yields = scf.YieldOp(*(loaded[load].results[0] for load in loads))
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    with_carried(loop, [op.results[0] for op in first if isinstance(op, tile.LoadOp)])
    Rewriter.erase_op(loop)


def _groups(block: Block, loads: list[tile.LoadOp]) -> list[list[Operation]]:
    """The ops that depend on loads, parted so that no op of one group depends on the loads of another; in the order in
    which the groups write first."""
    roots: dict[Operation, frozenset[tile.LoadOp]] = {load: frozenset({load}) for load in loads}
    for op in block.ops:
        found = [roots[v.owner] for v in op.operands if isinstance(v.owner, Operation) and v.owner in roots]
        if found and op not in roots and not op.has_trait(IsTerminator):
            roots[op] = frozenset[tile.LoadOp]().union(*found)
    parts: list[frozenset[tile.LoadOp]] = []
    for each in roots.values():
        meeting = [part for part in parts if part & each]
        parts = [part for part in parts if not part & each] + [each.union(*meeting)]
    groups = [[op for op in block.ops if op in roots and roots[op] <= part] for part in parts]
    order = list(block.ops)
    writing = [group for group in groups if any(isinstance(op, tile.WriteOp) for op in group)]
    return sorted(writing, key=lambda group: min(order.index(op) for op in group if isinstance(op, tile.WriteOp)))


def _put_together(
    block: Block, group: list[Operation], loads: list[tile.LoadOp], mapping: dict[SSAValue, SSAValue]
) -> dict[tile.LoadOp, Operation]:
    """Puts the group's ops behind those of the groups before it, but not before the stage is there, and the loads of
    the next step behind them; gives each load's copy."""
    commit = next(op for op in block.ops if isinstance(op, tile.CommitOp))
    own = [op for op in group if isinstance(op, tile.LoadOp) and op in loads]
    copies = dict(zip(own, _copies(own, mapping), strict=True))
    for op in group:
        if op not in copies:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(commit))
    Rewriter.insert_op(list(copies.values()), InsertPoint.before(commit))
    return copies


def _addresses(load: tile.LoadOp, block: Block) -> set[Operation] | None:
    """The scalar ops of the block that the load's place depends on; None where it depends on something else."""
    found: set[Operation] = set()
    pending: list[SSAValue] = list(load.operands)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Block) or owner.parent is not block or owner in found:
            continue
        if not owner.name.startswith("arith."):
            return None
        found.add(owner)
        pending += owner.operands
    return found


def _copies(ops: Sequence[Operation], mapping: dict[SSAValue, SSAValue]) -> list[Operation]:
    return [op.clone(mapping) for op in ops]


def _registers(value: SSAValue) -> int:
    return fragment_layout(value.type).value_count * element_of(value.type).size // REGISTER_BYTES
