"""numpy's functions on Tensors that move, reduce, multiply or make arrays; `elementwise_functions` has the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irc_frontend import elementwise, linear, reduction, structure
from irc_frontend.elementwise import Number
from irc_frontend.graph import Node, element_named, fail
from irc_frontend.realise import realise
from irc_frontend.shapes import Axes, shape_of
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "broadcast_to",
    "concatenate",
    "cumprod",
    "cumsum",
    "expand_dims",
    "flip",
    "full",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "mean",
    "min",
    "ones",
    "pad",
    "permute",
    "prod",
    "realize",
    "reshape",
    "rms_norm",
    "softmax",
    "sort",
    "split",
    "squeeze",
    "stack",
    "sum",
    "take",
    "transpose",
    "tril",
    "triu",
    "var",
    "zeros",
]


def realize(*tensors: Tensor) -> tuple[Any, ...]:
    """The values of several tensors, computed by one program."""
    return tuple(realise([tensor.node for tensor in tensors]))


def matmul(a: Like, b: Like, dtype: Any = None, precision: str = "default") -> Tensor:
    """`dtype` is the element type of the result; `precision` (`f32`, `tf32`, `bf16`) how f32 operands are
    multiplied."""
    element = None if dtype is None else element_named(dtype)
    return Tensor.of(linear.matmul(node_of(a), node_of(b), element, precision))


def reshape(x: Like, shape: Sequence[int]) -> Tensor:
    return Tensor.of(structure.reshape(node_of(x), [shape] if isinstance(shape, int) else shape))


def permute(x: Like, axes: Sequence[int]) -> Tensor:
    return Tensor.of(structure.permute(node_of(x), axes))


def transpose(x: Like, axes: Sequence[int] | None = None) -> Tensor:
    """numpy's: without axes, all of them reversed."""
    node = node_of(x)
    return Tensor.of(structure.permute(node, list(reversed(range(node.rank))) if axes is None else axes))


def broadcast_to(x: Like, shape: Sequence[int]) -> Tensor:
    return Tensor.of(elementwise.broadcast_to(node_of(x), shape_of(shape)))


def concatenate(parts: Sequence[Like], axis: int = 0) -> Tensor:
    return Tensor.of(structure.concat([node_of(part) for part in parts], axis))


def stack(parts: Sequence[Like], axis: int = 0) -> Tensor:
    return Tensor.of(structure.concat([structure.expand_dims(node_of(part), axis) for part in parts], axis))


def split(x: Like, count: int, axis: int = 0) -> list[Tensor]:
    """Equal parts along an axis."""
    tensor = Tensor.of(node_of(x))
    axis = axis % tensor.ndim if tensor.ndim else 0
    if not tensor.ndim or count < 1 or tensor.shape[axis] % count:
        raise fail(f"cannot split {tensor.node.type} into {count} equal parts along axis {axis}")
    width = tensor.shape[axis] // count
    before = (slice(None),) * axis
    return [tensor[(*before, slice(i * width, (i + 1) * width))] for i in range(count)]


def expand_dims(x: Like, axis: int) -> Tensor:
    return Tensor.of(structure.expand_dims(node_of(x), axis))


def squeeze(x: Like, axis: int | Sequence[int] | None = None) -> Tensor:
    return Tensor.of(structure.squeeze(node_of(x), axis))


def flip(x: Like, axis: int | Sequence[int] | None = None) -> Tensor:
    return Tensor.of(structure.flip(node_of(x), axis))


def pad(x: Like, widths: Sequence[Sequence[int]], value: Number = 0) -> Tensor:
    """`widths[i]` is how many elements of `value` go before and after on axis i."""
    return Tensor.of(structure.pad(node_of(x), widths, value))


def tril(x: Like, k: int = 0) -> Tensor:
    return Tensor.of(structure.triangle("tril", node_of(x), k))


def triu(x: Like, k: int = 0) -> Tensor:
    return Tensor.of(structure.triangle("triu", node_of(x), k))


def take(x: Like, indices: Like, axis: int = 0) -> Tensor:
    """The slices at the indices, which are clamped into range."""
    return Tensor.of(structure.take(node_of(x), node_of(indices), axis))


def sum(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).sum(axis, dtype, keepdims)


def prod(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).prod(axis, dtype, keepdims)


def mean(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).mean(axis, dtype, keepdims)


def var(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False, correction: int = 0) -> Tensor:
    return Tensor.of(node_of(x)).var(axis, dtype, keepdims, correction)


def max(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).max(axis, keepdims)


def min(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).min(axis, keepdims)


def any(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).any(axis, keepdims)


def all(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).all(axis, keepdims)


def argmax(x: Like, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).argmax(axis, keepdims)


def argmin(x: Like, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).argmin(axis, keepdims)


def cumsum(x: Like, axis: int) -> Tensor:
    return Tensor.of(reduction.along("cumsum", node_of(x), axis))


def cumprod(x: Like, axis: int) -> Tensor:
    return Tensor.of(reduction.along("cumprod", node_of(x), axis))


def sort(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.along("sort", node_of(x), axis))


def softmax(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.normalise("softmax", node_of(x), axis))


def log_softmax(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.normalise("log_softmax", node_of(x), axis))


def layer_norm(x: Like, axis: int = -1, eps: float = 1e-5) -> Tensor:
    return Tensor.of(reduction.normalise("layer_norm", node_of(x), axis, eps))


def rms_norm(x: Like, axis: int = -1, eps: float = 1e-6) -> Tensor:
    return Tensor.of(reduction.normalise("rms_norm", node_of(x), axis, eps))


def zeros(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    return full(shape, 0, dtype)


def ones(shape: int | Sequence[int], dtype: Any = "f32") -> Tensor:
    return full(shape, 1, dtype)


def full(shape: int | Sequence[int], value: Number, dtype: Any = "f32") -> Tensor:
    element = element_named(dtype)
    number = bool(value) if element == "bool" else value
    return Tensor.of(elementwise.constant(number, shape_of(shape), element))


def arange(start: int, stop: int | None = None, step: int = 1, dtype: Any = "i64") -> Tensor:
    """The integers from `start` (0 where only one is given) below `stop`, as elements of `dtype`."""
    first, last = (0, start) if stop is None else (start, stop)
    element = element_named(dtype)
    try:
        count = len(range(first, last, step))
    except (TypeError, ValueError) as error:
        raise fail(f"arange takes integers, and a step that is not 0: {error}") from error
    numbers = Tensor.of(Node("iota", (), (count,), element, (("axis", 0),)))
    scaled = numbers if step == 1 else numbers * step
    return scaled if first == 0 else scaled + first
