"""Schedules of loops that load an iteration ahead what they compute from. A load takes several hundred cycles, which
the loop would wait for in each iteration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Operation

from irc.dialects import tile
from irc.scheduling.channels import root_of
from irc.scheduling.dependences import body_of, needed_by
from irc.scheduling.loops import trips
from irc.scheduling.registers import registers_of
from irc.scheduling.schedules import Schedule

MAX_LOADED = 96
"""Registers of a thread that hold the loaded tiles from step to step, at most."""

MAX_OF_SUBTILE = 16
"""Those of a thread that multiplies, for a subtile of its epilogue."""


def operands_ahead(loop: scf.ForOp) -> Schedule | None:
    """A producer's loop that loads several operands and writes what it computes from them: each operand is computed and
    written, then its tiles of the next step are loaded into the registers that are free again, while the next operand
    is computed.

    None where the loop carries something, or writes one operand, beside which it has nothing to do; where the loads
    take many registers, or depend on what the step computes; where the loop may not run at all.
    """
    ops = body_of(loop)
    groups, addresses = _groups(ops), _addresses(loop, MAX_LOADED)
    commits = [_commit(group) for group in groups]
    if loop.iter_args or len(groups) < 2 or addresses is None or None in commits:
        return None
    ended: dict[Operation | None, list[Operation]] = {commit: [] for commit in commits}
    for group, commit in zip(groups, commits, strict=True):
        ended[commit] += sorted(group, key=lambda op: isinstance(op, tile.LoadOp))
    moved = {op for group in groups for op in group}.union(addresses)
    others = [each for op in ops if op not in moved for each in (*ended.get(op, ()), op)]
    return _loads_ahead([*addresses, *others], addresses)


def subtiles_ahead(loop: scf.ForOp, turn: Operation) -> Schedule | None:
    """A loop over subtiles behind what a consumer does in its turn: the loads come before the work on the subtile
    before. On an H200 the gradient of a gelu, after a product of 8192 x 3072 x 768, takes 104 us so and 112 without.

    None where the loop carries something, where the loads take many registers, depend on what a step computes, or
    cannot be issued before the turn (take-turns); where the loop may not run at all.
    """
    addresses = _addresses(loop, MAX_OF_SUBTILE)
    if loop.iter_args or addresses is None:
        return None
    ahead = [op for op in body_of(loop) if op in addresses or isinstance(op, tile.LoadOp)]
    owners = [value.owner for op in ahead for value in op.operands] + [loop.lb.owner]
    behind = (x for x in owners if isinstance(x, Operation) and x.parent is turn.parent and turn.is_before_in_block(x))
    if not all(isinstance(op, arith.ConstantOp) for op in behind):
        return None
    return _loads_ahead([*ahead, *(op for op in body_of(loop) if op not in ahead)], addresses)


def _loads_ahead(order: Iterable[Operation], addresses: Iterable[Operation]) -> Schedule:
    ahead = set(addresses)
    return {
        op: tile.AtAttr.of(0 if op in ahead or isinstance(op, tile.LoadOp) else 1, at) for at, op in enumerate(order)
    }


def _addresses(loop: scf.ForOp, most: int) -> list[Operation] | None:
    """The scalar ops of the loop that the places of its loads depend on; None where they depend on others, where
    nothing is loaded, or more than `most` registers, and where the loop may not run."""
    loads = [op for op in body_of(loop) if isinstance(op, tile.LoadOp)]
    owners = (value.owner for load in loads for value in load.operands)
    found = needed_by((owner for owner in owners if isinstance(owner, Operation)), loop.body.block)
    if not trips(loop) or not loads or sum(registers_of(op.result) for op in loads) > most:
        return None
    return found if all(op.name.startswith("arith.") for op in found) else None


def _groups(ops: list[Operation]) -> list[list[Operation]]:
    """The ops that depend on loads, parted so that no op of one group depends on the loads of another; in the order in
    which the groups write first."""
    roots: dict[Operation, frozenset[Operation]] = {}
    for op in ops:
        found = [roots[v.owner] for v in op.operands if isinstance(v.owner, Operation) and v.owner in roots]
        if isinstance(op, tile.LoadOp):
            roots[op] = frozenset({op})
        elif found:
            roots[op] = frozenset[Operation]().union(*found)
    parts: list[frozenset[Operation]] = []
    for each in roots.values():
        meeting = [part for part in parts if part & each]
        parts = [part for part in parts if not part & each] + [each.union(*meeting)]
    groups = [[op for op in ops if op in roots and roots[op] <= part] for part in parts]
    written = [[at for at, op in enumerate(ops) if op in group and isinstance(op, tile.WriteOp)] for group in groups]
    first = sorted((min(places), number) for number, places in enumerate(written) if places)
    return [groups[number] for _, number in first]


def _commit(group: Sequence[Operation]) -> Operation | None:
    """What ends the stage that a group writes to; None where it writes to several."""
    written = {root_of(op.buffer).owner for op in group if isinstance(op, tile.WriteOp)}
    ends = [use.operation for acquire in written if isinstance(acquire, tile.AcquireOp) for use in acquire.slot.uses]
    return ends[0] if len(ends) == len(written) == 1 and isinstance(ends[0], tile.CommitOp) else None
