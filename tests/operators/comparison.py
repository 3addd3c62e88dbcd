"""Whether results are right: beside those of eager torch, and of eager torch in a wider type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import torch

Values = Sequence[Any]
"""The leaves of a result."""


class Tolerances(NamedTuple):
    """Absolute and relative; a difference within their sum is none."""

    atol: float
    rtol: float


MARGIN = 3
"""How much further from the finer result than eager's a value may be where that is out of tolerance too. Gradients that
torch computes from results which it stores rounded need it: of `logcumsumexp` in bf16 with inputs around 100, exp(x -
result) is 2.5 times as far, of batch norms with statistics in bf16 twice."""


def difference(values: Values, eager: Values, finer: Values | None, tolerances: Tolerances | None) -> str | None:
    """How the values differ from eager's; None where they are right.

    A tensor is right if it is close to eager's or to the finer one, or where both are out of tolerance of each other
    and its worst element is no further from the finer one than `MARGIN` times eager's worst. Without tolerances kinds
    and shapes alone are compared.
    """
    if len(values) != len(eager):
        return f"{len(values)} values, not {len(eager)}"
    for number, (value, wanted, fine) in enumerate(zip_longest(values, eager, finer or ())):
        problem = _unlike(value, wanted, tolerances)
        if problem is None or (fine is not None and _is_as_near(value, wanted, fine, tolerances)):
            continue
        return f"value {number}: {problem}"
    return None


def _unlike(value: Any, wanted: Any, tolerances: Tolerances | None) -> str | None:
    if (value is None or wanted is None) and _is_nothing(value) and _is_nothing(wanted):
        return None
    if not isinstance(value, torch.Tensor) or not isinstance(wanted, torch.Tensor):
        same = type(value) is type(wanted) and (value == wanted or (value != value and wanted != wanted))
        return None if same else f"{value}, not {wanted}"
    if value.dtype != wanted.dtype or value.shape != wanted.shape:
        return f"{value.dtype}{list(value.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if tolerances is None:
        return None
    atol, rtol = tolerances if _is_inexact(value) else (0.0, 0.0)
    try:
        torch.testing.assert_close(value, wanted, atol=atol, rtol=rtol, equal_nan=True, check_stride=False)
    except AssertionError as error:
        return str(error)
    return None


def _is_nothing(value: Any) -> bool:
    """A gradient that is zero may be missing."""
    return value is None or (isinstance(value, torch.Tensor) and not value.any())


def _is_inexact(value: torch.Tensor) -> bool:
    return value.is_floating_point() or value.is_complex()


def _is_as_near(value: Any, wanted: Any, fine: Any, tolerances: Tolerances | None) -> bool:
    if _unlike(value, fine, tolerances) is None:
        return True
    tensors = (value, wanted, fine)
    if not all(isinstance(x, torch.Tensor) and _is_inexact(x) for x in tensors):
        return False
    if len({(x.shape, x.dtype) for x in tensors}) > 1:
        return False
    finite = torch.isfinite(fine)
    if not (torch.isfinite(value) == finite).all() or not (torch.isfinite(wanted) == finite).all():
        return False
    if not torch.equal(value[~finite].nan_to_num(), fine[~finite].nan_to_num()):
        return False
    wide = torch.complex128 if value.is_complex() else torch.float64
    own, others = ((x[finite].to(wide) - fine[finite].to(wide)).abs().max() for x in (value, wanted))
    return bool(own <= MARGIN * others)
