"""Keys and values that lie in pages of a pool: a kernel reads them by the table of the pages, and nothing is gathered."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc
from irc.dialects import tile
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

Array = np.ndarray[Any, Any]

POOL, HEADS, SHARED, D, LENGTH = 20, 4, 2, 64, 192

PROGRAM = """
dim B = 2, S = {s}, H = 4, K = 2, D = 64, P = 20, R = {rows}, C = {count}
func f(q: bf16[B, H, S, D], keys: bf16[P, R, K, D], values: bf16[P, R, K, D], table: {type}[B, C], lengths: i32[B]) -> bf16[B, H, S, D] {{
    known = reshape(lengths, [B, 1]) > iota([B, C], i32, axis=1) * R
    pages = check_indices(where(known, table, 0), 0, P)
    k = permute(reshape(take(keys, pages), [B, C * R, K, D]), [0, 2, 1, 3])
    v = permute(reshape(take(values, pages), [B, C * R, K, D]), [0, 2, 1, 3])
    seen = iota([B, 1, 1, C * R], i32, axis=3) < reshape(lengths, [B, 1, 1, 1])
    return attention(q, k, v, bias=broadcast(seen, [B, H, S, C * R]))
}}
"""


def program(queries: int, rows: int, type: str = "i32") -> str:
    return PROGRAM.format(s=queries, rows=rows, count=LENGTH // rows, type=type)


def compiled(text: str, target: str) -> irc.Executable:
    return irc.compile(text, target=target, arch="sm_90a" if target == "sim" else None)


def drawn(queries: int, rows: int) -> tuple[list[Array], Array]:
    """Arguments, of which pages that nobody has, and those behind the lengths, are NaN; and the result in float64."""
    rng = np.random.default_rng(queries + rows)
    q, *pools = (
        rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
        for shape in [(2, HEADS, queries, D), *[(POOL, rows, SHARED, D)] * 2]
    )
    lengths = np.array([LENGTH, LENGTH - rows], np.int32)
    table = rng.permutation(POOL)[: 2 * (LENGTH // rows)].reshape(2, -1)
    for pool in pools:
        pool[~np.isin(np.arange(POOL), table)] = np.nan
        pool[table[1, -1]] = np.nan
    table[1, -1] = 1 << 20
    known = np.where(table < POOL, table, table[0, 0])
    k, v = (
        pool.astype(np.float64)[known].reshape(2, LENGTH, SHARED, D).swapaxes(1, 2).repeat(HEADS // SHARED, 1)
        for pool in pools
    )
    scores = np.where(
        np.arange(LENGTH) < lengths[:, None, None, None], q.astype(np.float64) @ k.swapaxes(2, 3), -np.inf
    )
    powers = np.exp((scores - scores.max(-1, keepdims=True)) / np.sqrt(D))
    return [q, *pools, table, lengths], powers / powers.sum(-1, keepdims=True) @ v


@long(3)
@pytest.mark.parametrize(
    ("target", "type", "queries", "rows"),
    [
        ("interpret", "i32", 1, 64),
        ("cpu", "i64", 70, 32),
        ("sim", "i32", 1, 64),
        ("sim", "i64", 20, 32),
        ("sim", "i32", 3, 96),
        ("sim", "i32", 2, 48),
    ],
)
def test_pages(target: str, type: str, queries: int, rows: int) -> None:
    """Pages that no sequence has are not read by kernels of a GPU, whose loops the lengths bound: NaN times 0 would be
    NaN."""
    arguments, expected = drawn(queries, rows)
    if target != "sim":
        arguments[1:3] = [np.where(pool == pool, pool, pool.dtype.type(0)) for pool in arguments[1:3]]
    arguments[3] = arguments[3].astype(np.int64 if type == "i64" else np.int32)
    exe = compiled(program(queries, rows, type), target)
    found = np.asarray(exe(*arguments)).astype(np.float64)
    assert np.abs(found - expected).max() <= 1.5e-2 * np.abs(expected).max()
    if target == "sim":
        assert [kernel["anchor"] for kernel in exe.kernels] == ["cascade"]


@pytest.mark.parametrize("rows", [64, 16])
def test_boxes_are_of_pages(rows: int) -> None:
    """TMA brings each, after the number of the page was read and checked, once for keys and values."""
    module = lower(isolate(parse(program(1, rows), "f.irc")), "tile", arch="sm_90a")
    (partitions,) = (op for op in module.walk() if isinstance(op, tile.PartitionsOp))
    load, compute = partitions.partitions
    pools = [op for op in load.walk() if isinstance(op, tile.CopyOp) and op.view_type.get_shape()[0] == POOL]
    assert [(op.is_via("tma"), tile.shape_of(op.buffer.type)[0] % rows) for op in pools] == [(True, 0)] * 2
    assert len({op.symbols[0] for op in pools}) == 1
    assert [op.name for op in load.walk()].count("scalar.check_index") == 1
    assert "scalar.check_index" not in [op.name for op in compute.walk()]


@pytest.mark.parametrize("target", ["interpret", "cpu", "sim"])
def test_a_number_of_no_page(target: str) -> None:
    arguments, _ = drawn(1, 64)
    arguments[3][0, 1] = POOL
    exe = compiled(program(1, 64, "i64"), target)
    with pytest.raises(irc.IrcError, match="0 <= index < 20"):
        exe(*arguments)
