"""Kernels that write some elements of a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError


@ir.kernel
def put(x: Any, at: Any, row: Any) -> Any:
    out = ir.copy_of(x)
    outer, _, inner = x.shape
    for o, i in ir.tiles(outer, inner):
        out[o, at[0:1], i] = row[o, :, i]
    return out


@pytest.mark.parametrize("target", ["interpret", "cpu", "sim"])
def test_one_place_is_written(target: str) -> None:
    generator = np.random.default_rng(0)
    x, row = (generator.normal(size=(5, extent, 48)).astype(np.float32) for extent in (7, 1))
    for place in (0, 6, 7):  # the last is out of range
        wanted = x.copy()
        wanted[:, place : place + 1] = row[:, : max(0, 7 - place)]
        with ir.target(target):
            found = np.asarray(put(x, np.array([place], np.int32), row))
        np.testing.assert_array_equal(found, wanted)


def _put(x: Any, at: Any, row: Any) -> Any:
    return put(x, at, row)


@pytest.mark.parametrize("target", ["interpret", "sim"])
def test_a_donated_array_is_written(target: str) -> None:
    x, at, row = np.zeros((2, 4, 8), np.float32), np.array([2], np.int32), np.ones((2, 1, 8), np.float32)
    with ir.target(target):
        found = ir.jit(donate=0)(_put)(x, at, row)
        np.testing.assert_array_equal(np.asarray(found)[:, 2], row[:, 0])
        assert not np.asarray(found)[:, [0, 1, 3]].any()


@ir.kernel
def shifted(x: Any) -> Any:
    out = ir.copy_of(x)
    for m in ir.tiles(x.shape[0]):
        out[m] = x[m] + 1.0
    return out


@ir.kernel
def scattered(x: Any, at: Any) -> Any:
    out = ir.copy_of(x)
    for m in ir.tiles(at.shape[0]):
        out[at[m]] = ir.exp(at[m].astype("f32"))
    return out


def test_what_is_copied_is_not_read() -> None:
    with pytest.raises(IrcError, match="an array is read of which the same loop nest writes a copy"):
        shifted(np.zeros(8, np.float32))


def test_several_places_are_not_written() -> None:
    with pytest.raises(IrcError, match="not stored at places that are computed, but at one in a copy"):
        scattered(np.zeros(8, np.float32), np.arange(3, dtype=np.int32))
