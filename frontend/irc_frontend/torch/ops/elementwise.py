"""Rules of elementwise ops."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.elementwise import Number
from irc_frontend.elementwise_rows import Row, rows
from irc_frontend.tensor import Tensor, applied
from irc_frontend.torch.rules import BOOL, FLOAT, SAME, Left, element_of, promoted, rule

aten = torch.ops.aten

Like = Tensor | Number
"""A Tensor or a number."""


def _overloads(row: Row) -> list[Any]:
    """The overloads of a row's ATen op: of tensors, and of a tensor with a number."""
    packet = getattr(aten, row.aten)
    names = ("Tensor", "Scalar") if "Tensor" in packet.overloads() else ("default",)
    return [getattr(packet, name) for name in names]


def _promotion(row: Row) -> Any:
    if row.is_test:
        return BOOL
    return FLOAT if row.kind == "float" else SAME


for _name, _row in rows().items():
    if _row.aten:
        rule(*_overloads(_row), promotion=_promotion(_row))(partial(applied, _name))


def tensors(*values: Like) -> list[Tensor]:
    """The values, of which one is a Tensor, all as Tensors of its element type."""
    element = next(x.element for x in values if isinstance(x, Tensor))
    return [x if isinstance(x, Tensor) else ir.full((), x, element) for x in values]


def truth(x: Like) -> Any:
    """Whether it is not 0."""
    if not isinstance(x, Tensor):
        return bool(x)
    return x if x.element == "bool" else x != 0


def _is_bool(*values: Like) -> bool:
    return all(isinstance(x, bool) or (isinstance(x, Tensor) and x.element == "bool") for x in values)


@rule(aten.add.Tensor, aten.add.Scalar, promotion=SAME)
def _add(a: Like, b: Like, alpha: Number = 1) -> Any:
    if _is_bool(a, b):
        return ir.logical_or(a, b) if alpha else a
    return a + _scaled(b, alpha)


@rule(aten.sub.Tensor, aten.sub.Scalar, promotion=SAME)
def _sub(a: Like, b: Like, alpha: Number = 1) -> Any:
    return a - _scaled(b, alpha)


def _scaled(x: Like, alpha: Number) -> Like:
    return x if alpha == 1 else x * alpha


@rule(aten.mul.Tensor, aten.mul.Scalar, promotion=SAME)
def _mul(a: Like, b: Like) -> Any:
    return ir.logical_and(a, b) if _is_bool(a, b) else a * b


@rule(aten.div.Tensor_mode, aten.div.Scalar_mode, promotion=SAME)
def _div_mode(a: Like, b: Like, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return ir.floor_divide(a, b)
    if rounding_mode is None:
        raise Left("a division without a mode")
    x, y = tensors(a, b)
    if x.node.is_float:
        return ir.trunc(x / y)
    quotient = x // y
    return quotient + ((x - quotient * y != 0) & (quotient < 0)).astype(x.element)


rule(aten.floor_divide.default, promotion=SAME)(ir.floor_divide)


@rule(aten.fmod.Tensor, aten.fmod.Scalar, promotion=SAME)
def _fmod(a: Like, b: Like) -> Any:
    return ir.fmod(*tensors(a, b))


rule(aten.trunc.default, aten.fix.default, promotion=SAME)(ir.trunc)


@rule(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar, promotion=SAME)
def _pow(a: Like, b: Like) -> Any:
    if isinstance(a, Tensor) and not isinstance(b, Tensor):
        if b == 2:
            return a * a
        if b == 0.5:
            return ir.sqrt(a)
        if b == 1:
            return a
        if b == 3:
            return a * a * a
    return ir.power(a, b)


@rule(aten.maximum.default, promotion=SAME)
def _maximum(a: Tensor, b: Tensor) -> Tensor:
    return ir.logical_or(a, b) if _is_bool(a, b) else ir.maximum(a, b)


@rule(aten.minimum.default, promotion=SAME)
def _minimum(a: Tensor, b: Tensor) -> Tensor:
    return ir.logical_and(a, b) if _is_bool(a, b) else ir.minimum(a, b)


@rule(aten.clamp.default, aten.clamp.Tensor, promotion=SAME)
def _clamp(x: Tensor, min: Like | None = None, max: Like | None = None) -> Tensor:
    x = x if min is None else ir.maximum(x, promoted(min, x.element))
    return x if max is None else ir.minimum(x, promoted(max, x.element))


@rule(aten.hardtanh.default, promotion=SAME)
def _hardtanh(x: Tensor, min_val: Number = -1, max_val: Number = 1) -> Tensor:
    return _clamp(x, min_val, max_val)


@rule(aten.where.self)
def _where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    common = common_element(a, b)
    return ir.where(truth(condition), a.astype(common), b.astype(common))


def common_element(*values: Tensor) -> str:
    """The element type that torch promotes arrays of these to; one without axes gives way to one with axes of the same
    kind."""
    return _common(tuple((x.dtype.name, x.ndim > 0) for x in values))


@cache
def _common(kinds: tuple[tuple[str, bool], ...]) -> str:
    """By the types of arrays, and whether they have axes."""
    from torch._prims_common import elementwise_dtypes

    metas = [torch.empty([1] * has_axes, dtype=getattr(torch, name), device="meta") for name, has_axes in kinds]
    return element_of(elementwise_dtypes(*metas, type_promotion_kind=SAME)[1])


rule(aten.gelu.default)(ir.gelu)


@rule(aten.leaky_relu.default)
def _leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return ir.leaky_relu(x, negative_slope)


@rule(aten.elu.default)
def _elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    return ir.where(x > 0, x * scale, ir.expm1(x * input_scale) * (alpha * scale))


def _of_floats(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x) if x.node.is_float else ir.zeros(x.shape, "bool")


rule(aten.isnan.default)(_of_floats(ir.isnan))
rule(aten.isinf.default)(_of_floats(ir.isinf))


def _of_truths(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *values: function(*map(truth, values))


for _name in ("logical_not", "logical_and", "logical_or", "logical_xor"):
    rule(getattr(aten, _name).default)(_of_truths(getattr(ir, _name)))


rule(aten.bitwise_not.default)(ir.invert)


def _shiftable(x: Tensor, by: Like) -> Like:
    if not isinstance(by, Tensor) and 0 <= by < 8 * x.dtype.itemsize:
        return by
    raise Left("a shift by a count that is not known to be less than the width")


@rule(aten.bitwise_left_shift.Tensor_Scalar, aten.__lshift__.Scalar, promotion=SAME)
def _left_shift(x: Tensor, by: Like) -> Tensor:
    return ir.left_shift(x, _shiftable(x, by))


@rule(aten.bitwise_right_shift.Tensor_Scalar, aten.__rshift__.Scalar, promotion=SAME)
def _right_shift(x: Tensor, by: Like) -> Tensor:
    return ir.right_shift(x, _shiftable(x, by))


@rule(aten.sign.default, promotion=SAME)
def _sign(x: Tensor) -> Tensor:
    """0 of NaN."""
    return ir.where(ir.isnan(x), 0, ir.sign(x)) if x.node.is_float else ir.sign(x)


@rule(aten._to_copy.default)
def _to_copy(x: Tensor, dtype: Any = None, **options: Any) -> Tensor:
    """The wrapper casts: the result's type says to what."""
    if dtype is not None and x.node.is_float and element_of(dtype)[0] == "i":
        return ir.trunc(x)
    return x.astype("bool") if dtype is torch.bool and x.element == "bool" else _cast(x, dtype)


@rule(torch.ops.prims.convert_element_type.default)
def _cast(x: Tensor, dtype: Any) -> Tensor:
    """A widening of a narrow float is none that the user sees: what it is of may be stored narrow or not at all."""
    if dtype is None:
        return x
    if dtype is torch.float32:
        return wide(x).astype("f32")
    if dtype is torch.float8_e5m2 and x.dtype.itemsize > 1:
        raise Left("a cast to f8e5m2: beyond the range torch gives infinities, irc the largest number")
    if dtype is torch.uint8 and x.node.is_float:
        x = x.astype("i64")  # torch wraps, irc's own cast saturates
    return truth(x) if dtype is torch.bool else x.astype(element_of(dtype))


@rule(aten.copy.default)
def _copy(x: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    return ir.broadcast_to(_cast(source, getattr(torch, x.dtype.name)), x.shape)
