"""What tests of kernels that the user wrote, as CUDA C++ or as functions of Triton, have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

import irc_frontend as ir
from irc_frontend.build import build_module
from irc_frontend.graph import LEAF, sorted_nodes


def module_of(function: Callable[..., Any], *arrays: Any) -> ModuleOp:
    """What a GPU would be given of a call with these arrays."""
    with ir.target("cuda"):
        inputs = [ir.Tensor(each) for each in arrays]
        root = function(*inputs).node
        order = sorted_nodes([root])
        return build_module(order, [root], [node for node in order if node.op == LEAF])


def check_op_of_torch(axpy: Callable[..., Any]) -> None:
    """A kernel of alpha x + y is an op of a graph of torch, with its gradient."""
    torch: Any = pytest.importorskip("torch")
    x, y = (torch.linspace(-1, 1, 64).requires_grad_() for _ in range(2))
    run = torch.compile(lambda x, y: torch.exp(axpy(x, y, 2.0)).sum(), backend="irc", fullgraph=True)
    run(x, y).backward()
    expected = torch.exp(2 * x + y).detach()
    torch.testing.assert_close(x.grad, 2 * expected)
    torch.testing.assert_close(y.grad, expected)
