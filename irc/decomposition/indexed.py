"""The decomposition of scatter_add into reductions and gathers, and of reorder into one.

Sums of a scatter_add have a fixed order, so a program gives the same bits in each run, which atomic additions do not.
For V places, N updates and D columns there are two ways:

- Each element of the result looks for its updates: V * N * D comparisons, one kernel.
- Each update finds the one before it of its place, and each place its last one: N * N + V * N comparisons, on integers
  alone. Then every update adds what the chain before it holds: in a round the sums of `_STRIDE` of them that lie one
  reach apart, so that the next reach is `_STRIDE` times as far (pointer jumping; Hillis and Steele, "Data parallel
  algorithms", 1986, in radix `_STRIDE`). The last update of a place has the sum of all. That moves the updates a few
  times, and the result once.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from irc.decomposition.shapes import index_element
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, shape_of
from irc.dialects.nd.terms import Decomposition, Term, iota, narrowed, widened
from irc.ir.dtypes import element_named
from irc.ir.rewriting import Inserter

_STRIDE = 8
"""Rows that a round reads for one that it writes, at 0 to 7 links."""

_MANY = 1 << 28
"""Comparisons that take an H200 less time than the launches of the chains."""


def comparisons(places: int, count: int, columns: int) -> int:
    """How many the cheaper way makes, with the moves of the chains as some."""
    return min(places * count * columns, _STRIDE * (count * count + places * count))


def is_large(op: nd.ScatterAddOp) -> bool:
    """Whether it makes so many comparisons that a CPU, which makes 10^10 in a second, adds one update after another."""
    shape, axis = shape_of(op.x), integer(op.axis)
    count, places = prod(shape_of(op.indices)), shape[axis]
    return places > 0 and comparisons(places, count, prod(shape) // places) > _MANY


def scatter_add(op: nd.ScatterAddOp, at: Inserter) -> Term:
    """x + sum over n of `updates[n] where indices[n] == place`, in the accumulator's type. Indices are clamped."""
    shape, axis = shape_of(op.x), integer(op.axis)
    count = prod(shape_of(op.indices))
    if 0 in shape or count == 0:
        return Term(op.x, at)
    before, after = shape[:axis], shape[axis + 1 :]
    places, columns = shape[axis], prod(before) * prod(after)
    wide = element_named("i64") if element_of(op.indices).size == 8 else index_element(places)
    indices = Term(op.indices, at).cast(wide).maximum(0).minimum(places - 1).reshape([count])
    indices = indices.cast(index_element(places))
    updates = widened(op.updates, at).reshape([*before, count, *after])
    is_chained = places * count * columns > max(_MANY, comparisons(places, count, columns))
    added = _by_chains(indices, updates, places, axis) if is_chained else _by_search(indices, updates, places, axis)
    return narrowed(added if _is_zero(op.x) else widened(op.x, at) + added, op)


def _by_search(indices: Term, updates: Term, places: int, axis: int) -> Term:
    shape = list(updates.shape)
    domain = [*shape[:axis], places, *shape[axis:]]
    hit = iota(updates.at, domain, axis, indices.element).equal(indices.broadcast(domain, [axis + 1]))
    spread = updates.over(domain, [axis])
    return hit.where(spread, spread.filled(0)).sum([axis + 1], spread.element)


def _by_chains(indices: Term, updates: Term, places: int, axis: int) -> Term:
    (count,) = indices.shape
    at, number = indices.at, index_element(max(count, places))
    keys = indices.cast(number)
    link = _last_match(keys, iota(at, [count], 0, number), is_earlier=True)
    last = _last_match(keys, iota(at, [places], 0, number), is_earlier=False)
    sums, reach = updates, 1
    while reach < count:
        two = _followed(link, link)
        four = _followed(two, two)
        six = _followed(two, four)
        total = sums
        for step in (link, two, _followed(link, two), four, _followed(link, four), six, _followed(link, six)):
            total = total + _taken(sums, step, axis)
        sums, link, reach = total, _followed(four, four), reach * _STRIDE
    return _taken(sums, last, axis)


def _last_match(keys: Term, wanted: Term, *, is_earlier: bool) -> Term:
    """For each row the greatest position whose key is wanted, -1 where there is none; if `is_earlier`, the rows are
    positions too, the wanted keys their own, and the match lies before the row."""
    domain = [*wanted.shape, *keys.shape]
    position = iota(keys.at, domain, 1, keys.element)
    if is_earlier:
        row = iota(keys.at, domain, 0, keys.element)
        hit = keys.broadcast(domain, [0]).equal(keys.broadcast(domain, [1])) & (position < row)
    else:
        hit = wanted.broadcast(domain, [0]).equal(keys.broadcast(domain, [1]))
    return hit.where(position, position.filled(-1)).max([1])


def _taken(rows: Term, positions: Term, axis: int) -> Term:
    """The rows at the positions, 0 where one is negative."""
    found = Term(rows.at.value(nd.TakeOp(rows.value, positions.value, axis)), rows.at)
    return (positions < 0).broadcast(found.shape, [axis]).where(found.filled(0), found)


def _followed(link: Term, positions: Term) -> Term:
    """Where the links of the positions lead; -1 stays."""
    found = Term(link.at.value(nd.TakeOp(link.value, positions.value, 0)), link.at)
    return (positions < 0).where(positions, found)


def _is_zero(x: SSAValue) -> bool:
    """Whether the array is a constant of zeros, as in the gradient of a `take`."""
    return isinstance(x.owner, nd.ConstantOp) and x.owner.splat_value == 0


def reorder(op: nd.ReorderOp, at: Inserter) -> Term:
    return Term(at.value(nd.TakeOp(op.x, op.order, integer(op.axis))), at)


INDEXED: dict[type[nd.NdOp], Decomposition] = {nd.ReorderOp: reorder, nd.ScatterAddOp: scatter_add}
