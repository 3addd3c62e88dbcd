"""A product, or a convolution, as two stages: products of parts of K, then the sums of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from irc.analysis.cuts import divided, extents_to_cut
from irc.analysis.op_classes import is_product, shape_of
from irc.dialects.nd import ConvOp, MatmulOp, PermuteOp, ReshapeOp, SumOp
from irc.dialects.nd.base import ints
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.splitting.partials import Insert, TwoStages
from irc.support.windows import placed


@dataclass(frozen=True)
class SplitProduct(TwoStages):
    """A product whose parts lie along the first axes of the partial result; they are added in order. The axes of the
    sum are then put in the `order` of the op's result."""

    order: tuple[int, ...] = field(default=(), kw_only=True)

    def finish(self, partials: Sequence[SSAValue], insert: Insert) -> SSAValue:
        (partial,) = partials
        whole = SumOp(partial, self.axes, element_of(partial.type), location=self.op.location)
        insert(whole)
        if not self.order:
            return whole.result
        ordered = PermuteOp(whole.result, self.order, location=self.op.location)
        insert(ordered)
        return ordered.result


@dataclass(frozen=True)
class SerialProduct(TwoStages):
    """A product whose parts are added in the first kernel, by the blocks that multiply."""

    def finish(self, partials: Sequence[SSAValue], insert: Insert) -> SSAValue:
        return partials[0]


def split_serially(op: Operation, parts: int, insert: Insert) -> SerialProduct:
    """The products of parts of K, and their sum in the same kernel."""
    split = split_product(op, parts, insert)
    return SerialProduct(op, (split.finish(split.partials, insert),), ())


def can_split_product(op: Operation, parts: int) -> bool:
    """Whether contracted axes have this many parts of one extent."""
    return (_contracted(op, parts) if is_product(op) else divided(extents_to_cut(op), parts)) is not None


def split_product(op: Operation, parts: int, insert: Insert, *, columns_last: bool = False) -> SplitProduct:
    """The products of `parts` equal parts of what is contracted, which are the first axes of the result. A convolution
    has its output channels innermost in those with `columns_last`."""
    if isinstance(op, ConvOp):
        return _split_convolution(op, parts, insert, columns_last=columns_last)
    return _split_matmul(op, parts, insert)


def _split_convolution(op: ConvOp, parts: int, insert: Insert, *, columns_last: bool) -> SplitProduct:
    """Windows of neighboring parts overlap, so that no view of x has the parts: the op itself goes over one."""
    counts = divided(extents_to_cut(op), parts)
    assert counts is not None
    iteration = iteration_of(op)
    dims = iteration.along(iteration.inputs[0].map, "k")
    by_dim = dict(zip(dims, counts, strict=False))
    cuts = [by_dim.get(i, 1) for i, dim in enumerate(iteration.dims) if dim.role == "k"]
    axes, order = ints(op.result_axes), tuple[int, ...]()
    if columns_last:
        rank = len(op.result_shape)
        last = (0, rank - 1, *range(1, rank - 1))
        axes, order = last, placed(last, axes or tuple(range(rank)))
    found = op.changed(result_axes=axes, parts=cuts)
    insert(found)
    return SplitProduct(op, (found.result,), tuple(range(len(cuts))), order=order)


def _split_matmul(op: Operation, parts: int, insert: Insert) -> SplitProduct:
    assert isinstance(op, MatmulOp)
    pair = _contracted(op, parts)
    assert pair is not None
    lhs_axis, rhs_axis = pair
    b, k = _pairs(op, "b"), _pairs(op, "k")
    product = MatmulOp(
        _cut(op.lhs, lhs_axis, parts, op, insert),
        _cut(op.rhs, rhs_axis, parts, op, insert),
        lhs_batch=[lhs_axis, *_moved([axis for axis, _ in b], lhs_axis)],
        rhs_batch=[rhs_axis, *_moved([axis for _, axis in b], rhs_axis)],
        lhs_contract=_moved([axis for axis, _ in k], lhs_axis),
        rhs_contract=_moved([axis for _, axis in k], rhs_axis),
        element=element_of(op.result.type),
        precision=op.precision.data,
        location=op.location,
    )
    insert(product)
    return SplitProduct(op, (product.result,), (0,))


def _contracted(op: Operation, parts: int) -> tuple[int, int] | None:
    """The outermost pair of contracted axes that has parts."""
    shape = shape_of(op.operands[0])
    return next(((a, b) for a, b in sorted(_pairs(op, "k")) if shape[a] % parts == 0), None)


def _pairs(op: Operation, role: str) -> list[tuple[int, int]]:
    """The axes of the left and the right operand along each dimension with a role that both have."""
    iteration = iteration_of(op)
    left, right = (iteration.axes(access.map, role) for access in iteration.inputs)
    return list(zip(left, right, strict=True))


def _cut(value: SSAValue, axis: int, parts: int, op: Operation, insert: Insert) -> SSAValue:
    """The operand with the axis as two: which part, and the place in it. Products of one operand get one value."""
    whole = shape_of(value)
    shape = (*whole[:axis], parts, whole[axis] // parts, *whole[axis + 1 :])
    for use in value.uses:
        if isinstance(use.operation, ReshapeOp) and shape_of(use.operation.result) == shape:
            return use.operation.result
    cut = ReshapeOp(value, shape, location=op.location)
    insert(cut)
    return cut.result


def _moved(axes: Sequence[int], cut: int) -> list[int]:
    """Axes of an operand where they are once `cut` is two."""
    return [axis + (axis >= cut) for axis in axes]
