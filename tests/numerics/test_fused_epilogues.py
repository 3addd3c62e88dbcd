"""Elementwise work behind kernels written in Python is done in their epilogues, and means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long
from example_kernels import kernels
from numerics.test_kernels import TOLERANCE, drawn, wide

import irc_frontend as ir
from irc.dialects.kernel import FusedOp, LaunchOp
from irc.driver.lowering import lower
from irc.interpreters.tile import interpreter
from irc_frontend.build import build_module
from irc_frontend.graph import sorted_nodes

Array = np.ndarray[Any, Any]
BF16 = ml_dtypes.bfloat16


@ir.kernel
def halves(x: ir.Tensor):
    """Two stores to one result, at places that are constants."""
    M, N = x.shape
    out = ir.empty_like(x)
    for m in ir.tiles(M):
        out[m, 0 : N // 2] = x[m, N // 2 : N] * 2.0
        out[m, N // 2 : N] = x[m, 0 : N // 2] * 3.0
    return out


def _dense(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    return ir.gelu(kernels.matmul(x, w) + b) + r


def _computed_operands(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    """What is read beside the result is computed after the launch: it moves before it."""
    y = kernels.matmul(x, w)
    scale = r.sum(axis=1, keepdims=True)
    return ir.where(r > 0.0, y * scale, -y) * ir.exp(b)


def _several_uses(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    """The result is read by others, too, and so is a value on the way; a mask is bool."""
    y = kernels.matmul(x, w)
    z = ir.relu(y)
    return y, z, z * r, y > 0.0


def _product_after(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    return kernels.matmul(ir.tanh(kernels.matmul(x, w) + b), r.T)


def _two_launches(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    """Of one program, whose results meet: one of the two has the sum."""
    return kernels.matmul(x, w) + kernels.matmul(-x, w) * 0.5


def _one_after_the_other(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    y = kernels.softmax(kernels.matmul(x, w) * 0.5)
    return y * y - r


def _reduced(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    """The reduction computes its operand, as before."""
    return (kernels.matmul(x, w) - r).sum(axis=1)


def _several_results(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    """Each has an epilogue of its own, with the arrays of its rank; one is not used."""
    out, mean, _ = kernels.layer_norm(r, b, b)
    return out * 2.0 + r, ir.abs(mean) + r[:, 0].astype("f32")


def _batched(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    """A loop over a range: an array that differs by its number alone."""
    y = kernels.batched_matmul(ir.stack([x, x * 2.0]), ir.stack([w, w]))
    return ir.sigmoid(y + b) * r[None] * r[:2, :1].reshape(2, 1, 1)


def _parts(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, r: ir.Tensor) -> Any:
    return ir.maximum(halves(r), b) + halves(r)


GRAPHS: dict[str, tuple[Callable[..., Any], int]] = {
    "dense": (_dense, 1),
    "computed_operands": (_computed_operands, 2),
    "several_uses": (_several_uses, 1),
    "product_after": (_product_after, 2),
    "two_launches": (_two_launches, 3),
    "one_after_the_other": (_one_after_the_other, 2),
    "reduced": (_reduced, 2),
    "several_results": (_several_results, 1),
    "batched": (_batched, 3),
    "parts": (_parts, 1),
}
"""With the number of kernels that each becomes."""


def _module(name: str, dtype: Any) -> tuple[Any, list[Array]]:
    arrays = [drawn(*shape, dtype=dtype, seed=len(shape)) for shape in [(30, 24), (24, 40), (40,), (30, 40)]]
    given = [ir.Tensor(each) for each in arrays]
    found = GRAPHS[name][0](*given)
    roots = [each.node for each in (found if isinstance(found, tuple) else (found,))]
    leaves = [each.node for each in given]
    return build_module(sorted_nodes([*leaves, *roots]), roots, leaves), arrays


@pytest.mark.parametrize("dtype", [np.float32, BF16])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_meaning_stays(name: str, dtype: Any) -> None:
    module, arrays = _module(name, dtype)
    before = interpreter.evaluate(module, arrays)
    lowered = lower(module, "kernel", arch="sm_90a")
    assert len([op for op in lowered.walk() if isinstance(op, FusedOp | LaunchOp)]) == GRAPHS[name][1]
    for a, b in zip(before, interpreter.evaluate(lowered, arrays), strict=True):
        tolerance = TOLERANCE.get(str(a.dtype), 0)
        assert a.dtype == b.dtype
        assert np.abs(wide(a) - wide(b)).max() <= tolerance * max(1.0, np.abs(wide(a)).max())


@long(2)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_kernels_compute_it(name: str) -> None:
    arrays = [drawn(*shape, dtype=BF16, seed=len(shape)) for shape in [(30, 24), (24, 40), (40,), (30, 40)]]
    found: list[Any] = []
    for target in ("cpu", "sim"):
        with ir.target(target):
            results = ir.jit(GRAPHS[name][0])(*arrays)
            found.append([each.numpy() for each in (results if isinstance(results, tuple) else (results,))])
    for a, b in zip(*found, strict=True):
        if a.dtype == bool:
            assert (a != b).mean() < 0.01  # signs of products that are nearly 0
        else:
            assert np.abs(wide(a) - wide(b)).max() <= 2 * TOLERANCE[str(a.dtype)] * max(1.0, np.abs(wide(a)).max())
