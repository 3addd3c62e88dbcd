"""Named arrays in the format of safetensors (https://huggingface.co/docs/safetensors)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError
from irc.support.files import read_bytes

if TYPE_CHECKING:
    from safetensors import TensorSpec

Array = np.ndarray[Any, Any]

ELEMENTS = {
    "F64": "f64",
    "F32": "f32",
    "F16": "f16",
    "BF16": "bf16",
    "F8_E4M3": "f8e4m3",
    "F8_E5M2": "f8e5m2",
    "I64": "i64",
    "I32": "i32",
    "I16": "i16",
    "I8": "i8",
    "U8": "u8",
    "BOOL": "bool",
}
"""The element type of each name in a file's header."""


def library() -> Any:
    """The library; IrcError where it is not installed."""
    try:
        import safetensors
    except ImportError as error:
        raise IrcError("arrays in files need safetensors", hint="pip install safetensors") from error
    return safetensors


def specs_of(arrays: Mapping[str, Array]) -> dict[str, TensorSpec]:
    """What the writer takes: addresses of row-major arrays, which have to live until it is done."""
    spec = library().TensorSpec
    return {
        name: spec(
            dtype=array.dtype.name, shape=list(array.shape), data_ptr=int(array.ctypes.data), data_len=array.nbytes
        )
        for name, array in arrays.items()
    }


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file; IrcError where it cannot be read."""
    return arrays_of(read_bytes(path), str(path))


def arrays_of(content: bytes, what: str) -> dict[str, Array]:
    """The arrays of a file's content; IrcError, which calls it `what`, where it is none, or has types that irc has
    not."""
    try:
        entries = library().deserialize(content)
    except library().SafetensorError as error:
        raise IrcError(f"cannot read {what}: {error}") from error
    return {name: _array(f"{what}: {name}", entry) for name, entry in entries}


def _array(what: str, entry: Any) -> Array:
    if entry["dtype"] not in ELEMENTS:
        raise IrcError(f"{what} has elements {entry['dtype']}, which irc has not")
    return np.frombuffer(entry["data"], DTYPES[ELEMENTS[entry["dtype"]]]).reshape(entry["shape"])
