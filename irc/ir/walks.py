"""Walks along uses: what a value is computed from, and what is computed from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

NodeT = TypeVar("NodeT", bound=Hashable)


def reached(start: Iterable[NodeT], following: Callable[[NodeT], Iterable[NodeT]]) -> Iterator[NodeT]:
    """The nodes of a graph that a depth-first walk comes to, its first ones among them: each once, before `following`
    is asked for those behind it."""
    pending, seen = [*start], set[NodeT]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += following(node)


def depending_on(first: Collection[Operation], ops: Iterable[Operation]) -> Iterator[Operation]:
    """Those of some ops, each of which comes after what it reads, that need a result of the first ones."""
    values = {result for op in first for result in op.results}
    for op in ops:
        if any(operand in values for operand in op.operands):
            values.update(op.results)
            yield op


def operands_behind(value: SSAValue) -> Sequence[SSAValue]:
    """What the op that makes a value reads; nothing of an argument."""
    return value.owner.operands if isinstance(value.owner, Operation) else ()


def makers(values: Iterable[SSAValue]) -> list[Operation]:
    """The ops that make values."""
    return [value.owner for value in values if isinstance(value.owner, Operation)]


def makers_of(op: Operation) -> list[Operation]:
    """The ops that make what an op reads."""
    return makers(op.operands)


def users_of(op: Operation) -> list[Operation]:
    """The ops that read a result of an op."""
    return [use.operation for result in op.results for use in result.uses]
