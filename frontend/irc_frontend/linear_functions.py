"""Matrix products on Tensors, by numpy's names, and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irc_frontend import convolution, linear, summation
from irc_frontend.convolution import Numbers
from irc_frontend.graph import element_named
from irc_frontend.subscripts import from_lists
from irc_frontend.tensor import Like, Tensor, node_of, operand_of

__all__ = ["conv", "dot", "einsum", "grouped_matmul", "inner", "kron", "matmul", "outer", "tensordot", "vdot"]


def matmul(a: Like, b: Like, dtype: Any = None, precision: str = "default") -> Tensor:
    """`dtype` is the element type of the result; `precision` (`f32`, `tf32`, `bf16`) how f32 operands are multiplied.
    Of 16-bit operands, `f32` asks for sums as accurate as those of f32, `f16` for sums of f16."""
    element = None if dtype is None else element_named(dtype)
    return Tensor.of(linear.matmul(node_of(a), node_of(b), element, precision))


def grouped_matmul(a: Like, b: Like, ends: Like, dtype: Any = None, precision: str = "default") -> Tensor:
    """Products in groups of neighboring rows; group g ends before row `ends[g]`, integers that do not fall.

    Of `a` [T, K] and `b` [G, K, N], each row by the matrix of its group: [T, N], 0 for rows of no group. Of `a` [M, T]
    and `b` [T, N], a product over the rows of each group: [G, M, N]. `dtype` and `precision` are those of `matmul`."""
    element = None if dtype is None else element_named(dtype)
    return Tensor.of(linear.grouped_matmul(node_of(a), node_of(b), node_of(ends), element, precision))


def dot(a: Like, b: Like) -> Tensor:
    """numpy's: the last axis of `a` with the last but one of `b`; beyond two axes none are batches."""
    return Tensor.of(linear.dot(node_of(a), operand_of(b)))


def outer(a: Like, b: Like) -> Tensor:
    """Every product of an element of `a` and one of `b`, both flattened."""
    return Tensor.of(node_of(a)).reshape(-1, 1) * Tensor.of(node_of(b)).reshape(1, -1)


def inner(a: Like, b: Like) -> Tensor:
    """The last axis of `a` with the last of `b`."""
    x, y = node_of(a), node_of(b)
    if not x.rank or not y.rank:
        return Tensor.of(linear.dot(x, y))
    return tensordot(a, b, ([x.rank - 1], [y.rank - 1]))


def vdot(a: Like, b: Like) -> Tensor:
    """The product of both, flattened."""
    return Tensor.of(node_of(a)).flatten().dot(Tensor.of(node_of(b)).flatten())


def tensordot(a: Like, b: Like, axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2) -> Tensor:
    """Pairs of axes contracted: the last `axes` of `a` with the first of `b`, or those named."""
    x, y = node_of(a), node_of(b)
    own, other = (range(x.rank - axes, x.rank), range(axes)) if isinstance(axes, int) else axes
    listed = ([each] if isinstance(each, int) else each for each in (own, other))
    return Tensor.of(linear.tensordot(x, y, *listed))


def kron(a: Like, b: Like) -> Tensor:
    """Each element of `a` times all of `b`, in its place; the one with fewer axes gets others in front."""
    x, y = Tensor.of(node_of(a)), Tensor.of(node_of(b))
    rank = max(x.ndim, y.ndim)
    x, y = (each.reshape([*[1] * (rank - each.ndim), *each.shape]) for each in (x, y))
    apart = x.reshape([n for extent in x.shape for n in (extent, 1)])
    beside = y.reshape([n for extent in y.shape for n in (1, extent)])
    return (apart * beside).reshape([m * n for m, n in zip(x.shape, y.shape, strict=True)])


def einsum(subscripts: Any, *operands: Any, optimize: Any = None) -> Tensor:
    """numpy's: `...` are the axes that are not named, and an index that an operand has twice is of its diagonal.
    Operands are joined from left to right, whatever `optimize` says."""
    if not isinstance(subscripts, str):
        subscripts, listed = from_lists((subscripts, *operands))
        operands = tuple(listed)
    return Tensor.of(summation.einsum(subscripts, [node_of(operand) for operand in operands]))


def conv(
    x: Like,
    kernel: Like,
    strides: Numbers = 1,
    low: Numbers = 0,
    high: Numbers = 0,
    dilation: Numbers = 1,
    input_dilation: Numbers = 1,
    groups: int = 1,
    *,
    flipped: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The convolution (cross-correlation) of x, [N, C, space...], with the kernel, [O, C / groups, space...], as the
    op `nd.conv` defines it: [N, O, space...]. Numbers are one for each axis of space, or one for all: `low` and `high`
    zeros around x, after `input_dilation - 1` between its elements, as transposed convolutions have them, whose kernels
    are `flipped`. `dtype` is the element type of the result."""
    numbers = strides, low, high, dilation, input_dilation, groups
    element = None if dtype is None else element_named(dtype)
    return Tensor.of(convolution.conv(node_of(x), node_of(kernel), *numbers, flipped=flipped, element=element))
