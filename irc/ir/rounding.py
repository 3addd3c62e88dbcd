"""Conversion of arrays between element types, as `nd.cast` means it (docs/language.md, Functions)."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np

from irc.ir.dtypes import Element, element_of_dtype

Array: TypeAlias = np.ndarray[Any, Any]


def cast_array(x: Array, dtype: np.dtype[Any]) -> Array:
    """`x` as `dtype`, one of irc's element types: x itself where it already is.

    Floats round once to nearest even (to f8 they saturate); float to integer truncates, saturates and takes NaN to 0;
    integers wrap; to bool is x != 0.
    """
    if x.dtype == dtype:
        return x
    target = element_of_dtype(dtype)
    with np.errstate(all="ignore"):
        if target.kind == "bool":
            return np.asarray(x != 0)
        if element_of_dtype(x.dtype).is_float:
            return round_array(x, target) if target.is_float else _truncated(x, target)
        if target.is_narrow_float:
            return round_array(_exact_float(x), target)
        return x.astype(dtype)


def round_array(x: Array, target: Element) -> Array:
    """Floats rounded once, to nearest even; f8 saturates."""
    if x.dtype == target.dtype:
        return x
    with np.errstate(all="ignore"):
        if not target.is_narrow_float or target.name == "f16":
            return x.astype(target.dtype)
        if x.dtype == np.float64:
            x = _to_odd(x)
        if target.size == 1:
            low, high = target.limits()
            x = np.clip(x.astype(np.float32, copy=False), np.float32(low), np.float32(high))
        return x.astype(target.dtype)


def _to_odd(x: Array) -> Array:
    """float64 to float32, rounded to odd, so that rounding once more to a narrower type rounds as if once.

    Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE
    TC 2008: safe where the wider significand has two bits more than the narrower.
    """
    near = x.astype(np.float32)
    error = x - near
    inexact_even = (error != 0) & ((near.view(np.uint32) & 1) == 0) & ~np.isnan(x)
    toward = np.where(error > 0, np.float32(np.inf), np.float32(-np.inf))
    return cast(Array, np.where(inexact_even, np.nextafter(near, toward), near))


def fused_multiply_add(a: Array, b: Array, c: Array, *, down: bool = False) -> Array:
    """a b + c of f32, rounded once: to nearest even, or down.

    In f64 the product is exact, and the sum is rounded to odd, so that rounding once more rounds as if once.
    """
    with np.errstate(all="ignore"):
        product, addend = np.asarray(a, np.float64) * b, np.asarray(c, np.float64)
        total = product + addend
        part = total - product
        error = (product - (total - part)) + (addend - part)
        inexact_even = (error != 0) & ((total.view(np.int64) & 1) == 0) & np.isfinite(total)
        toward = np.where(error > 0, np.inf, -np.inf)
        odd = np.where(inexact_even, np.nextafter(total, toward), total)
        near = odd.astype(np.float32)
        return cast(Array, np.where(near > odd, np.nextafter(near, np.float32(-np.inf)), near)) if down else near


def _exact_float(x: Array) -> Array:
    """Integers as float64; those that it cannot hold are rounded to odd, so that a later rounding is right."""
    near = x.astype(np.float64)
    if x.dtype != np.int64:
        return near
    back = _truncated(near, element_of_dtype(x.dtype))
    inexact_even = (back != x) & ((near.view(np.int64) & 1) == 0)
    toward = np.where(x > back, np.inf, -np.inf)
    return cast(Array, np.where(inexact_even, np.nextafter(near, toward), near))


def _truncated(x: Array, target: Element) -> Array:
    """Floats to integers: toward zero, saturating, NaN to 0."""
    low, high = target.limits()
    wide = x if x.dtype == np.float64 else x.astype(np.float64)
    whole = np.trunc(wide)
    inside = (whole >= float(low)) & (whole < float(high) + 1)
    safe = np.where(inside, whole, 0.0).astype(target.dtype)
    safe = np.where(whole >= float(high) + 1, target.dtype.type(high), safe)
    return cast(Array, np.where(whole < float(low), target.dtype.type(low), safe))
