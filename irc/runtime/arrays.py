"""Checking the arrays of a call against what was compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irc.artifact import ELEMENT_NAMES, ArraySpec, type_text
from irc.diagnostics import IrcError


def check_count(specs: Sequence[ArraySpec], arrays: Sequence[Any]) -> None:
    """IrcError unless there is an array for each argument."""
    if len(arrays) == len(specs):
        return
    wanted = ", ".join(f"{spec.name}: {spec.type}" for spec in specs)
    plural = "" if len(specs) == 1 else "s"
    raise IrcError(f"expected {len(specs)} array{plural} ({wanted}), found {len(arrays)}")


def check_array(spec: ArraySpec, shape: Sequence[int], element: str) -> None:
    """IrcError unless the shape and the element type (its `.irc` name, or the library's where irc has none) are the
    argument's."""
    if tuple(shape) == spec.shape and element == spec.element:
        return
    found = type_text(element, tuple(shape))
    hint = None
    if element != spec.element:
        hint = f"convert it first: its elements must be {spec.dtype.name}"
    raise IrcError(f"argument {spec.name}: expected {spec.type}, found {found}", hint=hint)


def host_array(spec: ArraySpec, array: Any) -> np.ndarray[Any, Any]:
    """The argument as a row-major numpy array in native byte order, checked; it is copied only where it is neither."""
    found = _as_numpy(spec, array)
    native = found.dtype.newbyteorder("=")
    check_array(spec, found.shape, ELEMENT_NAMES.get(native, found.dtype.name))
    return np.asarray(found, dtype=native, order="C")


def _as_numpy(spec: ArraySpec, array: Any) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array)
    if hasattr(array, "__dlpack__"):
        try:
            return np.from_dlpack(array)
        except (BufferError, TypeError, ValueError, RuntimeError) as error:
            raise IrcError(
                f"argument {spec.name}: cannot read a {type(array).__name__} on the host: {error}",
                hint="pass a numpy array (ml_dtypes has bfloat16 and the float8 types)",
            ) from error
    if hasattr(array, "__array__"):
        return np.asarray(array)
    raise IrcError(
        f"argument {spec.name}: expected an array ({spec.type}), found {type(array).__name__}",
        hint="numpy.asarray makes one of lists and numbers",
    )
