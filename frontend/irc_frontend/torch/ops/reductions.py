"""Rules of reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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


def _accumulated(op: str) -> Callable[..., Tensor]:
    def record(x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        return getattr(accumulating(x, dtype), op)(axes_of(x, dim), keepdims=keepdim)

    return record


rule(aten.sum.default, aten.sum.dim_IntList)(_accumulated("sum"))
rule(aten.mean.default, aten.mean.dim)(_accumulated("mean"))
rule(aten.prod.default, aten.prod.dim_int)(_accumulated("prod"))


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


def _register_extreme(name: str, of_bools: str) -> None:
    """`max` or `min`, of what is no bool, and the other ops that find an extreme element."""

    @rule(getattr(aten, f"a{name}").default, getattr(aten, name).default)
    def extreme(x: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
        return getattr(x, of_bools if x.element == "bool" else name)(axes_of(x, dim), keepdims=keepdim)

    @rule(getattr(aten, f"arg{name}").default)
    def place(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if not x.ndim:
            return ir.zeros((), "i64")
        return getattr(x.astype("i32") if x.element == "bool" else x, f"arg{name}")(dim, keepdim)

    @rule(getattr(aten, name).dim)
    def extreme_and_place(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        return extreme(x, dim, keepdim), place(x, dim, keepdim)


_register_extreme("max", of_bools="any")
_register_extreme("min", of_bools="all")


def _register_truth(name: str) -> None:
    packet = getattr(aten, name)

    @rule(packet.default, packet.dim, packet.dims)
    def record(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
        return getattr(truth(x), name)(axes_of(x, dim), keepdims=keepdim)


def _register_scan(name: str) -> None:
    @rule(getattr(aten, name).default)
    def record(x: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        return getattr(accumulating(x, dtype), name)(dim) if x.ndim else x


for _name in ("any", "all"):
    _register_truth(_name)
for _name in ("cumsum", "cumprod"):
    _register_scan(_name)
