"""Indices, and what writes at them, drawn, against numpy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st

import irc_frontend as ir
from irc.support.diagnostics import IrcError

DRAWN = np.random.default_rng(3)
X = DRAWN.standard_normal((3, 4)).astype(np.float32)


pytestmark = pytest.mark.usefixtures("on_interpreter")


def same(found: ir.Tensor, wanted: Any) -> None:
    value = found.numpy()
    assert (found.shape, value.shape, value.dtype) == (wanted.shape, wanted.shape, wanted.dtype)
    np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-5)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index of any kinds of keys; arrays of two shapes that broadcast to one."""
    wide = draw(st.sampled_from([(2,), (3, 1), (1,), ()]))
    count = draw(st.integers(0, 3))
    made: list[Any] = []
    axis, dots = 0, draw(st.booleans())
    # Keys behind dots are of the last axes, so that there are as many as the dots leave.
    ends = [] if dots else ["stop"]
    while axis < len(shape):
        extent = shape[axis]
        whole = st.integers(-extent, extent - 1)
        kinds = ["int", "slice", "slice", "array", "array", "none"]
        kind = draw(st.sampled_from([*kinds, *(["mask"] if wide in ((1,), ()) else []), *(["dots"] if dots else ends)]))
        if kind == "stop":
            break
        if kind == "dots":
            made.append(Ellipsis)
            dots = False
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "none":
            made.append(None)
        elif kind == "mask":
            mask = np.arange(extent) % 2 == 0 if count % 2 else np.zeros(extent, bool)
            mask[: min(1, extent)] = True
            made.append(mask if mask.sum() == 1 else np.arange(extent) == draw(st.integers(0, extent - 1)))
            axis += 1
        else:
            bounds = st.one_of(st.none(), st.integers(-extent - 1, extent + 1))
            step = st.sampled_from([None, 1, 2, -1, -2])
            made.append(
                draw(whole)
                if kind == "int"
                else slice(draw(bounds), draw(bounds), draw(step))
                if kind == "slice"
                else np.array(
                    draw(st.lists(whole, min_size=int(np.prod(wide)), max_size=int(np.prod(wide)))), np.int64
                ).reshape(wide)
            )
            axis += 1
    return tuple(made)


SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def lazily(key: Any) -> Any:
    """The key with Tensors in the place of arrays of integers."""
    return tuple(ir.Tensor(k) if isinstance(k, np.ndarray) and k.dtype != bool else k for k in key)


@given(SHAPES, st.data())
@examples(300, one_in=3)
def test_indices_are_numpys(shape: tuple[int, ...], data: st.DataObject) -> None:
    x, key = DRAWN.standard_normal(shape).astype(np.float32), data.draw(keys(shape))
    try:
        wanted = x[key]
    except IndexError:
        with pytest.raises(IrcError):
            ir.Tensor(x)[key]
        return
    same(ir.Tensor(x)[key], np.asarray(wanted))
    same(ir.jit(lambda x, key=key: x[lazily(key)])(x), np.asarray(wanted))


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
@given(SHAPES, st.data())
@examples(60, one_in=3)
def test_updates_are_numpys(method: str, recorded: bool, shape: tuple[int, ...], data: st.DataObject) -> None:
    x, key = DRAWN.standard_normal(shape).astype(np.float32), data.draw(keys(shape))
    values = DRAWN.standard_normal(np.shape(x[key])).astype(np.float32)
    wanted = x.copy()
    ufunc = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}.get(method)
    if ufunc is None:
        wanted[key] = values
    else:
        ufunc.at(wanted, key, values)
    if not recorded:
        same(getattr(ir.Tensor(x).at[key], method)(values), wanted)
        return
    arrays = [k for k in key if isinstance(k, np.ndarray) and k.dtype != bool]

    @ir.jit
    def update(x: ir.Tensor, values: ir.Tensor, arrays: list[ir.Tensor]) -> ir.Tensor:
        given = iter(arrays)
        own = tuple(next(given) if isinstance(k, np.ndarray) and k.dtype != bool else k for k in key)
        return getattr(x.at[own], method)(values)

    same(update(x, values, arrays), wanted)


def test_other_updates() -> None:
    x = ir.Tensor(X)
    same(x.at[1].subtract(2), np.concatenate([X[:1], X[1:2] - 2, X[2:]]))
    same(x.at[:, 0].divide(4), np.concatenate([X[:, :1] / 4, X[:, 1:]], 1))
    same(x.at[-1, ::2].get(), X[-1, ::2])
    same(x.at[0].set(7), np.concatenate([np.full((1, 4), 7, np.float32), X[1:]]))
    assert (x > 0).at[0].set(True).numpy()[0].all()


def test_gradients_of_updates() -> None:
    rows = np.array([2, 0, 2])

    def loss(x: Any, values: Any) -> Any:
        return (x.at[rows].set(values) * 3).sum() + (x.at[1].add(values[0]) * 2).sum()

    first, second = ir.grad(loss, (0, 1))(X, np.ones((3, 4), np.float32))
    same(first, np.repeat(np.array([2, 5, 2], np.float32), 4).reshape(3, 4))
    same(second, np.repeat(np.array([2, 3, 3], np.float32), 4).reshape(3, 4))


def test_masks_choose_as_many_elements_as_their_values_say() -> None:
    x = ir.Tensor(X)
    same(x[x > 0], X[X > 0])
    same(x[:, X[0] > 0], X[:, X[0] > 0])
    same(ir.exp(x)[..., (x > 0)[0]], np.exp(X)[..., X[0] > 0])
    same(x.at[x > 0].set(0.0), np.where(X > 0, 0, X).astype(np.float32))
    for recorded in (lambda x: x[x > 0], lambda x: ir.nonzero(x > 0)):
        with pytest.raises(IrcError, match="has no values yet") as caught:
            ir.jit(recorded)(X)
        assert "size=n" in str(caught.value.hint)
    with pytest.raises(IrcError, match=re.escape("a mask, bool[3], does not fit axis 1 of f32[3, 4]")):
        _ = x[:, np.ones(3, bool)]


def test_nonzero() -> None:
    for found, wanted in zip(ir.nonzero(ir.Tensor(X) > 0), np.nonzero(X > 0), strict=True):
        same(found, wanted)
    for size in (0, 2, 9, 12):
        rows, columns = ir.jit(lambda x, size=size: ir.nonzero(x > 0, size=size, fill_value=-1))(X)
        wanted = [np.concatenate([each[:size], np.full(max(0, size - len(each)), -1)]) for each in np.nonzero(X > 0)]
        same(rows, wanted[0])
        same(columns, wanted[1])


def test_dynamic_slices() -> None:
    cut = ir.jit(lambda x, i, j: ir.dynamic_slice(x, (i, j), (2, 3)))
    put = ir.jit(lambda x, v, i, j: ir.dynamic_update_slice(x, v, (i, j)))
    values = np.ones((2, 3), np.float32)
    for i in range(2):
        for j in range(2):
            at = np.int64(i), np.int32(j)
            same(cut(X, *at), X[i : i + 2, j : j + 3])
            wanted = X.copy()
            wanted[i : i + 2, j : j + 3] = values
            same(put(X, values, *at), wanted)
    same(ir.dynamic_slice(X, (0, 1), (3, 2)), X[:, 1:3])
    same(ir.dynamic_slice(X, np.array([1, 0]), (1, 4)), X[1:2])
    with pytest.raises(IrcError, match="index 2 is out of range: 0 <= index < 2"):
        cut(X, np.int64(0), np.int64(2)).numpy()
    with pytest.raises(IrcError, match="is not in an extent of 3"):
        ir.dynamic_slice(X, (2, 0), (2, 4))
    with pytest.raises(IrcError, match="cannot slice by") as caught:
        ir.jit(lambda x, i: x[i : i + 2])(X, np.int64(1))
    assert "dynamic_slice" in str(caught.value.hint)
