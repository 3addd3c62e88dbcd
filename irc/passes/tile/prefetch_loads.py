"""prefetch-loads: what a step computes from loaded arrays is loaded in the step before, by producers that compute
operands and by consumers that take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from irc.analysis.invariants import LAID_OUT
from irc.dialects import tile
from irc.ir.passes import Pass
from irc.ir.rewriting import give_location
from irc.scheduling.loops import with_carried
from irc.scheduling.registers import registers_of

MAX_LOADED = 96
"""Registers of a thread that hold the loaded tiles from step to step, at most."""

MAX_OF_SUBTILE = 16
"""Those of a thread that multiplies, for a subtile of its epilogue."""


@dataclass(frozen=True)
class PrefetchLoadsPass(Pass):
    """A producer's loop that loads several operands and writes what it computes from them -> one that carries the
    loaded tiles: each operand is computed and written, then its tiles of the next step are loaded into the registers
    that are free again, while the next operand is computed.

    A load takes several hundred cycles, which the producer would wait for in each step. The last step loads its own
    tiles again, so that no load is outside. A loop with one written operand has nothing to do meanwhile and is left
    alone; so is one whose loads take many registers, or depend on what the step computes.

    Consumers that take turns, whose epilogues load arrays by subtiles -> the first subtile's loads before a turn, and
    the next one's before the work on a subtile. On an H200 the gradient of a gelu, after a product of 8192 x 3072 x
    768, takes 104 us so and 112 without.
    """

    name: ClassVar[str] = "prefetch-loads"
    requires = (LAID_OUT,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for partitions in [o for o in op.walk() if isinstance(o, tile.PartitionsOp)]:
            for loop in [o for o in partitions.walk() if isinstance(o, scf.ForOp)]:
                if not loop.iter_args and any(isinstance(o, tile.AcquireOp) for o in loop.body.block.ops):
                    _prefetch(loop)
            for turn in [o for o in partitions.walk() if isinstance(o, tile.BeginTurnOp)]:
                for loop in [o for o in _after(turn) if isinstance(o, scf.ForOp) and not o.iter_args]:
                    _prefetch_subtiles(turn, loop)


def _after(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    while (following := op.next_op) is not None:
        found.append(op := following)
    return found


def _prefetch_subtiles(turn: tile.BeginTurnOp, loop: scf.ForOp) -> None:
    """Loads of a consumer's first subtile before its turn, and of the next one before the work on this one."""
    block = loop.body.block
    loads = [op for op in block.ops if isinstance(op, tile.LoadOp)]
    needed = [_addresses(op, block) for op in loads]
    if not loads or None in needed or sum(registers_of(op.result) for op in loads) > MAX_OF_SUBTILE:
        return
    read = [op for op in block.ops if op in loads or any(found and op in found for found in needed)]
    constants = _behind(turn, [loop.lb, *(value for op in read for value in op.operands)])
    if constants is None:
        return
    before: dict[SSAValue, SSAValue] = {}
    moved = _copies(constants, before)
    before[block.args[0]] = before.get(loop.lb, loop.lb)
    first = _copies(read, before)
    Rewriter.insert_op([*moved, *first], InsertPoint.before(turn))
    following = _following(loop)
    copies = _copies(read, {block.args[0]: following[-1].results[0]})
    Rewriter.insert_op([*following, *copies], InsertPoint.at_start(block))
    _carry(loop, loads, _loads(copies), _loads(first))


def _behind(op: Operation, values: Sequence[SSAValue]) -> list[arith.ConstantOp] | None:
    """The constants among the owners of values that stand behind the op in its block; None where others do."""
    owners = dict.fromkeys(value.owner for value in values)
    found = [x for x in owners if isinstance(x, Operation) and x.parent is op.parent and op.is_before_in_block(x)]
    constants = [x for x in found if isinstance(x, arith.ConstantOp)]
    return constants if len(constants) == len(found) else None


def _prefetch(loop: scf.ForOp) -> None:
    block = loop.body.block
    loads = _loads(list(block.ops))
    needed = {op: _addresses(op, block) for op in loads}
    groups = _groups(block, loads)
    if len(groups) < 2 or sum(registers_of(op.result) for op in loads) > MAX_LOADED:
        return
    if any(found is None for found in needed.values()):
        return
    address = [op for op in block.ops if any(found is not None and op in found for found in needed.values())]
    first = _copies([*address, *loads], {block.args[0]: loop.lb})
    Rewriter.insert_op(first, InsertPoint.before(loop))
    following = _following(loop)
    mapping: dict[SSAValue, SSAValue] = {block.args[0]: following[-1].results[0]}
    Rewriter.insert_op([*following, *_copies(address, mapping)], InsertPoint.at_start(block))
    loaded = {load: copy for group in groups for load, copy in _put_together(block, group, loads, mapping).items()}
    _carry(loop, loads, [loaded[load] for load in loads], _loads(first))


def _following(loop: scf.ForOp) -> Sequence[Operation]:
    """What gives the next value of a loop's variable, and in the last step that of this one."""
    variable = loop.body.block.args[0]
    following = arith.AddiOp(variable, loop.step)
    inside = arith.CmpiOp(following.result, loop.ub, "ult")
    found = [following, inside, arith.SelectOp(inside.result, following.result, variable)]
    for op in found:
        give_location(op, loop.location)
    return found


def _carry(
    loop: scf.ForOp, loads: Sequence[tile.LoadOp], next_loads: Sequence[Operation], first: Sequence[Operation]
) -> None:
    """Replaces the loads of a step by what the step before it loaded, in place of `loop`."""
    block = loop.body.block
    last = block.last_op
    assert last is not None
    for load in loads:
        carried = block.insert_arg(load.result.type, len(block.args))
        carried.name_hint = load.result.name_hint
        load.result.replace_all_uses_with(carried)
        Rewriter.erase_op(load)
    yields = scf.YieldOp(*(op.results[0] for op in next_loads))
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    with_carried(loop, [op.results[0] for op in first]).attributes |= loop.attributes
    Rewriter.erase_op(loop)


def _loads(ops: Sequence[Operation]) -> list[tile.LoadOp]:
    return [op for op in ops if isinstance(op, tile.LoadOp)]


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
