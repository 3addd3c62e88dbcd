"""What a computed operand of a product is made of, and how many instructions one of its elements takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from irc.analysis.op_classes import (
    cost_of,
    is_cast,
    is_costly,
    is_elementwise,
    is_transparent,
    is_transpose,
    is_view,
    shape_of,
    size_of,
)
from irc.ir.alignment import alignment_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT
from irc.ir.walks import operands_behind, reached

_EXACT = frozenset({"nd.relu", "nd.minimum", "nd.maximum"})
"""Ops that round nothing."""

WIDENED, WIDENED_ALONE, IN_PAIRS = 1.75, 7, 3.5
"""Instructions to widen an element of 8 bits to 16, two at a time; and to 32. What it takes more where neighbors along
K are read in pairs: ldmatrix turns elements that are contiguous along M, but has no matrices of bytes along K."""

MIN_DEPTH = 32
"""Elements of the shortest step along K: rows of bytes of the narrowest swizzle. Groups of K are a multiple of it, as a
step is inside of one."""


@dataclass(frozen=True)
class OperandWork:
    """`ops`: the elementwise ops that make an operand, the last one first and without casts that only widen 16 bits and
    more. `arrays`: what they read, as large as the operand or smaller. group: the extent of parts of K that have a
    number of their own in some of the arrays, 0 where none does. along_k: whether the arrays are contiguous along K."""

    value: SSAValue
    ops: tuple[Operation, ...]
    arrays: tuple[SSAValue, ...]
    group: int
    along_k: bool

    @staticmethod
    def of(product: Operation, operand: int) -> OperandWork:
        """What makes the left (0) or right (1) operand of a product."""
        value = product.operands[operand]
        values = list(reached([value], lambda each: operands_behind(each) if _is_inside(each.owner) else ()))
        ops = [each.owner for each in values if isinstance(each.owner, Operation) and _is_inside(each.owner)]
        arrays = [each for each in values if not _is_inside(each.owner)]
        made = tuple(op for op in ops if is_elementwise(op) and (not is_transparent(op) or _is_of_bytes(op)))
        group = max((_group(op) for op in ops if is_view(op)), default=0)
        iteration = iteration_of(product)
        ends_along_k = iteration.roles(iteration.inputs[operand].map)[-1:] == ("k",)
        return OperandWork(value, made, tuple(arrays), group, ends_along_k != any(is_transpose(op) for op in ops))

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
        computing = [op for op in self.ops if not is_cast(op)]
        cost = sum(cost_of(op) for op in computing)
        rounding = [op for op in computing if op.name not in _EXACT]
        sizes = [element_of(v.type).size for v in self.arrays]
        pairs = IN_PAIRS * sizes.count(1) if self.along_k else 0
        if max(sizes, default=4) <= 2 and len(rounding) <= 1 and not any(is_costly(op) for op in computing):
            return cost / 2 + WIDENED * sizes.count(1) + pairs
        return cost + sum(WIDENED_ALONE if size == 1 else 1 for size in sizes) + 0.5 + pairs

    @property
    def is_boxed(self) -> bool:
        """Whether TMA can bring the arrays that are as large as the operand."""
        size = size_of(self.value)
        large = [v for v in self.arrays if size_of(v) == size]
        rows = [prod(shape_of(v)[-1:]) * element_of(v.type).size for v in large]
        starts = [alignment_of(v) for v in large]
        return all(isinstance(v, BlockArgument) for v in large) and not any(
            (*(r % TENSOR_MAP_ALIGNMENT for r in (*rows, *starts)), self.group % MIN_DEPTH)
        )


def _is_inside(op: Operation | Block) -> bool:
    """Whether what makes a value does so in the product's kernel."""
    if isinstance(op, Block):
        return False
    return is_elementwise(op) or is_transparent(op) or is_view(op) or is_transpose(op)


def _is_of_bytes(op: Operation) -> bool:
    """Whether the op widens elements of 8 bits, which takes as long as other work."""
    return is_cast(op) and element_of(op.operands[0].type).size == 1


def _group(op: Operation) -> int:
    """The extent of the innermost of the axes that a reshape merges; 0 where it merges none."""
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    merged = [extent for extent in source if extent not in target and extent != 1]
    return merged[-1] if len(source) > len(target) and merged else 0
