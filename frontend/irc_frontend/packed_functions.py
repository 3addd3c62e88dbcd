"""Sequences of different lengths in one array: what a query sees of them, and keys that lie in pages.

What a query sees is a comparison of places with numbers that do not fall, so attention does not walk over keys that
no query of a tile sees (docs/decisions/bounds-from-data.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from irc_frontend.arrangement_functions import concatenate
from irc_frontend.elementwise_functions import maximum, minimum
from irc_frontend.functions import ascending, check_indices, expand_dims, take
from irc_frontend.graph import fail
from irc_frontend.indexed import checked
from irc_frontend.making_functions import arange
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = ["length_mask", "packed_mask", "paged"]


def length_mask(lengths: Like, keys: int) -> Tensor:
    """Which of so many keys there are, bool[..., 1, keys], of sequences of these lengths[...], which have room for as
    many. A length that is less than 0, or more than that, is an error of the run."""
    found = _integers("length_mask", "lengths", lengths)
    return arange(keys, dtype="i32") < expand_dims(expand_dims(_up_to(found, keys), -1), -1)


def packed_mask(
    offsets: Like,
    queries: int,
    key_offsets: Like | None = None,
    keys: int | None = None,
    left: int | None = None,
    right: int | None = None,
    lengths: Like | None = None,
) -> Tensor:
    """Which keys a query sees, bool[queries, keys], of sequences one after the other: those of its own one.

    `offsets` is where sequences begin, and where the last one ends: a number more than there are of them, of which the
    first is 0, and none is less than the one before. Those of the keys are `key_offsets`, and the same where that is
    None. Of a sequence with `lengths`, there are so many keys at its beginning. The last query of a sequence has the
    place of its last key, and others the places before: a query sees keys up to `left` places before its own, and up to
    `right` behind it, 0 for none, None for all. Queries of no sequence see nothing. Offsets and lengths that do not fit
    are an error of the run.
    """
    own = _Parts.of("offsets", offsets, queries)
    other = own if key_offsets is None and keys in (None, queries) else None
    if other is None:
        other = _Parts.of("key_offsets", offsets if key_offsets is None else key_offsets, keys or queries)
    if own.starts.shape != other.starts.shape:
        counts = f"{own.starts.shape[0] - 1} and {other.starts.shape[0] - 1} sequences"
        raise fail(f"packed_mask expects offsets of as many queries' as keys' sequences, found {counts}")
    if lengths is not None:
        other = other.of_lengths(lengths)
    row = arange(queries, dtype="i32")
    number = (expand_dims(own.ends[:-1], -1) <= row).astype("i32").sum(0)
    start, last = (take(x, number, 0, mode="clip") for x in (other.starts, other.ends))
    first = start
    if left is not None or right is not None:
        place = row + take(other.ends - own.ends, number, 0, mode="clip")
        first = first if left is None else maximum(first, place - left)
        last = last if right is None else maximum(minimum(last, place + (right + 1)), start)
    column = arange(other.extent, dtype="i32")
    first, last = (expand_dims(ascending(x), -1) for x in (first, last))
    return (column >= first) & (column < last)


def paged(pool: Like, table: Like, lengths: Like | None = None) -> Tensor:
    """The sequences of which a pool[pages, rows, ...] has pages: [sequences, places, ...], of a table[sequences, count]
    of the numbers of pages, `places` being count * rows. Pages that begin behind a sequence's length, if `lengths` are
    given, need no number, and may be any page. Another number that is of no page is an error of the run."""
    pool, numbers = Tensor.of(node_of(pool)), _integers("paged", "table", table)
    if pool.ndim < 2 or numbers.ndim != 2:
        raise fail(
            f"paged expects a pool of pages and a table of two axes, found {pool.node.type} and {numbers.node.type}"
        )
    rows, (sequences, count) = pool.shape[1], numbers.shape
    if lengths is not None:
        known = expand_dims(_integers("paged", "lengths", lengths), -1) > arange(count, dtype="i32") * rows
        numbers = numbers * known.astype("i32")
    taken = take(pool, check_indices(numbers, pool.shape[0]), 0, mode="clip")
    return taken.reshape(sequences, count * rows, *pool.shape[2:])


@dataclass(frozen=True)
class _Parts:
    """Where sequences of an array of so many rows begin and end; the last one is what no sequence has, and is empty."""

    starts: Tensor
    ends: Tensor
    extent: int

    @staticmethod
    def of(what: str, offsets: Like, extent: int) -> _Parts:
        found = _integers("packed_mask", what, offsets)
        if found.ndim != 1 or found.size < 2:
            raise fail(f"packed_mask expects {what} of one axis, with two numbers or more, found {found.node.type}")
        starts = concatenate([check_indices(found[:1], 1), found[1:-1]])
        ends = _up_to(starts + _up_to(found[1:] - starts, extent), extent)
        return _Parts(concatenate([starts, ends[-1:]]), concatenate([ends, ends[-1:]]), extent)

    def of_lengths(self, lengths: Like) -> _Parts:
        """With so many rows of each sequence, of which there are at least as many."""
        found = _integers("packed_mask", "lengths", lengths)
        room = self.ends[:-1] - self.starts[:-1]
        if found.shape != room.shape:
            raise fail(f"packed_mask expects a length for each of {room.size} sequences, found {found.node.type}")
        found = room - _up_to(room - _up_to(found, self.extent), self.extent)
        return _Parts(self.starts, concatenate([self.starts[:-1] + found, self.ends[-1:]]), self.extent)


def _up_to(x: Tensor, extent: int) -> Tensor:
    """The integers, which are 0 to an extent of an array."""
    return Tensor.of(checked(x.node, 0, 1, extent))


def _integers(function: str, what: str, x: Like) -> Tensor:
    node = node_of(x)
    if not node.is_integer:
        raise fail(f"{function} expects integers for {what}, found {node.type}")
    return Tensor.of(node).astype("i32")
