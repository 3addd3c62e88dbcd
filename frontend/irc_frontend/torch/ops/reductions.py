"""Rules of reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import truth
from irc_frontend.torch.rules import element_of, rule

aten = torch.ops.aten

Dims = int | Sequence[int] | None


def axes_of(x: Tensor, dim: Dims) -> list[int]:
    """The reduced axes: none is all, and an array without axes has one that is not there."""
    if not x.ndim or dim is None or (not isinstance(dim, int) and not dim):
        return list(range(x.ndim))
    return [axis % x.ndim for axis in ([dim] if isinstance(dim, int) else dim)]


def accumulating(x: Tensor, dtype: Any) -> Tensor:
    """x as the type that it is summed in: integers and bools as i64 where nothing is said."""
    if dtype is not None:
        return x.astype(element_of(dtype))
    return x if x.node.is_float else x.astype("i64")


@rule(aten.sum.default, aten.sum.dim_IntList)
def _sum(x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return accumulating(x, dtype).sum(axes_of(x, dim), keepdims=keepdim)


@rule(aten.mean.default, aten.mean.dim)
def _mean(x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return accumulating(x, dtype).mean(axes_of(x, dim), keepdims=keepdim)


@rule(aten.prod.default, aten.prod.dim_int)
def _prod(x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    return accumulating(x, dtype).prod(axes_of(x, dim), keepdims=keepdim)


@rule(aten.var.correction)
def _var(x: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    """Of what is no integer, the variance of all elements in other proportion."""
    axes = axes_of(x, dim)
    if correction is None or correction == int(correction):
        return x.var(axes, keepdims=keepdim, correction=1 if correction is None else int(correction))
    count = math.prod(x.shape[axis] for axis in axes)
    left = max(count - correction, 0.0)
    return wide(x).var(axes, keepdims=keepdim) * (count / left if left else math.inf)


@rule(aten.var_mean.correction)
def _var_mean(x: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    variance = _var(x, dim, correction=correction, keepdim=keepdim)
    return variance, x.mean(axes_of(x, dim), keepdims=keepdim)


@rule(aten.amax.default)
def _amax(x: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    return _extreme("max", x, dim, keepdim)


@rule(aten.amin.default)
def _amin(x: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    return _extreme("min", x, dim, keepdim)


@rule(aten.max.default)
def _max(x: Tensor) -> Tensor:
    return _extreme("max", x, None, False)


@rule(aten.min.default)
def _min(x: Tensor) -> Tensor:
    return _extreme("min", x, None, False)


def _extreme(op: str, x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    axes = axes_of(x, dim)
    if x.element == "bool":
        return (x.any if op == "max" else x.all)(axes, keepdims=keepdim)
    return (x.max if op == "max" else x.min)(axes, keepdims=keepdim)


@rule(aten.max.dim)
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    return _extreme("max", x, dim, keepdim), _argmax(x, dim, keepdim)


@rule(aten.min.dim)
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    return _extreme("min", x, dim, keepdim), _argmin(x, dim, keepdim)


@rule(aten.argmax.default)
def _argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _arg("argmax", x, dim, keepdim)


@rule(aten.argmin.default)
def _argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _arg("argmin", x, dim, keepdim)


def _arg(op: str, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if not x.ndim:
        return ir.zeros((), "i64")
    numbers = x.astype("i32") if x.element == "bool" else x
    return (ir.argmax if op == "argmax" else ir.argmin)(numbers, dim, keepdim)


@rule(aten.any.default, aten.any.dim, aten.any.dims)
def _any(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return truth(x).any(axes_of(x, dim), keepdims=keepdim)


@rule(aten.all.default, aten.all.dim, aten.all.dims)
def _all(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return truth(x).all(axes_of(x, dim), keepdims=keepdim)


@rule(aten.cumsum.default)
def _cumsum(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    return accumulating(x, dtype).cumsum(dim) if x.ndim else x


@rule(aten.cumprod.default)
def _cumprod(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    return accumulating(x, dtype).cumprod(dim) if x.ndim else x
