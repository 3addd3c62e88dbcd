"""numpy's reductions, scans and sorts of Tensors.

`where` is a mask of the elements that count, `initial` what they are joined with; `dtype` the element type of the
result. Sums of i8, u8, i16 and bool are i32, others have their elements' type; means of integers are f32.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import prod as product
from typing import Concatenate, ParamSpec

from irc_frontend import indexed, reduction
from irc_frontend.elementwise_functions import where as choose
from irc_frontend.graph import fail
from irc_frontend.shapes import Axes, axes_of, axis_of
from irc_frontend.slicing import part_of
from irc_frontend.structure import flip, permute, reshape
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "max",
    "mean",
    "median",
    "min",
    "prod",
    "sort",
    "std",
    "sum",
    "topk",
    "var",
]


P = ParamSpec("P")


def _tensor(x: Like) -> Tensor:
    return Tensor.of(node_of(x))


def _function(method: Callable[Concatenate[Tensor, P], Tensor]) -> Callable[Concatenate[Like, P], Tensor]:
    """What the method of Tensors does, of whatever is like one."""

    def function(x: Like, *args: P.args, **kwargs: P.kwargs) -> Tensor:
        return method(_tensor(x), *args, **kwargs)

    function.__name__ = function.__qualname__ = method.__name__
    function.__doc__ = method.__doc__
    own, of_method = inspect.signature(function), inspect.signature(method)
    parameters = [own.parameters["x"], *list(of_method.parameters.values())[1:]]
    function.__signature__ = own.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return function


sum = _function(Tensor.sum)
prod = _function(Tensor.prod)
mean = _function(Tensor.mean)
var = _function(Tensor.var)
std = _function(Tensor.std)
max = _function(Tensor.max)
min = _function(Tensor.min)
any = _function(Tensor.any)
all = _function(Tensor.all)
argmax = _function(Tensor.argmax)
argmin = _function(Tensor.argmin)
cumsum = _function(Tensor.cumsum)
cumprod = _function(Tensor.cumprod)


def count_nonzero(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, NaN included, as i64."""
    tensor = _tensor(x)
    truth = tensor if tensor.node.is_bool else tensor != 0
    return truth.astype("i64").sum(axis, keepdims=keepdims)


def sort(x: Like, axis: int | None = -1) -> Tensor:
    """In ascending order, NaN last. Runs on the CPU alone for now."""
    return Tensor.of(reduction.along("sort", node_of(x), axis))


def argsort(x: Like, axis: int | None = -1, stable: bool = True) -> Tensor:
    """The i64 indices that sort along the axis, those of equals in order; NaN comes last. Runs on the CPU alone for
    now."""
    node = node_of(x)
    flat = reshape(node, [product(node.shape)]) if axis is None else node
    at = axis_of(axis or 0, flat.rank)
    extent = flat.shape[at]
    _, descending = indexed.top(flip(flat, at), extent, at)
    return extent - 1 - Tensor.of(flip(descending, at))


def topk(x: Like, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The k greatest along the axis in descending order (NaN first), and their i64 indices. Runs on the CPU alone for
    now."""
    values, indices = indexed.top(node_of(x), k, axis)
    return Tensor.of(values), Tensor.of(indices)


def median(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The middle of the sorted elements, or the mean of the two there; NaN where one is."""
    node = node_of(x)
    named = axes_of(axis, node.rank)
    kept = [each for each in range(node.rank) if each not in named]
    extent = product(node.shape[each] for each in named)
    if not extent:
        raise fail(f"median over no elements has no value: {node.type}")
    flat = reshape(permute(node, [*kept, *named]), [*(node.shape[each] for each in kept), extent])
    ordered = reduction.along("sort", flat, -1)
    middle = Tensor.of(part_of(ordered, -1, (extent - 1) // 2, extent // 2 + 1)).mean(-1)
    if node.is_float:
        greatest = Tensor.of(part_of(ordered, -1, extent - 1, None)).reshape(middle.shape)
        middle = choose(greatest == greatest, middle, greatest)
    return middle.reshape([1 if each in named else n for each, n in enumerate(node.shape)]) if keepdims else middle
