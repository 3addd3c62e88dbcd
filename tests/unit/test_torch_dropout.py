"""Attention with dropout is irc's in training: what is kept follows torch's generator, is the same in the backward pass,
and is drawn fairly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from drawing import long
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch_models import library

import irc_frontend
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc_frontend.build import build_module
from irc_frontend.evaluation import target
from irc_frontend.graph import sorted_nodes
from irc_frontend.torch import backend, explain
from irc_frontend.torch.dropout import kept, words_of
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.rules import RULES, argument

pytestmark = [
    pytest.mark.usefixtures("fresh_torch"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

BATCH, HEADS, ROWS, COLUMNS, SIZE, RATE = 2, 4, 12, 20, 8, 0.3
ARCH = "sm_90a"
DRAWN = "aten.randint.low"

sdpa: Callable[..., Tensor] = F.scaled_dot_product_attention


def factors(keys: int = HEADS, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    shapes = (BATCH, HEADS, ROWS, SIZE), (BATCH, keys, COLUMNS, SIZE), (BATCH, keys, COLUMNS, SIZE)
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def left(graphs: list[Compiled]) -> set[str]:
    return {str(node.target) for graph in graphs for node in graph.division.reasons}


# What is drawn


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5, 0.9])
def test_each_weight_is_kept_as_often(rate: float) -> None:
    """All together, in each row and in each column, and whatever another row, or another column, keeps: all within five
    standard deviations, and their squares around 1."""
    rows, columns = 2000, 700
    words = words_of(torch.empty(rows, 1))
    found = kept(words[:, None], torch.arange(columns, dtype=torch.int32), rate).double()
    z = (found - (1 - rate)) / (rate * (1 - rate)) ** 0.5
    assert abs(float(z.mean())) * (rows * columns) ** 0.5 < 5
    for sums, count in ((z.sum(1), columns), (z.sum(0), rows)):
        assert float(sums.abs().max()) / count**0.5 < 5.5
        assert abs(float((sums**2).mean()) / count - 1) < 0.25
    for pairs, count in ((z @ z.mT, columns), (z.mT @ z, rows)):
        apart = (pairs / count**0.5)[~torch.eye(len(pairs), dtype=torch.bool)]
        assert float(apart.abs().max()) < 8
        assert abs(float((apart**2).mean()) - 1) < 0.02


def test_neighbors_are_independent() -> None:
    """The products of four that form a rectangle, too."""
    words = words_of(torch.empty(8000, 1))
    z = torch.where(kept(words[:, None], torch.arange(64, dtype=torch.int32), 0.5), 1.0, -1.0)
    for away in range(1, 12):
        pairs = z[:, :-away] * z[:, away:]
        for other in range(1, 12):
            found = (pairs[:, :-other] * pairs[:, other:]).flatten() if other != away else pairs.flatten()
            assert abs(float(found.mean())) * len(found) ** 0.5 < 5
        assert abs(float((pairs[:-1] * pairs[1:]).mean())) * (pairs.numel()) ** 0.5 < 5


def test_ends_of_the_range() -> None:
    words, columns = words_of(torch.empty(100, 1))[:, None], torch.arange(100, dtype=torch.int32)
    assert kept(words, columns, 0.0).all()
    assert int(kept(words, columns, 1 - 1e-12).sum()) <= 1


# Results and gradients


def rows_of(x: Tensor) -> Tensor:
    """The weights of attention to the unit matrix."""
    return torch.eye(COLUMNS, dtype=x.dtype).expand(*x.shape[:-1], COLUMNS)


CASES: dict[str, tuple[dict[str, Any], int]] = {
    "plain": ({}, HEADS),
    "causal": ({"is_causal": True}, HEADS),
    "grouped": ({"enable_gqa": True}, 2),
    "grouped, causal": ({"enable_gqa": True, "is_causal": True}, 2),
    "scale": ({"scale": 0.6}, HEADS),
    "window": (
        {"attn_mask": (torch.arange(COLUMNS) - torch.arange(ROWS)[:, None]).abs() < 4},
        HEADS,
    ),
    "hidden rows": ({"attn_mask": torch.arange(COLUMNS) > torch.arange(ROWS)[:, None] + 12}, HEADS),
}


@long(4)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", [*CASES, "argument", "added"])
def test_forward_and_backward_keep_the_same(name: str, dtype: torch.dtype) -> None:
    """The mask is recovered from attention to a unit matrix with the same seed; results and gradients are those with
    it, and nothing but the words of the rows is drawn by torch."""
    torch.manual_seed(3)
    options, keys = CASES.get(name, ({}, HEADS))
    if name == "argument":
        options = {"attn_mask": torch.rand(BATCH, 1, ROWS, COLUMNS) < 0.6}
    elif name == "added":
        options = {"attn_mask": torch.randn(HEADS, ROWS, COLUMNS)}
    q, k, v = inputs = factors(keys, dtype)
    graphs: list[Compiled] = []
    function = torch.compile(
        lambda q, k, v: sdpa(q, k, v, dropout_p=RATE, **options), backend=backend, fullgraph=True, dynamic=False
    )
    with watching(lambda kind, graph: graphs.append(graph)):
        torch.manual_seed(1)
        found = function(q, k, v)
        weights = torch.randn(found.shape)
        (found * weights).sum().backward()
    assert left(graphs) == {DRAWN}
    torch.manual_seed(1)
    with torch.no_grad():
        shown = function(q.detach(), k.detach(), rows_of(k.detach()))
    exact = [x.detach().double().requires_grad_() for x in inputs]
    mask = options.get("attn_mask")
    if mask is not None and mask.is_floating_point():
        options = {**options, "attn_mask": mask.double()}
    undropped = sdpa(exact[0], exact[1], rows_of(exact[1]), **options)
    wanted = (undropped * (shown != 0) / (1 - RATE)) @ exact[2].repeat_interleave(HEADS // keys, 1)
    (wanted * weights).sum().backward()
    limit = 1e-5 if dtype == torch.float32 else 2e-2
    pairs = [(found, wanted), *((x.grad, y.grad) for x, y in zip(inputs, exact, strict=True))]
    for mine, best in pairs:
        assert mine is not None and best is not None
        assert float((mine - best).detach().norm() / best.detach().norm()) < limit
    seen = undropped > 1e-6
    assert (
        abs(float((shown[seen] != 0).double().mean()) - (1 - RATE)) < 5 * (RATE * (1 - RATE) / int(seen.sum())) ** 0.5
    )


def _op_arguments() -> tuple[list[Tensor], tuple[Any, ...]]:
    """q, k and v, and what follows the bias."""
    inputs = [x.detach().double().requires_grad_() for x in factors(2)]
    return inputs, (words_of(inputs[0]), True, 9, 0.3, RATE, [0, 1, 2])


@long(6)
@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_the_op_by_itself(kind: str) -> None:
    """As irc has it, also where it stays with torch; and what it tells torch's compiler of itself."""
    inputs, options = _op_arguments()
    bias = {"none": None, "bool": torch.rand(ROWS, COLUMNS) < 0.8, "float": torch.randn(HEADS, ROWS, COLUMNS).double()}
    twins = [x.detach().clone().requires_grad_() for x in inputs]

    def op(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.ops.irc.attention(q, k, v, bias[kind], *options)[0]

    found, wanted = torch.compile(op, backend=backend)(*inputs), op(*twins)
    torch.testing.assert_close(found, wanted)
    for result in (found, wanted):
        (result * torch.arange(SIZE)).sum().backward()
    for mine, other in zip(inputs, twins, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
        mine.grad = None
    torch.library.opcheck(torch.ops.irc.attention.default, (*inputs, bias[kind], *options))


def test_the_gradients_of_the_op_are_those_of_small_steps() -> None:
    """Along a direction that is drawn; the mask stays."""
    inputs, options = _op_arguments()

    def op(q: Tensor) -> Tensor:
        return torch.ops.irc.attention(q, *inputs[1:], None, *options)[0]

    assert torch.autograd.gradcheck(op, inputs[:1], fast_mode=True)


# The generator


def test_the_seed_says_what_is_kept() -> None:
    q, k, v = (x.detach() for x in factors())
    function = torch.compile(lambda q: sdpa(q, k, v, dropout_p=RATE), backend=backend)
    torch.manual_seed(1)
    first, second, after = function(q), function(q), torch.rand(3)
    torch.manual_seed(1)
    again, unlike = function(q), torch.rand(3)
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert not torch.equal(first, second)  # the generator has moved on
    assert not torch.equal(after, unlike)
    torch.manual_seed(2)
    assert not torch.equal(first, function(q))


def test_two_attentions_of_one_graph_differ() -> None:
    q, k, v = (x.detach() for x in factors())
    one, other = torch.compile(
        lambda q: (sdpa(q, k, v, dropout_p=RATE), sdpa(q, k, v, dropout_p=RATE)), backend=backend
    )(q)
    assert not torch.equal(one, other)


class Block(nn.Module):
    """Attention whose weights are seen in the result, with dropout behind it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.joint, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in self.joint(x).chunk(3, -1))
        y = sdpa(q, k, v, is_causal=True, dropout_p=RATE if self.training else 0.0)
        return x + self.out(y.transpose(1, 2).flatten(-2))


def test_checkpoints_keep_the_same() -> None:
    """Computed again, attention drops what it has dropped: the gradients are those without a checkpoint."""
    model, x, gradients = Block(), torch.randn(2, 12, 32), list[list[Tensor]]()
    calls: list[Callable[[Tensor], Any]] = [model, lambda x: checkpoint(model, x, use_reentrant=False)]
    for call in calls:
        torch._dynamo.reset()
        torch.manual_seed(1)
        graphs: list[Compiled] = []
        with watching(lambda kind, graph, graphs=graphs: graphs.append(graph)):
            torch.compile(call, backend=backend, fullgraph=True)(x).square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        model.zero_grad()
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_eval_draws_nothing() -> None:
    model, x = Block().eval(), torch.randn(2, 12, 32)
    assert not explain(model, x).left
    torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x), rtol=1e-5, atol=1e-5)


# Modules and models


def encoder() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (torch.randn(2, 6, 16),)


def decoder() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return nn.TransformerDecoderLayer(16, 2, 32), (torch.randn(6, 2, 16), torch.randn(9, 2, 16))


def gpt2() -> tuple[nn.Module, tuple[Tensor, ...]]:
    lib = library("transformers")
    sizes = {"n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 128, "n_positions": 16}
    config = lib.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, use_cache=False)
    return lib.GPT2LMHeadModel(config), (torch.randint(0, 128, (2, 16)),)


def bert() -> tuple[nn.Module, tuple[Tensor, ...]]:
    lib = library("transformers")
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
    config = lib.BertConfig(**sizes, vocab_size=128, max_position_embeddings=16)
    return lib.BertModel(config), (torch.randint(0, 128, (2, 16)),)


@pytest.mark.parametrize("make", [encoder, decoder, gpt2, bert])
def test_no_attention_is_left(make: Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]) -> None:
    """In training with the dropout that modules and models have by default."""
    model, inputs = make()
    graphs, ops = list[Compiled](), list[Any]()

    def watch(kind: str, graph: Compiled) -> None:
        graphs.append(graph)
        ops.extend(node.target for program in graph.programs for node in program.subgraph.body)

    with watching(watch):
        found = torch.compile(model.train(), backend=backend)(*inputs)
        first = found if isinstance(found, Tensor) else found[0]
        first.square().sum().backward()
    assert left(graphs) - {"<built-in function getitem>"} <= {DRAWN, "aten.native_dropout.default"}
    assert torch.ops.irc.attention.default in ops and torch.ops.irc.attention_gradients.default in ops
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("rate", [1.0, 1.5])
def test_dropout_of_everything_stays_with_torch(rate: float) -> None:
    """Which gives 0, or refuses it."""
    q, k, v = (x.detach() for x in factors())
    function = torch.compile(lambda q, k, v: sdpa(q, k, v, dropout_p=rate), backend=backend)
    if rate > 1:
        with pytest.raises(Exception, match="expects p to be in"):
            function(q, k, v)
        return
    assert f"attention with a dropout of {rate}" in {reason for _, reason in explain(function, q, k, v).left}
    assert not function(q, k, v).any()


# On a GPU


@long(6)
@pytest.mark.parametrize(
    ("shape", "causal"), [((4, 12, 1024, 64), True), ((4, 12, 512, 64), False), ((2, 16, 1024, 128), True)]
)
def test_kernels(shape: tuple[int, ...], causal: bool) -> None:
    """One forward, and backward one for each direction and one for sums of rows: none spills a register."""
    q, k, v, y, g = (argument(shape, torch.bfloat16) for _ in range(5))
    words, sums = argument(shape[:-1], torch.int32), argument(shape[:-1], torch.float32)
    options, ops = (causal, None, 0.125, 0.1), torch.ops.irc
    passes = [
        (RULES[ops.attention.default], (q, k, v, None, words, *options, [0, 1, 2])),
        (RULES[ops.attention_gradients.default], (g, q, k, v, y, sums, None, words, *options)),
    ]
    anchors: list[str] = []
    for rule, arguments in passes:
        roots = [x.node for x in rule.record(*arguments)]
        leaves = [x.node for x in arguments if isinstance(x, irc_frontend.Tensor)]
        with target("cuda"):
            module = build_module(sorted_nodes([*leaves, *roots]), roots, leaves)
        anchors += [op.kind.value for op in lower(module, "kernel", arch=ARCH).walk() if isinstance(op, FusedOp)]
        for op in [op for op in lower(module, "all", arch=ARCH).ops if isinstance(op, KernelOp)]:
            name = op.sym_name.data
            compiled = compile_source(print_kernels([op]), ARCH, name=name)
            assert compiled.warnings == () and compiled.resources[name].spills == 0
    assert anchors == ["cascade", "reduce", "cascade", "cascade"]
