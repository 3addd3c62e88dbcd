"""Rules of torch's scatters along an axis: results, which of them compare places with indices directly, and which stay
with torch on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Node as FxNode
from torch.fx.experimental.proxy_tensor import make_fx

import irc_frontend as ir
from irc_frontend.graph import sorted_nodes
from irc_frontend.torch.ops.indexing import added
from irc_frontend.torch.rules import RULES, why_left

aten = torch.ops.aten


@pytest.mark.parametrize("element", ["f32", "i32"])
@pytest.mark.parametrize(
    ("shape", "axis", "indices", "is_direct"),
    [
        ((6, 9), 1, (6, 1), True),
        ((6, 9), 0, (4, 9), True),
        ((3, 5, 4), -2, (3, 2, 4), True),
        ((6, 9), 1, (5, 1), False),
        ((40, 64), 0, (16, 64), True),
        ((7,), 0, (12,), True),
        ((), 0, (), False),
    ],
)
def test_sums_along_an_axis(shape: Any, axis: int, indices: Any, is_direct: bool, element: str) -> None:
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "i32": np.int32}[element]
    x, source = (rng.integers(-9, 9, each).astype(dtype) for each in (shape, tuple(n + 1 for n in indices)))
    at = rng.integers(0, shape[axis] if shape else 1, indices)
    wanted = torch.from_numpy(np.array(x)).scatter_add(axis, torch.from_numpy(np.array(at)), torch.from_numpy(source))
    for target in ("cpu", "cuda"):
        with ir.target(target):
            found = added(ir.Tensor(x), axis, ir.Tensor(at), ir.Tensor(source))
        is_compared = all(node.op != "scatter_add" for node in sorted_nodes([found.node]))
        assert is_compared == (is_direct and target == "cuda")
        with ir.target("cpu"):
            np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def node_of(function: Callable[..., Any], *shapes: tuple[int, ...], op: Any) -> FxNode:
    """The op's node in the trace of a function of bf16 tensors of a GPU that need none."""
    with FakeTensorMode(), torch.no_grad():
        graph = make_fx(function)(*(torch.empty(shape, dtype=torch.bfloat16, device="cuda") for shape in shapes)).graph
    (node,) = graph.find_nodes(op="call_function", target=op)
    return node


def test_scatters_with_too_many_comparisons_stay_with_torch_on_a_gpu() -> None:
    def put(x: torch.Tensor) -> torch.Tensor:
        return aten.index_put(x, [torch.ones(x.shape[0], dtype=torch.int64, device=x.device)], x, True)

    def classes(x: torch.Tensor) -> torch.Tensor:
        return aten.scatter(x, 1, torch.ones(x.shape[0], 1, dtype=torch.int64, device=x.device), 1.0)

    few, many = (node_of(put, (n, 8), op=aten.index_put.default) for n in (1 << 10, 1 << 18))
    assert why_left(few, "cuda") is None
    assert why_left(many, "cuda") == f"a scatter of {1 << 18} to {1 << 18} places, too many to compare"
    assert why_left(node_of(classes, (8192, 50257), op=aten.scatter.value), "cuda") is None


@pytest.mark.parametrize("includes_x", [True, False])
@pytest.mark.parametrize(
    ("reduce", "dtype"),
    [(reduce, dtype) for reduce in ("prod", "amax", "amin") for dtype in (torch.float32, torch.int32)]
    + [("mean", torch.float32)],
)
def test_reductions_of_what_falls_on_one_place(reduce: str, dtype: torch.dtype, includes_x: bool) -> None:
    """Several on one, none on the last; a NaN is every extreme."""
    generator = torch.Generator().manual_seed(0)
    x, source = (torch.randint(-4, 5, shape, generator=generator).to(dtype) for shape in ((4, 3), (9, 3)))
    if dtype is torch.float32:
        source[2, 1] = torch.nan
    rows = torch.randint(0, 3, (9,), generator=generator)
    places = torch.randint(0, 3, (9, 3), generator=generator)
    for op, indices in ((aten.index_reduce, rows), (aten.scatter_reduce, places)):
        wanted = op(x, 0, indices, source, reduce, include_self=includes_x)
        rule = RULES[getattr(op, "default" if op is aten.index_reduce else "two")]
        with ir.target("cpu"):
            arrays = [ir.Tensor(each.numpy()) for each in (x, indices, source)]
            found = rule.record(arrays[0], 0, *arrays[1:], reduce, include_self=includes_x).numpy()
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-6)


@pytest.mark.parametrize("reduce", ["prod", "amax", "amin"])
def test_reductions_that_are_sorted_stay_with_torch_on_a_gpu(reduce: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return aten.scatter_reduce(x, 0, torch.zeros(x.shape, dtype=torch.int64, device=x.device), x, reduce)

    node = node_of(f, (8, 4), op=aten.scatter_reduce.two)
    assert why_left(node, "cuda") == f"a scatter by {reduce}"
