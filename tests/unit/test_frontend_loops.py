"""Loops of lazy updates that read a value each time: each update is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc_frontend import evaluation
from irc_frontend.graph import LEAF, Node

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


pytestmark = pytest.mark.usefixtures("on_interpreter")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many ops each program runs that is run."""
    made: list[int] = []
    original = evaluation._executable  # pyright: ignore[reportPrivateUsage]

    def counted(order: Sequence[Node], roots: Sequence[Node]) -> Any:
        made.append(sum(node.op != LEAF for node in order))
        return original(order, roots)

    monkeypatch.setattr(evaluation, "_executable", counted)
    return made


def test_a_loop_that_reads_a_sum_computes_each_update_once(runs: list[int]) -> None:
    x, wanted = ir.Tensor(X), X.astype(np.float64)
    for _ in range(30):
        x, wanted = ir.sin(x) * 0.9 + 0.1, np.sin(wanted) * 0.9 + 0.1
        assert float(x.mean()) == pytest.approx(wanted.mean(), abs=1e-5)
    ops = 6  # sin, two constants, mul, add, mean
    assert runs[0] == ops
    assert max(runs) <= 2 * ops
    assert runs[6:] == [ops] * 24
    np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-5)
    assert len(runs) == 30, "what was kept is there"


def test_loops_of_several_values(runs: list[int]) -> None:
    params, memory = [ir.Tensor(X), ir.Tensor(2 * X)], [ir.zeros((3, 4)), ir.zeros((3, 4))]
    for _ in range(12):
        _, gradients = ir.value_and_grad(lambda p: ((ir.tanh(p[0]) - p[1]) ** 2).sum())(params)
        memory = [0.5 * m + g for m, g in zip(memory, gradients, strict=True)]
        params = [p - 0.1 * m for p, m in zip(params, memory, strict=True)]
        assert np.isfinite(float(((params[0] - params[1]) ** 2).sum()))
    assert max(runs[8:]) == min(runs[8:]) <= max(runs[:2])


def test_what_is_read_once_keeps_nothing_beside(runs: list[int]) -> None:
    hidden = ir.exp(ir.Tensor(X))
    whole = hidden * 2
    assert float(whole.sum()) == pytest.approx(2 * np.exp(X).sum(), rel=1e-5)
    assert not hidden.is_computed
    assert not whole.is_computed
    assert float(whole.mean()) == pytest.approx(2 * np.exp(X).mean(), rel=1e-5)
    assert whole.is_computed, "it was needed again"
    assert not hidden.is_computed
    whole.numpy()
    assert len(runs) == 2
