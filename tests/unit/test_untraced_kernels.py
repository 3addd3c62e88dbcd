"""Kernels in Python that cannot be traced: each is an error at the user's line, which says what to write instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render

X = np.arange(30, dtype=np.float32).reshape(5, 6)

NO_TILE, NO_POSITION = "a tile has no value while", "a position is not known while"
CHOOSES = "where(condition, a, b) chooses elements"

Tile = Any

Body = Callable[[Tile, Tile, Tile, Tile], Tile]
"""What is stored of a tile t at m, n of an array x."""


def _if_begin(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    if m.begin > 2:  # here
        return -t
    return t


def _if_begins(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t if m.begin == n.begin else -t  # here


def _if_tile(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t if m == 0 else -t  # here


def _if_tiles(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t if m == n else -t  # here


def _if_not_tile(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t if m != 0 else -t  # here


def _truth_of_tile(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t if m else -t  # here


def _while(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    while t.max() > 1:  # here
        t = t * 0.5
    return t


def _and(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return ir.where((t > 0) and (t < 1), t, 0)  # here


def _max(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return max(t, 0)  # here


def _assert(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    assert t.max() < 3  # here
    return t


def _math(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return math.exp(t.sum()) * t  # here


def _format(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    print(f"{t.sum():.2f}")  # here
    return t


def _torch(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return torch.exp(t)  # here


def _torch_in_python(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return torch.nn.functional.softmax(t, dim=1)  # here


def _method(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t - t.maxx(axis=1)[:, None]  # here


def _function(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return ir.sigmiod(t)  # here  # pyright: ignore


def _no_function(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return ir.frobnicate(t)  # here  # pyright: ignore


def _attribute(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t * m.indexes[:, None]  # here


def _range(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    for _ in range(m.end):  # here
        t = t + 1
    return t


def _range_of_data(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    for _ in range(x[0, 0]):  # here
        t = t + 1
    return t


def _rows(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    for row in t:  # here
        t = t + row
    return t


def _sum(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t + sum(t)  # here


def _comprehension(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return sum(x[m, k] for k in ir.tiles(6))  # here


def _sums_of_rows(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t - t.sum(axis=1)  # here


def _other_shape(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t + ir.zeros((4, 3))  # here


def _rows_by_rows(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return x[m, :] @ x[0:2, :]  # here


def _other_product(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return x[m, :] @ ir.zeros((3, 2))  # here


ERRORS: list[tuple[Body, str, str]] = [
    (_if_begin, NO_POSITION, CHOOSES),
    (_if_begins, NO_POSITION, CHOOSES),
    (_if_tile, NO_POSITION, "`m.begin.value` are numbers for the condition"),
    (_if_tiles, NO_POSITION, CHOOSES),
    (_if_not_tile, NO_POSITION, CHOOSES),
    (_truth_of_tile, NO_POSITION, CHOOSES),
    (_while, NO_TILE, CHOOSES),
    (_and, NO_TILE, "`&` and `|` are `and` and `or` of conditions"),
    (_max, NO_TILE, "maximum(a, b) is max(a, b)"),
    (_assert, NO_TILE, CHOOSES),
    (_math, NO_TILE, "exp(t) does for math.exp(t)"),
    (_format, NO_TILE, "the results of the kernel have values"),
    (_torch, "a kernel cannot be traced: exp()", "irc's functions and methods: exp(t)"),
    (_torch_in_python, "a kernel cannot be traced: 'Tensor' object has no attribute", ""),
    (_method, "'Tensor' object has no attribute 'maxx'", "did you mean max or argmax?"),
    (_function, "module 'irc_frontend' has no attribute 'sigmiod'", "did you mean sigmoid"),
    (_no_function, "module 'irc_frontend' has no attribute 'frobnicate'", "docs/api.md lists"),
    (_attribute, "'LoopTile' object has no attribute 'indexes'", "did you mean index?"),
    (_range, "'Index' object cannot be interpreted as an integer", "tiles(N, begin=a, end=b) goes to a position"),
    (_range_of_data, "'Tensor' object cannot be interpreted as an integer", "to where data says, lengths[b]"),
    (_rows, "a tile of m is not iterated over", "compute with all of its elements"),
    (_sum, "a tile of m is not iterated over", "t.sum(axis=0)"),
    (_comprehension, "tiles are for the `for` statements", "without enumerate, zip or a comprehension"),
    (_sums_of_rows, "cannot broadcast the shapes [5, 6], [5]", "None adds an axis: x[:, None]"),
    (_other_shape, "cannot broadcast the shapes [5, 6], [4, 3]", "counted from the last axis, are equal or 1"),
    (_rows_by_rows, "the contracted extents differ", "permute its last two axes, as x.T does"),
    (_other_product, "the contracted extents differ", "meets the last but one of the right one"),
]


def whole(body: Body) -> Any:
    """A kernel that stores what the body gives."""

    @ir.kernel
    def kernel(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = body(x[m, n], m, n, x)
        return out

    return kernel


@pytest.mark.parametrize(("body", "message", "hint"), ERRORS, ids=[body.__name__[1:] for body, *_ in ERRORS])
def test_what_cannot_be_traced_is_an_error_at_the_users_line(body: Body, message: str, hint: str) -> None:
    with pytest.raises(IrcError) as caught, ir.target("sim"):
        whole(body)(X)
    assert message in caught.value.message
    shown = render(caught.value).split("\n")
    assert shown[0].startswith(f"{__file__}:")
    assert "# here" in shown[1]
    assert hint in (caught.value.hint or "")


def _of_a_list(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t * [].total  # pyright: ignore


def _of_a_text(t: Tile, m: Tile, n: Tile, x: Tile) -> Tile:
    return t * len(3)  # pyright: ignore


@pytest.mark.parametrize(("body", "error"), [(_of_a_list, AttributeError), (_of_a_text, TypeError)])
def test_errors_of_other_objects_stay_as_they_are(body: Body, error: type[Exception]) -> None:
    with pytest.raises(error), ir.target("sim"):
        whole(body)(X)


# Values of an iteration that a list takes out of it


def _behind_a_loop(x: Tile, out: Tile) -> Tile:
    for m in ir.tiles(x.shape[0]):
        kept = []
        for n in ir.tiles(x.shape[1]):
            kept.append(x[m, n].sum(axis=1))  # here
        out[m] = kept[0]
    return out


def _in_the_next_loop(x: Tile, out: Tile) -> Tile:
    for m in ir.tiles(x.shape[0]):
        kept, total = [], ir.zeros((m,))
        for n in ir.tiles(x.shape[1]):
            kept.append(x[m, n].sum(axis=1))  # here
        for n in ir.tiles(x.shape[1]):
            total += x[m, n].sum(axis=1) + kept[0]
        out[m] = total
    return out


def _in_the_next_launch(x: Tile, out: Tile) -> Tile:
    kept, later = [], ir.empty_like(out)
    for m in ir.tiles(x.shape[0]):
        kept.append(x[m, 0])
        out[m] = kept[0]
    for m in ir.tiles(x.shape[0]):
        later[m] = kept[0]  # here
    return later


def _on_the_host(x: Tile, out: Tile) -> Tile:
    kept = []
    for m in ir.tiles(x.shape[0]):
        kept.append(x[m, 0])
        out[m] = kept[0]
    return out + kept[0]  # here


@pytest.mark.parametrize("body", [_behind_a_loop, _in_the_next_loop, _in_the_next_launch, _on_the_host])
def test_a_value_of_one_iteration_is_not_used_behind_it(body: Callable[[Tile, Tile], Tile]) -> None:
    inner = ir.kernel(body)

    @ir.kernel
    def kernel(x: ir.Tensor) -> ir.Tensor:
        return inner._recorder.function(x, ir.empty(x.shape[0]))  # pyright: ignore[reportPrivateUsage]

    # Ops are made where their values are needed: one that was not in the loop is quoted itself, else what it is used by.
    with pytest.raises(IrcError, match="a value of one iteration of a loop over tiles") as caught, ir.target("sim"):
        kernel(X)
    assert "# here" in render(caught.value).split("\n")[1]
    assert "acc = acc + t" in (caught.value.hint or "")
