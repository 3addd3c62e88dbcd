"""The copies that reductions get of the work on a row that all their rows meet, to compute it instead of reading it.

A step of decoding multiplies one normalized word by the weights of a layer. A block that multiplies rows of weights has
all of the word anyway, and reduces it while the weights are on their way: the launch of a norm, in which one SM works,
is not waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.op_classes import (
    instructions_of,
    is_cast,
    is_elementwise,
    is_made,
    is_reduction,
    is_splittable,
    is_view,
    is_widening,
    reduced_axes,
    shape_of,
    size_of,
)
from irc.canonicalization.simplify import rebuilt
from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.dialects.nd.declared import stored_element
from irc.dialects.nd.terms import Term
from irc.fusion.repeated import behind_casts
from irc.fusion.returning import can_return
from irc.ir.properties import attribute_of
from irc.ir.rewriting import Inserter, remove_dead_code
from irc.ir.targets import Target, target_of
from irc.ir.walks import depending_on, reached, users_of

HIDDEN = 0.5
"""The part of the time in which a kernel's arrays are read that its instructions may take and cost nothing."""

Spreads = dict[tuple[int, ...], list[nd.BroadcastOp]]
"""What reads one row for all rows of a domain, by the domain's shape."""


def copy_rows(block: Block) -> None:
    """Gives reductions of rows that all meet one row, as in sums of products, their own copies of the work on it, for
    each of the domain's rows, where that reduces the row, nothing else reads what it gives, and all the copies together
    take less time than a launch."""
    machine = target_of(block)
    if machine.exact_tiles:
        return
    found: dict[SSAValue, Spreads] = {}
    for op in block.ops:
        if isinstance(op, nd.BroadcastOp) and _is_spread(op) and can_return(*_rows_of(op), machine):
            spreads = found.setdefault(_behind_views(op.x), {})
            spreads.setdefault(shape_of(op.result), []).append(op)
    for row, spreads in found.items():
        ends = {op for ops in spreads.values() for op in ops}
        work = _work(block, size_of(row), ends) if {*_readers(row)} == ends else []
        if any(map(is_reduction, work)) and _are_apart(spreads) and _pays(work, spreads, machine):
            for ops in spreads.values():
                _copy(work, ops)
    if function := block.parent_op():
        remove_dead_code(function)


def _rows_of(spread: nd.BroadcastOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the domain, and the axis of its rows."""
    domain = shape_of(spread.result)
    return domain, (len(domain) - 1,)


def _is_spread(op: nd.BroadcastOp) -> bool:
    """Whether the op reads a row for all rows of a domain, for elementwise work that ends in reductions of rows."""
    domain, axes = _rows_of(op)
    if ints(op.dims) != axes or not 1 < size_of(op.x) == domain[-1] < prod(domain):
        return False
    return all(
        (is_splittable(user) and reduced_axes(user) == axes and shape_of(user.operands[0]) == domain)
        or (is_elementwise(user) and shape_of(user.results[0]) == domain)
        for user in _users_in(op)
    )


def _users_in(spread: Operation) -> list[Operation]:
    """The work on the domain that reads a row, as far as its reductions."""
    return list(reached(users_of(spread), lambda user: () if is_reduction(user) else users_of(user)))


def _behind_views(value: SSAValue) -> SSAValue:
    """What a value is, but for reshapes and for casts that round nothing."""
    while isinstance(value.owner, Operation) and (is_view(value.owner) or is_widening(value.owner)):
        value = value.owner.operands[0]
    return value


def _readers(value: SSAValue) -> Iterator[Operation]:
    """What reads a value, also through reshapes and casts that round nothing."""
    for use in value.uses:
        if is_view(use.operation) or is_widening(use.operation):
            yield from _readers(use.operation.results[0])
        else:
            yield use.operation


def _work(block: Block, length: int, ends: Collection[Operation]) -> list[Operation]:
    """What computes a row for these ops alone, in order: reductions of whole rows, and elementwise work on rows and on
    what they are reduced to. Work on several arrays that comes before the reductions is none of it: it ends the kernel
    which makes one of them."""
    most = _closed(block.ops, ends, lambda op: _is_on_row(op, length))
    reductions = [op for op in most if is_reduction(op)]
    behind = {*reductions, *depending_on(reductions, most)}
    return _closed(most, ends, lambda op: op in behind or len(_arrays(op, length)) < 2)


def _closed(
    ops: Iterable[Operation], ends: Collection[Operation], accepts: Callable[[Operation], bool]
) -> list[Operation]:
    """The ops that are accepted and that nothing but the ends and other such ops reads, in order."""
    found, inside = list[Operation](), set(ends)
    for op in reversed(list(ops)):
        users = users_of(op)
        if op not in inside and users and inside.issuperset(users) and accepts(op):
            found.append(op)
            inside.add(op)
    return found[::-1]


def _is_on_row(op: Operation, length: int) -> bool:
    """Whether the op works on a row, or on what one is reduced to."""
    if is_made(op) or len(op.results) != 1 or {*map(size_of, (*op.operands, *op.results))} - {1, length}:
        return False
    if isinstance(op, nd.BroadcastOp):
        return size_of(op.x) == 1 or list(ints(op.dims)) == sorted(ints(op.dims))
    if is_reduction(op):
        return isinstance(op, nd.ReduceOp) and is_splittable(op) and size_of(op.x) == length != size_of(op.result)
    return is_elementwise(op) or is_view(op)


def _arrays(op: Operation, length: int) -> set[SSAValue]:
    """The rows that an op reads and that are no arguments."""
    rows = {_behind_views(value) for value in op.operands if size_of(value) == length}
    return {value for value in rows if isinstance(value.owner, Operation) and not is_made(value.owner)}


def _are_apart(spreads: Spreads) -> bool:
    """Whether no reduction of a domain needs what another makes: one kernel has all of them, and stores no row."""
    for ops in spreads.values():
        ends = {user for op in ops for user in _users_in(op) if is_reduction(user)}
        if not ends.isdisjoint(reached((user for end in ends for user in users_of(end)), users_of)):
            return False
    return True


def _pays(work: Sequence[Operation], spreads: Spreads, machine: Target) -> bool:
    """Whether what all copies take is less than a launch: instructions beyond those that wait for arrays anyway."""
    again = sum(_instructions(op) for op in work if is_reduction(op) or size_of(op.results[0]) > 1)
    total = 0.0
    for domain, ops in spreads.items():
        users = {user: None for op in ops for user in _users_in(op)}
        made = {result for op in (*users, *ops) for result in op.results}
        arrays = {behind_casts(value) for user in users for value in user.operands} - made
        read = [value for value in arrays if shape_of(value) == domain]
        instructions = again + sum(map(_instructions, users)) + len(read)
        issued = prod(domain) * instructions / machine.costs.warp_groups.instructions
        waited = prod(domain) * sum(stored_element(value).size for value in read) * machine.costs.byte
        total += max(0.0, issued - HIDDEN * waited)
    return total <= machine.costs.launch


def _instructions(op: Operation) -> int:
    """Of a thread for an element."""
    return 1 if is_cast(op) or is_reduction(op) else instructions_of(op)


def _copy(work: Sequence[Operation], spreads: Sequence[nd.BroadcastOp]) -> None:
    """Computes a row anew for each row of a domain, in the place of these ops that read it for all of them."""
    domain, axes = _rows_of(spreads[0])
    at = Inserter.before(spreads[0])
    known: dict[SSAValue, SSAValue] = {}

    def along(value: SSAValue) -> SSAValue:
        """The value for all rows of the domain, along them where it has elements of a row."""
        if value not in known:
            shape, dims = (domain, axes) if size_of(value) > 1 else (domain[:-1], ())
            flat = at.value(nd.ReshapeOp(value, [domain[axis] for axis in dims]))
            known[value] = at.value(nd.BroadcastOp(flat, shape, dims))
        return known[value]

    for op in work:
        operands = [along(value) for value in op.operands]
        result = op.results[0]
        is_moved = is_view(op) or isinstance(op, nd.BroadcastOp)
        if is_moved and size_of(op.operands[0]) == size_of(result):
            known[result] = operands[0]
        elif is_moved:
            known[result] = at.value(nd.BroadcastOp(operands[0], domain, range(len(domain) - 1)))
        elif is_reduction(op):
            copy = Term(rebuilt(at, op, operands, domain[:-1]), at)
            copy.op.properties["axes"] = attribute_of(axes)
            known[result] = copy.value
        else:
            known[result] = rebuilt(at, op, operands, domain if size_of(result) > 1 else domain[:-1])
    for op in spreads:
        op.result.replace_all_uses_with(along(op.x))
