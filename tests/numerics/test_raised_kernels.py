"""What kernels written in Python compute is told by ops on whole arrays, and so are their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long
from example_kernels import kernels
from numerics.test_kernels import CASES, TOLERANCE, drawn, wide

import irc_frontend as ir
from irc.dialects.kernel import LaunchOp
from irc.dialects.tile import ProgramOp
from irc.interpreters.tile import interpreter
from irc_frontend.build import build_module
from irc_frontend.graph import sorted_nodes

Array = np.ndarray[Any, Any]


@ir.kernel
def grouped(q: ir.Tensor, k: ir.Tensor):
    """Heads of k are shared by two of q: an index that is computed from that of a range."""
    (B, M, D), N = q.shape, k.shape[1]
    out = ir.empty((B, M, N), q.dtype)
    for b, m, n in ir.tiles(range(B), M, N):
        acc = ir.zeros((m, n))
        for d in ir.tiles(D):
            acc = ir.addmm(acc, q[b, m, d], k[b // 2, n, d].T)
        out[b, m, n] = acc
    return out


@ir.kernel
def one_left_operand(x: ir.Tensor, w: ir.Tensor):
    """One operand of the product has the axis of the range, the other has not."""
    (M, _), (B, _, N) = x.shape, w.shape
    left, right = ir.empty((B, M, N), x.dtype), ir.empty((B, N, M), x.dtype)
    for b, m, n in ir.tiles(range(B), M, N):
        left[b, m, n] = x[m, :] @ w[b, :, n]
        right[b, n, m] = w[b, :, n].T @ x[m, :].T
    return left, right


@ir.kernel
def halves(x: ir.Tensor):
    """Parts of rows that change places, in two stores."""
    M, N = x.shape
    out = ir.empty_like(x)
    for m in ir.tiles(M):
        out[m, 0 : N // 2] = -x[m, N // 2 : N]
        out[m, N // 2 : N] = x[m, 0 : N // 2] * 2.0
    return out


@ir.kernel
def turned(x: ir.Tensor):
    out = ir.empty((x.shape[1], x.shape[2], x.shape[0]), x.dtype)
    for b, m, n in ir.tiles(range(x.shape[0]), *x.shape[1:]):
        out[m, n, b] = x[b, m, n]
    return out


@ir.kernel
def neighbors(x: ir.Tensor):
    """A range inside of a loop, positions beyond the ends, which are 0, and a step."""
    M, N = x.shape
    out = ir.empty((M, N), x.dtype)
    for i, n in ir.tiles(range(M), N):
        acc = ir.zeros((n,))
        for j in ir.tiles(range(3)):
            acc += x[i + j - 1, n].astype("f32")
        out[i, n] = acc
    return out


@ir.kernel
def places(x: ir.Tensor):
    """Numbers of ranges as values, and positions of elements."""
    B, M = x.shape
    out = ir.empty_like(x)
    for b, m in ir.tiles(range(1, B, 2), M):
        out[b, m] = x[b, m] * (b.value.astype("f32") + 1.0) + m.index.astype("f32")
        out[b - 1, m] = x[b - 1, m]
    return out


@ir.kernel
def gathered(table: ir.Tensor, ids: ir.Tensor):
    """Numbers of rows for each number of a range; one is none."""
    B, M = ids.shape
    out = ir.empty((B, M, table.shape[1]), table.dtype)
    for b, m, n in ir.tiles(range(B), M, table.shape[1]):
        out[b, m, n] = table[ids[b, m], n]
    return out


@ir.kernel
def scanned(x: ir.Tensor):
    """Scans, softmax and reductions along axes behind that of a range."""
    B, _, N = x.shape
    out, top = ir.empty_like(x), ir.empty((B, N), x.dtype)
    for b in ir.tiles(range(B)):
        t = x[b, :, :]
        out[b, :, :] = ir.cumsum(ir.softmax(t, axis=1), axis=0) - t.mean(axis=1, keepdims=True)
        top[b, :] = t.max(axis=0)
    return out, top


def _neighbors(x: Array) -> Array:
    padded = np.pad(wide(x), ((1, 1), (0, 0)))
    return padded[:-2] + padded[1:-1] + padded[2:]


def _places(x: Array) -> Array:
    out = wide(x).copy()
    for b in range(1, len(x), 2):
        out[b] = x[b] * (b + 1) + np.arange(x.shape[1])
    return out


def _gathered(table: Array, ids: Array) -> Array:
    inside = (ids >= 0) & (ids < len(table))
    return np.where(inside[..., None], table[np.where(inside, ids, 0)], 0)


def _scanned(x: Array) -> tuple[Array, Array]:
    e = np.exp(wide(x) - wide(x).max(2, keepdims=True))
    return (e / e.sum(2, keepdims=True)).cumsum(1) - wide(x).mean(2, keepdims=True), x.max(1)


ids = np.asarray([[3, 0, 5, 7], [-1, 2, 9, 100], [1, 1, 1, 1]], np.int32)
OTHERS: dict[str, tuple[Any, list[Any], Callable[..., Any]]] = {
    "grouped": (
        grouped,
        [drawn(4, 10, 24), drawn(2, 12, 24)],
        lambda q, k: np.einsum("bmd,bnd->bmn", wide(q), wide(k).repeat(2, 0)),
    ),
    "one_left_operand": (
        one_left_operand,
        [drawn(9, 16), drawn(3, 16, 7)],
        lambda x, w: (np.einsum("mk,bkn->bmn", x, w), np.einsum("mk,bkn->bnm", x, w)),
    ),
    "halves": (halves, [drawn(5, 12)], lambda x: np.concatenate([-x[:, 6:], 2 * x[:, :6]], 1)),
    "turned": (turned, [drawn(3, 4, 5)], lambda x: x.transpose(1, 2, 0)),
    "neighbors": (neighbors, [drawn(5, 12)], _neighbors),
    "places": (places, [drawn(6, 10)], _places),
    "gathered": (gathered, [drawn(10, 6), ids], _gathered),
    "scanned": (scanned, [drawn(3, 7, 9)], _scanned),
}
ENDED_BY_DATA = {"jagged_sums"}
"""Kernels with a loop that ends where data says: they are no ops on whole arrays, and have no gradient."""
EXAMPLES = {
    name: (getattr(kernels, kernel), *case) for name, (kernel, *case) in CASES.items() if name not in ENDED_BY_DATA
}
ALL: dict[str, Any] = {**EXAMPLES, **OTHERS}


def _results(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)  # pyright: ignore[reportUnknownVariableType]


def _check(found: Any, expected: Any, tolerance: float = 0) -> None:
    for result, wanted in zip(_results(found), _results(expected), strict=True):
        error = np.abs(wide(result) - wanted).max() / max(1.0, np.abs(wanted).max())
        assert error < (tolerance or TOLERANCE[str(result.dtype)]), error


@long(3)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("case", OTHERS)
def test_a_kernel_with_ranges(case: str, target: str) -> None:
    kernel, arguments, meaning = OTHERS[case]
    with ir.target(target):
        _check(kernel(*arguments), meaning(*arguments))


@long(3)
@pytest.mark.parametrize("case", ALL)
def test_ops_on_whole_arrays_mean_the_same(case: str) -> None:
    kernel, arguments, meaning = ALL[case]
    recorded, _ = kernel.recorded(tuple(arguments), {})
    roots = recorded.meaning
    module = build_module(sorted_nodes([*recorded.inputs, *roots]), roots, recorded.inputs)
    module.verify()
    assert not any(isinstance(op, LaunchOp | ProgramOp) for op in module.walk())
    arrays = [each for each in arguments if isinstance(each, np.ndarray)]
    _check(tuple(interpreter.evaluate(module, arrays)), meaning(*arguments))


def _numbers(case: str) -> tuple[Any, list[Any], list[int]]:
    """Arguments in f64, and which of them are floats."""
    kernel, arguments, _ = ALL[case]
    floats = [
        number
        for number, each in enumerate(arguments)
        if isinstance(each, np.ndarray) and not np.issubdtype(each.dtype, np.integer)
    ]
    given = [each.astype(np.float32) if number in floats else each for number, each in enumerate(arguments)]
    return kernel, given, floats


@long(2)
@pytest.mark.parametrize("case", [name for name in ALL if "_bf16" not in name])
def test_gradients_are_those_of_differences(case: str) -> None:
    """Along one direction, of a sum of the results with weights; results are rounded, each by itself."""
    kernel, arguments, floats = _numbers(case)
    rng = np.random.default_rng(7)
    with ir.target("interpret"):
        shapes = [each.shape for each in _results(kernel(*arguments))]
        weights = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

        def loss(*given: Any) -> Any:
            results = _results(kernel(*given))
            return sum((y.astype("f32") * w).sum() for y, w in zip(results, weights, strict=True))

        gradients = ir.grad(loss, wrt=floats)(*arguments)
        directions = [rng.standard_normal(arguments[number].shape).astype(np.float32) for number in floats]
        slope = sum(float((wide(g.numpy()) * d).sum()) for g, d in zip(gradients, directions, strict=True))
        step, sides = 1e-2, []
        for sign in (1, -1):
            moved = list(arguments)
            for number, direction in zip(floats, directions, strict=True):
                moved[number] = arguments[number] + np.float32(sign * step) * direction
            results = _results(kernel(*moved))
            sides.append(sum(float((wide(y) * w).sum()) for y, w in zip(results, weights, strict=True)))
    difference = (sides[0] - sides[1]) / (2 * step)
    rounded = [np.linalg.norm(wide(y) * w) * _epsilon(y) for y, w in zip(results, weights, strict=True)]
    allowed = 2e-2 * max(1.0, abs(difference)) + float(np.linalg.norm(rounded)) / (2 * step)
    assert abs(slope - difference) < allowed, (slope, difference, allowed)


def _epsilon(y: Any) -> float:
    """Of the element type, where sums in f32 do not have it already."""
    type = np.asarray(y.numpy() if hasattr(y, "numpy") else y).dtype
    return float(ml_dtypes.finfo(type).eps) if type.itemsize < 4 else 0.0
