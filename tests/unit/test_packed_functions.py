"""Masks of packed sequences and of lengths, and keys that lie in pages."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from drawing import seeds

import irc
import irc_frontend as ir

Array = np.ndarray[Any, Any]


def packed(
    offsets: Array, queries: int, key_offsets: Array, keys: int, left: int | None, right: int | None, lengths: Array
) -> Array:
    """Sequence by sequence."""
    seen = np.zeros((queries, keys), bool)
    for (first, end), begin, length in zip(itertools.pairwise(offsets), key_offsets[:-1], lengths, strict=True):
        place = np.arange(end - first)[:, None] + length - (end - first)
        key = np.arange(length)
        part = np.ones((end - first, length), bool)
        part &= True if left is None else key >= place - left
        part &= True if right is None else key <= place + right
        seen[first:end, begin : begin + length] = part
    return seen


def drawn(rng: np.random.Generator, extent: int, sequences: int) -> Array:
    return np.sort([0, *rng.integers(0, extent + 1, sequences)]).astype(np.int32)


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize(("left", "right"), [(None, None), (None, 0), (3, 0), (2, 4), (0, None)])
def test_packed_mask(seed: int, left: int | None, right: int | None) -> None:
    rng = np.random.default_rng(seed)
    offsets, key_offsets = drawn(rng, 40, 6), drawn(rng, 50, 6)
    room = np.diff(key_offsets)
    lengths = np.minimum(room, rng.integers(0, 9, 6)).astype(np.int32)
    same = ir.packed_mask(offsets, 40, left=left, right=right).numpy()
    assert (same == packed(offsets, 40, offsets, 40, left, right, np.diff(offsets))).all()
    other = ir.packed_mask(offsets, 40, key_offsets, 50, left, right).numpy()
    assert (other == packed(offsets, 40, key_offsets, 50, left, right, room)).all()
    some = ir.packed_mask(offsets, 40, key_offsets, 50, left, right, lengths).numpy()
    assert (some == packed(offsets, 40, key_offsets, 50, left, right, lengths)).all()


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize(("left", "right"), [(None, None), (None, 0), (3, 0), (9, 2)])
def test_its_rows_do_not_fall(target: str, left: int | None, right: int | None) -> None:
    """The interpreter refuses numbers that do."""
    rng = np.random.default_rng(3)
    offsets, key_offsets = np.array([0, 0, 5, 30, 31, 36]), np.array([0, 9, 9, 20, 40, 44])
    lengths = np.array([0, 0, 7, 20, 1])
    q, k, v = (rng.standard_normal((2, extent, 8)).astype(np.float32) for extent in (40, 50, 50))
    with ir.target(target):
        mask = ir.packed_mask(offsets, 40, key_offsets, 50, left, right, lengths)
        found = ir.attention(q, k, v, bias=mask).numpy()
    seen = packed(offsets, 40, key_offsets, 50, left, right, lengths)
    scores = np.where(seen, q.astype(np.float64) @ k.swapaxes(-1, -2) / np.sqrt(8), -np.inf)
    weights = np.exp(scores - np.where(seen.any(-1), scores.max(-1), 0)[..., None])
    expected = weights @ v / np.maximum(weights.sum(-1, keepdims=True), 1e-30)
    assert np.abs(found - expected).max() < 1e-5
    assert not found[:, ~seen.any(-1)].any()


@pytest.mark.parametrize(
    ("offsets", "options", "message"),
    [
        ([0, 40, 10, 40], {}, "index -30 is out of range: 0 <= index < 41"),
        ([0, 41], {}, "index 41 is out of range: 0 <= index < 41"),
        ([2, 40], {}, "index 2 is out of range: 0 <= index < 1"),
        ([0, 40], {"lengths": [41]}, "index 41 is out of range"),
        ([0, 10, 40], {"lengths": [11, 4]}, "index -1 is out of range"),
    ],
)
def test_offsets_that_do_not_fit(offsets: list[int], options: dict[str, Any], message: str) -> None:
    with pytest.raises(irc.IrcError, match=message):
        ir.packed_mask(np.array(offsets), 40, **options).numpy()


def test_wrong_types() -> None:
    with pytest.raises(irc.IrcError, match="packed_mask expects integers for offsets, found f32"):
        ir.packed_mask(np.ones(3, np.float32), 4)
    with pytest.raises(irc.IrcError, match="packed_mask expects offsets of one axis, with two numbers or more"):
        ir.packed_mask(np.zeros((2, 2), np.int32), 4)
    with pytest.raises(irc.IrcError, match="offsets of as many queries' as keys' sequences, found 2 and 1 sequences"):
        ir.packed_mask(np.zeros(3, np.int32), 4, np.zeros(2, np.int32), 4)
    with pytest.raises(irc.IrcError, match="a length for each of 2 sequences"):
        ir.packed_mask(np.zeros(3, np.int32), 4, lengths=np.zeros(3, np.int32))
    with pytest.raises(irc.IrcError, match="a pool of pages and a table of two axes"):
        ir.paged(np.zeros((2, 2), np.float32), np.zeros(3, np.int32))


def test_length_mask() -> None:
    found = ir.length_mask(np.array([[0], [3], [5]]), 5).numpy()
    assert found.shape == (3, 1, 1, 5)
    assert found.sum(-1).ravel().tolist() == [0, 3, 5]
    with pytest.raises(irc.IrcError, match="index 6 is out of range: 0 <= index < 6"):
        ir.length_mask(np.array([6]), 5).numpy()


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_paged(target: str) -> None:
    """Decoding: a query for each sequence, whose keys lie in pages."""
    rng = np.random.default_rng(0)
    keys, values = (rng.standard_normal((7, 4, 2, 8)).astype(np.float32) for _ in range(2))
    table, lengths = np.array([[3, 0, -1], [6, 99, -7], [1, 5, 2]], np.int32), np.array([6, 1, 12], np.int32)
    q = rng.standard_normal((3, 4, 1, 8)).astype(np.float32)
    with ir.target(target):
        k, v = (ir.swapaxes(ir.paged(pool, table, lengths), 1, 2) for pool in (keys, values))
        found = ir.attention(q, k, v, bias=ir.length_mask(np.expand_dims(lengths, 1), 12)).numpy()
    for sequence, length in enumerate(lengths):
        pages = table[sequence, : -(-length // 4)]
        for head in range(4):
            k, v = (pool[pages].reshape(-1, 2, 8)[:length, head // 2].astype(np.float64) for pool in (keys, values))
            weights = np.exp(q[sequence, head, 0] @ k.T / np.sqrt(8))
            assert np.abs(found[sequence, head, 0] - weights @ v / weights.sum()).max() < 1e-5


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_a_number_of_no_page(target: str) -> None:
    pool, table = np.zeros((7, 4), np.float32), np.array([[3, 7]], np.int32)
    with ir.target(target), pytest.raises(irc.IrcError, match="index 7 is out of range: 0 <= index < 7"):
        ir.paged(pool, table).numpy()
    with ir.target(target), pytest.raises(irc.IrcError, match="index 7 is out of range"):
        ir.paged(pool, table, np.array([5])).numpy()
    with ir.target(target):
        assert ir.paged(pool, table, np.array([4])).shape == (1, 8)


def test_vmap_of_what_does_not_fall() -> None:
    """Rows of a batch do not follow each other."""
    rows = np.array([[0, 5, 9], [0, 1, 2]])
    with ir.target("interpret"):
        assert (ir.vmap(ir.ascending)(rows).numpy() == rows).all()
