"""Residual streams: sums of products, each of which reads the sum so far. Looking for cascades in one takes a time that
grows with its length, and no faster."""

from __future__ import annotations

import pytest

from irc.analysis.cascades import MAX_SCORES, cascade_of, scores_of
from irc.dialects.nd.linear import MatmulOp
from irc.driver.program import parse
from irc.ir.iteration import Iteration

MATRIX = "tensor<64x64xf32>"


def products_of(length: int) -> list[MatmulOp]:
    """The products of x = x + tanh(x) @ w, repeated."""
    lines = [f"func.func @f(%x0: {MATRIX}, %w: {MATRIX}) -> {MATRIX} {{"]
    for i in range(length):
        lines += [
            f"  %t{i} = nd.tanh %x{i} : {MATRIX}",
            f"  %p{i} = nd.matmul %t{i}, %w {{lhs_contract = [1], rhs_contract = [0]}} :"
            f" ({MATRIX}, {MATRIX}) -> {MATRIX}",
            f"  %x{i + 1} = nd.add %x{i}, %p{i} : {MATRIX}",
        ]
    lines += [f"  return %x{length} : {MATRIX}", "}"]
    module = parse("\n".join(lines), "stream.mlir")
    return [op for op in module.walk() if isinstance(op, MatmulOp)]


def looks(length: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often it is asked how a product iterates, while a cascade is looked for at each product of a stream."""
    count = 0
    iteration = MatmulOp.iteration

    def counted(op: MatmulOp) -> Iteration:
        nonlocal count
        count += 1
        return iteration(op)

    products = products_of(length)
    with monkeypatch.context() as patch:
        patch.setattr(MatmulOp, "iteration", counted)
        assert [cascade_of(op) for op in products] == [None] * length
    return count


def test_few_scores_are_found() -> None:
    found = [len(scores_of(op)) for op in products_of(8)]
    assert found == [0, 1, 2, 3, MAX_SCORES, 0, 0, 0]


def test_looking_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = (looks(length, monkeypatch) for length in (20, 80))
    assert long <= 5 * short
