"""Trees of arrays in safetensors files (https://huggingface.co/docs/safetensors)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError
from irc_frontend.evaluation import evaluate
from irc_frontend.pytrees import rebuilt, with_paths
from irc_frontend.tensor import Tensor, node_of

if TYPE_CHECKING:
    from safetensors import TensorSpec

_ELEMENTS = {
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


def save(path: str | Path, tree: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Writes the arrays of a tree, each under its path, `blocks.0.weight`, and words beside them.

    The file is complete or not there: it takes the place of an older one when all is written.
    """
    import safetensors

    path = Path(path)
    leaves = _named(tree)
    evaluate([node_of(leaf) for leaf in leaves.values()])
    # The writer takes addresses: these arrays live until it is done.
    arrays = {name: np.asarray(Tensor(leaf).numpy(), order="C") for name, leaf in leaves.items()}
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        specs = {name: _spec(array) for name, array in arrays.items()}
        safetensors.serialize_file(specs, str(unfinished), dict(metadata or {}))
        unfinished.replace(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise IrcError(f"cannot write {path}: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: str | Path, like: Any) -> tuple[Any, dict[str, str]]:
    """The tree that `save` wrote, in the shape of the tree `like`, and the words beside it.

    IrcError where the file has other names, shapes or element types than `like`, or is no such file.
    """
    found, metadata = _read(Path(path))
    wanted = _named(like)
    if found.keys() != wanted.keys():
        missing, more = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
        raise IrcError(f"{path} has other arrays than expected: without {missing}, with {more}")
    for name, leaf in wanted.items():
        expected, given = node_of(leaf).type, found[name].node.type
        if given != expected:
            raise IrcError(f"{path}: {name} is {given}, expected {expected}")
    return rebuilt(like, (found[name] for name in wanted)), metadata


def _named(tree: Any) -> dict[str, Any]:
    """The leaves by name; IrcError where two have the same."""
    leaves: dict[str, Any] = {}
    for path, leaf in with_paths(tree):
        name = ".".join(map(str, path))
        if name in leaves:
            raise IrcError(f"two arrays of a checkpoint are named {name}")
        leaves[name] = leaf
    return leaves


def _spec(array: np.ndarray[Any, Any]) -> TensorSpec:
    from safetensors import TensorSpec

    return TensorSpec(
        dtype=array.dtype.name, shape=list(array.shape), data_ptr=int(array.ctypes.data), data_len=array.nbytes
    )


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The arrays and the words of a file."""
    import safetensors

    try:
        content = path.read_bytes()
        entries = safetensors.deserialize(content)
    except (OSError, safetensors.SafetensorError) as error:
        raise IrcError(f"cannot read {path}: {error}") from error
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return {name: _tensor(f"{path}: {name}", entry) for name, entry in entries}, header.get("__metadata__", {})


def _tensor(what: str, entry: Any) -> Tensor:
    if entry["dtype"] not in _ELEMENTS:
        raise IrcError(f"{what} has elements {entry['dtype']}, which irc has not")
    dtype = DTYPES[_ELEMENTS[entry["dtype"]]]
    return Tensor(np.frombuffer(entry["data"], dtype).reshape(entry["shape"]))
