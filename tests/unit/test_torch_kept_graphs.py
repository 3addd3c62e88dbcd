"""Warm starts of torch.compile: what AOTAutograd made is found in torch's cache, and never where it may be another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch import kept_graphs
from irc_frontend.torch.kept_graphs import NotKept, Snapshot, restored

of_irc: Any = import_module("irc_frontend.torch.backend")

pytestmark = pytest.mark.skipif(
    not kept_graphs._has_cache(),  # pyright: ignore[reportPrivateUsage]
    reason="this torch has no such cache",
)


@pytest.fixture(autouse=True)
def caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Empty ones."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "irc"))
    monkeypatch.setenv("IRC_TARGET", "interpret")
    monkeypatch.delenv("IRC_KEPT_GRAPHS", raising=False)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Net(nn.Module):
    """Running statistics, random numbers, a view among the results, and a parameter that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = F.dropout(F.relu(self.norm(self.conv(x))), 0.25, self.training).mean((2, 3))
        y = self.out(self.out(y))
        return y, y[:, 1:]


def first_call(model: Any, *inputs: Any, **options: Any) -> tuple[Any, str]:
    """The result of a first call, as of a new process that has the same caches, and what torch's cache said: `hit`,
    `miss`, `bypass`, or nothing where it was not asked."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    options = {"dynamic": False, **options}
    compiled: Any = torch.compile(model, backend=of_irc.backend, **options)
    result = compiled(*inputs)
    said = [name for name in ("hit", "miss", "bypass") if counters["aot_autograd"][f"autograd_cache_{name}"]]
    return result, " ".join(said)


def gradients(model: nn.Module, results: tuple[Tensor, Tensor]) -> list[Tensor]:
    model.zero_grad()
    (results[0].square().sum() + results[1].sum()).backward()
    return [x.grad.clone() for x in model.parameters() if x.grad is not None]


@pytest.mark.parametrize("is_trained", [False, True])
def test_a_warm_start_traces_nothing_and_gives_the_same(is_trained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 3, 8, 8)
    state = Net().state_dict()
    found: list[list[Tensor]] = []
    asked: list[str] = []
    compiled: list[str] = []
    compile_said: Any = of_irc._compile_kept  # pyright: ignore[reportPrivateUsage]

    def counting(*arguments: Any, **options: Any) -> Any:
        compiled.append(options["kind"])
        return compile_said(*arguments, **options)

    monkeypatch.setattr(of_irc, "_compile_kept", counting)
    for _ in range(2):
        model = Net().train(is_trained)
        model.load_state_dict(state)
        with torch.set_grad_enabled(is_trained):
            results, said = first_call(model, x)
            asked.append(said)
            more = gradients(model, results) if is_trained else []
        found.append([*(each.detach() for each in results), *more, *model.buffers()])
        assert results[1].untyped_storage().data_ptr() == results[0].untyped_storage().data_ptr()
    assert asked == ["miss", "hit"]
    assert compiled == (["forward", "backward"] if is_trained else ["inference"])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert len(found[0]) == (2 + 6 + 3 if is_trained else 2 + 3)


def test_another_process_has_it(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "from torch._dynamo.utils import counters\n"
        "model = torch.nn.Linear(4, 4)\n"
        "run = torch.compile(model, backend='irc', dynamic=False)\n"
        "from irc_frontend.torch import backend\n"
        "run = torch.compile(model, backend=backend, dynamic=False)\n"
        "x = torch.ones(2, 4)\n"
        "run(x).sum().backward()\n"
        "assert torch.equal(model.bias.grad, torch.full((4,), 2.0))\n"
        "print(counters['aot_autograd']['autograd_cache_hit'])"
    )
    file = tmp_path / "program.py"
    file.write_text(code.replace("run = torch.compile(model, backend='irc', dynamic=False)\n", ""))
    said = [subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert [each.strip() for each in said] == ["0", "1"]


def scaled(x: Tensor) -> Tensor:
    return (x @ x).relu() * 2


def _again(x: Tensor, **options: Any) -> str:
    return first_call(scaled, x, **options)[1]


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], Any]] = {
    "irc": lambda patch: patch.setattr(kept_graphs, "source_digest", lambda: "another irc"),
    "frontend": lambda patch: patch.setattr(kept_graphs, "_frontend_digest", lambda: "another frontend"),
    "torch": lambda patch: patch.setattr(torch, "__version__", "0.0"),
    "precision": lambda patch: patch.setattr(torch, "get_float32_matmul_precision", lambda: "medium"),
    "deterministic": lambda patch: torch.use_deterministic_algorithms(True),
    "target": lambda patch: patch.setenv("IRC_TARGET", "cpu"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_tracing_depends_on_is_in_the_key(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(4, 4)
    assert (_again(x), _again(x)) == ("miss", "hit")
    try:
        CHANGES[change](monkeypatch)
        assert _again(x) == "miss"
    finally:
        torch.use_deterministic_algorithms(False)


def test_so_are_arguments_options_and_the_state_of_torch() -> None:
    x = torch.randn(4, 4)
    assert (_again(x), _again(x)) == ("miss", "hit")
    assert _again(x.T) == "miss"
    assert _again(x.double()) == "miss"
    assert _again(torch.randn(5, 5)) == "miss"
    assert _again(x.clone().requires_grad_()) == "miss"
    assert _again(x, options={"max_shapes": 3}) == "miss"
    assert _again(x, mode="reduce-overhead") == "miss"
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype):
            result, said = first_call(scaled, x)
            assert (result.dtype, said) == (dtype, "miss")
    with torch.inference_mode():
        assert _again(x) == "miss"
    assert _again(x) == "hit"


def test_what_memory_arguments_share_is_in_the_key() -> None:
    def write(x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        return y * 2

    def called(x: Tensor, y: Tensor) -> str:
        expected = write(*(each.clone() for each in (x, y))) if x.data_ptr() != y.data_ptr() else (x + 1) * 2
        result, said = first_call(write, x, y)
        assert torch.equal(result, expected)
        return said

    memory = torch.randn(8)
    assert called(torch.randn(4), torch.randn(4)) == "miss"
    assert called(torch.randn(4), torch.randn(4)) == "hit"
    assert called(memory[:4], memory[:4].view(4)) != "hit"


@torch.library.custom_op("kept_graphs::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2


@twice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Tensor:
        return cotangents[0] * 3 * ctx.saved_tensors[0] ** 2


NOT_KEPT: dict[str, Callable[[Tensor], Tensor]] = {
    "an op of the user": lambda x: twice(x.detach()) + x,
    "a gradient of the user": lambda x: Cubed.apply(x) + 1,  # pyright: ignore[reportUnknownLambdaType]
    "a checkpoint": lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False),  # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownMemberType]
    "a condition": lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)),
}


@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_a_graph_does_not_say_is_not_kept(name: str) -> None:
    x = torch.randn(3, requires_grad=True)
    for _ in range(2):
        result, said = first_call(NOT_KEPT[name], x)
        assert "hit" not in said
        torch.testing.assert_close(result, NOT_KEPT[name](x))


def test_dynamic_shapes_are_not_kept() -> None:
    for _ in range(2):
        result, said = first_call(scaled, torch.ones(3, 3), dynamic=True)
        assert said == ""
        assert torch.equal(result, scaled(torch.ones(3, 3)))


def test_caches_may_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    assert (_again(torch.ones(2, 2)), _again(torch.ones(2, 2))) == ("", "")


def test_a_kept_graph_needs_no_table_of_decompositions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch makes it of 1,000 ops in a tenth of a second."""
    x = torch.randn(4, 4)
    assert _again(x) == "miss"
    asked: list[None] = []
    monkeypatch.setattr(of_irc, "_decompositions", lambda: asked.append(None) or {})
    assert (_again(x), asked) == ("hit", [])
    assert _again(x.T) == "miss"
    assert asked


def test_an_array_that_a_graph_holds_is_kept_with_it() -> None:
    def least(x: Tensor) -> Tensor:
        return torch.maximum(x, torch.tensor(0.5))

    x = torch.randn(4, 4)
    for expected in ("miss", "hit"):
        result, said = first_call(least, x)
        assert said == expected
        torch.testing.assert_close(result, least(x))


def test_a_damaged_entry_is_no_error(tmp_path: Path) -> None:
    x = torch.randn(4, 4)
    assert _again(x) == "miss"
    entries = [path for path in (tmp_path / "torch" / "aotautograd").rglob("*") if path.is_file()]
    assert len(entries) == 1
    entries[0].write_bytes(entries[0].read_bytes()[:-100])
    result, said = first_call(scaled, x)
    assert said == "miss"
    torch.testing.assert_close(result, scaled(x))


def test_a_graph_is_restored_as_it_was() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        parts = torch.ops.aten.split.Tensor(x, 2, 1)
        row = x.T[1:]
        most = torch.ops.aten.max.dim(row, 0)
        return parts[0] + float("inf"), row, most[1], (y.to(torch.bfloat16) * torch.tensor(0.5))

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        inputs = [torch.empty_strided((4, 4), (1, 4)), torch.empty(3)]
        module = make_fx(function)(*inputs)
    there, given = restored(Snapshot(module, inputs).content(), mode)
    assert list(map(_said, there.graph.nodes)) == list(map(_said, module.graph.nodes))
    assert [x.stride() for x in given] == [(1, 4), (1,)]
    before, after = ([_told(node, graph) for node in graph.graph.nodes] for graph in (module, there))
    assert before == after
    with pytest.raises(NotKept):
        Snapshot(make_fx(torch.ops.kept_graphs.twice)(torch.ones(2)), [])


def _said(node: Any) -> Any:
    return node.op, node.name, str(node.target), str(node.args), str(node.kwargs)


def _told(node: Any, module: Any) -> Any:
    """What a node says of its arrays, and with which first node it shares memory."""
    values = node.meta.get("val")
    values = values if isinstance(values, list | tuple) else [values]
    arrays = [x for x in values if isinstance(x, Tensor)]
    memories = [x.untyped_storage()._cdata for x in arrays]  # pyright: ignore[reportPrivateUsage]
    sharing = [
        next(
            (n, i)
            for n, each in enumerate(module.graph.nodes)
            for i, y in enumerate(_arrays(each))
            if y.untyped_storage()._cdata == memory  # pyright: ignore[reportPrivateUsage]
        )
        for memory in memories
    ]
    return node.name, [(x.shape, x.stride(), x.storage_offset(), x.dtype, x.device) for x in arrays], sharing


def _arrays(node: Any) -> list[Tensor]:
    values = node.meta.get("val")
    return [x for x in (values if isinstance(values, list | tuple) else [values]) if isinstance(x, Tensor)]


def test_nothing_is_kept_where_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_KEPT_GRAPHS", "off")
    for _ in range(2):
        assert first_call(Net(), torch.randn(2, 3, 8, 8))[1] == ""
