"""Graphs of torch whose programs are begun, and waited for when they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from irc.driver.begun import Begun
from irc.support.diagnostics import IrcError
from irc_frontend.torch import program
from irc_frontend.torch.graphs import NotCompiled, watching


class Waited:
    """Programs of torch that wait: notes when each begins and is finished."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.refused: Callable[[int], bool] = lambda number: False
        self._begin = program.begin_nodes
        self._count = 0

    def begin(self, *arguments: Any, **options: Any) -> Begun[Any]:
        executable = self._begin(*arguments, **options)()
        self._count += 1
        number = self._count
        self.said.append(f"begin {number}")

        def finish() -> Any:
            self.said.append(f"finish {number}")
            if self.refused(number):
                raise IrcError("no room")
            return executable

        return Begun(finish)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waited]:
    found = Waited()
    monkeypatch.setattr(program, "begin_nodes", found.begin)
    torch._dynamo.reset()
    yield found
    torch._dynamo.reset()


def trained(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    result = model(x)
    result.square().mean().backward()
    return [result.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


def test_the_backward_graph_begins_before_the_forward_graph_is_waited_for(waited: Waited) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 5)), torch.randn(16, 20)
    kinds: list[str] = []
    with watching(lambda kind, graph: kinds.append(kind)):
        found = trained(torch.compile(model, backend="irc"), x)  # pyright: ignore[reportArgumentType]
    torch.testing.assert_close(found, trained(model, x))
    assert waited.said == ["begin 1", "begin 2", "finish 1", "finish 2"]
    assert kinds == ["forward", "backward"]


def test_a_graph_without_a_backward_graph_is_waited_for_by_its_call(waited: Waited) -> None:
    model, x = torch.compile(nn.Linear(6, 7), backend="irc"), torch.randn(3, 6)
    with torch.no_grad():
        model(x)
    assert waited.said == ["begin 1", "finish 1"]


@pytest.mark.filterwarnings("default::irc_frontend.torch.graphs.NotCompiled")
def test_a_program_that_is_refused_late_stays_with_torch(waited: Waited) -> None:
    """The backward graph has begun by then."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 5)), torch.randn(16, 20)
    waited.refused = lambda number: number == 1
    with pytest.warns(NotCompiled, match="no room"):
        found = trained(torch.compile(model, backend="irc"), x)  # pyright: ignore[reportArgumentType]
    torch.testing.assert_close(found, trained(model, x))
    assert waited.said == ["begin 1", "begin 2", "finish 1", "finish 2"]


def test_a_graph_may_be_kept(waited: Waited) -> None:
    """Though its backward graph is compiled before anybody says so."""
    model, x = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 5)), torch.randn(16, 20)
    loss = torch.compile(model, backend="irc")(x).square().mean()  # pyright: ignore[reportArgumentType]
    assert waited.said == ["begin 1", "begin 2", "finish 1"]
    first, second = (torch.autograd.grad(loss, [*model.parameters()], retain_graph=True) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
