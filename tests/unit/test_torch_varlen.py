"""torch's attention of sequences of different lengths as irc's: of packed ones, with gradients, and over pages."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from drawing import long
from torch import Tensor
from torch.nn.attention.varlen import AuxRequest, varlen_attn

from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.packed import packed_attention

pytestmark = [
    pytest.mark.usefixtures("fresh_torch"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

OFFSETS = [0, 5, 5, 20, 31]
KEY_OFFSETS = [0, 9, 11, 20, 40]
SIZE = 8


def ints(values: list[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)


def expected(
    q: Tensor, k: list[Tensor], v: list[Tensor], offsets: list[int], window: tuple[int, int], scale: float | None = None
) -> Tensor:
    """In float64, sequence by sequence, of which k and v are those of the keys."""
    parts: list[Tensor] = [torch.zeros(0, q.shape[1], v[0].shape[-1], dtype=torch.float64)]
    for first, end, key, value in zip(offsets[:-1], offsets[1:], k, v, strict=True):
        times = q.shape[1] // key.shape[1]
        key, value = (x.double().repeat_interleave(times, 1).transpose(0, 1) for x in (key, value))
        query = q[first:end].double().transpose(0, 1)
        scores = query @ key.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
        place = torch.arange(end - first)[:, None] + key.shape[1] - (end - first)
        away = torch.arange(key.shape[1]) - place
        left, right = (1 << 30 if n < 0 else n for n in window)
        scores = scores.masked_fill((away < -left) | (away > right), -torch.inf)
        parts.append((scores.softmax(-1).nan_to_num(0.0) @ value).transpose(0, 1))
    return torch.cat([*parts, torch.zeros(len(q) - offsets[-1], *parts[0].shape[1:], dtype=torch.float64)])


def split(x: Tensor, offsets: list[int]) -> list[Tensor]:
    return [x[first:end] for first, end in itertools.pairwise(offsets)]


def near(found: Tensor, wanted: Tensor) -> bool:
    return torch.allclose(found.double(), wanted, rtol=1e-4, atol=1e-5)


@long(4)
@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (4, 0), (3, 2)])
@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize("is_same", [False, True])
def test_packed(window: tuple[int, int], key_heads: int, is_same: bool) -> None:
    """Results and gradients; sequences have no queries, or fewer than keys, and words may be of no sequence."""
    key_offsets = OFFSETS if is_same else KEY_OFFSETS
    shapes = (33, 4, SIZE), (42, key_heads, SIZE), (42, key_heads, SIZE)
    q, k, v = (torch.randn(shape, requires_grad=True) for shape in shapes)
    g = torch.randn(33, 4, SIZE)

    def function(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, key_offsets: Tensor) -> Any:
        options: dict[str, Any] = {"window_size": window, "enable_gqa": key_heads != 4}
        return varlen_attn(q * 1, k * 1, v * 1, offsets, key_offsets, 15, 20, **options)

    graphs: list[Compiled] = []
    with watching(lambda kind, graph: graphs.append(graph)):
        y = torch.compile(function, backend="irc")(q, k, v, ints(OFFSETS), ints(key_offsets))
        found = torch.autograd.grad(y, (q, k, v), g)
    assert [list(graph.division.reasons) for graph in graphs] == [[], []]
    wanted = expected(q, split(k, key_offsets), split(v, key_offsets), OFFSETS, window)
    assert near(y, wanted)
    for each, right in zip(found, torch.autograd.grad(wanted, (q, k, v), g.double()), strict=True):
        assert near(each, right.double())


def test_logarithms_of_rows_and_a_scale() -> None:
    q, k, v = (torch.randn(31, 2, SIZE) for _ in range(3))

    def function(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor) -> Any:
        options: dict[str, Any] = {"scale": 0.5, "return_aux": AuxRequest(lse=True)}
        return varlen_attn(q, k, v, offsets, offsets, 15, 15, **options)

    with torch.no_grad():
        y, sums = torch.compile(function, backend="irc")(q, k, v, ints(OFFSETS))
    assert near(y, expected(q, split(k, OFFSETS), split(v, OFFSETS), OFFSETS, (-1, -1), 0.5))
    first = (q[:5].transpose(0, 1).double() @ k[:5].permute(1, 2, 0).double() * 0.5).logsumexp(-1)
    assert near(sums[:, :5], first)


PAGES, ROWS = 9, 4
TABLE = [[7, 0, -1], [3, 1, 8], [2, -9, 99], [5, 6, 4]]
LENGTHS = [6, 12, 1, 9]


@long(3)
@pytest.mark.parametrize("queries", [[0, 1, 2, 3, 4], [0, 2, 4, 6, 8], [0, 1, 4, 5, 7]])
@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (3, 0)])
def test_pages(queries: list[int], window: tuple[int, int]) -> None:
    """As many queries in each sequence, or not; numbers of pages behind a sequence's length may be anything."""
    q, pool, values = torch.randn(queries[-1], 4, SIZE), *(torch.randn(PAGES, ROWS, 2, SIZE) for _ in range(2))
    longest = max(b - a for a, b in itertools.pairwise(queries))

    def function(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, lengths: Tensor, table: Tensor) -> Any:
        options: dict[str, Any] = {"window_size": window, "enable_gqa": True, "seqused_k": lengths}
        return varlen_attn(q, k, v, offsets, None, longest, 12, block_table=table, **options)

    graphs: list[Compiled] = []
    with torch.no_grad(), watching(lambda kind, graph: graphs.append(graph)):
        compiled = torch.compile(function, backend="irc")
        found = compiled(q, pool, values, ints(queries), ints(LENGTHS), ints(TABLE))
    assert [list(graph.division.reasons) for graph in graphs] == [[]]
    pages = [row[: -(-length // ROWS)] for row, length in zip(TABLE, LENGTHS, strict=True)]
    k, v = (
        [x[each].flatten(0, 1)[:length] for each, length in zip(pages, LENGTHS, strict=True)] for x in (pool, values)
    )
    assert near(found, expected(q, k, v, queries, window))


def test_a_number_of_no_page() -> None:
    q, pool = torch.randn(4, 2, SIZE), torch.randn(PAGES, ROWS, 2, SIZE)
    table = [[7, 9, -1], *TABLE[1:]]

    def function(q: Tensor, k: Tensor, offsets: Tensor, lengths: Tensor, table: Tensor) -> Any:
        return varlen_attn(q, k, k, offsets, None, 1, 12, seqused_k=lengths, block_table=table)

    with torch.no_grad(), pytest.raises(Exception, match="index 9 is out of range"):
        torch.compile(function, backend="irc")(q, pool, ints([0, 1, 2, 3, 4]), ints(LENGTHS), ints(table))


def test_offsets_beyond_the_end() -> None:
    q = torch.randn(31, 2, SIZE)

    def function(q: Tensor, offsets: Tensor) -> Any:
        return varlen_attn(q, q, q, offsets, offsets, 15, 15)

    with torch.no_grad(), pytest.raises(Exception, match="index 32 is out of range"):
        torch.compile(function, backend="irc")(q, ints([0, 5, 32]))


@pytest.mark.parametrize(("left", "right"), [(None, None), (2, 0)])
def test_what_stays_with_torch(left: int | None, right: int | None) -> None:
    """The ops themselves, and their gradients."""
    q, k, v = (torch.randn(shape, requires_grad=True) for shape in [(31, 4, SIZE), (40, 2, SIZE), (40, 2, SIZE)])
    y, _ = packed_attention(q, k, v, ints(OFFSETS), ints(KEY_OFFSETS), None, left, right, SIZE**-0.5)
    window = tuple(-1 if n is None else n for n in (left, right))
    wanted = expected(q, split(k, KEY_OFFSETS), split(v, KEY_OFFSETS), OFFSETS, window)  # pyright: ignore
    assert near(y, wanted)
    g = torch.randn_like(y)
    found, right_ones = torch.autograd.grad(y, (q, k, v), g), torch.autograd.grad(wanted, (q, k, v), g.double())
    assert all(near(a, b.double()) for a, b in zip(found, right_ones, strict=True))
