"""Kernels written in Python are ops of torch's: in eager, and in graphs of its compiler, with any backend."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import python_kernels
import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Graph
from xdsl.dialects.builtin import ModuleOp

import irc_frontend as ir
from irc.dialects.kernel import FusedOp, LaunchOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.support.diagnostics import IrcError, render
from irc_frontend.torch import explain, kernels
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.kernels import run
from irc_frontend.torch.rules import why_left

pytestmark = [
    pytest.mark.usefixtures("fresh_torch", "on_cpu"),
    pytest.mark.filterwarnings("error::irc_frontend.torch.graphs.NotCompiled"),
]
OP = torch.ops.irc.kernel.default


@ir.kernel
def scaled(x: ir.Tensor, factor: float = 2.0) -> ir.Tensor:
    out = ir.empty_like(x)
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] * factor
    return out


@ir.kernel
def moments(arrays: dict[str, ir.Tensor], name: str) -> dict[str, Any]:
    """Arguments and results in trees, and a constant among the latter."""
    x = arrays[name]
    mean, square = ir.empty(x.shape[0], "f32"), ir.empty(x.shape[0], "f32")
    for m in ir.tiles(x.shape[0]):
        row = x[m, :].astype("f32")
        mean[m], square[m] = row.mean(axis=1), (row * row).mean(axis=1)
    return {"mean": mean, "of": [square, name]}


def drawn(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_eager_tensors(dtype: Any) -> None:
    x = drawn(5, 6, dtype=dtype)
    found = scaled(x)
    assert found.dtype is dtype
    assert torch.equal(found, 2 * x)
    assert torch.equal(scaled(x.T, factor=3.0), 3 * x.T)


def test_trees_and_constants() -> None:
    x = drawn(7, 30)
    found = moments({"a": x[:1], "b": x}, "b")
    assert found["of"][1] == "b"
    torch.testing.assert_close(found["mean"], x.mean(1))
    torch.testing.assert_close(found["of"][0], (x * x).mean(1))


def test_arrays_of_numpy_beside_those_of_torch() -> None:
    x = drawn(7, 30)
    torch.testing.assert_close(moments({"a": x, "b": x.numpy()}, "b")["mean"], x.mean(1))


def test_a_result_that_is_an_argument_is_a_copy() -> None:
    @ir.kernel
    def same(x: ir.Tensor) -> ir.Tensor:
        return x

    x = drawn(3, 4)
    found = same(x)
    assert torch.equal(found, x)
    assert found.data_ptr() != x.data_ptr()


def test_it_is_an_op_as_torch_wants_them() -> None:
    x = drawn(5, 6)
    (name,) = [node.args[1] for node in _graph(lambda x: scaled(x, 4.0), x).find_nodes(op="call_function", target=OP)]
    torch.library.opcheck(run, ([x], name), test_utils=("test_schema", "test_faketensor"))


def _graph(function: Any, *inputs: Any) -> Any:
    """The graph of ATen ops."""
    from torch._dynamo.backends.common import aot_autograd

    found: list[Any] = []

    def keep(module: Any, _: Any) -> Any:
        found.append(module.graph)
        return module

    torch.compile(function, backend=aot_autograd(fw_compiler=keep), fullgraph=True)(*inputs)
    return found[0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "irc"])
def test_a_compiled_function_has_it_whole(backend: str) -> None:
    """No graph breaks: the calls of two kinds are two ops."""

    def model(x: Any, y: Any) -> Any:
        return (scaled(x.sin()) + scaled(y, factor=3.0)).relu()

    x, y = drawn(5, 6), drawn(5, 6)
    found = torch.compile(model, backend=backend, fullgraph=True)(x, y)
    torch.testing.assert_close(found, (2 * x.sin() + 3 * y).relu())
    assert len({node.args[1] for node in _graph(model, x, y).find_nodes(op="call_function", target=OP)}) == 2


def test_irc_makes_one_program_of_all() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return scaled(x.sin(), factor=3.0).sum(1)

    x = drawn(5, 6)
    (graph,) = explain(Model(), x).graphs
    assert (graph.programs, graph.left.total()) == (1, 0)
    assert graph.kernels == 3
    torch.testing.assert_close(torch.compile(Model(), backend="irc")(x), 3 * x.sin().sum(1))


def test_arguments_that_lie_otherwise() -> None:
    """A transposed matrix, and a slice, which irc reads in place and copies."""
    x = drawn(6, 8)
    compiled = torch.compile(lambda x: scaled(x.T) + scaled(x.T[:, ::1]) + scaled(x.T.contiguous()), backend="irc")
    torch.testing.assert_close(compiled(x[:, 2:7]), 6 * x[:, 2:7].T)
    torch.testing.assert_close(compiled(x.T[1:6].T), 6 * x.T[1:6])


def test_a_transposed_weight_is_read_as_it_lies() -> None:
    product = ir.kernel(python_kernels.product)
    layer, x = torch.nn.Linear(16, 24), drawn(32, 16)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return (product(x, self.layer.weight.T) + self.layer.bias).relu()

    model = Layer()
    assert explain(model, x).graphs[0].kernels == 1
    found = _gradients(model, torch.compile(model, backend="irc", fullgraph=True), x)
    for gradient, expected in zip(found, _gradients(model, lambda x: layer(x).relu(), x), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-5)


def test_other_shapes_are_traced_anew() -> None:
    compiled = torch.compile(lambda x: scaled(x + 1), backend="irc", fullgraph=True)
    for rows in (3, 4, 5):
        x = drawn(rows, 6)
        torch.testing.assert_close(compiled(x), 2 * (x + 1))


def test_kernels_of_one_source_are_told_apart() -> None:
    def made(factor: float) -> Any:
        @ir.kernel
        def times(x: ir.Tensor) -> ir.Tensor:
            out = ir.empty_like(x)
            for m, n in ir.tiles(*x.shape):
                out[m, n] = x[m, n] * factor
            return out

        return times

    two, three, x = made(2.0), made(3.0), drawn(4, 5)
    for backend in ("aot_eager", "irc"):
        found = torch.compile(lambda x: two(x) - three(x), backend=backend, fullgraph=True)(x)
        torch.testing.assert_close(found, -x)


# Gradients


class Model(torch.nn.Module):
    """A layer with a kernel, whose weight is trained."""

    def __init__(self, kernel: Any):
        super().__init__()
        self.first = torch.nn.Linear(6, 8)
        self.weight = torch.nn.Parameter(torch.rand(8))
        self._kernel = kernel

    def forward(self, x: Any) -> Any:
        return self._kernel(self.first(x), self.weight).relu()


@ir.kernel
def normed(x: ir.Tensor, weight: ir.Tensor) -> ir.Tensor:
    out = ir.empty_like(x)
    for m in ir.tiles(x.shape[0]):
        row = x[m, :]
        out[m, :] = row * ir.rsqrt((row * row).mean(axis=1, keepdims=True) + 1e-5) * weight[:]
    return out


def _normed(x: Any, weight: Any) -> Any:
    return torch.nn.functional.rms_norm(x, (8,), weight, 1e-5)


def _gradients(model: Any, run: Any, x: Any) -> list[Any]:
    model.zero_grad()
    (run(x) ** 2).sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("backend", [None, "aot_eager", "irc"])
def test_a_model_with_a_kernel_is_trained(backend: str | None) -> None:
    model, other, x = Model(normed), Model(_normed), drawn(5, 6)
    other.load_state_dict(model.state_dict())
    run = model if backend is None else torch.compile(model, backend=backend, fullgraph=True)
    for found, expected in zip(_gradients(model, run, x), _gradients(other, other, x), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_training_is_one_program_for_each_pass() -> None:
    graphs = explain(Model(normed), drawn(5, 6)).graphs
    assert [(each.kind, each.programs, each.left.total()) for each in graphs] == [("forward", 1, 0), ("backward", 1, 0)]


def _launches(module: ModuleOp, passes: Sequence[str]) -> int:
    run_passes(module, passes_of(passes))
    return len([op for op in module.walk() if isinstance(op, FusedOp | LaunchOp)])


def test_the_op_behind_a_kernel_is_in_its_epilogue() -> None:
    """In training: a launch less. What the kernel gave is not kept, since its gradient is that of what it computes."""
    found: dict[str, Compiled] = {}
    model, x = Model(normed), drawn(5, 6)
    with watching(found.__setitem__):
        _gradients(model, torch.compile(model, backend="irc", fullgraph=True), x)
    (forward,) = found["forward"].programs
    without = [name for name in KERNEL if name != "fuse-epilogues"]
    assert (_launches(forward.module(), without), _launches(forward.module(), KERNEL)) == (3, 2)
    assert not [node for node in forward.subgraph.results if "getitem" in node.name]


def test_gradients_of_several_products_are_irc_s_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """They look like attention that torch could have a faster kernel for, and torch has none of them."""

    @ir.kernel
    def twice(x: ir.Tensor, w: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        for m in ir.tiles(x.shape[0]):
            out[m, :] = ir.exp(x[m, :] @ w[:, :]) @ w[:, :]
        return out

    graph = Graph()
    with FakeTensorMode():
        x, w = (graph.placeholder(name) for name in "xw")
        x.meta["val"], w.meta["val"] = (torch.empty(64, 64, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        call = kernels.call_name(twice, (x.meta["val"], w.meta["val"]), {})
        node = graph.call_function(torch.ops.irc.kernel_gradients.default, ([x], [], [x, w], call, [0, 1]))
        node.meta["val"] = [x.meta["val"], w.meta["val"]]
    refused: list[Any] = []
    monkeypatch.setattr("irc_frontend.torch.rules.why_slow", lambda results: refused.append(results) or "slow")
    assert why_left(node, "cuda") is None
    assert not refused


def test_results_are_kept_for_a_gradient_that_reads_them() -> None:
    @ir.kernel
    def exp(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = ir.exp(x[m, n])
        return out

    @exp.gradient
    def _(g: ir.Tensor, y: ir.Tensor, x: ir.Tensor) -> ir.Tensor:
        return g * y

    found: dict[str, Compiled] = {}
    x = drawn(5, 6).requires_grad_()
    with watching(found.__setitem__):
        torch.compile(lambda x: exp(x).relu(), backend="irc", fullgraph=True)(x).sum().backward()
    torch.testing.assert_close(x.grad, x.detach().exp())
    (forward,) = found["forward"].programs
    assert [node for node in forward.subgraph.results if "getitem" in node.name]
    assert _launches(forward.module(), KERNEL) == 1


@pytest.mark.parametrize("backend", [None, "aot_eager", "irc"])
def test_a_gradient_that_the_user_gives(backend: str | None) -> None:
    @ir.kernel
    def picked(table: ir.Tensor, ids: ir.Tensor) -> tuple[ir.Tensor, ir.Tensor]:
        """Integers among arguments and results have none."""
        out, after = ir.empty((ids.shape[0], table.shape[1])), ir.empty_like(ids)
        for m, n in ir.tiles(*out.shape):
            out[m, n] = table[ids[m], n]
            after[m] = ids[m] + 1
        return out, after

    @picked.gradient
    def _(g: Any, y: Any, table: ir.Tensor, ids: ir.Tensor) -> tuple[ir.Tensor, None]:
        hits = ir.one_hot(ids, table.shape[0], dtype="f32")
        return 10.0 * hits.T @ (g[0] * y[0]), None

    table, ids = drawn(9, 4).requires_grad_(), torch.tensor([3, 1, 3], dtype=torch.int32)
    run = picked if backend is None else torch.compile(lambda *x: picked(*x), backend=backend, fullgraph=True)
    out, after = run(table, ids)
    assert torch.equal(after, ids + 1)
    out.sum().backward()
    counts = torch.zeros(9).index_add(0, ids, torch.ones(3))
    torch.testing.assert_close(table.grad, 10 * counts[:, None] * table.detach())


def test_the_example_learns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    first, last = importlib.import_module("torch_kernel").main(20)
    assert last < 0.3 * first
    (forward,) = [line.split() for line in capsys.readouterr().out.splitlines() if "forward" in line]
    assert forward[:5] == ["forward", "10", "0", "1", "6"]


def test_gradients_of_f64_are_those_of_differences() -> None:
    x, weight = (drawn(*shape, dtype=torch.float64).requires_grad_() for shape in [(3, 8), (8,)])
    assert torch.autograd.gradcheck(normed, (x, weight))
    assert torch.autograd.gradcheck(lambda x: normed(x, weight.detach()), (x,))


def test_no_gradient() -> None:
    @ir.kernel
    def last(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty(x.shape[1], x.dtype)
        for b, n in ir.tiles(range(x.shape[0]), x.shape[1]):
            out[n] = x[b, n]
        return out

    x = drawn(3, 4).requires_grad_()
    found = last(x)
    with pytest.raises(IrcError, match="last has no gradient"):
        found.sum().backward()


def test_gradients_of_one_source_are_told_apart() -> None:
    def made(factor: float) -> Any:
        @ir.kernel
        def same(x: ir.Tensor) -> ir.Tensor:
            out = ir.empty_like(x)
            for m, n in ir.tiles(*x.shape):
                out[m, n] = x[m, n] + 0.0
            return out

        @same.gradient
        def _(g: ir.Tensor, y: ir.Tensor, x: ir.Tensor) -> ir.Tensor:
            return factor * g

        return same

    x = drawn(4, 5).requires_grad_()
    two, three = made(2.0), made(3.0)
    (two(x) + three(x)).sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 5))


def test_a_mistake_in_a_compiled_function_names_its_line() -> None:
    @ir.kernel
    def wrong(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = x[m, n] + x  # here
        return out

    with pytest.raises(IrcError) as caught:
        wrong(drawn(4, 5))
    assert "# here" in render(caught.value)
    with pytest.raises(Exception, match="computes with an array as a whole"):
        torch.compile(wrong, backend="irc")(drawn(4, 5))


def test_an_unknown_call() -> None:
    with pytest.raises(IrcError, match="calls the kernel scaled 00, which this process has not called"):
        OP([drawn(2, 3)], "scaled 00")


def test_the_first_call_may_be_traced(tmp_path: Path) -> None:
    """A process that has not imported torch when it makes a kernel, and calls that in a compiled function alone."""
    (tmp_path / "program.py").write_text("""
import irc_frontend as ir

@ir.kernel
def scaled(x):
    out = ir.empty_like(x)
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] * 2.0
    return out

import sys
assert "torch" not in sys.modules
import torch
x = torch.ones(3, 4)
with ir.target("cpu"):
    print(torch.compile(lambda x: scaled(x).sum(), backend="aot_eager", fullgraph=True)(x).item())
""")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "24.0\n", done.stderr
