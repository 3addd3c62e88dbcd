"""Arguments of irc-run: arrays from `.npy` files, or drawn with a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from irc.runtime.artifact import ELEMENT_NAMES, ArraySpec
from irc.support.diagnostics import IrcError

Array = np.ndarray[Any, Any]

NARROW = ("bf16", "f8e4m3", "f8e5m2")
"""Element types that numpy files cannot hold: they are read from and written to f32 files."""


def parse_inputs(options: Sequence[str]) -> dict[str, Path]:
    """The files of `--input NAME=FILE.npy` options."""
    files: dict[str, Path] = {}
    for text in options:
        name, separator, path = text.partition("=")
        if not separator or not name.strip() or not path:
            raise IrcError(f"--input {text}: expected NAME=FILE.npy")
        if name.strip() in files:
            raise IrcError(f"--input {name.strip()} is given twice")
        files[name.strip()] = Path(path)
    return files


def make_arguments(
    specs: Sequence[ArraySpec], files: dict[str, Path], seed: int, held: Mapping[str, Array] | None = None
) -> list[Array]:
    """An array for each argument: from its file where one is given, else the one that the program holds, else drawn. A
    drawn array depends on the seed and on the argument's number alone."""
    names = [spec.name for spec in specs]
    for name in files:
        if name not in names:
            raise IrcError(
                f"--input {name}: the function has no argument of that name", None, f"it has {', '.join(names)}"
            )
    own = {name: array for name, array in (held or {}).items() if name not in files}
    return [
        own[spec.name] if spec.name in own else _argument(spec, files.get(spec.name), seed, index)
        for index, spec in enumerate(specs)
    ]


def _argument(spec: ArraySpec, path: Path | None, seed: int, index: int) -> Array:
    try:
        return draw_array(spec, seed, index) if path is None else load_array(spec, path)
    except MemoryError as error:
        raise IrcError(
            f"argument {spec.name}: {spec.type} of {spec.nbytes} bytes does not fit in memory",
            hint="-D NAME=INT makes a dim smaller",
        ) from error


def draw_array(spec: ArraySpec, seed: int, index: int) -> Array:
    """Floats are standard normal, integers uniform in 0..9, bools even."""
    generator = np.random.default_rng((seed, index))
    if spec.element == "bool":
        return generator.integers(0, 2, spec.shape, dtype=np.uint8).astype(np.bool_)
    if spec.element in ("i8", "i16", "i32", "i64", "u8"):
        return generator.integers(0, 10, spec.shape, dtype=spec.dtype)
    wide = np.float64 if spec.element == "f64" else np.float32
    return _cast(generator.standard_normal(spec.shape, dtype=wide), spec)


def load_array(spec: ArraySpec, path: Path) -> Array:
    """The array of a `.npy` file; an `IrcError` where it is not what the argument takes."""
    found = _read(spec, path)
    expected = np.dtype(np.float32) if spec.element in NARROW else spec.dtype
    if found.shape != spec.shape or found.dtype != expected:
        note = " (read from f32)" if spec.element in NARROW else ""
        raise IrcError(
            f"--input {spec.name}={path}: expected {spec.type}{note}, found {found.dtype.name}{list(found.shape)}",
            None,
            f"a {expected.name} array of shape {list(spec.shape)}",
        )
    return _cast(np.ascontiguousarray(found).reshape(spec.shape), spec)


def _read(spec: ArraySpec, path: Path) -> Array:
    try:
        found: object = np.load(path, allow_pickle=False)
    except OSError as error:
        raise IrcError(f"--input {spec.name}: cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, SyntaxError) as error:
        raise IrcError(f"--input {spec.name}: {path} is not a .npy file of numbers") from error
    if not isinstance(found, np.ndarray):
        raise IrcError(f"--input {spec.name}: {path} is not a .npy file of one array")
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def _cast(array: Array, spec: ArraySpec) -> Array:
    """Rounds to the argument's type; f8 saturates, as the language's casts do."""
    if array.dtype == spec.dtype:
        return array
    if spec.element.startswith("f8"):
        most = float(ml_dtypes.finfo(spec.dtype).max)
        array = np.where(np.isnan(array), array, np.clip(array, -most, most))
    return array.astype(spec.dtype)


def storable(array: Array) -> Array:
    """What is written to a `.npy` file: bf16 and f8 as f32, everything else as it is."""
    return array.astype(np.float32) if ELEMENT_NAMES.get(array.dtype) in NARROW else array
