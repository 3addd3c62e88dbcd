"""Checking the arrays of a call against what was compiled."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from irc.runtime.artifact import ELEMENT_NAMES, ArraySpec, type_text
from irc.support.diagnostics import IrcError


def check_count(specs: Sequence[ArraySpec], arrays: Sequence[Any]) -> None:
    """IrcError unless there is an array for each argument."""
    if len(arrays) == len(specs):
        return
    wanted = ", ".join(f"{spec.name}: {spec.type}" for spec in specs)
    plural = "" if len(specs) == 1 else "s"
    raise IrcError(f"expected {len(specs)} array{plural} ({wanted}), found {len(arrays)}")


def check_array(spec: ArraySpec, shape: Sequence[int], element: str, what: str = "argument") -> None:
    """IrcError unless the shape and the element type (its `.irc` name, or the library's where irc has none) are the
    argument's or the result's (`what`)."""
    if tuple(shape) == spec.shape and element == spec.element:
        return
    found = type_text(element, tuple(shape))
    hint = None
    if element != spec.element:
        hint = f"convert it first: its elements must be {spec.dtype.name}"
    raise IrcError(f"{what} {spec.name}: expected {spec.type}, found {found}", hint=hint)


def host_array(spec: ArraySpec, array: Any) -> np.ndarray[Any, Any]:
    """The argument as a row-major numpy array in native byte order, checked; it is copied only where it is neither."""
    if type(array) is np.ndarray and array.dtype == spec.dtype and array.shape == spec.shape:
        return array if array.flags.c_contiguous and array.dtype.isnative else np.asarray(array, spec.dtype, order="C")
    found = _as_numpy(spec, array)
    native = found.dtype.newbyteorder("=")
    check_array(spec, found.shape, ELEMENT_NAMES.get(native, found.dtype.name))
    return np.asarray(found, dtype=native, order="C")


def host_result(spec: ArraySpec, array: Any) -> np.ndarray[Any, Any]:
    """The array that a result is written to: the caller's, checked, or a new one for None."""
    if array is None:
        return np.empty(spec.shape, spec.dtype)
    if not isinstance(array, np.ndarray):
        raise IrcError(f"result {spec.name}: expected a numpy array to write to, found {type(array).__name__}")
    check_array(spec, array.shape, ELEMENT_NAMES.get(array.dtype, array.dtype.name), "result")
    if not (array.flags.c_contiguous and array.flags.writeable and array.dtype.isnative):
        hint = "it has to be row-major, writeable and in native byte order"
        raise IrcError(f"result {spec.name} cannot be written to the array given for it", hint=hint)
    return array


def written(specs: Sequence[ArraySpec], results: Sequence[Any], out: Sequence[Any]) -> list[Any]:
    """The results, copied to the arrays of `out` where it has one."""
    if not out:
        return list(results)
    found = [host_result(spec, array) for spec, array in zip(specs, out, strict=True) if array is not None]
    remaining = iter(found)
    return [x if y is None else _filled(next(remaining), x) for x, y in zip(results, out, strict=True)]


def _filled(array: np.ndarray[Any, Any], content: Any) -> np.ndarray[Any, Any]:
    np.copyto(array, content)
    return array


def check_tensor(spec: ArraySpec, tensor: Any, what: str = "argument") -> None:
    """IrcError for a tensor of torch whose gradient torch expects, which a call would not give, and for one whose
    memory is gone."""
    if tensor.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise IrcError(
            f"{what} {spec.name} requires a gradient, and a call is not recorded for torch's autograd",
            hint="pass tensor.detach(), call it under torch.no_grad(), or use torch.compile(model, backend='irc')",
        )
    if is_freed(tensor):
        raise IrcError(f"{what} {spec.name} has no memory: the storage of the tensor was freed")


def is_freed(array: Any) -> bool:
    """Whether it is a tensor of torch whose storage was resized to nothing, as sharded training does between uses.
    numpy would make an array of anything of it, and a kernel read address 0."""
    storage = getattr(array, "untyped_storage", None)
    return storage is not None and array.numel() > 0 and storage().nbytes() == 0


def _as_numpy(spec: ArraySpec, array: Any) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array)
    if hasattr(array, "untyped_storage"):
        check_tensor(spec, array)
        array = array.detach()
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
