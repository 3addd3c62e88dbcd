"""Transposes and broadcasts absorbed into the dimension numbers of `nd.matmul`.

Canonical forms:

- no operand of a matmul is a permute that keeps the order of the free axes;
- a right operand is not broadcast along leading batch axes that come last among the batches: they are free axes of the
  left operand;
- no permute of a matmul (with no other use) that exchanges its free axes as groups or reorders its batches;
- contracted pairs are in the order of lhs's axes;
- no sum of a matmul (with no other use) along batch axes that lie beside its contracted ones in both operands: they are
  contracted, too;
- no operand of a grouped matmul is a permute, and no permute transposes the results of one that contracts rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from irc.canonicalization.simplify import Table, defined_by
from irc.dialects import nd
from irc.dialects.nd.base import integer, ints
from irc.ir.rewriting import Inserter


def _product(
    at: Inserter,
    op: nd.MatmulOp,
    lhs: SSAValue,
    rhs: SSAValue,
    batches: Sequence[tuple[int, int]],
    contracted: Sequence[tuple[int, int]],
) -> SSAValue:
    """A matmul like `op` with pairs of (lhs, rhs) axes."""
    new = nd.MatmulOp(
        lhs,
        rhs,
        lhs_batch=[i for i, _ in batches],
        rhs_batch=[j for _, j in batches],
        lhs_contract=[i for i, _ in contracted],
        rhs_contract=[j for _, j in contracted],
        element=nd.element_of(op.result),
        precision=op.precision.data,
    )
    return at.value(new)


def _batches(op: nd.MatmulOp) -> list[tuple[int, int]]:
    return list(zip(ints(op.lhs_batch), ints(op.rhs_batch), strict=True))


def _contracted(op: nd.MatmulOp) -> list[tuple[int, int]]:
    return list(zip(ints(op.lhs_contract), ints(op.rhs_contract), strict=True))


def _keeps_order(permute: nd.PermuteOp | None, free: Sequence[int]) -> bool:
    """Whether the free axes of the permuted operand are in the same order before the permute."""
    if permute is None:
        return False
    sources = [ints(permute.permutation)[axis] for axis in free]
    return sources == sorted(sources)


def absorbs(op: Operation, index: int, permute: nd.PermuteOp) -> bool:
    """Whether an op is a product that reads its operand `index`, a permute, as it lies before the permute."""
    return isinstance(op, nd.MatmulOp) and _keeps_order(permute, (op.lhs_free, op.rhs_free)[index])


def permuted_lhs(op: nd.MatmulOp, at: Inserter) -> SSAValue | None:
    permute = defined_by(op.lhs, nd.PermuteOp)
    if permute is None or not _keeps_order(permute, op.lhs_free):
        return None
    order = ints(permute.permutation)
    batches = [(order[i], j) for i, j in _batches(op)]
    return _product(at, op, permute.x, op.rhs, batches, [(order[i], j) for i, j in _contracted(op)])


def permuted_rhs(op: nd.MatmulOp, at: Inserter) -> SSAValue | None:
    permute = defined_by(op.rhs, nd.PermuteOp)
    if permute is None or not _keeps_order(permute, op.rhs_free):
        return None
    order = ints(permute.permutation)
    batches = [(i, order[j]) for i, j in _batches(op)]
    return _product(at, op, op.lhs, permute.x, batches, [(i, order[j]) for i, j in _contracted(op)])


def ordered_contraction(op: nd.MatmulOp, at: Inserter) -> SSAValue | None:
    pairs = _contracted(op)
    return None if pairs == sorted(pairs) else _product(at, op, op.lhs, op.rhs, _batches(op), sorted(pairs))


def broadcast_rhs(op: nd.MatmulOp, at: Inserter) -> SSAValue | None:
    """Batches along which rhs only repeats become free axes of lhs, where the result's axes stay in their order."""
    broadcast = defined_by(op.rhs, nd.BroadcastOp)
    if broadcast is None:
        return None
    dims, batches = ints(broadcast.dims), _batches(op)
    kept = [(i, j) for i, j in batches if j in dims]
    dropped = [(i, j) for i, j in batches if j not in dims]
    others = {*(j for _, j in _contracted(op)), *op.rhs_free}
    repeats_more = any(j not in dims for j in others) or len(dims) != len(others) + len(kept)
    if not dropped or repeats_more or batches != kept + dropped:
        return None
    free = [i for i, _ in dropped] + list(op.lhs_free)
    if free != sorted(free):
        return None
    axes = {dim: axis for axis, dim in enumerate(dims)}
    if [axes[j] for j in op.rhs_free] != sorted(axes[j] for j in op.rhs_free):
        return None
    if not _same_extents(broadcast):
        return None
    new_batches = [(i, axes[j]) for i, j in kept]
    return _product(at, op, op.lhs, broadcast.x, new_batches, [(i, axes[j]) for i, j in _contracted(op)])


def _same_extents(broadcast: nd.BroadcastOp) -> bool:
    """Whether no axis of the operand is stretched."""
    shape, result = nd.shape_of(broadcast.x), nd.shape_of(broadcast.result)
    return all(shape[axis] == result[dim] for axis, dim in enumerate(ints(broadcast.dims)))


def permuted_result(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    """A matmul with its operands exchanged, or its batches in another order, in place of a permute of its result."""
    product = defined_by(op.x, nd.MatmulOp)
    if product is None or not product.result.has_one_use():
        return None
    order, count = list(ints(op.permutation)), len(ints(product.lhs_batch))
    batch_order, free = order[:count], order[count:]
    if sorted(batch_order) != list(range(count)):
        return None
    left = len(product.lhs_free)
    lhs_axes, rhs_axes = list(range(count, count + left)), list(range(count + left, len(order)))
    batches = [_batches(product)[axis] for axis in batch_order]
    if free == lhs_axes + rhs_axes:
        return _product(at, product, product.lhs, product.rhs, batches, _contracted(product))
    if free != rhs_axes + lhs_axes:
        return None
    exchanged = [(j, i) for i, j in batches]
    return _product(at, product, product.rhs, product.lhs, exchanged, [(j, i) for i, j in _contracted(product)])


def summed_batches(op: nd.SumOp, at: Inserter) -> SSAValue | None:
    """The gradient of a right operand that was broadcast: one product with a longer K, in place of the sum of many."""
    product = defined_by(op.x, nd.MatmulOp)
    if product is None or not product.result.has_one_use() or not ints(op.axes):
        return None
    batches, summed = _batches(product), ints(op.axes)
    if max(summed) >= len(batches) or nd.element_of(product.result) is not nd.element_of(op.result):
        return None
    contracted = sorted(_contracted(product) + [batches[axis] for axis in summed])
    if any(after != before + 1 for axes in zip(*contracted, strict=True) for before, after in pairwise(axes)):
        return None
    kept = [pair for axis, pair in enumerate(batches) if axis not in summed]
    return _product(at, product, product.lhs, product.rhs, kept, contracted)


def permuted_grouped_operand(op: nd.GroupedMatmulOp, at: Inserter) -> SSAValue | None:
    """The axes of an operand that is permuted, as it lies."""
    of_lhs, of_rhs, group = (integer(axis) for axis in (op.lhs_contract, op.rhs_contract, op.rhs_group))
    if (permute := defined_by(op.lhs, nd.PermuteOp)) is not None:
        return _grouped(at, op, permute.x, op.rhs, (ints(permute.permutation)[of_lhs], of_rhs, group))
    if (permute := defined_by(op.rhs, nd.PermuteOp)) is not None:
        order = ints(permute.permutation)
        group = 0 if op.contracts_rows else order[group]
        return _grouped(at, op, op.lhs, permute.x, (of_lhs, order[of_rhs], group))
    return None


def permuted_grouped_result(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    """A product over the rows of groups with its operands exchanged, in place of a transpose of its results."""
    product = defined_by(op.x, nd.GroupedMatmulOp)
    if product is None or not product.result.has_one_use() or ints(op.permutation) != (0, 2, 1):
        return None
    axes = integer(product.rhs_contract), integer(product.lhs_contract), 0
    return _grouped(at, product, product.rhs, product.lhs, axes)


def _grouped(
    at: Inserter, op: nd.GroupedMatmulOp, lhs: SSAValue, rhs: SSAValue, axes: tuple[int, int, int]
) -> SSAValue:
    """A grouped matmul like `op` with these contracted axes, and this one of groups."""
    new = nd.GroupedMatmulOp(
        lhs,
        rhs,
        op.ends,
        lhs_contract=axes[0],
        rhs_contract=axes[1],
        rhs_group=axes[2],
        element=nd.element_of(op.result),
        precision=op.precision.data,
    )
    return at.value(new)


MATMUL: Table = {
    nd.GroupedMatmulOp: [permuted_grouped_operand],
    nd.MatmulOp: [permuted_lhs, permuted_rhs, broadcast_rhs, ordered_contraction],
    nd.PermuteOp: [permuted_result, permuted_grouped_result],
    nd.SumOp: [summed_batches],
}
