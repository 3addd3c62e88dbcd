"""What a computed operand of a product is made of, and how many instructions one of its elements takes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from irc.dtypes import element_of
from irc.passes.kernel.op_classes import (
    COSTLY,
    ELEMENTWISE,
    cost_of,
    is_transparent,
    is_transpose,
    is_view,
    shape_of,
    size_of,
)

_EXACT = frozenset({"nd.relu", "nd.minimum", "nd.maximum"})
"""Ops that round nothing."""

WIDENED = 1.75
"""Instructions to widen an element of 8 bits to 16, two at a time."""


@dataclass(frozen=True)
class OperandWork:
    """`ops`: the elementwise ops that make an operand, the last one first and without casts that only widen 16 bits and
    more. `arrays`: what they read, as large as the operand or smaller. group: the extent of parts of K that have a
    number of their own in some of the arrays, 0 where none does."""

    value: SSAValue
    ops: tuple[Operation, ...]
    arrays: tuple[SSAValue, ...]
    group: int

    @staticmethod
    def of(value: SSAValue) -> OperandWork:
        ops: dict[Operation, None] = {}
        arrays: dict[SSAValue, None] = {}
        pending = [value]
        while pending:
            each = pending.pop()
            owner = each.owner
            if not isinstance(owner, Operation) or not _is_inside(owner):
                arrays[each] = None
            elif owner not in ops:
                ops[owner] = None
                pending += owner.operands
        made = tuple(op for op in ops if op.name in ELEMENTWISE and (not is_transparent(op) or _is_of_bytes(op)))
        return OperandWork(value, made, tuple(arrays), max((_group(op) for op in ops if is_view(op)), default=0))

    @property
    def loaded(self) -> int:
        """Bytes that are read for an element."""
        size = size_of(self.value)
        return sum(element_of(v.type).size for v in self.arrays if size_of(v) == size)

    @property
    def vectors(self) -> int:
        """The arrays that are read for several elements."""
        return sum(1 < size_of(v) < size_of(self.value) for v in self.arrays)

    @property
    def instructions(self) -> float:
        """Of a thread for an element. Ops of which one rounds, on values of 16 bits, are on two elements at a time
        (narrow-maps); so is the widening of values of 8 bits. Of others, each is extended and the result rounded."""
        computing = [op for op in self.ops if op.name != "nd.cast"]
        cost = sum(cost_of(op) for op in computing)
        rounding = [op for op in computing if op.name not in _EXACT]
        sizes = [element_of(v.type).size for v in self.arrays]
        if max(sizes, default=4) <= 2 and len(rounding) <= 1 and not any(op.name in COSTLY for op in computing):
            return cost / 2 + WIDENED * sizes.count(1)
        return cost + len(self.arrays) + 0.5


def _is_inside(op: Operation) -> bool:
    return op.name in ELEMENTWISE or is_transparent(op) or is_view(op) or is_transpose(op)


def _is_of_bytes(op: Operation) -> bool:
    """Whether the op widens elements of 8 bits, which takes as long as other work."""
    return op.name == "nd.cast" and element_of(op.operands[0].type).size == 1


def _group(op: Operation) -> int:
    """The extent of the innermost of the axes that a reshape merges; 0 where it merges none."""
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    merged = [extent for extent in source if extent not in target and extent != 1]
    return merged[-1] if len(source) > len(target) and merged else 0
