"""Reductions over ranks that go together, and the order in which collectives start early and are waited for late."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from irc.dialects.nd import AddOp, AllReduceOp, CastOp, CollectiveOp, PermuteOp, ReduceScatterOp
from irc.dialects.nd.base import element_of, shape_of, tensor
from irc.dialects.nd.declared import is_deferred
from irc.ir.rewriting import Inserter, fuse_locations


def bucket(function: FuncOp, limit: int) -> None:
    """Joins reductions over the same ranks by the same monoid, of the same element type, as they become ready, up to
    `limit` bytes each. None of those that are joined needs another: as many collectives come before each."""
    _exchange_as_used(function)
    _join_sums(function)
    *ops, _ = function.body.block.ops
    levels, depths = _levels(ops), _depths(ops)
    kinds: dict[object, list[AllReduceOp]] = {}
    for op in ops:
        if isinstance(op, AllReduceOp):
            kinds.setdefault((op.monoid, op.over, element_of(op.inputs[0]).name, levels[op]), []).append(op)
    for each in kinds.values():
        for part in _parts(sorted(each, key=lambda op: depths[op]), limit):
            _join(part)
    order(function)


def order(function: FuncOp) -> None:
    """Puts each collective as early as what it needs allows, those behind the shortest ways first, and behind all of
    them what none needs, by the last collective that it needs. Gradients of weights, say, are computed where the pass
    over a layer has come to them, and exchanged beside the rest of that pass; weights are updated in the order in which
    their gradients come, most of them beside the last exchange. Work for one collective stays in its order."""
    block = function.body.block
    *ops, terminator = block.ops
    depths = _depths(ops)
    collectives = sorted((op for op in ops if isinstance(op, CollectiveOp)), key=lambda op: depths[op])
    if not collectives:
        return
    first: dict[Operation, int] = {}
    for number, collective in enumerate(collectives):
        pending: list[Operation] = [collective]
        while pending:
            op = pending.pop()
            if op not in first:
                first[op] = number
                pending += _makers(op, depths)
    last: dict[Operation, int] = {op: number for number, op in enumerate(collectives)}
    for op in ops:
        last.setdefault(op, max((last[maker] for maker in _makers(op, last)), default=-1))
    behind = len(collectives)
    keys = {op: (first.get(op, behind), -1 if op in first else last[op], place) for place, op in enumerate(ops)}
    found = _ordered(ops, keys)
    for op in ops:
        op.detach()
    for op in found:
        block.insert_op_before(op, terminator)


def _exchange_as_used(function: FuncOp) -> None:
    """Exchanges sums in the type that they were declared with, not in the f32 in which each rank has its part, and in
    the order of axes in which they are used: so two exchanges whose sum is taken are one."""
    for op in list(function.body.block.ops):
        while isinstance(op, AllReduceOp | ReduceScatterOp) and len(op.results) == 1:
            uses = [use.operation for use in op.results[0].uses]
            if len(uses) != 1 or not _commutes(uses[0], op):
                break
            op = _exchanged_behind(uses[0], op)


def _commutes(user: Operation, exchange: CollectiveOp) -> bool:
    if isinstance(user, CastOp):  # to f16 or bf16: ranks do not add up f8
        return is_deferred(user) and element_of(user.result).is_narrow_float and element_of(user.result).size == 2
    return isinstance(user, PermuteOp) and isinstance(exchange, AllReduceOp)


def _exchanged_behind(user: Operation, exchange: CollectiveOp) -> CollectiveOp:
    """The exchange of what its user makes of an array, in place of both."""
    at = Inserter.before(exchange)
    operand, result = exchange.operands[0], user.results[0]
    of_part = tensor(shape_of(operand) if isinstance(user, CastOp) else shape_of(result), element_of(result))
    made = type(user).create(
        operands=[operand], result_types=[of_part], properties=dict(user.properties), attributes=dict(user.attributes)
    )
    new = type(exchange).create(
        operands=[at.value(made)], result_types=[result.type], properties=dict(exchange.properties)
    )
    result.replace_all_uses_with(at.value(new))
    for each in (user, exchange):
        each.detach()
        each.erase()
    assert isinstance(new, CollectiveOp)
    return new


def _join_sums(function: FuncOp) -> None:
    """Adds parts before they are reduced over ranks, where both of a sum are: one exchange for two."""
    for op in list(function.body.block.ops):
        if not isinstance(op, AddOp):
            continue
        one, other = (value.owner for value in op.operands)
        if not (isinstance(one, AllReduceOp) and isinstance(other, AllReduceOp)) or one is other:
            continue
        alone = all(len(each.inputs) == 1 and len(list(each.outputs[0].uses)) == 1 for each in (one, other))
        if alone and one.monoid.data == other.monoid.data == "sum" and one.over == other.over:
            at = Inserter.before(op)
            added = at.value(AddOp(one.inputs[0], other.inputs[0]))
            op.results[0].replace_all_uses_with(at.value(AllReduceOp([added], "sum", one.mesh_axes)))
            for each in (op, one, other):
                each.detach()
                each.erase()


def _makers(op: Operation, among: Mapping[Operation, object]) -> set[Operation]:
    return {v.owner for v in op.operands if isinstance(v.owner, Operation) and v.owner in among}


def _levels(ops: Sequence[Operation]) -> dict[Operation, int]:
    """How many collectives are on the way to each op."""
    found: dict[Operation, int] = {}
    for op in ops:
        found[op] = max((found[m] + isinstance(m, CollectiveOp) for m in _makers(op, found)), default=0)
    return found


def _depths(ops: Sequence[Operation]) -> dict[Operation, int]:
    """How many ops are on the longest way to each op."""
    found: dict[Operation, int] = {}
    for op in ops:
        found[op] = max((found[m] + 1 for m in _makers(op, found)), default=0)
    return found


def _parts(ops: Sequence[AllReduceOp], limit: int) -> list[list[AllReduceOp]]:
    parts: list[list[AllReduceOp]] = []
    held = limit
    for op in ops:
        size = sum(map(_bytes, op.inputs))
        if held + size > limit:
            parts.append([])
            held = 0
        parts[-1].append(op)
        held += size
    return parts


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * element_of(value).size


def _join(ops: Sequence[AllReduceOp]) -> None:
    """One op at the place of the last, in whose block the order is not right until `order`."""
    if len(ops) < 2:
        return
    inputs = [value for op in ops for value in op.inputs]
    joined = AllReduceOp(inputs, ops[0].monoid.data, ops[0].mesh_axes)
    joined.location = fuse_locations(*(op.location for op in ops))
    Inserter.before(ops[-1])(joined)
    results = iter(joined.outputs)
    for op in ops:
        for value in op.outputs:
            value.replace_all_uses_with(next(results))
        op.detach()
        op.erase()


def _ordered(ops: Sequence[Operation], keys: Mapping[Operation, tuple[int, ...]]) -> list[Operation]:
    """Operands before users, otherwise by keys."""
    missing = {op: len(_makers(op, keys)) for op in ops}
    by_place = {keys[op]: op for op in ops}
    heap = [keys[op] for op in ops if not missing[op]]
    heapq.heapify(heap)
    found: list[Operation] = []
    while heap:
        op = by_place[heapq.heappop(heap)]
        found.append(op)
        for user in {use.operation for value in op.results for use in value.uses}:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(heap, keys[user])
    assert len(found) == len(ops), "ops that need each other"
    return found
