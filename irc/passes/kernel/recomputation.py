"""Which ops of a block several kernels repeat instead of reading a stored result, and the copies that need making."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from irc.passes.kernel.fusion_graph import escapes
from irc.passes.kernel.op_classes import CHEAP, FUSIBLE, MATMUL, is_transparent, size_of, total_cost


def copy_escaping(block: Block) -> None:
    """Gives the kernels their own copy of each op that they repeat and that is also a result of the function.

    The op itself then has to be computed once, for the result; its copy remains free to be repeated.
    """
    for op in reversed(list(block.ops)):
        if op.name not in FUSIBLE or not is_transparent(op) or not escapes(op):
            continue
        inner = [use for use in op.results[0].uses if use.operation.name in FUSIBLE]
        if not inner:
            continue
        copy = op.clone()
        block.insert_op_before(copy, op)
        for use in inner:
            use.operation.operands[use.index] = copy.results[0]


def find_repeated(block: Block, limit: int) -> set[Operation]:
    """The cheap elementwise ops with several users that are worth repeating in each.

    They depend on function arguments alone, through at most `limit` cheap ops, and read no more than one array as
    large as their result. One that a product reads is stored: a plain operand is loaded faster than a computed one.
    """
    cones: dict[Operation, set[Operation]] = {}
    repeated: set[Operation] = set()
    for op in block.ops:
        cone = _cone(op, cones)
        if cone is None or total_cost(cone) > limit:
            continue
        cones[op] = cone
        if op.name in CHEAP and _has_several_users(op) and not escapes(op) and _reads_little(op, cone):
            repeated.add(op)
    return repeated


def _cone(op: Operation, cones: dict[Operation, set[Operation]]) -> set[Operation] | None:
    """The op and all that it depends on, where that is made of cheap and transparent ops over arguments."""
    if op.name not in CHEAP and not is_transparent(op):
        return None
    cone = {op}
    for operand in op.operands:
        if not isinstance(operand.owner, Operation):
            continue
        if (inner := cones.get(operand.owner)) is None:
            return None
        cone |= inner
    return cone


def _has_several_users(op: Operation) -> bool:
    users = {use.operation for result in op.results for use in result.uses}
    return len(users) > 1 and not any(user.name == MATMUL for user in users)


def _reads_little(op: Operation, cone: set[Operation]) -> bool:
    leaves: set[SSAValue] = {v for inner in cone for v in inner.operands if not isinstance(v.owner, Operation)}
    size = size_of(op.results[0])
    large = [leaf for leaf in leaves if 4 * size_of(leaf) > size]
    return len(large) <= 1 and all(size_of(leaf) <= size for leaf in leaves)
