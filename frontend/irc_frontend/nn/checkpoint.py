"""Trees of arrays in safetensors files (https://huggingface.co/docs/safetensors)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from irc.runtime.tensors import arrays_of, specs_of
from irc.support.diagnostics import IrcError
from irc.support.files import read_bytes
from irc_frontend.evaluation import evaluate
from irc_frontend.pytrees import rebuilt, with_paths
from irc_frontend.tensor import Tensor, node_of


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
        safetensors.serialize_file(specs_of(arrays), str(unfinished), dict(metadata or {}))
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


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The arrays and the words of a file."""
    content = read_bytes(path)
    arrays = arrays_of(content, str(path))
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return {name: Tensor(array) for name, array in arrays.items()}, header.get("__metadata__", {})
