"""The copies that reductions get of the work that they read, to compute it again instead of reading a stored result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.cascades import cascade_of
from irc.analysis.op_classes import (
    is_cast,
    is_cheap,
    is_contraction,
    is_elementwise,
    is_made,
    is_product,
    is_reduction,
    is_widening,
    reduced_axes,
    shape_of,
    size_of,
    total_cost,
)
from irc.dialects import nd
from irc.dialects.nd.declared import declared_element, stored_element
from irc.fusion.cascades import is_one_kernel
from irc.fusion.graph import escapes
from irc.fusion.repeated import SMALL, behind_casts, is_given, spread
from irc.fusion.returning import can_return
from irc.ir.dtypes import Element, element_of
from irc.ir.iteration import is_broadcast, iteration_of
from irc.ir.rewriting import remove_dead_code
from irc.ir.targets import target_of
from irc.ir.walks import makers_of, operands_behind, reached, users_of

MAX_COPIED = 8
"""Cheap ops for an element that are done again instead of storing it and reading it back."""


def copy_across_kernels(block: Block) -> set[Operation]:
    """Gives a reduction its own copy of what it reads, where that is computed from a reduction over other axes, or over
    rows that no block goes over again; gives the copies, which the reduction's kernel computes.

    The two cannot be one kernel, and what lies between them has the size of the whole domain: it is cheaper to compute
    again from the first one's few results and the arrays that it comes from than to store and to read. In the
    gradients of a layer normalization, the sums over rows need what was normalized along them; in a batch normalization
    the variance needs the distances from the mean. So do reductions over rows that no block goes over again, where the
    kernel that does reads little more from the arrays than from a stored value: the gradient behind a relu is one array
    and its mask.
    """
    made: set[Operation] = set()
    shared: dict[object, dict[SSAValue, SSAValue]] = {}
    for op in list(block.ops):
        if not is_reduction(op):
            continue
        cone, crosses = _summands(op)
        if {user for inner in cone for user in users_of(inner)} <= {*cone, op}:
            continue
        copies: dict[SSAValue, SSAValue] = {}
        if not crosses:
            if not _is_less_again(op, cone):
                continue
            copies = shared.setdefault((shape_of(op.operands[0]), reduced_axes(op)), copies)
        made |= _copy(cone, op, copies)
    if made and (function := block.parent_op()) is not None:
        remove_dead_code(function)
    return made


def copy_behind_cascades(block: Block) -> set[Operation]:
    """Gives a reduction its own copy of the cheap work on a cascade's result and on arguments that it reads, where the
    result is stored narrower anyway, as one of the function; gives the copies, which the reduction's kernel computes.

    The kernel of a cascade holds no reductions of its result: it would store what they read. With the gradient of
    attention's result as an argument that is the product of both in f32, twice the bytes of the two arrays.
    """
    casts = {op.operands[0]: op for op in block.ops if is_cast(op) and escapes(op) and not is_widening(op)}
    made: set[Operation] = set()
    for op in list(block.ops):
        if not is_reduction(op):
            continue
        cone, results = _work_behind(op, {value: element_of(cast.results[0].type) for value, cast in casts.items()})
        if not results or not all(map(_is_of_cascade, results)):
            continue
        copies: dict[SSAValue, SSAValue] = {}
        for value in results:
            stored = casts[value]
            stored.detach()
            assert isinstance(value.owner, Operation)
            block.insert_op_after(stored, value.owner)
            widened = nd.CastOp(stored.results[0], element_of(value.type))
            block.insert_op_before(widened, op)
            copies[value] = widened.results[0]
        made |= _copy(cone, op, copies)
    if made and (function := block.parent_op()) is not None:
        remove_dead_code(function)
    return made


def copy_behind_phases(block: Block) -> set[Operation]:
    """Gives a reduction its own copy of the cheap work on what it reads of arguments and of a product that tiles cannot
    reduce, where that is stored narrower, for other kernels; gives the copies, which the reduction's kernel computes.

    Of the gradient of a strided convolution each tile has every second place or so. The sums of a batch normalization's
    gradient before that need it times the distances from the mean: an array of f32 beside that of the gradient, of
    which other kernels, and the other sum, read the elements in 16 bits.
    """
    made: set[Operation] = set()
    phases = {value: axes for value, axes in _in_phases(block).items() if axes and declared_element(value) is not None}
    for op in list(block.ops) if phases else ():
        if not is_reduction(op) or op.operands[0] in phases:
            continue
        reduced = set(reduced_axes(op))
        cone, results = _work_behind(
            op, {value: stored_element(value) for value, axes in phases.items() if axes & reduced}
        )
        if results and all({use.operation for use in value.uses} - cone for value in results):
            made |= _copy(cone, op, {})
    if made and (function := block.parent_op()) is not None:
        remove_dead_code(function)
    return made


def _in_phases(block: Block) -> dict[SSAValue, set[int]]:
    """Of what is computed from products, element by element, the axes along which tiles of all these have some of the
    places."""
    found: dict[SSAValue, set[int]] = {}
    for op in block.ops:
        if is_contraction(op):
            iteration = iteration_of(op)
            b, m = (set(iteration.touched(iteration.result, role)) for role in "bm")
            found[op.results[0]] = b & m
        elif is_elementwise(op):
            known = [
                found[value] for value in op.operands if value in found and size_of(value) == size_of(op.results[0])
            ]
            if known:
                found[op.results[0]] = set.intersection(*known)
    return found


def _copy(cone: set[Operation], reduction: Operation, copies: dict[SSAValue, SSAValue]) -> set[Operation]:
    """Has a reduction read copies of the ops that its operand comes from, before it, and gives these. `copies` has what
    is read in the place of values, and gets those of the ops that it lacks."""
    block = reduction.parent_block()
    assert block is not None
    made: set[Operation] = set()
    for inner in (other for other in block.ops if other in cone and other.results[0] not in copies):
        copy = inner.clone(copies)
        block.insert_op_before(copy, reduction)
        copies[inner.results[0]] = copy.results[0]
        made.add(copy)
    reduction.operands[0] = copies[reduction.operands[0]]
    return made


def _work_behind(reduction: Operation, narrow: Mapping[SSAValue, Element]) -> tuple[set[Operation], list[SSAValue]]:
    """The elementwise ops that a reduction's operand comes from, and those of the values that are stored narrower of
    which they compute, for it alone; none where they are not cheap, or read more of these and of arguments than is
    stored and read."""
    size, read = size_of(reduction.operands[0]), 0
    cone: set[Operation] = set()
    results: list[SSAValue] = []
    pending = [reduction.operands[0]]
    while pending:
        value = pending.pop()
        op = value.owner
        if value in narrow:
            results += [value] if value not in results else []
        elif is_given(spread(value)):
            read += element_of(behind_casts(spread(value)).type).size if size_of(spread(value)) * SMALL > size else 0
        elif isinstance(op, Operation) and is_cheap(op) and is_elementwise(op) and size_of(value) == size:
            cone.add(op)
            pending += op.operands
        else:
            return set(), []
    read += sum(narrow[value].size for value in results)
    stored = element_of(reduction.operands[0].type).size
    behind = {op for value in results for op in _after_in(value, cone)}
    is_alone = all(use.operation in cone or use.operation is reduction for op in behind for use in op.results[0].uses)
    is_large = size * stored >= target_of(reduction).costs.widened_bytes
    if not is_alone or not is_large or read > 2 * stored or total_cost(cone) > MAX_COPIED:
        return set(), []
    return cone, results


def _after_in(value: SSAValue, cone: set[Operation]) -> set[Operation]:
    """The ops among these that need a value."""
    users = {use.operation for use in value.uses} & cone
    return users.union(*(_after_in(user.results[0], cone) for user in users))


def _is_of_cascade(value: SSAValue) -> bool:
    """Whether a value is computed element by element of the result of a cascade, and of what its rows have."""
    op, shape = value.owner, shape_of(value)
    while isinstance(op, Operation) and not is_product(op):
        whole = [each.owner for each in op.operands if shape_of(each) == shape and spread(each) is each]
        whole = [each for each in whole if not isinstance(each, Operation) or not is_made(each)]
        if not is_elementwise(op) or len(whole) != 1:
            return False
        (op,) = whole
    cascade = cascade_of(op) if isinstance(op, Operation) else None
    return cascade is not None and is_one_kernel(cascade, target_of(op))


def _summands(reduction: Operation) -> tuple[set[Operation], bool]:
    """The elementwise ops that a reduction's operand comes from, if they are cheap and over few arguments and over
    small results, and whether some of those are of reductions of other kernels; none where they are not."""
    shape = shape_of(reduction.operands[0])
    cone: set[Operation] = set()
    read: set[SSAValue] = set()
    crosses = False
    pending = [reduction.operands[0]]
    while pending:
        value = pending.pop()
        op = value.owner
        if not isinstance(op, Operation):
            read.add(value)
            continue
        if op in cone:
            continue
        if is_made(op):
            cone.add(op)
            continue
        if is_broadcast(op) and size_of(op.operands[0]) * SMALL <= size_of(op.results[0]):
            cone.add(op)
            crosses = crosses or _is_reduced_before(op, reduction)
            continue
        if not is_elementwise(op) or shape_of(op.results[0]) != shape:
            return set(), False
        cone.add(op)
        pending += op.operands
    stored = 2 * element_of(reduction.operands[0].type).size
    is_cheap = total_cost(cone) <= MAX_COPIED and sum(element_of(v.type).size for v in read) <= stored
    return (cone, crosses) if is_cheap else (set(), False)


def _is_less_again(reduction: Operation, cone: set[Operation]) -> bool:
    """Whether two kernels, the reduction's and one that needs its result, move less if both compute what they have in
    common from the whole arrays that it comes from, two or more. Stored, an element is written once and read twice.
    """
    if can_return(shape_of(reduction.operands[0]), reduced_axes(reduction), target_of(reduction)):
        return False
    users = {op: [use.operation for use in op.results[0].uses if use.operation not in cone] for op in cone}
    common = {_stored(op) for op in cone if any(not is_reduction(user) for user in users[op])}
    reads = [_arrays(value) for value in common]
    if max(map(len, reads), default=0) < 2:
        return False
    later = set(reached(users_of(reduction), users_of))
    return _are_after((user for found in users.values() for user in found), later) and all(
        sum(element_of(array.type).size for array in arrays) <= 2 * element_of(value.type).size
        for value, arrays in zip(common, reads, strict=True)
    )


def _are_after(users: Iterable[Operation], later: set[Operation]) -> bool:
    """Whether the users are reductions, and elementwise work for the later ops alone."""
    reading = reached(users, lambda user: () if is_reduction(user) or user in later else users_of(user))
    return all(is_reduction(user) or is_elementwise(user) for user in reading)


def _stored(op: Operation) -> SSAValue:
    """What is stored of an op's result: what a cast widens, or the result."""
    while is_widening(op):
        value = op.operands[0]
        if not isinstance(value.owner, Operation):
            return value
        op = value.owner
    return op.results[0]


def _arrays(value: SSAValue) -> set[SSAValue]:
    """The arguments, as large as the value, that it is computed from."""
    found = (each for each in reached([value], operands_behind) if not isinstance(each.owner, Operation))
    return {each for each in found if size_of(each) >= size_of(value)}


def _is_reduced_before(broadcast: Operation, reduction: Operation) -> bool:
    """Whether a value that is spread comes from a reduction of another kernel: the value is spread along axes which the
    reduction keeps, or rows are not gone over again."""
    axes = reduced_axes(reduction)
    kept = set(range(len(shape_of(broadcast.results[0])))) - set(axes)
    domain, machine = shape_of(reduction.operands[0]), target_of(reduction)
    if not kept - iteration_of(broadcast).inputs[0].map.used_dims() and can_return(domain, axes, machine):
        return False
    return any(map(is_reduction, reached(makers_of(broadcast), makers_of)))
