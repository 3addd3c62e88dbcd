"""Kernels written in Python mean on the interpreters and on the simulator what numpy says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long
from example_kernels import kernels
from xdsl.dialects import scf

import irc_frontend as ir
from irc.dialects import cuda, tile
from irc.driver.lowering import lower
from irc.interpreters.tile import interpreter

Array = np.ndarray[Any, Any]


def drawn(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape, dtype=np.float32).astype(dtype)


def wide(x: Array) -> Array:
    return np.asarray(x).astype(np.float64)


BF16, F8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


def _softmax(x: Array) -> Array:
    e = np.exp(wide(x) - wide(x).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _gelu(x: Array) -> Array:
    from math import erf

    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def _normed(x: Array) -> tuple[Array, Array, Array]:
    mean = wide(x).mean(1, keepdims=True)
    rstd = 1 / np.sqrt(wide(x).var(1, keepdims=True) + 1e-5)
    return (wide(x) - mean) * rstd, mean, rstd


def _layer_norm(x: Array, w: Array, b: Array) -> tuple[Array, ...]:
    normed, mean, rstd = _normed(x)
    return normed * wide(w) + wide(b), mean[:, 0], rstd[:, 0]


def _layer_norm_backward(g: Array, x: Array, w: Array, mean: Array, rstd: Array) -> tuple[Array, ...]:
    normed, _, scale = _normed(x)
    h = wide(g) * wide(w)
    dx = (h - h.mean(1, keepdims=True) - normed * (h * normed).mean(1, keepdims=True)) * scale
    return dx, (wide(g) * normed).sum(0), wide(g).sum(0)


def _rms_norm(x: Array, w: Array) -> Array:
    return wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6) * wide(w)


def _cross_entropy(x: Array, labels: Array) -> Array:
    return -np.log(_softmax(x))[np.arange(len(x)), labels]


def _scaled_matmul(x: Array, w: Array, sx: Array, sw: Array) -> Array:
    return np.einsum("mgk,bngk,gm,bg->mbn", wide(x), wide(w), sx, sw)


def _grouped_matmul(x: Array, w: Array, group: Array) -> Array:
    """A number that no group has multiplies by 0."""
    none = np.zeros(w.shape[1:])
    return np.stack([wide(part) @ (wide(w[g]) if 0 <= g < len(w) else none) for part, g in zip(x, group, strict=True)])


def _int4_matmul(x: Array, w: Array, scale: Array) -> Array:
    q = np.concatenate([(w << 4) >> 4, w >> 4], axis=2) * wide(scale).T[:, :, None]
    return wide(x) @ q.reshape(len(w), -1).T


def _attention(q: Array, k: Array, v: Array, causal: bool = True) -> Array:
    scores = wide(q) @ wide(k).transpose(0, 2, 1) * q.shape[-1] ** -0.5
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    return _softmax(scores) @ wide(v)


x, w = drawn(50, 40), drawn(40, 72)
norm_x = drawn(19, 200)
norm_w, norm_b = drawn(200, seed=1), drawn(200, seed=2)
_, norm_mean, norm_rstd = _layer_norm(norm_x, norm_w, norm_b)
heads = [drawn(2, 100, 64, dtype=BF16, seed=n) for n in range(3)]
CASES: dict[str, tuple[str, list[Any], Callable[..., Any]]] = {
    "matmul_f32": ("matmul", [x, w], lambda x, w: wide(x) @ wide(w)),
    "matmul_bf16": (
        "matmul",
        [drawn(100, 72, dtype=BF16), drawn(72, 200, dtype=BF16)],
        lambda x, w: wide(x) @ wide(w),
    ),
    "matmul_odd": ("matmul", [drawn(33, 17, dtype=BF16), drawn(17, 5, dtype=BF16)], lambda x, w: wide(x) @ wide(w)),
    "dense": (
        "dense",
        [drawn(70, 64, dtype=BF16), drawn(64, 96, dtype=BF16), drawn(96, dtype=BF16), drawn(70, 96, dtype=BF16)],
        lambda x, w, b, r: _gelu(wide(x) @ wide(w) + wide(b)) + wide(r),
    ),
    "scaled_matmul_bf16": (
        "scaled_matmul",
        [
            drawn(100, 2, 128, dtype=F8),
            drawn(2, 128, 2, 128, dtype=F8),
            drawn(2, 100),
            drawn(2, 2),
        ],
        _scaled_matmul,
    ),
    "scaled_matmul_long": (
        "scaled_matmul",
        [
            drawn(130, 10, 128, dtype=F8),
            drawn(1, 128, 10, 128, dtype=F8),
            drawn(10, 130),
            drawn(1, 10),
        ],
        _scaled_matmul,
    ),
    "batched_matmul": (
        "batched_matmul",
        [drawn(3, 40, 24, dtype=np.float16), drawn(3, 24, 56, dtype=np.float16)],
        lambda x, w: wide(x) @ wide(w),
    ),
    "split_k_matmul": (
        "split_k_matmul",
        [drawn(40, 512, dtype=BF16), drawn(512, 24, dtype=BF16), 4],
        lambda x, w, _: wide(x) @ wide(w),
    ),
    "grouped_matmul": (
        "grouped_matmul",
        [drawn(5, 72, 96, dtype=BF16), drawn(3, 96, 40, dtype=BF16), np.array([2, 0, 7, 1, -1], np.int32)],
        _grouped_matmul,
    ),
    "grouped_matmul_f32": (
        "grouped_matmul",
        [drawn(4, 30, 33), drawn(3, 33, 10), np.array([1, 1, 0, 2], np.int32)],
        _grouped_matmul,
    ),
    "f8_matmul_bf16": (
        "f8_matmul",
        [drawn(72, 144, dtype=F8), drawn(40, 144, dtype=F8), drawn(72), drawn(40)],
        lambda x, w, sx, sw: wide(x) @ wide(w).T * np.outer(wide(sx), wide(sw)),
    ),
    "int4_matmul": (
        "int4_matmul",
        [
            drawn(24, 256, dtype=BF16),
            np.random.default_rng(0).integers(-128, 128, (40, 2, 64)).astype(np.int8),
            drawn(2, 40, dtype=BF16),
        ],
        _int4_matmul,
    ),
    "int4_matmul_in_parts": (
        "int4_matmul",
        [
            drawn(24, 512, dtype=BF16),
            np.random.default_rng(0).integers(-128, 128, (40, 4, 64)).astype(np.int8),
            drawn(4, 40, dtype=BF16),
            2,
        ],
        lambda x, w, scale, parts: _int4_matmul(x, w, scale),
    ),
    "softmax_bf16": ("softmax", [drawn(7, 300, dtype=BF16)], _softmax),
    "softmax_f32": ("softmax", [drawn(40, 24)], _softmax),
    "long_softmax": ("long_softmax", [drawn(5, 3000), 1000], lambda x, _: _softmax(x)),
    "layer_norm": ("layer_norm", [norm_x, norm_w, norm_b], _layer_norm),
    "layer_norm_backward": (
        "layer_norm_backward",
        [drawn(19, 200, seed=3), norm_x, norm_w, norm_mean.astype(np.float32), norm_rstd.astype(np.float32)],
        _layer_norm_backward,
    ),
    "rms_norm": ("rms_norm", [drawn(9, 100, dtype=BF16), drawn(100, dtype=BF16)], _rms_norm),
    "cross_entropy": ("cross_entropy", [drawn(9, 3000), np.arange(9, dtype=np.int32) * 300], _cross_entropy),
    "attention": ("attention", heads, _attention),
    "attention_full": ("attention", [*heads, False], _attention),
    "embedding": ("embedding", [drawn(50, 70), np.arange(0, 50, 3, dtype=np.int32)[::-1].copy()], lambda t, i: t[i]),
    "running_sums": ("running_sums", [drawn(7, 100)], lambda x: wide(x).cumsum(1)),
    "long_sums": ("long_sums", [drawn(3, 8192, dtype=BF16), 4], lambda x, _: wide(x).sum(1)),
    "jagged_sums": (
        "jagged_sums",
        [drawn(144, 70), np.array([0, 0, 100, 137], np.int32), np.array([0, 100, 37, 7], np.int32), 128],
        lambda x, first, lengths, _: np.stack([wide(x)[a : a + n].sum(0) for a, n in zip(first, lengths, strict=True)]),
    ),
    "column_sums": ("column_sums", [drawn(300, 70)], lambda x: wide(x).sum(0)),
}
TOLERANCE = {"float32": 3e-5, "float16": 4e-3, "bfloat16": 2e-2}


@long(6)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("case", CASES)
def test_an_example(case: str, target: str) -> None:
    name, arguments, meaning = CASES[case]
    with ir.target(target):
        found = getattr(kernels, name)(*arguments)
    expected = meaning(*arguments)
    for result, wanted in zip(
        *(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True
    ):
        error = np.abs(wide(result) - wanted).max() / max(1.0, np.abs(wanted).max())
        assert error < TOLERANCE[str(result.dtype)], error


@pytest.mark.parametrize("level", ["nd", "kernel", "tile"])
@pytest.mark.parametrize(
    "case", ["dense", "grouped_matmul", "layer_norm", "cross_entropy", "attention", "embedding", "running_sums"]
)
def test_a_level_keeps_the_meaning(case: str, level: str) -> None:
    """What the traced program means on the interpreter stays, down to tiles with layouts and channels."""
    name, arguments, _ = CASES[case]
    module = getattr(kernels, name).module(*arguments)
    before = interpreter.evaluate(module, arguments)
    after = interpreter.evaluate(lower(module, level, arch="sm_90a"), arguments)
    for a, b in zip(before, after, strict=True):
        error = np.abs(wide(a) - wide(b)).max() / max(1.0, np.abs(wide(a)).max())
        assert error < TOLERANCE[str(a.dtype)]


@pytest.mark.parametrize("causal", [False, True])
def test_a_step_of_attention_runs_beside_products(causal: bool) -> None:
    """The product with the values is of the step before: one dot stands before the loop, and one behind it. Steps that
    hide nothing compare no places."""
    arrays = [np.zeros((4, 4096, 128), BF16)] * 3
    lowered = lower(kernels.attention.module(*arrays, causal), "tile", arch="sm_90a")
    loops = [op for op in lowered.walk() if isinstance(op, scf.ForOp)]
    (loop,) = (op for op in loops if any(isinstance(each, tile.DotOp) for each in op.body.block.ops))
    assert sum(isinstance(op, tile.DotOp) for op in loop.body.block.ops) == 2
    assert sum(isinstance(op, tile.DotOp) for op in lowered.walk()) == 4
    assert sum(isinstance(op, scf.IfOp) for op in loop.body.block.ops) == causal


def test_weights_of_4_bits_are_widened_in_pairs() -> None:
    """Rows of x take one weight each: results are these, times their scales, rounded once."""
    rng = np.random.default_rng(0)
    x, at = np.zeros((64, 256), BF16), 4 * np.arange(64) + np.arange(64) % 4
    x[np.arange(64), at] = 1
    w, scale = rng.integers(-128, 128, (64, 2, 64)).astype(np.int8), drawn(2, 64, dtype=BF16)
    q = np.concatenate([(w << 4) >> 4, w >> 4], axis=2) * scale.astype(np.float32).T[:, :, None]
    module = kernels.int4_matmul.module(x, w, scale)
    assert any(isinstance(op, cuda.PackedWidenOp) and op.field for op in lower(module, "cuda", arch="sm_90a").walk())
    with ir.target("sim"):
        found = kernels.int4_matmul(x, w, scale)
    np.testing.assert_array_equal(found, q.reshape(64, 256)[:, at].T.astype(BF16))


@pytest.mark.parametrize("stages", [3, 4])
def test_blocks_of_k_are_multiplied_in_turn(stages: int) -> None:
    """Each of two warp groups issues a product between `take` and `pass`, a step at a time or two."""
    rng = np.random.default_rng(0)
    x, w = drawn(130, 4, 128, dtype=F8), drawn(2, 128, 4, 128, dtype=F8)
    sx, sw = (0.5 + rng.random(shape, dtype=np.float32) for shape in [(4, 130), (2, 4)])
    kernel = kernels.scaled_matmul.with_config(tile={"m": 128}, warps=8, stages=stages, turns=True)
    lowered = lower(kernel.module(x, w, sx, sw), "tile", arch="sm_90a")
    assert sum(isinstance(op, tile.TakeOp) for op in lowered.walk()) == (1 if stages == 3 else 2)
    with ir.target("sim"):
        found = kernel(x, w, sx, sw)
    expected = _scaled_matmul(x, w, sx, sw)
    assert np.abs(wide(found) - expected).max() / np.abs(expected).max() < TOLERANCE["bfloat16"]


@ir.kernel
def cut_products(x: ir.Tensor, w: ir.Tensor, lengths: ir.Tensor):
    """Whole steps of K, as many as data says."""
    (B, M, K), N = x.shape, w.shape[1]
    out = ir.empty((B, M, N), x.dtype)
    for b, m, n in ir.tiles(range(B), M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K, end=lengths[b]):
            acc = ir.addmm(acc, x[b, m, k], w[k, n])
        out[b, m, n] = acc
    return out


@pytest.mark.parametrize("target", ["cpu", "interpret", "sim"])
def test_a_product_ends_where_data_says(target: str) -> None:
    """What is behind its end is not read; an end is cut to the extent."""
    lengths = np.array([0, 64, 1000, -3], np.int32)
    x, w = drawn(4, 64, 128, dtype=BF16), drawn(128, 64, dtype=BF16)
    expected = np.stack([wide(own)[:, : max(0, n)] @ wide(w)[: max(0, n)] for own, n in zip(x, lengths, strict=True)])
    for own, n in zip(x, lengths, strict=True):
        own[:, max(0, n) :] = np.nan
    with ir.target(target):
        found = cut_products.with_config(tile={"k": 64})(x, w, lengths)
    assert np.abs(wide(found) - expected).max() / np.abs(expected).max() < TOLERANCE["bfloat16"]
