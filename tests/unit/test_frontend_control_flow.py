"""scan, cond and while_loop against loops and branches of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError

X = np.random.default_rng(2).standard_normal((6, 3)).astype(np.float32)


pytestmark = pytest.mark.usefixtures("on_interpreter")


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(reverse: bool) -> None:
    def step(carry: Any, x: Any) -> Any:
        state = 0.5 * carry["h"] + x["x"]
        return {"h": state}, (state * 2, x["x"].sum())

    carry, (doubled, sums) = ir.jit(lambda x: ir.scan(step, {"h": ir.zeros(3)}, {"x": x}, reverse=reverse))(X)
    h, rows = np.zeros(3, np.float32), {}
    for i in reversed(range(6)) if reverse else range(6):
        h = 0.5 * h + X[i]
        rows[i] = 2 * h
    close(carry["h"], h)
    close(doubled, np.stack([rows[i] for i in range(6)]))
    close(sums, X.sum(1))
    gradient = ir.grad(lambda x: ir.scan(step, {"h": ir.zeros(3)}, {"x": x})[0]["h"].sum())(X)
    close(gradient, np.repeat(0.5 ** np.arange(5, -1, -1.0)[:, None], 3, 1))


def test_scans_of_a_length() -> None:
    last, _ = ir.scan(lambda c, x: (c * 2, c), ir.ones(2), length=5)
    close(last, [32, 32])
    with pytest.raises(IrcError, match="writes out each step, 512 at most, found 1000"):
        ir.scan(lambda c, x: (c, c), ir.ones(2), length=1000)
    with pytest.raises(IrcError, match="all arrays have one first extent"):
        ir.scan(lambda c, x: (c, c), ir.ones(2), X, length=3)
    with pytest.raises(IrcError, match="the function gives the next carry and a result"):
        ir.scan(lambda carry, x: carry + x, 0.0, X)  # pyright: ignore[reportArgumentType]
    with pytest.raises(IrcError, match="the carry is a tree like the first"):
        ir.scan(lambda c, x: ((c, c), c), ir.ones(2), X)


def test_conditions() -> None:
    calls: list[str] = []

    def up(x: Any) -> Any:
        calls.append("up")
        return {"y": x + 1}

    def down(x: Any) -> Any:
        calls.append("down")
        return {"y": x - 1}

    close(ir.cond(ir.Tensor(X).sum() > 1e6, up, down, ir.Tensor(X))["y"], X - 1)
    assert calls == ["down"], "one side alone"
    choose = ir.jit(lambda x, limit: ir.cond((x < limit).all(), up, down, x))
    for limit in (9, -9):
        close(choose(X, np.float32(limit))["y"], X + np.sign(limit))
    assert calls == ["down", "up", "down"], "both sides, once"
    close(ir.grad(lambda x: ir.cond(x.sum() > 1e6, lambda x: x.sum(), lambda x: 3 * x.sum(), x))(X), 0 * X + 3)
    close(ir.vmap(lambda x: ir.cond(x[0] > 0, lambda x: x, lambda x: -x, x))(X), np.where(X[:, :1] > 0, X, -X))
    with pytest.raises(IrcError, match="a bool without axes, found bool\\[6, 3\\]"):
        ir.cond(ir.Tensor(X) > 0, up, down, X)
    with pytest.raises(IrcError, match="both sides give trees of the same types"):
        ir.jit(lambda x: ir.cond(x.sum() > 0, lambda x: x, lambda x: x[0], x))(X)


def test_loops_while_a_condition_holds() -> None:
    steps = 0

    def body(state: Any) -> Any:
        nonlocal steps
        steps += 1
        return {"low": state["low"] * 2, "n": state["n"] + 1}

    found = ir.while_loop(lambda s: s["low"] < 1000.0, body, {"low": ir.Tensor(np.float32(3)), "n": ir.Tensor(0)})
    assert (found["low"].item(), found["n"].item(), steps) == (1536, 9, 9)
    never = ir.while_loop(lambda s: s > 5, lambda s: s + 1, ir.Tensor(1))
    assert never.item() == 1
    with pytest.raises(IrcError, match="depends on values"):
        ir.jit(lambda x: ir.while_loop(lambda s: s.sum() < 9, lambda s: s + 1, x))(X)
    with pytest.raises(IrcError, match="a tree like its argument"):
        ir.while_loop(lambda s: s < 5, lambda s: (s, s), ir.Tensor(1))
