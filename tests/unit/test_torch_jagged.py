"""torch's attention of jagged nested tensors as irc's, and graphs of such tensors.

torch chooses a kernel for it while Dynamo traces, and has none for jagged tensors on a CPU but one that asks for their
lengths: tests have the choice that it makes on a GPU.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend

import irc_frontend as ir
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.jagged import own_attention
from irc_frontend.torch.rules import Left

pytestmark = [
    pytest.mark.usefixtures("fresh_torch"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

HEADS, SIZE = 2, 8


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.nested._internal.sdpa._select_sdp_backend", lambda *_: SDPBackend.FLASH_ATTENTION)


def jagged(lengths: Sequence[int], *shape: int) -> Any:
    """With gradients, of sequences[words, *shape]."""
    sequences = [torch.randn(count, *shape) for count in lengths]
    return torch.nested.nested_tensor(sequences, layout=torch.jagged, requires_grad=True)


def apart(x: Any) -> list[Tensor]:
    offsets = x.offsets().tolist()
    return [x.values()[first:end] for first, end in itertools.pairwise(offsets)]


def heads(x: Tensor) -> Tensor:
    """x[..., words, elements] with its heads before the words."""
    return x.unflatten(-1, (HEADS, -1)).transpose(-3, -2)


def itself(x: Tensor, weight: Tensor, is_causal: bool) -> Tensor:
    """Attention of one sequence, or of a jagged tensor of them."""
    q, k, v = (heads(part) for part in F.linear(x, weight).chunk(3, -1))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    return y.transpose(-3, -2).flatten(-2)


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_to_itself(is_causal: bool) -> None:
    """One program forward and one backward, for any lengths; the projections are part of them."""
    weight = torch.randn(3 * HEADS * SIZE, 12, requires_grad=True)
    graphs: list[Compiled] = []
    run = torch.compile(itself, backend="irc")
    with watching(lambda kind, graph: graphs.append(graph)):
        for lengths in ([3, 5, 2], [2, 2, 5], [4, 3, 2]):
            x = jagged(lengths, 12)
            y = run(x, weight, is_causal)
            g = torch.randn_like(y.values())
            dx, dw = torch.autograd.grad(y.values(), (x, weight), g)
            wanted = torch.cat([itself(part, weight, is_causal) for part in apart(x)])
            torch.testing.assert_close(y.values(), wanted, rtol=1e-4, atol=1e-4)
            wanted_dx, wanted_dw = torch.autograd.grad(wanted, (x, weight), g)
            torch.testing.assert_close(dx.values(), wanted_dx.values(), rtol=1e-3, atol=1e-3)
            torch.testing.assert_close(dw, wanted_dw, rtol=1e-3, atol=1e-3)
    assert [graph.division.reasons for graph in graphs] == [{}] * 2
    assert [len(graph.programs) for graph in graphs] == [1] * 2


@pytest.mark.usefixtures("as_on_a_gpu")
def test_all_totals_are_one_compilation() -> None:
    """Forward and backward, of any count of words in the class, and more of them than `max_shapes`."""
    weight = torch.randn(3 * HEADS * SIZE, 12, requires_grad=True)
    graphs: list[Compiled] = []
    run = torch.compile(itself, backend="irc", options={"max_shapes": 1})
    with ir.target("interpret"), watching(lambda kind, graph: graphs.append(graph)):
        for total in (9, 10, 11, 13, 17, 19, 24, 37, 61, 64):
            x = jagged([total - 5, 3, 2], 12)
            y = run(x, weight, True)
            g = torch.randn_like(y.values())
            found = torch.autograd.grad(y.values(), (x, weight), g)
            wanted = torch.cat([itself(part, weight, True) for part in apart(x)])
            torch.testing.assert_close(y.values(), wanted, rtol=1e-4, atol=1e-4)
            dx, dw = torch.autograd.grad(wanted, (x, weight), g)
            torch.testing.assert_close(found[0].values(), dx.values(), rtol=1e-3, atol=1e-3)
            torch.testing.assert_close(found[1], dw, rtol=1e-3, atol=1e-3)
    assert [len(graph.programs) for graph in graphs] == [1, 1]


@pytest.mark.usefixtures("as_on_a_gpu")
def test_attention_to_others_with_a_scale() -> None:
    """Of as many sequences, of other lengths; values have heads of another size. Arrays of words are read in place."""
    q, k = jagged([3, 5, 2], 2, 8), jagged([4, 1, 6], 2, 8)
    v = torch.nested.nested_tensor_from_jagged(torch.randn(11, 2, 16), k.offsets(), min_seqlen=1, max_seqlen=6)
    v.requires_grad_()

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (x.transpose(-3, -2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, scale=0.5).transpose(-3, -2)

    graphs: list[Compiled] = []
    with watching(lambda kind, graph: graphs.append(graph)):
        y = torch.compile(function, backend="irc")(q, k, v)
        g = torch.randn_like(y.values())
        found = torch.autograd.grad(y.values(), (q, k, v), g)
    assert [graph.division.reasons for graph in graphs] == [{}] * 2
    wanted = torch.cat([function(*parts) for parts in zip(apart(q), apart(k), apart(v), strict=True)])
    torch.testing.assert_close(y.values(), wanted, rtol=1e-4, atol=1e-5)
    for one, other in zip(found, torch.autograd.grad(wanted, (q, k, v), g), strict=True):
        torch.testing.assert_close(one.values(), other.values(), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("as_on_a_gpu")
def test_autocast() -> None:
    """torch casts before it chooses a kernel; the result is bf16."""
    x, weight = jagged([3, 5, 2], 12), torch.randn(3 * HEADS * SIZE, 12)

    def function(x: Tensor) -> Tensor:
        q, k, v = (heads(part) for part in F.linear(x, weight).chunk(3, -1))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.scaled_dot_product_attention(q, k, v)

    y = torch.compile(function, backend="irc")(x)
    assert y.dtype == torch.bfloat16
    wanted = torch.cat([function(part).transpose(0, 1) for part in apart(x)])
    torch.testing.assert_close(y.transpose(1, 2).values(), wanted, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mask": torch.zeros(1)}, "with a mask"),
        ({"dropout": 0.1}, "with dropout"),
        ({"is_causal": True}, "whose lengths differ"),
        ({"q": (2, 8)}, "not of sequences, heads, words"),
    ],
)
def test_what_stays_with_torch(change: dict[str, Any], reason: str) -> None:
    q, k, v = (jagged(lengths, 2, 8).transpose(1, 2) for lengths in ([3, 5], [4, 1], [4, 1]))
    v = torch.nested.nested_tensor_from_jagged(v.transpose(1, 2).values(), k.offsets()).transpose(1, 2)
    q = q.transpose(1, 2) if "q" in change else q
    options: dict[str, Any] = {"mask": None, "dropout": 0.0, "is_causal": False, "scale": None, **change}
    options.pop("q", None)
    with pytest.raises(Left, match=reason):
        own_attention(q, k, v, **options)


def test_room_between_sequences() -> None:
    values, offsets, lengths = torch.randn(9, 2, 8), torch.tensor([0, 4, 9]), torch.tensor([3, 2])
    q = torch.nested.nested_tensor_from_jagged(values, offsets, lengths).transpose(1, 2)
    with pytest.raises(Left, match="room between"):
        own_attention(q, q, q, None, 0.0, False, None)


def test_layers() -> None:
    """What is element by element, and products: of the words of all sequences."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

    def twin(x: Tensor) -> Tensor:
        return model(x).sin() * 2

    graphs: list[Compiled] = []
    run = torch.compile(twin, backend="irc")
    with watching(lambda kind, graph: graphs.append(graph)):
        for lengths in ([3, 5], [3, 5], [2, 4, 1]):
            x = jagged(lengths, 4)
            results = [f(x).values() for f in (run, twin)]
            torch.testing.assert_close(*results)
            gradients = [torch.autograd.grad(y.square().sum(), [*model.parameters()]) for y in results]
            torch.testing.assert_close(*gradients)
    assert [graph.division.reasons for graph in graphs] == [{}] * len(graphs)
    assert graphs


def test_lengths_that_are_computed_with() -> None:
    """A mean over the words of each sequence: torch's."""
    x = jagged([3, 5], 4).detach()
    y = torch.compile(lambda x: (x * 2).mean(1), backend="irc")(x)
    torch.testing.assert_close(y, torch.stack([part.mean(0) * 2 for part in apart(x)]))
