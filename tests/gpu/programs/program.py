"""A test program: its text, how its arguments are drawn, and how its results are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from irc.driver.program import parse
from irc.runtime.artifact import ArraySpec
from irc.runtime.compare import TOLERANCES, compare, multiplies_f8, tolerance_of
from irc_tools.inputs import draw_array

Array = np.ndarray[Any, Any]

FLOATS = ("f64", "f32", "f16", "bf16")
F8 = ("f8e4m3", "f8e5m2")
SIGNED = ("i64", "i32", "i16", "i8")
INTEGERS = (*SIGNED, "u8")
ELEMENTS = (*FLOATS, *F8, *INTEGERS, "bool")


@dataclass(frozen=True)
class Program:
    """name: of the test. text: `.irc`. draws: for an argument, the entry of `DRAWS` that makes it; `irc-run`'s drawing
    is the default. pointwise: errors are relative to each element, not to the greatest one. large: interpreting it tile
    by tile takes seconds."""

    name: str
    text: str
    draws: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pointwise: bool = False
    large: bool = False


def program(
    name: str,
    arguments: str,
    *results: tuple[str, str],
    body: str = "",
    draws: Mapping[str, str] | None = None,
    pointwise: bool = False,
    large: bool = False,
) -> Program:
    """A program of one function. results: the (type, expression) pairs it returns; body: statements before."""
    types = ", ".join(type for type, _ in results)
    types = f"({types})" if len(results) > 1 else types
    lines = [
        *(f"    {line.strip()}" for line in body.strip().splitlines()),
        f"    return {', '.join(e for _, e in results)}",
    ]
    text = "\n".join([f"func f({arguments}) -> {types} {{", *lines, "}", ""])
    return Program(name, text, MappingProxyType(dict(draws or {})), pointwise, large)


def arguments_of(program: Program, specs: Sequence[ArraySpec]) -> list[Array]:
    """An array for each argument; they depend on the program's draws and the arguments' numbers alone."""
    return [
        DRAWS[program.draws[spec.name]](spec, index) if spec.name in program.draws else draw_array(spec, 0, index)
        for index, spec in enumerate(specs)
    ]


def difference(program: Program, result: Array, reference: Array, element: str) -> str:
    """Why a result is wrong; empty where it is right."""
    of_f8 = _multiplies_f8(program.text)
    comparison = compare(result, reference, element, of_f8=of_f8)
    if not program.pointwise or element not in TOLERANCES:
        return comparison.reason
    if "NaN" in comparison.reason or "infinite" in comparison.reason:
        return comparison.reason
    return _pointwise(result.astype(np.float64), reference.astype(np.float64), tolerance_of(element, of_f8))


@cache
def _multiplies_f8(text: str) -> bool:
    return "f8" in text and multiplies_f8(parse(text, "program"))


SMALLEST = 1e-2
"""Pointwise errors of smaller values are relative to this."""


def _pointwise(result: Array, reference: Array, tolerance: float) -> str:
    finite = np.isfinite(reference) & np.isfinite(result)
    error = np.abs(result[finite] - reference[finite]) / np.maximum(np.abs(reference[finite]), SMALLEST)
    if error.size == 0 or error.max() <= tolerance:
        return ""
    worst = int(np.argmax(error))
    found, wanted = result[finite][worst], reference[finite][worst]
    place = int(np.flatnonzero(finite.ravel())[worst])
    return f"error {error[worst]:.2e} over {tolerance:g} at element {place}: {found:.9g}, expected {wanted:.9g}"


# How arguments are drawn. Every function takes the argument's type and number.


def _generator(index: int) -> np.random.Generator:
    return np.random.default_rng((7, index))


def _rounded(values: Array, spec: ArraySpec) -> Array:
    """To the argument's type; f8 saturates."""
    if spec.element in F8:
        most = float(ml_dtypes.finfo(spec.dtype).max)
        values = np.clip(values, -most, most)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(spec.dtype).reshape(spec.shape)


def _normal(spec: ArraySpec, index: int, scale: float) -> Array:
    return _rounded(_generator(index).standard_normal(spec.shape) * scale, spec)


def _uniform(spec: ArraySpec, index: int, low: float, high: float) -> Array:
    return _rounded(_generator(index).uniform(low, high, spec.shape), spec)


def _special(spec: ArraySpec, index: int) -> Array:
    """The values at which functions change, in another order for each argument, then ordinary ones."""
    generator = _generator(index)
    if spec.element == "bool":
        return generator.integers(0, 2, spec.shape).astype(np.bool_)
    chosen = _special_floats(spec) if spec.dtype.kind in "fV" else _special_integers(spec)
    rest = generator.standard_normal(max(spec.size - len(chosen), 0)) * 4
    if spec.element == "u8":
        rest = np.abs(rest)
    values = np.concatenate(
        [generator.permutation(chosen), rest.astype(np.int64 if chosen.dtype.kind == "i" else np.float64)]
    )
    return values[: spec.size].astype(spec.dtype).reshape(spec.shape)


def _special_floats(spec: ArraySpec) -> Array:
    info = ml_dtypes.finfo(spec.dtype)
    most, least = float(info.max), float(info.tiny)
    around = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 7.0, 10.0, 30.0, 100.0, 300.0, 1e-3, least, most]
    values = np.array([*around, *(-x for x in around), np.nan, np.nan])
    infinite = [] if spec.element == "f8e4m3" else [np.inf, -np.inf]
    return np.concatenate([np.clip(values, -most, most), np.array(infinite)])


def _special_integers(spec: ArraySpec) -> Array:
    info = np.iinfo(spec.dtype)
    values = [info.min, info.min + 1, info.max, info.max - 1, 0, 0, 1, 2, 3, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65]
    return np.array([v for v in (*values, -1, -2, -3, -8) if info.min <= v <= info.max], dtype=np.int64)


def _whole(spec: ArraySpec, index: int) -> Array:
    """Integers of the whole range of the type."""
    info = np.iinfo(spec.dtype)
    return _generator(index).integers(info.min, info.max, spec.shape, dtype=spec.dtype, endpoint=True)


def _indices(spec: ArraySpec, index: int) -> Array:
    """Mostly good indices of an axis of 40, some far out of range on both sides."""
    low = 0 if spec.element == "u8" else -20
    return _generator(index).integers(low, 60, spec.shape).astype(spec.dtype)


def _signed(spec: ArraySpec, index: int) -> Array:
    low = 0 if spec.element == "u8" else -9
    return _generator(index).integers(low, 10, spec.shape).astype(spec.dtype)


def _ties(spec: ArraySpec, index: int) -> Array:
    """Few different values, so that several elements are the greatest."""
    return _generator(index).integers(0, 4, spec.shape).astype(spec.dtype)


def _some_nan(spec: ArraySpec, index: int) -> Array:
    """Normal, with NaN in about every third row and an infinity here and there."""
    generator = _generator(index)
    values = generator.standard_normal(spec.shape)
    values[generator.random(spec.shape) < 0.004] = np.nan
    values[generator.random(spec.shape) < 0.004] = np.inf
    return values.astype(spec.dtype)


def _steps(spec: ArraySpec, index: int) -> Array:
    """Sign and eighths: products and sums of them are exact."""
    return (_generator(index).integers(-16, 17, spec.shape) / 8).astype(spec.dtype)


Draw = Callable[[ArraySpec, int], Array]

DRAWS: Mapping[str, Draw] = {
    "special": _special,
    "whole": _whole,
    "indices": _indices,
    "signed": _signed,
    "ties": _ties,
    "some nan": _some_nan,
    "steps": _steps,
    "wide": lambda spec, index: _normal(spec, index, 100.0),
    "small": lambda spec, index: _normal(spec, index, 0.1),
    "positive": lambda spec, index: _uniform(spec, index, 0.1, 4.0),
    "near one": lambda spec, index: _uniform(spec, index, 0.9, 1.1),
    "inside one": lambda spec, index: _uniform(spec, index, -0.99, 0.99),
}
