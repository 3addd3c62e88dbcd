"""torch's attention through `torch.compile(function, backend="irc")` on a GPU: results and gradients, as near to those in
f64 as eager's, with nothing left to torch; and what stays with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from irc.runtime.driver import is_present

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not is_present(), reason="no GPU is present"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

sdpa = torch.nn.functional.scaled_dot_product_attention
BATCH, HEADS, LENGTH, SIZE = 2, 4, 384, 64
SQUARE = [(BATCH, HEADS, LENGTH, SIZE)] * 3
GROUPED = [(BATCH, HEADS, 1024, SIZE), *[(BATCH, 2, 1024, SIZE)] * 2]
BESIDE = [(BATCH, LENGTH, HEADS, SIZE)] * 3

WORST = 1.5
"""How many times eager's error irc's may be."""


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def window(x: Any) -> Any:
    away = torch.arange(x.shape[-2], device=x.device) - torch.arange(x.shape[-2], device=x.device)[:, None]
    return (away <= 0) & (away > -100)


def padded(q: Any, k: Any, v: Any) -> Any:
    seen = torch.arange(LENGTH, device=q.device) < torch.tensor([[LENGTH], [150]], device=q.device)
    return sdpa(q, k, v, attn_mask=(k[:, :1, :, :1] < 1e6).mT & seen[:, None, None])


def added(q: Any, k: Any, v: Any) -> Any:
    return sdpa(q, k, v, attn_mask=q.detach()[:, :, :, :1] * k.detach()[:, :, None, :, 0])


def beside(q: Any, k: Any, v: Any) -> Any:
    return sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True).transpose(1, 2).flatten(2)


def joint(x: Any) -> Any:
    q, k, v = x.unflatten(-1, (3, HEADS, SIZE)).permute(2, 0, 3, 1, 4).unbind(0)
    return sdpa(q, k, v)


CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "plain": (sdpa, SQUARE),
    "causal": (lambda q, k, v: sdpa(q, k, v, is_causal=True), SQUARE),
    "rows and keys that fill no tile": (sdpa, [(2, 4, 197, 64), (2, 4, 333, 64), (2, 4, 333, 64)]),
    "wider values": (sdpa, [(2, 8, 1024, 64), (2, 8, 1024, 64), (2, 8, 1024, 128)]),
    "heads of 80": (lambda q, k, v: sdpa(q, k, v, scale=0.2), [(2, 4, 256, 80)] * 3),
    "grouped": (lambda q, k, v: sdpa(q, k, v, is_causal=True, enable_gqa=True), GROUPED),
    "window": (lambda q, k, v: sdpa(q, k, v, attn_mask=window(q)), SQUARE),
    "padding": (padded, SQUARE),
    "added": (added, SQUARE),
    "heads beside elements": (beside, BESIDE),
    "joint": (joint, [(BATCH, LENGTH, 3 * HEADS * SIZE)]),
}


def found(function: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    """The result, and the gradients of its weighted sum."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    result = function(*leaves)
    weights = torch.randn(result.shape, generator=torch.Generator("cuda").manual_seed(1), device="cuda")
    result.backward(weights.to(result.dtype))
    return [result.detach().double(), *(x.grad.double() for x in leaves)]


def error(one: Any, reference: Any) -> float:
    return float((one - reference).norm() / reference.norm())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype, least", [("bfloat16", 4e-3), ("float16", 5e-4)])
def test_results_and_gradients(name: str, dtype: str, least: float) -> None:
    from irc_frontend.torch import backend
    from irc_frontend.torch.graphs import watching

    function, shapes = CASES[name]
    inputs = [torch.randn(shape, device="cuda").to(getattr(torch, dtype)) for shape in shapes]
    left: list[str] = []
    with watching(lambda kind, graph: left.extend(graph.division.reasons.values())):
        own = found(torch.compile(function, backend=backend, fullgraph=True), inputs)
    assert not left
    eager, reference = found(function, inputs), found(function, [x.double() for x in inputs])
    for mine, other, best in zip(own, eager, reference, strict=True):
        assert error(mine, best) <= max(WORST * error(other, best), least)


def test_rows_that_see_nothing_are_0() -> None:
    from irc_frontend.torch import backend

    q, k, v = (torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    mask = torch.rand(256, 256, device="cuda") < 0.5
    mask[3] = False
    result = torch.compile(sdpa, backend=backend)(q, k, v, attn_mask=mask)
    result.sum().backward()
    assert not result[:, :, 3].any() and not q.grad[:, :, 3].any()
    assert all(x.isfinite().all() for x in (result, q.grad, k.grad, v.grad))


def test_what_stays_with_torch() -> None:
    from irc_frontend.torch import explain

    def reasons(shape: tuple[int, ...], dtype: Any, **options: Any) -> set[str]:
        inputs = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3)]
        return {reason for _, reason in explain(lambda *x: sdpa(*x, **options), *inputs).left}

    assert "attention of float32" in reasons((2, 4, 256, 64), torch.float32)
    assert any("attention in several kernels" in each for each in reasons((2, 4, 256, 72), torch.bfloat16))
    assert not reasons((2, 4, 256, 64), torch.bfloat16)


DROPOUT: dict[str, tuple[dict[str, Any], list[tuple[int, ...]]]] = {
    "plain": ({}, SQUARE),
    "causal": ({"is_causal": True}, SQUARE),
    "grouped": ({"is_causal": True, "enable_gqa": True}, GROUPED),
    "rows and keys that fill no tile": ({}, [(2, 4, 197, 64), (2, 4, 333, 64), (2, 4, 333, 64)]),
    "heads of 128": ({"is_causal": True}, [(2, 8, 512, 128)] * 3),
}


def kept_by(words: Any, columns: int, rate: float) -> Any:
    from irc_frontend.torch.dropout import kept

    return kept(words[..., None], torch.arange(columns, dtype=torch.int32, device="cuda"), rate)


@pytest.mark.parametrize("name", DROPOUT)
def test_dropout(name: str) -> None:
    """Results and gradients are those with the mask that the seed says, and the generator moves on as if torch drew."""
    from irc_frontend.torch import backend
    from irc_frontend.torch.dropout import words_of

    options, shapes = DROPOUT[name]
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in shapes]
    function = torch.compile(lambda *x: sdpa(*x, dropout_p=0.2, **options), backend=backend, fullgraph=True)
    torch.manual_seed(5)
    mine = found(function, inputs)
    after = torch.cuda.get_rng_state()
    torch.manual_seed(5)
    mask = kept_by(words_of(inputs[0]), shapes[1][-2], 0.2)
    assert torch.equal(torch.cuda.get_rng_state(), after)
    assert abs(float(mask.double().mean()) - 0.8) < 1e-2

    def masked(q: Any, k: Any, v: Any) -> Any:
        unit = torch.eye(k.shape[-2], device="cuda", dtype=q.dtype).expand(*k.shape[:-1], k.shape[-2])
        weights = sdpa(q, k, unit, **options) * mask / 0.8
        return weights @ v.repeat_interleave(q.shape[1] // v.shape[1], 1)

    for one, best in zip(mine, found(masked, [x.double() for x in inputs]), strict=True):
        assert error(one, best) < 8e-3


def test_dropout_in_a_cuda_graph() -> None:
    """Each replay draws anew, and backward what forward drew."""
    from irc_frontend.torch import backend

    q, k, v = (torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    function = torch.compile(lambda *x: sdpa(*x, dropout_p=0.5), backend=backend, fullgraph=True)

    def step() -> Any:
        result = function(q, k, v)
        return result, torch.autograd.grad(result, v, torch.ones_like(result))[0]

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result, slope = step()
    seen: list[tuple[Any, Any]] = []
    for _ in range(2):
        graph.replay()
        seen.append((result.clone(), slope.clone()))
    assert not torch.equal(seen[0][0], seen[1][0])
    for y, d in seen:  # both sum the weights that are kept: over keys and values, and over queries
        assert error((y.double()).sum(), (d.double() * v.detach().double()).sum()) < 2e-2


SLOPES = [2.0 ** -(head + 1) for head in range(HEADS)]


def functions(device: str) -> dict[str, tuple[Any, Any]]:
    """Score functions and masks of `flex_attention`."""
    slopes, documents = torch.tensor(SLOPES, device=device), torch.arange(LENGTH, device=device) // 150
    by_distance = torch.randn(2 * LENGTH, device=device, generator=torch.Generator(device).manual_seed(2))
    return {
        "plain": (None, None),
        "causal": (None, lambda b, h, i, j: j <= i),
        "window": (None, lambda b, h, i, j: (j <= i) & (i - j < 100)),
        "documents": (None, lambda b, h, i, j: (j <= i) & (documents[i] == documents[j])),
        "slopes": (lambda s, b, h, i, j: s + slopes[h] * (j - i), None),
        "soft cap": (lambda s, b, h, i, j: 5 * torch.tanh(s / 5), lambda b, h, i, j: j <= i),
        "by distance": (lambda s, b, h, i, j: s + by_distance[i - j + LENGTH], None),
        "hidden rows": (None, lambda b, h, i, j: (i > 40) & (j <= i)),
    }


@pytest.mark.parametrize("name", functions("cpu") if is_present() else [])
def test_flex_attention(name: str) -> None:
    """As written out in f64; nothing stays with torch."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    from irc_frontend.torch import backend
    from irc_frontend.torch.graphs import watching

    function, mask = functions("cuda")[name]
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in SQUARE]
    blocks = None if mask is None else create_block_mask(mask, None, None, LENGTH, LENGTH, device="cuda")
    call = torch.compile(
        lambda q, k, v: flex_attention(q, k, v, score_mod=function, block_mask=blocks), backend=backend, fullgraph=True
    )
    left: list[str] = []
    with watching(lambda kind, graph: left.extend(graph.division.reasons.values())):
        mine = found(call, inputs)
    assert not left

    def written(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.mT / SIZE**0.5
        places = torch.meshgrid(*(torch.arange(n, device="cuda") for n in scores.shape), indexing="ij")
        scores = scores if function is None else function(scores, *places)
        scores = scores if mask is None else torch.where(mask(*places), scores, -torch.inf)
        return torch.softmax(scores, -1).nan_to_num(0.0) @ v

    for one, best in zip(mine, found(written, [x.double() for x in inputs]), strict=True):
        assert error(one, best) < 8e-3
