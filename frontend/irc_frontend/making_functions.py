"""Functions that make Tensors: numpy's, and those of the language that draw random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from irc_frontend import elementwise
from irc_frontend.elementwise import Number
from irc_frontend.elementwise_functions import where
from irc_frontend.functions import broadcast_to, swapaxes
from irc_frontend.graph import Node, element_named, fail
from irc_frontend.shapes import shape_of
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "arange",
    "eye",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "random_normal",
    "random_uniform",
    "zeros",
    "zeros_like",
]

SEEDS = range(-(2**63), 2**63)


def zeros(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    return full(shape, 0, dtype)


def ones(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    return full(shape, 1, dtype)


def full(shape: int | Sequence[int], value: Number, dtype: Any = "f32") -> Tensor:
    element = element_named(dtype)
    number = bool(value) if element == "bool" else value
    return Tensor.of(elementwise.constant(number, shape_of(shape), element))


def zeros_like(x: Like, dtype: Any = None) -> Tensor:
    return full_like(x, 0, dtype)


def ones_like(x: Like, dtype: Any = None) -> Tensor:
    return full_like(x, 1, dtype)


def full_like(x: Like, value: Number, dtype: Any = None) -> Tensor:
    node = node_of(x)
    return full(node.shape, value, node.element if dtype is None else dtype)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """The numbers from `start` (0 where only one is given) below `stop`, as elements of `dtype`: i64, or f32 where one
    of them is a float."""
    first, last = (0, start) if stop is None else (start, stop)
    if any(isinstance(each, float) for each in (first, last, step)):
        return _float_range(first, last, step, "f32" if dtype is None else dtype)
    element = element_named("i64" if dtype is None else dtype)
    try:
        count = len(range(int(first), int(last), int(step)))
    except (TypeError, ValueError) as error:
        raise fail(f"arange takes integers, and a step that is not 0: {error}") from error
    numbers = Tensor.of(_iota((count,), element, 0))
    scaled = numbers if step == 1 else numbers * step
    return scaled if first == 0 else scaled + first


def _float_range(first: float, last: float, step: float, dtype: Any) -> Tensor:
    if not step or not math.isfinite((last - first) / step):
        raise fail(f"arange: a step that is not 0, and finite numbers, found {first}, {last}, {step}")
    places = arange(max(0, math.ceil((last - first) / step))).astype("f64")
    return (places * float(step) + float(first)).astype(dtype)


def eye(rows: int, columns: int | None = None, k: int = 0, dtype: Any = "f32") -> Tensor:
    """1 on the k-th diagonal (0 is the main one, 1 the next on its right), 0 elsewhere."""
    shape = shape_of((rows, rows if columns is None else columns))
    on = Tensor.of(_iota(shape, "i64", 1)) - Tensor.of(_iota(shape, "i64", 0)) == k
    return on.astype(dtype)


def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: str = "f32") -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint`."""
    if num < 0:
        raise fail(f"linspace: the count is 0 or more, found {num}")
    steps = num - 1 if endpoint else num
    places = arange(num).astype("f64")
    made = start + places * ((stop - start) / steps) if steps > 0 else places + start
    return (where(places == num - 1, float(stop), made) if endpoint and num > 1 else made).astype(dtype)


def meshgrid(*arrays: Like, indexing: str = "xy") -> list[Tensor]:
    """A grid of coordinates for each array of one axis; `ij` keeps the order of axes, `xy` swaps the first two."""
    if indexing not in ("xy", "ij"):
        raise fail(f"meshgrid: indexing is 'xy' or 'ij', found {indexing!r}")
    tensors = [Tensor.of(node_of(array)).flatten() for array in arrays]
    shape = tuple(tensor.size for tensor in tensors)
    grids: list[Tensor] = []
    for at, tensor in enumerate(tensors):
        alone = tensor.reshape(*(extent if axis == at else 1 for axis, extent in enumerate(shape)))
        grids.append(broadcast_to(alone, shape))
    return [swapaxes(grid, 0, 1) for grid in grids] if indexing == "xy" and len(grids) > 1 else grids


def random_normal(shape: int | Sequence[int], seed: int | Tensor, dtype: Any = "f32") -> Tensor:
    """Numbers of the standard normal distribution (Philox): the same for the same seed, an int or an i64
    Tensor without axes, on every target."""
    return _random("random_normal", shape, seed, dtype)


def random_uniform(shape: int | Sequence[int], seed: int | Tensor, dtype: Any = "f32") -> Tensor:
    """Numbers of [0, 1) (Philox): the same for the same seed, an int or an i64
    Tensor without axes, on every target."""
    return _random("random_uniform", shape, seed, dtype)


def _random(op: str, shape: int | Sequence[int], seed: int | Tensor, dtype: Any) -> Tensor:
    node = Node(op, (_seed(seed),), shape_of(shape), element_named(dtype))
    if not node.is_float:
        raise fail(f"{op} makes floats, not {node.element}", "multiply and cast them: floor(x * n).astype('i32')")
    return Tensor.of(node)


def _seed(seed: Any) -> Node:
    if isinstance(seed, int):
        if seed not in SEEDS:
            raise fail(f"a seed is a 64-bit integer, found {seed}")
        return elementwise.constant(seed, (), "i64")
    node = node_of(seed)
    if node.type != "i64[]":
        raise fail(f"a seed is an integer or an i64[], found {node.type}")
    return node


def _iota(shape: tuple[int, ...], element: str, axis: int) -> Node:
    return Node("iota", (), shape, element, (("axis", axis),))
