"""`flex_attention` is irc's: its functions are recorded for all scores at once, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from drawing import long
from torch import Tensor

from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc_frontend.torch import backend, explain
from irc_frontend.torch.graphs import Compiled, watching

flex = pytest.importorskip("torch.nn.attention.flex_attention")
pytestmark = [
    pytest.mark.usefixtures("fresh_torch"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

BATCH, HEADS, ROWS, COLUMNS, SIZE = 2, 4, 24, 40, 8
Function = Callable[..., Any]

SLOPES, DOCUMENTS, LENGTHS = (
    torch.tensor([0.5, 0.25, 0.125, 0.0625]),
    torch.arange(COLUMNS) // 14,
    torch.tensor([40, 9]),
)
BIAS, BY_DISTANCE = torch.randn(HEADS, 32, 64), torch.randn(2 * COLUMNS)


@pytest.fixture(autouse=True)
def backward_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch has it, and refuses to call it."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)


CASES: dict[str, tuple[Function | None, Function | None]] = {
    "plain": (None, None),
    "causal": (None, lambda b, h, i, j: j <= i),
    "window": (None, lambda b, h, i, j: (j <= i) & (i - j < 7)),
    "prefix": (None, lambda b, h, i, j: (j <= i) | (j < 5)),
    "documents": (None, lambda b, h, i, j: (j <= i) & (DOCUMENTS[i] == DOCUMENTS[j])),
    "lengths": (None, lambda b, h, i, j: j < LENGTHS[b]),
    "hidden rows": (None, lambda b, h, i, j: (i >= 3) & (j <= i)),
    "tiles of an image": (None, lambda b, h, i, j: ((i // 8 - j // 8).abs() <= 1) & ((i % 8 - j % 8).abs() <= 2)),
    "slopes": (lambda s, b, h, i, j: s + SLOPES[h] * (j - i), None),
    "soft cap": (lambda s, b, h, i, j: 5 * torch.tanh(s / 5), lambda b, h, i, j: j <= i),
    "array": (lambda s, b, h, i, j: s + BIAS[h, i, j], None),
    "by distance": (lambda s, b, h, i, j: s + BY_DISTANCE[i - j + COLUMNS], None),
    "turned array": (lambda s, b, h, i, j: s * BIAS[h, j % 32, i], None),
    "choice": (lambda s, b, h, i, j: torch.where(j <= i, s, s * 0.5 - 1), None),
    "mask by score": (lambda s, b, h, i, j: torch.where(j <= i, s, -float("inf")), None),
    "not of the score": (lambda s, b, h, i, j: SLOPES[h] * j + s * 0, None),
    "square": (lambda s, b, h, i, j: s * s * 0.3 + s.abs(), None),
}


def arrays(keys: int = HEADS, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    shapes = (BATCH, HEADS, ROWS, SIZE), (BATCH, keys, COLUMNS, SIZE), (BATCH, keys, COLUMNS, 2 * SIZE)
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def mask_of(function: Function | None) -> Any:
    if function is None:
        return None
    return flex.create_block_mask(function, BATCH, HEADS, ROWS, COLUMNS, device="cpu")


def wanted(function: Function | None, mask: Function | None, inputs: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The result, and the logarithms of rows."""
    q, k, v = inputs
    k, v = (x.repeat_interleave(HEADS // x.shape[1], 1) for x in (k, v))
    scores = q @ k.mT / SIZE**0.5
    places = torch.meshgrid(*map(torch.arange, scores.shape), indexing="ij")
    if function is not None:
        scores = function(scores, *places)
    if mask is not None:
        scores = torch.where(mask(*places), scores, -torch.inf)
    return torch.softmax(scores, -1).nan_to_num(0.0) @ v, scores.logsumexp(-1)


@long(18)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("keys", [HEADS, 2, 1])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name: str, keys: int, dtype: torch.dtype) -> None:
    """Those of what is written out in f64; nothing stays with torch. Rows that see nothing are 0."""
    function, mask = CASES[name]
    inputs, graphs = arrays(keys, dtype), list[Compiled]()
    blocks = mask_of(mask)
    call = lambda q, k, v: flex.flex_attention(  # noqa: E731
        q, k, v, score_mod=function, block_mask=blocks, enable_gqa=keys < HEADS, return_lse=True
    )
    with watching(lambda kind, graph: graphs.append(graph)):
        found, sums = torch.compile(call, backend=backend, fullgraph=True)(*inputs)
        weights, others = torch.randn(found.shape), torch.randn(sums.shape)
        seen = sums > -torch.inf
        ((found * weights).sum() + (sums * others)[seen].sum()).backward()
    assert not [reason for graph in graphs for reason in graph.division.reasons.values() if "flex" in reason]
    exact = [x.detach().double().requires_grad_() for x in inputs]
    result, logarithms = wanted(function, mask, exact)
    ((result * weights).sum() + (logarithms * others)[seen].sum()).backward()
    limit = 2e-5 if dtype == torch.float32 else 3e-2
    pairs = [(found, result), (sums[seen], logarithms[seen])]
    for mine, best in [*pairs, *((x.grad, y.grad) for x, y in zip(inputs, exact, strict=True))]:
        assert mine is not None and best is not None
        assert float((mine.detach() - best.detach()).norm()) <= limit * float(best.detach().norm())
    assert not found.detach()[~seen].any()


def test_inference() -> None:
    inputs, graphs = [x.detach() for x in arrays()], list[Compiled]()
    blocks = mask_of(CASES["causal"][1])
    with watching(lambda kind, graph: graphs.append(graph)), torch.no_grad():
        call = torch.compile(lambda *x: flex.flex_attention(*x, block_mask=blocks), backend=backend)
        found = call(*inputs)
    torch.testing.assert_close(found, wanted(None, CASES["causal"][1], inputs)[0], rtol=1e-5, atol=1e-5)
    assert not graphs[0].division.reasons


def test_lists_of_blocks_are_not_read() -> None:
    """Nor is a list of one block made where there is no mask."""
    inputs, graphs = arrays(), list[Compiled]()
    with watching(lambda kind, graph: graphs.append(graph)):
        torch.compile(flex.flex_attention, backend=backend)(*inputs).sum().backward()
    ops = [str(node.target) for graph in graphs for program in graph.programs for node in program.subgraph.body]
    assert set(ops) <= {"flex_attention", "flex_attention_backward", "<built-in function getitem>"} | {
        op for op in ops if "alias" in op or "expand" in op or "view" in op
    }
    assert not [reason for graph in graphs for reason in graph.division.reasons.values()]


KERNELS = ["plain", "causal", "window", "documents", "slopes", "soft cap"]


@long(3)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    """One forward, two backward beside that of the rows' sums; conditions on places bound their loops."""
    function, mask = CASES[name]
    inputs = [torch.randn(4, HEADS, 1024, 64).bfloat16().requires_grad_() for _ in range(3)]
    documents = torch.arange(1024) // 300
    if name == "documents":
        mask = lambda b, h, i, j: (j <= i) & (documents[i] == documents[j])  # noqa: E731
    blocks = None if mask is None else flex.create_block_mask(mask, None, None, 1024, 1024, device="cpu")
    call = lambda q, k, v: flex.flex_attention(q, k, v, score_mod=function, block_mask=blocks)  # noqa: E731
    graphs: list[Compiled] = []
    with watching(lambda kind, graph: graphs.append(graph)):
        torch.compile(call, backend=backend, fullgraph=True)(*inputs).sum().backward()
    modules = [program.module() for graph in graphs for program in graph.programs]
    anchors: list[list[str]] = []
    for module in modules:
        kernels = [op for op in lower(module, "kernel", arch="sm_90a").walk() if isinstance(op, FusedOp)]
        anchors.append([op.kind.value for op in kernels])
        assert ("arith.minsi" in str(lower(module, "tile", arch="sm_90a"))) == (mask is not None)
    assert anchors == [["cascade"], ["reduce", "cascade", "cascade"]]


READ: dict[str, tuple[Function, tuple[int, ...]]] = {
    "of a head": (lambda x, s, b, h, i, j: s * torch.tanh(x[h]) + x[h] * j, (HEADS,)),
    "of all": (lambda x, s, b, h, i, j: s + x[b, h, i, j], (BATCH, HEADS, ROWS, COLUMNS)),
    "in another order, of more": (lambda x, s, b, h, i, j: s * x[j, h, i], (COLUMNS + 3, HEADS, ROWS)),
    "by distance": (lambda x, s, b, h, i, j: s + x[h, i - j + COLUMNS], (HEADS, 2 * COLUMNS)),
    "twice": (lambda x, s, b, h, i, j: s * x[h, j] + x[h, i], (HEADS, COLUMNS)),
}
"""Score functions that read an array, and its shape."""


def nearby(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (j <= i + 9) & (i > 0)


@long(4)
@pytest.mark.parametrize("keys", [HEADS, 2])
@pytest.mark.parametrize("name", READ)
def test_gradients_of_what_is_read(name: str, keys: int) -> None:
    """They are irc's, and those of what is written out in f64, in which a mask hides some scores."""
    score, shape = READ[name]
    table, inputs, graphs = torch.randn(shape, requires_grad=True), arrays(keys), list[Compiled]()
    blocks = mask_of(nearby)

    def call(q: Tensor, k: Tensor, v: Tensor, x: Tensor) -> Any:
        def function(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return score(x, s, b, h, i, j)

        return flex.flex_attention(q, k, v, score_mod=function, block_mask=blocks, enable_gqa=keys < HEADS)

    with watching(lambda kind, graph: graphs.append(graph)):
        compiled: Any = torch.compile(call, backend=backend, fullgraph=True)
        found = compiled(*inputs, table)
        weights = torch.randn(found.shape)
        (found * weights).sum().backward()
    assert not [reason for graph in graphs for reason in graph.division.reasons.values() if "flex" in reason]
    exact = [x.detach().double().requires_grad_() for x in (*inputs, table)]
    result, _ = wanted(partial(score, exact[-1]), nearby, exact[:-1])
    (result * weights).sum().backward()
    for mine, best in [(x.grad, y.grad) for x, y in zip((*inputs, table), exact, strict=True)]:
        assert mine is not None and best is not None
        torch.testing.assert_close(mine.double(), best, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("keys", [HEADS, HEADS // 2])
def test_keys_of_one_batch(keys: int) -> None:
    """All batches share them; functions still tell batches and heads apart, and the mask is that of each."""
    q, k, v = arrays(keys)
    inputs = [q, *(x.detach()[:1].requires_grad_() for x in (k, v))]
    table, lengths = torch.randn(BATCH, HEADS, requires_grad=True), torch.tensor([40, 9])
    blocks = mask_of(lambda b, h, i, j: j < lengths[b])

    def call(q: Tensor, k: Tensor, v: Tensor, x: Tensor) -> Any:
        score = lambda s, b, h, i, j: s + x[b, h] * (j - i)  # noqa: E731
        return flex.flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=keys < HEADS)

    graphs: list[Compiled] = []
    with watching(lambda kind, graph: graphs.append(graph)):
        compiled: Any = torch.compile(call, backend=backend, fullgraph=True)
        found = compiled(*inputs, table)
        weights = torch.randn(found.shape)
        gradients = torch.autograd.grad((found * weights).sum(), (*inputs, table))
    assert not [reason for graph in graphs for reason in graph.division.reasons.values() if "flex" in reason]
    exact = [x.detach().double().requires_grad_() for x in (*inputs, table)]
    whole = [exact[0], *(x.expand(BATCH, -1, -1, -1) for x in exact[1:3])]
    best = lambda s, b, h, i, j: s + exact[-1][b, h] * (j - i)  # noqa: E731
    result, _ = wanted(best, lambda b, h, i, j: j < lengths[b], whole)
    torch.testing.assert_close(found.double(), result, rtol=1e-4, atol=1e-4)
    for mine, right in zip(gradients, torch.autograd.grad((result * weights).sum(), exact), strict=True):
        torch.testing.assert_close(mine.double(), right, rtol=1e-4, atol=1e-4)


# What stays with torch


def test_reads_of_rows_stay_with_torch() -> None:
    """A part of an array that is no number."""
    inputs = [x.detach() for x in arrays()]
    function = lambda q, k, v: flex.flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + BIAS[h, i].sum())  # noqa: E731
    reasons = {why for _, why in explain(function, *inputs).left}
    assert any("function of flex_attention" in why for why in reasons)
