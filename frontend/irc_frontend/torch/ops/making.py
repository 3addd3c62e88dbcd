"""Rules of ops that make arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.elementwise import Number
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import Left, as_stored, element_of, rule

aten = torch.ops.aten


def _element(value: Number, dtype: Any) -> str:
    if dtype is not None:
        return element_of(dtype)
    return "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f32"


@rule(aten.full.default)
def _full(shape: Sequence[int], value: Number, *, dtype: Any = None, **options: Any) -> Tensor:
    element = _element(value, dtype)
    return ir.full(tuple(shape), as_stored(value, element), element)


@rule(aten.full_like.default)
def _full_like(x: Tensor, value: Number, *, dtype: Any = None, **options: Any) -> Tensor:
    return _full(x.shape, value, dtype=dtype or getattr(torch, x.dtype.name))


@rule(aten.zeros.default, aten._efficientzerotensor.default)
def _zeros(shape: Sequence[int], **options: Any) -> Tensor:
    return ir.zeros(tuple(shape), element_of(options.get("dtype") or torch.get_default_dtype()))


@rule(aten.ones.default)
def _ones(shape: Sequence[int], **options: Any) -> Tensor:
    return ir.ones(tuple(shape), element_of(options.get("dtype") or torch.get_default_dtype()))


EMPTY = frozenset([aten.empty.memory_format, aten.empty_permuted.default, aten.empty_strided.default])
"""Ops that take memory as it is. Where torch needs the array itself, it makes it."""


@rule(*EMPTY)
def _empty(shape: Sequence[int], *rest: Any, dtype: Any = None, **options: Any) -> Tensor:
    return ir.zeros(tuple(shape), element_of(dtype or torch.get_default_dtype()))


@rule(aten.new_empty_strided.default)
def _new_empty(x: Tensor, shape: Sequence[int], stride: Sequence[int], *, dtype: Any = None, **options: Any) -> Tensor:
    return ir.zeros(tuple(shape), x.element if dtype is None else element_of(dtype))


@rule(aten.scalar_tensor.default)
def _scalar_tensor(value: Number, *, dtype: Any = None, **options: Any) -> Tensor:
    return _full((), value, dtype=dtype)


@rule(torch.ops.prims.iota.default)
def _iota(length: int, *, start: int, step: int, dtype: Any, **options: Any) -> Tensor:
    return ir.arange(length, dtype=element_of(dtype)) * step + start


@rule(aten.arange.start_step)
def _arange(start: Number, end: Number, step: Number = 1, *, dtype: Any = None, **options: Any) -> Tensor:
    if all(isinstance(x, int) for x in (start, end, step)):
        element = element_of(dtype or torch.int64)
        return ir.arange(int(start), int(end), int(step), "i64").astype(element)
    element = element_of(dtype or torch.get_default_dtype())
    count = max(0, math.ceil((end - start) / step))
    if element[0] in "iu":
        raise Left("integers by a step that is none")
    return ir.arange(count, dtype="f64" if element == "f64" else "f32") * float(step) + float(start)
