"""`irc-run --check`: what counts as equal."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irc.runtime.compare import TOLERANCES, compare


@pytest.mark.parametrize("element", TOLERANCES)
def test_errors_are_relative_to_the_largest_value(element: str) -> None:
    reference = np.array([1000.0, 1.0, -2.0])
    tolerance = TOLERANCES[element]
    near = reference + np.array([0.0, 999 * tolerance, 0.0])
    far = reference + np.array([0.0, 1001 * tolerance, 0.0])
    assert compare(near, reference, element).passed
    failed = compare(far, reference, element)
    assert not failed.passed
    assert "at [1]" in failed.reason
    assert failed.error == pytest.approx(1.001 * tolerance)


def test_a_reference_of_zeros_is_compared_absolutely() -> None:
    assert compare(np.array([1e-6]), np.array([0.0]), "f32").passed
    assert not compare(np.array([1e-3]), np.array([0.0]), "f32").passed


def test_integers_and_bools_are_exact() -> None:
    assert compare(np.array([1, 2]), np.array([1, 2]), "i32").passed
    assert compare(np.array([1, 3]), np.array([1, 2]), "i32").reason == "1 of 2 elements differ"
    assert not compare(np.array([True]), np.array([False]), "bool").passed


def test_nan_meets_nan_and_infinity_itself() -> None:
    reference = np.array([np.nan, np.inf, -np.inf, 1.0])
    same = compare(reference.astype(np.float32), reference, "f32")
    assert same.passed
    assert same.note == "the reference has 1 NaN and 2 infinite"
    assert "NaN" in compare(np.array([0.0, np.inf, -np.inf, 1.0]), reference, "f32").reason
    assert "NaN" in compare(np.array([np.nan, np.inf, -np.inf, np.nan]), reference, "f32").reason
    assert "infinite" in compare(np.array([np.nan, -np.inf, -np.inf, 1.0]), reference, "f32").reason
    assert "infinite" in compare(np.array([np.nan, np.inf, -np.inf, np.inf]), reference, "f32").reason


def test_what_the_type_cannot_hold_is_infinite() -> None:
    result = np.array([np.inf, 1.0], dtype=np.float16)
    assert compare(result, np.array([1e6, 1.0]), "f16").passed
    assert not compare(np.array([6e4, 1.0], dtype=np.float16), np.array([1e6, 1.0]), "f16").passed


def test_narrow_types_and_empty_arrays() -> None:
    result = np.array([1.0, 2.0], dtype=ml_dtypes.bfloat16)
    assert compare(result, np.array([1.001, 2.01]), "bf16").passed
    assert compare(np.zeros((0, 3), np.float32), np.zeros((0, 3)), "f32").passed
    assert "shape [2], expected [3]" in compare(np.zeros(2), np.zeros(3), "f32").reason
