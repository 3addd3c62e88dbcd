"""Seeds of what is drawn are inputs of programs: layers that are alike share one."""

from __future__ import annotations

import numpy as np
import pytest

import irc_frontend as ir
from irc_frontend import nn
from irc_frontend.evaluation import compiled_count
from irc_frontend.given_seeds import with_given_seeds
from irc_frontend.graph import LEAF, sorted_nodes


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_TARGET", "interpret")


def test_layers_that_are_alike_share_a_program() -> None:
    before = compiled_count()
    weights = [nn.Linear(12, 20).init(seed)["weight"].numpy() for seed in range(4)]
    assert compiled_count() == before + 1
    assert len({each.tobytes() for each in weights}) == 4
    np.testing.assert_array_equal(weights[2], nn.Linear(12, 20).init(2)["weight"].numpy())


def test_a_seed_is_what_it_was() -> None:
    """By itself, beside others, in a program that is recorded, and as an array."""
    alone = ir.random_normal([3, 5], 7).numpy()
    x, y = ir.random_normal([3, 5], 7), ir.random_uniform([3, 5], -2)
    np.testing.assert_array_equal((x + y).numpy(), alone + ir.random_uniform([3, 5], -2).numpy())
    np.testing.assert_array_equal(ir.jit(lambda: ir.random_normal([3, 5], 7))().numpy(), alone)
    np.testing.assert_array_equal(ir.random_normal([3, 5], ir.Tensor(7)).numpy(), alone)


def test_what_depends_on_no_seed_is_not_copied() -> None:
    x = ir.Tensor([1.0, 2.0])
    plain, drawn = x * 2.0, ir.random_uniform([2], 3) + x
    roots = [plain.node, drawn.node]
    order = sorted_nodes(roots)
    assert with_given_seeds(order[:3], roots[:1]) == (order[:3], roots[:1])
    found, given = with_given_seeds(order, roots)
    assert given[0] is plain.node and given[1] is not drawn.node
    assert [node.value.item() for node in found if node.op == LEAF and node.value.dtype == np.int64] == [3]
    assert drawn.node.operands[0].operands[0].op == "constant"
