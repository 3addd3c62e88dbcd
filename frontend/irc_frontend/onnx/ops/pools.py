"""Rules of pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import rule
from irc_frontend.onnx.windows import Along, Window, windows
from irc_frontend.tensor import Tensor


@rule("MaxPool")
def _max_pool(
    x: Tensor,
    *,
    kernel_shape: list[int],
    ceil_mode: int = 0,
    storage_order: int = 0,
    outputs: int = 1,
    **how: Unpack[Window],
) -> Tensor:
    if outputs > 1:
        raise IrcError("the result Indices is not supported")
    return _reduced(x, windows(x.shape[2:], kernel_shape, ceil_mode, **how), "max")


@rule("AveragePool")
def _average_pool(
    x: Tensor, *, kernel_shape: list[int], ceil_mode: int = 0, count_include_pad: int = 0, **how: Unpack[Window]
) -> Tensor:
    found = windows(x.shape[2:], kernel_shape, ceil_mode, **how)
    return _reduced(x, found, "sum") / _counts(found, bool(count_include_pad), x.dtype)


@rule("LpPool")
def _lp_pool(x: Tensor, *, kernel_shape: list[int], p: int = 2, ceil_mode: int = 0, **how: Unpack[Window]) -> Tensor:
    found = windows(x.shape[2:], kernel_shape, ceil_mode, **how)
    return _reduced(ir.abs(x) ** float(p), found, "sum") ** (1.0 / p)


def _reduced(x: Tensor, along: Sequence[Along], monoid: str) -> Tensor:
    """What each window has, joined."""
    ones, zeros = [1, 1], [0, 0]
    return ir.reduce_window(
        x,
        [*ones, *(each.size for each in along)],
        monoid,
        strides=[*ones, *(each.step for each in along)],
        low=[*zeros, *(each.low for each in along)],
        high=[*zeros, *(each.last for each in along)],
        dilation=[*ones, *(each.apart for each in along)],
    )


def _counts(along: Sequence[Along], with_padding: bool, dtype: Any) -> Any:
    """How many elements each window has, with the padding or without; what ceil mode adds behind it is none."""
    found: Any = np.ones((), np.int64)
    for each in along:
        places = np.arange(each.count)[:, None] * each.step - each.low + np.arange(each.size) * each.apart
        first, last = (-each.low, each.extent + each.high) if with_padding else (0, each.extent)
        found = found[..., None] * ((places >= first) & (places < last)).sum(1)
    return Tensor(found.astype(dtype))


@rule("GlobalAveragePool")
def _global_average(x: Tensor) -> Tensor:
    return ir.mean(x, tuple(range(2, x.ndim)), keepdims=True)


@rule("GlobalMaxPool")
def _global_max(x: Tensor) -> Tensor:
    return ir.max(x, tuple(range(2, x.ndim)), keepdims=True)


@rule("GlobalLpPool")
def _global_lp(x: Tensor, *, p: int = 2) -> Tensor:
    return ir.sum(ir.abs(x) ** float(p), tuple(range(2, x.ndim)), keepdims=True) ** (1.0 / p)
