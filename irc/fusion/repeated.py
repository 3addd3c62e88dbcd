"""Which ops of a block several kernels repeat instead of reading a stored result."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.op_classes import (
    behind_views,
    is_ascending,
    is_cast,
    is_cheap,
    is_contraction,
    is_elementwise,
    is_fusible,
    is_made,
    is_transparent,
    size_of,
    total_cost,
)
from irc.dialects.nd.declared import stored_element
from irc.fusion.graph import escapes
from irc.ir.discardable import REPEATED
from irc.ir.dtypes import element_of
from irc.ir.iteration import is_broadcast
from irc.ir.targets import target_of
from irc.ir.walks import users_of

MAX_MASK = 12
"""Cheap ops for an element of a mask of places and of small arrays that are done again instead of reading it."""

SMALL = 16
"""A value with at most this part (1 / SMALL) of another's elements costs next to nothing to read beside it."""


def find_repeated(block: Block, limit: int) -> set[Operation]:
    """The cheap elementwise ops with several users that are worth repeating in each.

    They depend on function arguments alone, through at most `limit` cheap ops, and read no more than one array as
    large as their result. A mask that reads much less than it is may take more ops: it bounds loops, where it is
    computed in them. One that a product reads is stored: a plain operand is loaded faster than a computed one.
    """
    cones: dict[Operation, set[Operation]] = {}
    repeated = {op for op in block.ops if REPEATED in op.attributes and not escapes(op)}
    for op in block.ops:
        cone = _cone(op, cones)
        if cone is None:
            continue
        is_mask = _is_mask(op, cone)
        if total_cost(cone) > (MAX_MASK if is_mask else limit):
            continue
        cones[op] = cone
        if is_cheap(op) and _has_several_users(op) and not escapes(op) and _reads_little(op, cone):
            repeated |= {each for each in cone if is_mask and is_cheap(each) and not escapes(each)} | {op}
    return repeated | _widened(block, limit)


def copy_escaping(block: Block) -> None:
    """Gives the kernels their own copy of each op that they repeat and that is also a result of the function.

    The op itself then has to be computed once, for the result; its copy remains free to be repeated.
    """
    for op in reversed(list(block.ops)):
        if not is_fusible(op) or not is_transparent(op) or not escapes(op):
            continue
        inner = [use for use in op.results[0].uses if is_fusible(use.operation)]
        if not inner:
            continue
        copy = op.clone()
        block.insert_op_before(copy, op)
        for use in inner:
            use.operation.operands[use.index] = copy.results[0]


def _widened(block: Block, limit: int) -> set[Operation]:
    """The cheap elementwise ops of a product's result and of small arguments, through at most `limit` of them, whose
    values are stored wider than the product: kernels behind it read that, and do them again. In the gradient of a layer
    normalization that is the product with the weights, f32, of a gradient that was declared bf16."""
    found: dict[Operation, tuple[int, int]] = {}
    """Bytes of an element of the product, as it is stored, and how many ops are behind it."""
    for op in block.ops:
        if not is_cheap(op) or not is_elementwise(op) or escapes(op) or any(map(is_contraction, _users(op))):
            continue
        size = size_of(op.results[0])
        if size * element_of(op.results[0].type).size < target_of(op).costs.widened_bytes:
            continue
        whole = [value for value in op.operands if size_of(spread(value)) * SMALL > size]
        owner = whole[0].owner if len(whole) == 1 else None
        if not all(is_given(spread(value)) for value in op.operands if value not in whole):
            continue
        if not isinstance(owner, Operation) or not (is_contraction(owner) or owner in found):
            continue
        stored, depth = found[owner] if owner in found else (stored_element(whole[0]).size, 0)
        if depth < limit:
            found[op] = stored, depth + 1
    return {op for op, (stored, _) in found.items() if stored < stored_element(op.results[0]).size}


def _is_mask(op: Operation, cone: set[Operation]) -> bool:
    leaves = {v for inner in cone for v in inner.operands if _is_argument(v)}
    is_bool = element_of(op.results[0].type).kind == "bool"
    return is_bool and all(SMALL * size_of(leaf) <= size_of(op.results[0]) for leaf in leaves)


def _cone(op: Operation, cones: dict[Operation, set[Operation]]) -> set[Operation] | None:
    """The op and all that it depends on, where that is made of cheap and transparent ops over arguments and views of
    them."""
    if not is_cheap(op) and not is_transparent(op):
        return None
    cone = {op}
    for operand in op.operands:
        if not isinstance(operand.owner, Operation) or _is_argument(operand):
            continue
        if (inner := cones.get(operand.owner)) is None:
            return None
        cone |= inner
    return cone


def _is_argument(value: SSAValue) -> bool:
    """Whether the value is an argument, a view of one, or what loops may be bounded by, which is read from an array."""
    owner = behind_views(value).owner
    return not isinstance(owner, Operation) or is_ascending(owner)


def _has_several_users(op: Operation) -> bool:
    users = _users(op)
    return len(users) > 1 and not any(is_contraction(user) for user in users)


def _users(op: Operation) -> set[Operation]:
    """The ops that read the result, also spread along other axes."""
    users = set(users_of(op))
    wider = {user for user in users if is_broadcast(user)}
    return (users - wider).union(*map(_users, wider))


def _reads_little(op: Operation, cone: set[Operation]) -> bool:
    leaves: set[SSAValue] = {v for inner in cone for v in inner.operands if _is_argument(v)}
    size = size_of(op.results[0])
    large = [leaf for leaf in leaves if 4 * size_of(leaf) > size]
    return len(large) <= 1 and all(size_of(leaf) <= size for leaf in leaves)


def spread(value: SSAValue) -> SSAValue:
    """What a value is, but for being spread along other axes."""
    while isinstance(value.owner, Operation) and is_broadcast(value.owner):
        value = value.owner.operands[0]
    return value


def is_given(value: SSAValue) -> bool:
    """Whether a value is a constant, or an argument, of another type perhaps."""
    value = behind_casts(value)
    return _is_argument(value) or (isinstance(value.owner, Operation) and is_made(value.owner))


def behind_casts(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, Operation) and is_cast(value.owner):
        value = value.owner.operands[0]
    return value
