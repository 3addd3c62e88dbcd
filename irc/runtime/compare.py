"""Comparing a result with its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from irc.ir.dtypes import element_of
from irc.ir.iteration import CONTRACTIONS, pattern_of

Array = np.ndarray[Any, Any]

TOLERANCES: dict[str, float] = {
    "f64": 1e-10,
    "f32": 2e-5,
    "f16": 4e-3,
    "bf16": 2e-2,
    "f8e4m3": 0.15,
    "f8e5m2": 0.15,
}
"""The greatest error, relative to the greatest finite magnitude of the reference, by element type; others are exact."""

F8_PRODUCTS = 2e-3
"""The same for f32 results of programs that multiply f8 matrices: tensor cores keep about 13 bits of the sum of 32
products (docs/levels/tile.md, Numbers on tensor cores)."""


def multiplies_f8(module: ModuleOp) -> bool:
    """Whether a module has a product or convolution of f8."""
    products = (op for op in module.walk() if pattern_of(op) in CONTRACTIONS)
    return any(e.is_float and e.size == 1 for op in products for e in (element_of(v.type) for v in op.operands))


@dataclass(frozen=True)
class Comparison:
    """How a result differs from its reference.

    `error` is the greatest difference relative to the greatest finite magnitude of the reference (absolute where that
    is 0); for integers and bools the number of elements that differ. `reason` says what is wrong, empty where nothing
    is; `note` what is unusual.
    """

    error: float
    tolerance: float
    reason: str
    note: str

    @property
    def passed(self) -> bool:
        return not self.reason


def compare(result: Array, reference: Array, element: str, *, of_f8: bool = False) -> Comparison:
    """Compares arrays of an element type, of a program that multiplies f8 matrices or not. NaN has to meet NaN and an
    infinity the same infinity; the reference may be wider than the result, and a value of it that the type rounds to an
    infinity counts as one."""
    if result.shape != reference.shape:
        return Comparison(float("inf"), 0.0, f"shape {list(result.shape)}, expected {list(reference.shape)}", "")
    if element not in TOLERANCES:
        return _exact(result, reference)
    return _close(result.astype(np.float64), _as_stored(reference, result.dtype), tolerance_of(element, of_f8))


def tolerance_of(element: str, of_f8: bool) -> float:
    """The greatest error of a float element type."""
    return F8_PRODUCTS if of_f8 and element == "f32" else TOLERANCES[element]


def _exact(result: Array, reference: Array) -> Comparison:
    different = int(np.count_nonzero(result != reference))
    reason = f"{different} of {result.size} elements differ" if different else ""
    return Comparison(float(different), 0.0, reason, "")


def _as_stored(reference: Array, dtype: np.dtype[Any]) -> Array:
    """The reference in float64, infinite where the result's type cannot hold it."""
    wide = reference.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = wide.astype(dtype).astype(np.float64)
    return np.where(np.isinf(stored), stored, wide)


def _close(result: Array, reference: Array, tolerance: float) -> Comparison:
    note = _unusual(reference)
    if not np.array_equal(np.isnan(result), np.isnan(reference)):
        count = int(np.count_nonzero(np.isnan(result) != np.isnan(reference)))
        return Comparison(
            float("nan"), tolerance, f"{count} elements are NaN in one of result and reference only", note
        )
    infinite = np.isinf(result) | np.isinf(reference)
    if not np.array_equal(result[infinite], reference[infinite]):
        count = int(np.count_nonzero(result[infinite] != reference[infinite]))
        return Comparison(float("inf"), tolerance, f"{count} infinite elements differ", note)
    finite = np.isfinite(reference)
    if not finite.any():
        return Comparison(0.0, tolerance, "", note)
    scale = float(np.max(np.abs(reference[finite]))) or 1.0
    difference = np.abs(result[finite] - reference[finite])
    error = float(np.max(difference)) / scale
    if error <= tolerance:
        return Comparison(error, tolerance, "", note)
    worst = np.unravel_index(int(np.flatnonzero(finite.ravel())[int(np.argmax(difference))]), reference.shape)
    place = ", ".join(str(int(i)) for i in worst)
    reason = f"error {error:.2e} over {tolerance:g} at [{place}]: {result[worst]:.9g}, expected {reference[worst]:.9g}"
    return Comparison(error, tolerance, reason, note)


def _unusual(reference: Array) -> str:
    nans, infinities = int(np.count_nonzero(np.isnan(reference))), int(np.count_nonzero(np.isinf(reference)))
    found = [f"{count} {what}" for count, what in ((nans, "NaN"), (infinities, "infinite")) if count]
    return f"the reference has {' and '.join(found)}" if found else ""
