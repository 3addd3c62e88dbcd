"""Masks that compare places with integers of arrays bound the loops of cascades: what they hide whole is not read."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc
from irc.dialects import tile
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

Array = np.ndarray[Any, Any]

S, T, D = 192, 256, 64
HEADS = 2

ATTENTION = """
dim H = {heads}, S = {s}, T = {t}, D = {d}, N = 4
func seen({arrays}) -> bool[H, S, T] {{
    i = iota([H, S, T], i32, axis=1)
    j = iota([H, S, T], i32, axis=2)
    return broadcast({mask}, [H, S, T])
}}
func y(q: bf16[H, S, D], k: bf16[H, T, D], v: bf16[H, T, D], {arrays}) -> bf16[H, S, D] {{
    return attention(q, k, v, bias=seen({names}))
}}
func loss(q: bf16[H, S, D], k: bf16[H, T, D], v: bf16[H, T, D], g: bf16[H, S, D], {arrays}) -> f32[] {{
    return sum(cast(y(q, k, v, {names}), f32) * cast(g, f32))
}}
"""

FORWARD = """
func f(q: bf16[H, S, D], k: bf16[H, T, D], v: bf16[H, T, D], {arrays}) -> bf16[H, S, D] {{
    return y(q, k, v, {names})
}}
"""

BACKWARD = """
func f(q: bf16[H, S, D], k: bf16[H, T, D], v: bf16[H, T, D], g: bf16[H, S, D], {arrays}) -> (bf16[H, S, D], bf16[H, T, D], bf16[H, T, D]) {{
    return grad(loss, wrt=[q, k, v])(q, k, v, g, {names})
}}
"""

i, j = np.arange(S)[:, None], np.arange(T)
DOCUMENTS = np.repeat(np.arange(5), [30, 0, 100, 62, 64]).astype(np.int32)
FIRST = np.searchsorted(DOCUMENTS, DOCUMENTS[:S], "left").astype(np.int32)
LAST = np.searchsorted(DOCUMENTS, DOCUMENTS[:S], "right").astype(np.int32)
LENGTHS = np.array([70, 0], np.int32)
FALLING = LAST[::-1].copy()


def along(name: str) -> str:
    return f"reshape({name}, [1, S, 1])"


MASKS: dict[str, tuple[str, dict[str, Array], Array]] = {
    "lengths": ("j < reshape(n, [H, 1, 1])", {"n": LENGTHS}, np.broadcast_to(j < LENGTHS[:, None, None], (2, S, T))),
    "beginnings": ("j > reshape(n, [H, 1, 1])", {"n": LENGTHS}, np.broadcast_to(j > LENGTHS[:, None, None], (2, S, T))),
    "rows": (
        f"(j >= {along('ascending(a)')}) & (j < {along('ascending(b)')})",
        {"a": FIRST, "b": LAST},
        (j >= FIRST[:, None]) & (j < LAST[:, None]),
    ),
    "rows, causal, from the end": (
        f"(j >= {along('ascending(a)')}) & (j <= i + 3) & (j + 1 <= {along('ascending(b)')})",
        {"a": FIRST, "b": LAST},
        (j >= FIRST[:, None]) & (j <= i + 3) & (j < LAST[:, None]),
    ),
    "documents": (
        "reshape(ascending(a), [1, S, 1]) == reshape(ascending(b), [1, 1, T])",
        {"a": DOCUMENTS[:S], "b": DOCUMENTS - 1},
        DOCUMENTS[:S, None] == DOCUMENTS - 1,
    ),
    "rows of any order": (f"j < {along('b')}", {"b": FALLING}, j < FALLING[:, None]),
    "documents of any order": (
        "reshape(a, [1, S, 1]) == reshape(b, [1, 1, T])",
        {"a": DOCUMENTS[:S][::-1].copy(), "b": DOCUMENTS},
        DOCUMENTS[:S][::-1][:, None] == DOCUMENTS,
    ),
}
"""The mask in the language, the arrays that it compares with, and what it is."""


def program(name: str, end: str) -> str:
    mask, arrays, _ = MASKS[name]
    typed = ", ".join(f"{each}: i32[{len(array)}]" for each, array in arrays.items())
    return (ATTENTION + end).format(heads=HEADS, s=S, t=T, d=D, mask=mask, arrays=typed, names=", ".join(arrays))


def drawn(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes]


def weights(q: Array, k: Array, seen: Array) -> Array:
    """In float64; 0 where a query sees nothing."""
    scores = np.where(
        seen, q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf
    )
    most = scores.max(-1, keepdims=True)
    found = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = found.sum(-1, keepdims=True)
    return found / np.where(total == 0, 1, total)


def assert_near(found: Array, expected: Array) -> None:
    assert np.abs(np.asarray(found).astype(np.float64) - expected).max() <= 1.5e-2 * np.abs(expected).max()


def compiled(text: str, target: str) -> irc.Executable:
    return irc.compile(text, target=target, arch="sm_90a") if target == "sim" else irc.compile(text, target=target)


@long(4)
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("target", ["interpret", "cpu", "sim"])
def test_forward(name: str, target: str) -> None:
    _, arrays, seen = MASKS[name]
    q, k, v = drawn((HEADS, S, D), (HEADS, T, D), (HEADS, T, D))
    found = compiled(program(name, FORWARD), target)(q, k, v, *arrays.values())
    assert_near(found, weights(q, k, seen) @ v.astype(np.float64))


@long(8)
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("target", ["interpret", "sim"])
def test_gradients(name: str, target: str) -> None:
    """The walk over the queries that gives the gradients of keys and values is bounded too."""
    _, arrays, seen = MASKS[name]
    q, k, v, g = drawn((HEADS, S, D), (HEADS, T, D), (HEADS, T, D), (HEADS, S, D))
    found = compiled(program(name, BACKWARD), target)(q, k, v, g, *arrays.values())
    p = weights(q, k, seen)
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    along = g @ v.swapaxes(-1, -2)
    slope = p * (along - (p * along).sum(-1, keepdims=True)) / np.sqrt(D)
    expected = slope @ k, slope.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g
    for each, right in zip(found, expected, strict=True):
        assert_near(each, right)


@long(3)
@pytest.mark.parametrize("name", [name for name in MASKS if "any order" not in name])
@pytest.mark.parametrize("end", [FORWARD, BACKWARD], ids=["forward", "backward"])
def test_loops_are_bounded(name: str, end: str) -> None:
    """By elements of arrays, in each kernel that walks along what they bound."""
    module = lower(isolate(parse(program(name, end), "f.irc")), "tile", arch="sm_90a")
    programs = [op for op in module.walk() if isinstance(op, tile.ProgramOp)]
    walks = [op for op in programs if sum(isinstance(each, tile.DotOp) for each in op.walk()) > 1]
    bounded = [op for op in walks if any(isinstance(each, tile.LoadIndexOp) for each in op.walk())]
    is_along_columns = name in ("lengths", "beginnings")
    assert len(walks) == (3 if end is BACKWARD else 1)
    assert len(bounded) == len(walks) - (end is BACKWARD and is_along_columns)


@pytest.mark.parametrize("later", [0, 1])
def test_one_array_for_rows_and_columns(later: int) -> None:
    """Where causality goes no further than the row itself, it alone bounds the loops on its side."""
    mask = f"(reshape(ascending(a), [1, S, 1]) == reshape(ascending(a), [1, 1, T])) & (j <= i + {later})"
    text = ATTENTION + BACKWARD.replace("func f", "func back") + FORWARD
    text = text.format(heads=HEADS, s=T, t=T, d=D, mask=mask, arrays=f"a: i32[{T}]", names="a")
    each = np.arange(T)
    seen = (DOCUMENTS[:, None] == DOCUMENTS) & (each <= each[:, None] + later)
    q, k, v, g = drawn(*[(HEADS, T, D)] * 4)
    p = weights(q, k, seen)
    found = compiled(text, "sim")(q, k, v, DOCUMENTS)
    assert_near(found, p @ v.astype(np.float64))
    back = irc.compile(isolate(parse(text, "f.irc"), "back"), target="sim", arch="sm_90a")
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    along = g @ v.swapaxes(-1, -2)
    slope = p * (along - (p * along).sum(-1, keepdims=True)) / np.sqrt(D)
    expected = slope @ k, slope.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g
    for one, right in zip(
        back(*(x.astype(ml_dtypes.bfloat16) for x in (q, k, v, g)), DOCUMENTS), expected, strict=True
    ):
        assert_near(one, right)


def test_steps_beyond_the_bounds_are_not_read() -> None:
    """NaN times 0 would be NaN."""
    q, k, v = drawn((HEADS, S, D), (HEADS, T, D), (HEADS, T, D))
    k[:, 128:], v[:, 128:] = np.nan, np.nan
    found = compiled(program("lengths", FORWARD), "sim")(q, k, v, LENGTHS)
    expected = weights(q, np.nan_to_num(k), MASKS["lengths"][2]) @ np.nan_to_num(v.astype(np.float64))
    assert_near(found, expected)
    assert not np.asarray(found).astype(np.float64)[1].any()


def test_the_interpreter_refuses_what_falls() -> None:
    exe = irc.compile("func f(x: i32[4]) -> i32[4] { return ascending(x) }", target="interpret")
    assert list(np.asarray(exe(np.array([-3, 1, 1, 7], np.int32)))) == [-3, 1, 1, 7]
    with pytest.raises(irc.IrcError, match="expected numbers that do not fall"):
        exe(np.array([0, 2, 1, 3], np.int32))


SHARED = """
func y(q: bf16[16, 512, 64], k: bf16[16, 512, 64], v: bf16[16, 512, 64], n: i32[512]) -> bf16[16, 512, 64] {
    i = iota([512, 512], i32, axis=0)
    j = iota([512, 512], i32, axis=1)
    first = ascending(maximum(n - 5, 0))
    return attention(q, k, v, bias=(j >= reshape(first, [512, 1])) & (j <= i) & (j + 100 > i))
}
func loss(q: bf16[16, 512, 64], k: bf16[16, 512, 64], v: bf16[16, 512, 64], g: bf16[16, 512, 64], n: i32[512]) -> f32[] {
    return sum(cast(y(q, k, v, n), f32) * cast(g, f32))
}
func f(q: bf16[16, 512, 64], k: bf16[16, 512, 64], v: bf16[16, 512, 64], g: bf16[16, 512, 64], n: i32[512]) -> (bf16[16, 512, 64], bf16[16, 512, 64], bf16[16, 512, 64]) {
    return grad(loss, wrt=[q, k, v])(q, k, v, g, n)
}
"""


def test_no_kernel_stores_a_mask() -> None:
    """One of all heads is computed again by each kernel that reads it. What bounds loops is an array."""
    module = lower(isolate(parse(SHARED, "f.irc")), "kernel", arch="sm_90a")
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert [op.kind.value for op in kernels].count("cascade") == 3
    assert not [op for op in kernels for result in op.results if "i1>" in str(result.type)]
    bounds = [op for op in kernels if [str(result.type) for result in op.results] == ["tensor<512xi32>"]]
    assert len(bounds) == 1
