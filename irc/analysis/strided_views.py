"""Values that are parts of arrays, in some order of their axes: how far apart their elements lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import is_view, shape_of
from irc.ir.alignment import alignment_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import part_of, permutation_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_RANK
from irc.support.shapes import reshaped_strides, row_major

Span = tuple[int, int]
"""Of an axis: the distance between neighbors in the array, in elements, and that from its begin to its end."""


@dataclass(frozen=True)
class StridedView:
    """array: what a value is a view of. ops: those that take it, the first one first. shape, strides: of the value.
    cuts: the axes of the array, or of views of it, of which less is taken than there is."""

    array: SSAValue
    ops: tuple[Operation, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    cuts: tuple[Span, ...] = ()

    @property
    def is_moved(self) -> bool:
        """Whether it is more than a reshape of the array."""
        return not all(map(is_view, self.ops))

    @property
    def is_loadable(self) -> bool:
        """Whether tensor maps can load boxes of it."""
        apart = [stride for stride, extent in zip(self.strides, self.shape, strict=True) if extent != 1]
        size = element_of(self.array.type).size
        aligned = all(stride * size % TENSOR_MAP_ALIGNMENT == 0 for stride in apart[:-1])
        aligned &= alignment_of(self.array) % TENSOR_MAP_ALIGNMENT == 0
        return 0 not in self.shape and apart[-1:] == [1] and aligned and len(apart) <= TENSOR_MAP_RANK

    def is_one_axis(self, axes: Sequence[int]) -> bool:
        """Whether elements are evenly apart along all axes together."""
        rest = [axis for axis in axes if self.shape[axis] != 1]
        return all(self.strides[a] == self.strides[b] * self.shape[b] for a, b in pairwise(rest))

    def ends_inside(self, axis: int) -> bool:
        """Whether there may be more of the array beyond the end of an axis."""
        first = self.strides[axis]
        end = first * self.shape[axis]
        return any(first < cut[1] and cut[0] < end for cut in self.cuts)


def strided_view(value: SSAValue) -> StridedView:
    """The value as a view of the array that it is taken from by reshapes, permutations and parts; of itself where it is
    taken from none."""
    owner = value.owner
    view = _taken(owner) if isinstance(owner, Operation) and len(owner.operands) == 1 else None
    return StridedView(value, (), shape_of(value), row_major(shape_of(value))) if view is None else view


def _taken(op: Operation) -> StridedView | None:
    if is_view(op):
        source = strided_view(op.operands[0])
        strides = reshaped_strides(source.shape, source.strides, shape_of(op.results[0]))
    elif (order := permutation_of(op)) is not None:
        source = strided_view(op.operands[0])
        strides = tuple(source.strides[axis] for axis in order)
    elif part_of(op) is not None:
        source = strided_view(op.operands[0])
        strides = source.strides
    else:
        return None
    if strides is None:
        return None
    shape, cuts = shape_of(op.results[0]), source.cuts
    if part_of(op) is not None:
        whole = zip(source.shape, shape, strides, strict=True)
        cuts += tuple((stride, stride * extent) for extent, taken, stride in whole if extent != taken)
    return StridedView(source.array, (*source.ops, op), shape, strides, cuts)
