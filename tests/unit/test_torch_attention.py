"""torch's attention as irc's: results and gradients of eager, what is kept for them, and what stays with torch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from drawing import long
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from irc_frontend.evaluation import begin_nodes
from irc_frontend.torch import backend
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.masks import Seen
from irc_frontend.torch.ops.attention import why_slow_attention
from irc_frontend.torch.rules import REASON
from irc_frontend.torch.scaled_dot_product import with_fast_attention

pytestmark = [
    pytest.mark.usefixtures("fresh_torch"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]

Function = Callable[..., Tensor]
BATCH, HEADS, LENGTH, SIZE = 2, 4, 12, 8

sdpa = F.scaled_dot_product_attention


def arrays(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def squares(keys: int = HEADS, length: int = LENGTH, size: int = SIZE) -> list[tuple[int, ...]]:
    """The shapes of q, k and v."""
    return [(BATCH, HEADS, LENGTH, SIZE), (BATCH, keys, length, SIZE), (BATCH, keys, length, size)]


def seen_away(least: int, most: int) -> Tensor:
    away = torch.arange(LENGTH) - torch.arange(LENGTH)[:, None]
    return (away >= least) & (away <= most)


def padding() -> Tensor:
    """Of [batch, 1, 1, keys]: the second sequence is shorter."""
    return (torch.arange(LENGTH) < torch.tensor([[LENGTH], [5]]))[:, None, None]


def repeated_by_expand(x: Tensor) -> Tensor:
    """As libraries of models write it."""
    batch, heads, length, size = x.shape
    return x[:, :, None, :, :].expand(batch, heads, 2, length, size).reshape(batch, heads * 2, length, size)


CASES: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "plain": (sdpa, squares()),
    "three axes": (sdpa, [shape[1:] for shape in squares()]),
    "scale": (lambda q, k, v: sdpa(q, k, v, scale=0.5), squares()),
    "causal": (lambda q, k, v: sdpa(q, k, v, is_causal=True), squares()),
    "other lengths and sizes": (sdpa, squares(length=20, size=16)),
    "causal, more keys": (lambda q, k, v: sdpa(q, k, v, is_causal=True), squares(length=20)),
    "causal, fewer keys": (lambda q, k, v: sdpa(q, k, v, is_causal=True), squares(length=5)),
    "window": (lambda q, k, v: sdpa(q, k, v, attn_mask=seen_away(-3, 0)), squares()),
    "window both ways": (lambda q, k, v: sdpa(q, k, v, attn_mask=seen_away(-3, 3)), squares()),
    "band aside": (lambda q, k, v: sdpa(q, k, v, attn_mask=seen_away(-3, 1)), squares()),
    "hidden rows": (lambda q, k, v: sdpa(q, k, v, attn_mask=seen_away(1, LENGTH)), squares()),
    "grouped": (lambda q, k, v: sdpa(q, k, v, is_causal=True, enable_gqa=True), squares(keys=2)),
    "repeated": (
        lambda q, k, v: sdpa(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, dim=1)),
        squares(keys=2),
    ),
    "repeated by views": (lambda q, k, v: sdpa(q, repeated_by_expand(k), repeated_by_expand(v)), squares(keys=2)),
    "tiled": (lambda q, k, v: sdpa(q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)), squares(keys=2)),
    "one head of keys": (sdpa, squares(keys=1)),
    "heads beside elements": (
        lambda q, k, v: sdpa(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2).flatten(2),
        [(BATCH, LENGTH, HEADS, SIZE)] * 3,
    ),
}


@long(6)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_attention_is_compiled(name: str, dtype: torch.dtype) -> None:
    function, shapes = CASES[name]
    check(function, arrays(*shapes, dtype=dtype))


ODD_QUERIES = {
    "beside heads, three axes": torch.empty(LENGTH, HEADS, SIZE).transpose(0, 1),
    "before heads": torch.empty(LENGTH, SIZE, BATCH, HEADS).permute(2, 3, 0, 1),
    "one batch for all": torch.empty(1, HEADS, LENGTH, SIZE).expand(BATCH, -1, -1, -1),
}


@pytest.mark.parametrize("name", ODD_QUERIES)
def test_results_lie_as_torchs(name: str) -> None:
    """However the queries lie: models take views of them."""
    odd = ODD_QUERIES[name]
    q = torch.randn_like(odd).as_strided(odd.shape, odd.stride()).requires_grad_()
    k, v = arrays(q.shape, q.shape)
    check(lambda q, k, v: sdpa(q, k, v).view(*q.shape[:-2], LENGTH * SIZE), [q, k, v])


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", ["bool", "added", "every score", "one row"])
def test_masks_are_arguments(kind: str, grouped: bool) -> None:
    """Of any shape that broadcasts to the scores; rows of which all is hidden are 0."""
    masks = {
        "bool": padding(),
        "added": torch.where(padding(), 0.25, -torch.inf),
        "every score": torch.rand(BATCH, HEADS, LENGTH, LENGTH) < 0.3,
        "one row": torch.randn(1, LENGTH),
    }
    function = lambda q, k, v, mask: sdpa(q, k, v, attn_mask=mask, enable_gqa=grouped)  # noqa: E731
    check(function, arrays(*squares(keys=2 if grouped else HEADS)), [masks[kind]])


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    "shape", [(HEADS, LENGTH, LENGTH), (BATCH, HEADS, LENGTH, LENGTH), (1, 1, 1, LENGTH), (1, LENGTH)]
)
def test_the_gradient_of_a_bias(shape: tuple[int, ...], grouped: bool) -> None:
    """As of T5's places: it is summed over what the bias is spread over."""
    function = lambda q, k, v, bias: sdpa(q, k, v, attn_mask=bias, enable_gqa=grouped)  # noqa: E731
    check(function, arrays(*squares(keys=2 if grouped else HEADS), shape))


def test_the_gradient_of_a_bias_under_dropout_is_that_of_the_op() -> None:
    """Which stays with torch."""
    words, options = torch.randint(-(2**31), 2**31, (2, 4, 12), dtype=torch.int32), (False, None, 0.3, 0.25)
    found: list[Tensor] = []
    for is_compiled in (True, False):
        torch.manual_seed(0)
        inputs = arrays(*squares(keys=2), (HEADS, LENGTH, LENGTH))

        def function(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
            return torch.ops.irc.attention(q, k, v, bias, words, *options, [0, 1, 2])[0]

        y = (torch.compile(function, backend=backend) if is_compiled else function)(*inputs)
        found.append(torch.autograd.grad(y.square().sum(), inputs[3])[0])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def check(function: Function, inputs: list[Tensor], others: list[Tensor] | None = None) -> None:
    """Results and gradients are as near to those in f64 as eager's; nothing stays with torch, and no array of all
    scores is kept."""
    others = others or []
    twins, exact = (
        [x.detach().to(dtype).requires_grad_() for x in inputs] for dtype in (inputs[0].dtype, torch.float64)
    )
    seen: list[tuple[str, Compiled]] = []
    with watching(lambda kind, graph: seen.append((kind, graph))):
        found = torch.compile(function, backend=backend, fullgraph=True)(*inputs, *others)
        weights = torch.randn(found.shape)
        (found * weights).sum().backward()
    wide = [x.double() if x.is_floating_point() else x for x in others]
    wanted, reference = function(*twins, *others), function(*exact, *wide)
    (wanted * weights).sum().backward()
    (reference * weights).sum().backward()
    assert found.stride() == wanted.stride()
    triples = [
        (found, wanted, reference),
        *zip(*([x.grad for x in each] for each in (inputs, twins, exact)), strict=True),
    ]
    for mine, eager, best in triples:
        tolerance = max(2 * float((eager - best).detach().abs().max()), 2e-6 * float(best.detach().abs().max()))
        torch.testing.assert_close(mine.double(), best, rtol=0, atol=tolerance)
    assert [kind for kind, _ in seen] == ["forward", "backward"]
    assert not [reason for _, graph in seen for reason in graph.division.reasons.values()]
    kept = [node.meta["val"] for _, graph in seen[1:] for program in graph.programs for node in program.subgraph.inputs]
    scores = [BATCH * HEADS * LENGTH * keys for keys in (5, LENGTH, 20)]
    scores += [count // BATCH for count in scores]
    own = [x.shape for x in kept if x.is_floating_point() and x.shape not in [given.shape for given in inputs]]
    assert not [shape for shape in own if shape.numel() in scores]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.joint, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in self.joint(x).chunk(3, -1))
        y = sdpa(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(-2))


def test_autocast() -> None:
    """Attention is in the type that autocast gives it."""
    model, x = Block(), torch.randn(2, 12, 32)
    twin, kinds = copy.deepcopy(model), set[str]()

    def watch(kind: str, graph: Compiled) -> None:
        assert not graph.division.reasons
        for program in graph.programs:
            kinds.update(str(node.meta["val"][0].dtype) for node in program.subgraph.body if "irc" in str(node.target))

    with watching(watch), torch.autocast("cpu", torch.bfloat16):
        found, wanted = torch.compile(model, backend=backend)(x), twin(x)
    torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.02)
    for result in (found, wanted):
        result.square().sum().backward()
    for mine, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert mine.grad is not None and other.grad is not None
        assert (mine.grad - other.grad).norm() <= 0.02 * other.grad.norm()
    assert kinds == {"torch.bfloat16"}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inference(mode: Callable[[], Any]) -> None:
    model, x, seen = Block().eval(), torch.randn(2, 12, 32), list[tuple[str, Compiled]]()
    with watching(lambda kind, graph: seen.append((kind, graph))), mode():
        torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x), rtol=1e-5, atol=1e-5)
    ((kind, graph),) = seen
    assert kind == "inference" and not graph.division.reasons


def test_parts_of_a_product_are_kept_as_it() -> None:
    """So that both graphs read them in place: nothing that is kept has gaps."""
    seen: list[Compiled] = []
    with watching(lambda kind, graph: seen.append(graph)):
        torch.compile(Block(), backend=backend)(torch.randn(2, 12, 32)).sum().backward()
    _, backward = seen
    kept = [node.meta["val"] for program in backward.programs for node in program.subgraph.inputs]
    assert (24, 96) in [tuple(x.shape) for x in kept]
    assert all(torch.ops.aten.is_non_overlapping_and_dense(x) for x in kept)


def test_checkpoints() -> None:
    """Attention in them is irc's, and is computed again."""
    model, x, kinds = Block(), torch.randn(2, 12, 32, requires_grad=True), list[str]()
    twin, other = copy.deepcopy(model), x.detach().clone().requires_grad_()

    def watch(kind: str, graph: Compiled) -> None:
        assert not graph.division.reasons
        ops = [node.target for program in graph.programs for node in program.subgraph.body]
        kinds.extend(kind for op in ops if op is torch.ops.irc.attention.default)

    with watching(watch):
        found = torch.compile(lambda x: checkpoint(model, x, use_reentrant=False), backend=backend)(x)
        found.square().sum().backward()
    wanted = twin(other)
    wanted.square().sum().backward()
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(x.grad, other.grad, rtol=1e-4, atol=1e-4)
    assert kinds == ["forward", "backward"]


@pytest.mark.parametrize("name", ["all", "causal", "mask"])
def test_batches_that_share_keys(name: str) -> None:
    """Keys and values of one batch are not repeated."""
    mask = torch.rand(7, 40) < 0.8

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, mask if name == "mask" else None, is_causal=name == "causal")

    check(function, arrays((3, 4, 7, 8), (1, 4, 40, 8), (1, 4, 40, 6)))


# What stays with torch


def test_batches_that_broadcast_stay_with_torch() -> None:
    check_left(sdpa, [torch.randn(1, 1, 8, 8), *torch.randn(2, 1, 4, 8, 8)], "attention whose batches broadcast")


def test_many_axes_stay_with_torch() -> None:
    check_left(sdpa, [*torch.randn(3, 2, 2, 2, 8, 8)], "attention of arrays with 5 axes")


def test_attention_of_nothing_stays_with_torch() -> None:
    check_left(sdpa, [torch.randn(2, 4, 8, 8), *torch.randn(2, 2, 4, 0, 8)], "attention of nothing")


def test_dynamic_shapes_stay_with_torch() -> None:
    check_left(sdpa, arrays(*squares()), "attention of shapes that are not known", dynamic=True)


def test_transforms_stay_with_torch() -> None:
    """Its own attention has a rule for each; after a transform attention is irc's again."""

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return sdpa(torch.func.grad(lambda q: torch.vmap(sdpa)(q, k, v).sum())(q), k, v)

    inputs = [x.detach() for x in arrays(*squares())]
    check_left(function, inputs, "attention within a transform of torch.func")


def test_a_mask_beside_an_option_stays_with_torch() -> None:
    """Which refuses it, or does as it likes."""
    function = lambda q, k, v: sdpa(q, k, v, attn_mask=seen_away(-3, 3), is_causal=True)  # noqa: E731
    assert torchs(function, arrays(*squares())) == ["a mask beside is_causal"]


def check_left(function: Function, inputs: list[Tensor], reason: str, dynamic: bool = False) -> None:
    """The graph that AOTAutograd gets has torch's attention, with the reason; results are right."""
    assert torchs(function, inputs, dynamic) == [reason]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, dynamic=dynamic)
    torch.testing.assert_close(compiled(*inputs), function(*inputs))


def torchs(function: Function, inputs: list[Tensor], dynamic: bool = False) -> list[str]:
    """Why attention is torch's in the graph that AOTAutograd gets, of each that is."""
    found: list[str] = []

    def inspect(module: torch.fx.GraphModule, examples: Any) -> Callable[..., Any]:
        for node in with_fast_attention(module).graph.find_nodes(op="call_function", target=sdpa):
            found.append(node.meta["custom"][REASON])
        return lambda *_: (torch.zeros(inputs[0].shape),)

    torch.compile(function, backend=inspect, dynamic=dynamic)(*inputs)
    return found


def shapes(heads: int, length: int, size: int) -> list[tuple[int, ...]]:
    return [(4, heads, length, size)] * 3


ALL = Seen(causal=False, window=None)


@pytest.mark.parametrize(
    ("extents", "bias", "seen"),
    [
        ((16, 1024, 64), None, Seen(causal=True, window=None)),
        ((8, 2048, 128), None, Seen(causal=True, window=256)),
        ((12, 512, 64), ((4, 1, 1, 512), torch.bool), ALL),
        ((12, 512, 64), ((1, 12, 512, 512), torch.bfloat16), ALL),
    ],
)
def test_one_kernel_a_pass_on_a_gpu(extents: tuple[int, int, int], bias: Any, seen: Seen) -> None:
    assert why_slow_attention(*shapes(*extents), torch.bfloat16, bias, seen, 0.125, 0.0, True) is None


def test_several_kernels_a_pass_stay_with_torch_on_a_gpu() -> None:
    """Heads of 72 elements, which no cascade takes; and scores so few that it is quicker to store them."""
    odd, few = shapes(16, 512, 72), [(1, 8, 256, 256)] * 3
    assert why_slow_attention(*odd, torch.bfloat16, None, ALL, 0.1, 0.0, False) == "attention in several kernels"
    reason = why_slow_attention(*few, torch.bfloat16, None, ALL, 0.1, 0.0, False)
    assert reason is not None and "cycles in one kernel" in reason


# The op by itself


OPTIONS: list[tuple[str, int, bool, int | None]] = [
    ("none", HEADS, False, None),
    ("none", 2, True, None),
    ("bool", 2, True, 3),
    ("added", HEADS, False, 4),
]


@long(4)
@pytest.mark.parametrize(("bias", "keys", "causal", "window"), OPTIONS)
def test_op(bias: str, keys: int, causal: bool, window: int | None) -> None:
    """Its results and gradients as torch computes them, and what it tells torch's compiler of itself."""
    inputs = [x.detach().double().requires_grad_() for x in arrays(*squares(keys))]
    given = {"none": None, "bool": padding(), "added": torch.randn(HEADS, LENGTH, LENGTH).double()}[bias]
    y, sums = torch.ops.irc.attention(*inputs, given, None, causal, window, 0.3, 0.0, [1, 0, 2])
    assert y.transpose(0, 1).is_contiguous()
    mask = Seen(causal, window).mask(LENGTH, LENGTH)
    if given is not None:
        mask = mask & given if bias == "bool" else torch.where(mask, given, -torch.inf)
    twins = [x.detach().clone().requires_grad_() for x in inputs]
    wanted = sdpa(twins[0], twins[1], twins[2], mask, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(y, wanted)
    scores = twins[0] @ twins[1].repeat_interleave(HEADS // keys, 1).mT * 0.3
    scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    torch.testing.assert_close(sums, scores.logsumexp(-1))
    for result in (y, wanted):
        (result * torch.arange(SIZE)).sum().backward()
    for mine, other in zip(inputs, twins, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
    torch.library.opcheck(torch.ops.irc.attention.default, (*inputs, given, None, causal, window, 0.3, 0.0, [1, 0, 2]))
    g = torch.randn_like(y)
    saved = [x.detach() for x in (g, *inputs, y, sums)]
    torch.library.opcheck(torch.ops.irc.attention_gradients.default, (*saved, given, None, causal, window, 0.3, 0.0))


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_sums_are_in_any_order_unless_torch_wants_a_fixed_one(
    is_deterministic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def recorded(*args: Any, any_order: bool, **options: Any) -> Any:
        seen.append(any_order)
        return begin_nodes(*args, any_order=any_order, **options)

    monkeypatch.setattr("irc_frontend.torch.program.begin_nodes", recorded)
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(is_deterministic)
    try:
        torch.compile(lambda x: x * 2 + int(is_deterministic), backend="irc")(torch.ones(8))
    finally:
        torch.use_deterministic_algorithms(before)
    assert seen == [not is_deterministic]
