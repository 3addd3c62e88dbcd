"""Decompositions of one_hot, tril, triu and tile into index arithmetic, broadcasts and reshapes."""

from __future__ import annotations

from collections.abc import Sequence

from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, rank_of, shape_of
from irc.dialects.nd.terms import Decomposition, Term, iota, splat
from irc.ir.dtypes import Element, element_named
from irc.ir.rewriting import Inserter


def index_element(*bounds: int) -> Element:
    """The integer type that indices up to these magnitudes are computed in: i32 where they and their sums fit, else
    i64."""
    return element_named("i32" if all(abs(bound) < 2**30 for bound in bounds) else "i64")


def one_hot(op: nd.OneHotOp, at: Inserter) -> Term:
    """Whether the position on the last axis is the index, clamped into 0..n-1."""
    shape, source = shape_of(op.result), element_of(op.indices)
    if 0 in shape:
        return splat(at, 0, shape, element_of(op.result))
    wide = element_named("i64") if source.size == 8 else index_element(shape[-1])
    indices = Term(op.indices, at).cast(wide).maximum(0).minimum(shape[-1] - 1)
    spread = indices.broadcast(shape, range(len(shape) - 1))
    return spread.equal(iota(at, shape, len(shape) - 1, wide)).cast(element_of(op.result))


def _coordinates(op: nd.TrilOp | nd.TriuOp, at: Inserter) -> tuple[Term, Term]:
    """(row + k, column) of every element."""
    shape, k, rank = shape_of(op.x), integer(op.k), rank_of(op.x)
    element = index_element(*shape[-2:], k)
    row, column = iota(at, shape, rank - 2, element), iota(at, shape, rank - 1, element)
    return (row + k if k else row), column


def tril(op: nd.TrilOp, at: Inserter) -> Term:
    x = Term(op.x, at)
    diagonal, column = _coordinates(op, at)
    return (column <= diagonal).where(x, x.filled(0))


def triu(op: nd.TriuOp, at: Inserter) -> Term:
    x = Term(op.x, at)
    diagonal, column = _coordinates(op, at)
    return (column >= diagonal).where(x, x.filled(0))


def tile(op: nd.TileOp, at: Inserter) -> Term:
    """A broadcast of new axes beside those of x, merged into them: repetition r of element i lands at r * extent +
    i."""
    x, reps = Term(op.x, at), ints(op.reps)
    repeated = [axis for axis, count in enumerate(reps) if count != 1]
    if not repeated:
        return x
    shape, dims = _interleaved(x.shape, reps, repeated)
    return x.broadcast(shape, dims).reshape(shape_of(op.result))


def _interleaved(shape: Sequence[int], reps: Sequence[int], repeated: Sequence[int]) -> tuple[list[int], list[int]]:
    """The shape with an axis of extent reps[i] before each repeated axis i, and where the axes of `shape` are in it."""
    result: list[int] = []
    dims: list[int] = []
    for axis, extent in enumerate(shape):
        if axis in repeated:
            result.append(reps[axis])
        dims.append(len(result))
        result.append(extent)
    return result, dims


SHAPES: dict[type[nd.NdOp], Decomposition] = {
    nd.OneHotOp: one_hot,
    nd.TrilOp: tril,
    nd.TriuOp: triu,
    nd.TileOp: tile,
}
