"""Where collectives and their waits stand among irc's programs. No other process is there: torch's fake group gives
what is not written."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import chain
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

from irc.driver.compiler import Origin
from irc.ir.targets import shares_gpu
from irc_frontend import sharing_gpu
from irc_frontend.torch import collectives
from irc_frontend.torch.division import Division, divide
from irc_frontend.torch.graphs import watching
from irc_frontend.torch.program import CompiledSubgraph
from irc_frontend.torch.replays import why_not_captured

c10d: Any = torch.ops._c10d_functional
distributed: Any = dist
gather = "all_gather_into_tensor"
WIDE = torch.empty(512, 512)
"""An array of 1 MiB."""


@pytest.fixture(autouse=True)
def group() -> Generator[None]:
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield
    dist.destroy_process_group()


def total(x: torch.Tensor) -> torch.Tensor:
    return c10d.all_reduce(x, "sum", "0")


def gathered(x: torch.Tensor) -> torch.Tensor:
    return c10d.all_gather_into_tensor(x, 2, "0")


wait: Any = c10d.wait_tensor


def divided(function: Callable[..., Any], *inputs: torch.Tensor, refused: str = "") -> Division:
    graph = make_fx(function, tracing_mode="fake")(*inputs).graph
    return divide(graph, {node: "a test" for node in graph.nodes if node.name.startswith(refused or "none")})


def schedule(division: Division) -> list[str]:
    """What is done in order: the ops of each program in one text, those of torch that are no views one by one."""
    found = _of_torch(division.first)
    for programs, left in zip(division.subgraphs, division.left, strict=True):
        found += [" ".join(map(_name, each.own)) for each in programs]
        found += _of_torch(left)
    return found


def _of_torch(nodes: Sequence[torch.fx.Node]) -> list[str]:
    return [name for name in map(_name, nodes) if name not in ("t", "view", "getitem")]


def _name(node: torch.fx.Node) -> str:
    return getattr(node.target, "__name__", "").partition(".")[0]


def test_programs_share_the_gpu_where_the_user_says_so() -> None:
    def shares() -> bool:
        (program,) = (each for programs in divided(lambda x: x @ x, WIDE).subgraphs for each in programs)
        origin = CompiledSubgraph(program).finish().executable.reporter
        assert isinstance(origin, Origin)
        return shares_gpu(origin.subject.module(origin.options))

    assert not shares()
    with sharing_gpu():
        assert shares()
    assert not shares()


def test_what_needs_no_collective_runs_while_it_is_under_way() -> None:
    """The gradients of a product: that of its input is summed over ranks, that of its weight is computed meanwhile,
    with what it alone reads."""

    def gradients(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        dx = wait(total(dy @ w.t()))
        return dx + 1, (x.exp() + 1).t() @ dy

    assert schedule(divided(gradients, WIDE, WIDE, WIDE)) == ["mm", "all_reduce", "exp add mm", "wait_tensor", "add"]


def test_short_collectives_and_elementwise_work_cut_no_program() -> None:
    def gradients(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        return wait(total(dy @ w)) + 1, x @ dy

    small = torch.empty(256, 256)
    assert schedule(divided(gradients, small, small, small)) == ["mm mm", "all_reduce", "wait_tensor", "add"]

    def elementwise(x: torch.Tensor) -> Any:
        return wait(total(x.sin())) + 1, x.cos()

    assert schedule(divided(elementwise, WIDE)) == ["sin cos", "all_reduce", "wait_tensor", "add"]


def test_a_result_that_is_needed_late_is_waited_for_late() -> None:
    """Behind another collective and the program that uses it; a view of what is waited for is no use of it."""

    def late(x: torch.Tensor, w: torch.Tensor) -> Any:
        first = wait(total(x.sin()))
        turned = first.view(-1)
        second = wait(total(w.cos()))
        third = wait(total(second.tan()))
        return third + turned.view(512, 512)

    found = schedule(divided(late, WIDE, WIDE))
    assert found[:5] == ["sin cos", "all_reduce", "all_reduce", "wait_tensor", "tan"]
    assert found[5:] == ["all_reduce", "wait_tensor", "wait_tensor", "add"]


def test_collectives_of_arguments_are_issued_before_anything_else() -> None:
    """Until one in the program's order is none."""

    def gradients(dy: torch.Tensor, x: torch.Tensor) -> Any:
        first = gathered(dy.t().view(512, 512))
        second = gathered(x.sin())
        return wait(first) + 1, wait(second) + 1, wait(gathered(x))

    found = schedule(divided(gradients, WIDE, WIDE))
    assert [name for name in found if name != "wait_tensor"][:4] == [gather, "sin", gather, gather]


def test_gathers_of_weights_run_one_layer_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is gathered for the last layer is not there with the first: a bucket is issued at a time."""
    monkeypatch.setattr(collectives, "BUCKET", WIDE.nbytes)

    def layers(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        for w in weights:
            x = x @ wait(gathered(w))
        return x

    half = WIDE[:256].clone()
    found = schedule(divided(layers, WIDE, half, half, half, half))
    use = ["wait_tensor", "mm"]
    assert found == [gather, gather, *use, gather, *use, gather, *use, *use]


def test_gradients_are_reduced_while_others_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "BUCKET", WIDE.nbytes)

    def backward(dy: torch.Tensor, *weights: torch.Tensor) -> Any:
        found: list[torch.Tensor] = []
        for w in weights:
            found.append(wait(total(w.t() @ dy)))
            dy = dy @ w
        return found

    found = schedule(divided(backward, *[WIDE] * 7))
    issues = [at for at, name in enumerate(found) if name == "all_reduce"]
    assert [found[at - 1].count("mm") > 0 for at in issues] == [True] * 6
    first_wait = found.index("wait_tensor")
    assert issues[1] < first_wait < issues[-1]  # what a collective reads does not stay until the end


class Parted(torch.autograd.Function):
    """A product by a weight of which each rank has half the rows: that is gathered, and its gradient is scattered. In
    the fake group each rank has what this one has."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ wait(gathered(w))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> Any:
        (dy,), (x, w) = grad_outputs, ctx.saved_tensors
        dw = c10d.reduce_scatter_tensor(x.t() @ dy, "sum", 2, "0")
        return wait(total(dy @ wait(gathered(w)).t())), wait(dw)


def test_numbers_of_a_divided_step(on_interpreter: None, fresh_torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives, "BUCKET", 1)
    monkeypatch.setattr(collectives, "MIN_HIDDEN", 0)

    def loss(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        for w in weights:
            x = torch.tanh(Parted.apply(x, w))
        return x.square().sum()

    inputs = [torch.randn(4, 8, requires_grad=True), *(torch.randn(4, 8, requires_grad=True) for _ in range(3))]
    levels: list[int] = []
    with watching(lambda _, compiled: levels.append(sum(map(bool, compiled.division.subgraphs)))):
        loss_of = torch.compile(loss, backend="irc", fullgraph=True)
        found = torch.autograd.grad(loss_of(*inputs), inputs)
    assert min(levels) >= 3
    torch.testing.assert_close(found, torch.autograd.grad(loss(*inputs), inputs))


def test_the_order_of_collectives_is_that_of_the_program_on_every_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """However a rank's graph is divided, and whatever else it computes."""
    monkeypatch.setattr(collectives, "BUCKET", WIDE.nbytes)

    def issued(division: Division) -> list[str]:
        nodes = chain(division.first, *division.left)
        return [str(node.args[1:]) for node in nodes if collectives.is_issue(node)]

    def program(x: torch.Tensor, y: torch.Tensor) -> Any:
        deep = x.sin() @ y
        one = c10d.all_reduce(torch.erfinv(deep) @ x, "sum", "0")
        two = c10d.all_reduce(y, "max", "0")  # ready before
        three = c10d.all_reduce(wait(two) + x, "min", "0")
        return wait(one), wait(three), c10d.all_gather_into_tensor(x, 2, "0")

    def other(x: torch.Tensor, y: torch.Tensor) -> Any:
        return *program(x, y), x.cos() @ y, torch.erfinv(y)

    orders = [issued(divided(program, WIDE, WIDE, refused=each)) for each in ("", "sin", "mm", "erfinv", "add")]
    orders.append(issued(divided(other, WIDE, WIDE)))
    assert orders == [["('sum', '0')", "('max', '0')", "('min', '0')", "(2, '0')"]] * 6


@pytest.mark.filterwarnings("ignore:.* is deprecated. Please use")  # torch before 2.13 has no other names
def test_every_form_that_torch_traces(on_interpreter: None) -> None:
    """Lists of tensors, those with gradients, and the calls of torch.distributed that write into a tensor."""
    group = dist.group.WORLD
    assert group is not None

    def coalesced(x: torch.Tensor) -> Any:
        one, other = c10d.all_gather_into_tensor_coalesced([x.sin(), x.cos()], 2, "0")
        (part,) = c10d.reduce_scatter_tensor_coalesced([x * 2], "sum", 2, "0")
        return wait(one) + wait(other), wait(part) + 1

    def written(x: torch.Tensor) -> Any:
        y, z, w = x * 2, torch.empty(8, 4), torch.empty(2, 4)
        dist.all_reduce(y)
        distributed.all_gather_into_tensor(z, y)
        distributed.reduce_scatter_tensor(w, y)
        return (y + 1).sum(), z + 1, w + 1

    def learned(x: torch.Tensor) -> Any:
        whole = functional.all_gather_tensor_autograd(x.sin(), 0, group)
        return functional.reduce_scatter_tensor_autograd(whole.cos(), "sum", 0, group).sum()

    for function in (coalesced, written, learned):
        x = torch.ones(4, 4, requires_grad=function is learned)
        found = torch.compile(function, backend="irc", fullgraph=True)(x)
        wanted = function(x.detach().requires_grad_(x.requires_grad))
        torch.testing.assert_close(
            *(
                [each.shape for each in (result if isinstance(result, tuple) else (result,))]
                for result in (found, wanted)
            )
        )
        if function is learned:
            found.backward()
            assert x.grad is not None and x.grad.shape == x.shape


def test_graphs_with_collectives_are_no_cuda_graphs() -> None:
    module = make_fx(lambda x: wait(total(x)), tracing_mode="fake")(WIDE)
    assert "collectives" in str(why_not_captured(module))


def test_changing_sizes(on_interpreter: None, fresh_torch: None) -> None:
    """By programs for all sizes of a class."""

    def function(x: torch.Tensor, w: torch.Tensor) -> Any:
        y = wait(total(x.sin() @ w))  # the fake group leaves what is summed as it is
        return y + 1, wait(gathered(y)) + 1

    run = torch.compile(function, backend="irc", dynamic=True, fullgraph=True)
    seen: list[str] = []
    with watching(lambda kind, _: seen.append(kind)):
        for rows in (5, 6, 7):
            x, w = torch.randn(rows, 4), torch.randn(4, 4)
            summed, whole = run(x, w)
            torch.testing.assert_close(summed, x.sin() @ w + 1)
            assert whole.shape == (2 * rows, 4)
    assert seen == ["inference"]
