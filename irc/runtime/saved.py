"""A saved executable: one file that runs without the compiler.

The file is `MAGIC`, the number of bytes of the head (8 bytes, little endian), the head's SHA-256, the head, an artifact
(`irc/runtime/artifact.py`, without the IR and the source of kernels), and weights as safetensors has them, where there
are some. The head is JSON: the format, irc's version, the target and the architecture, and the size and the SHA-256 of
what follows. `docs/executables.md` is for users.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from irc.runtime.arrays import host_array
from irc.runtime.artifact import ArraySpec, Artifact
from irc.runtime.driver import present_arch, require_device
from irc.runtime.executable import Executable
from irc.runtime.tensors import arrays_of, bytes_of
from irc.runtime.weights import with_weights
from irc.support.diagnostics import IrcError
from irc.support.files import read_bytes, write_bytes
from irc.support.version import VERSION

SUFFIX = ".irx"
"""Of the names of saved executables, by which the commands know them."""

MAGIC = b"irc exe\n"

FORMAT = 1
"""Of the file; one of another format is not read."""

_HASH = hashlib.sha256().digest_size
_HEAD = len(MAGIC) + 8 + _HASH
"""Bytes before the head."""


def save(artifact: Artifact, path: Path, weights: Mapping[str, Any] | None = None) -> None:
    """Writes an artifact: all of the file or nothing. weights: values of arguments, by name, which calls are without
    then. IrcError where one fits no argument, or the file cannot be written."""
    kernels = tuple(replace(kernel, source="", ptx="") for kernel in artifact.kernels)
    stored = replace(artifact, kernels=kernels, levels={}, places=()).to_bytes()
    tensors = bytes_of(_checked(artifact.arguments, weights)) if weights else b""
    head = json.dumps(
        {
            "format": FORMAT,
            "irc": VERSION,
            "target": target_of(artifact),
            "arch": artifact.arch,
            "artifact": _described(stored),
            "weights": _described(tensors),
        }
    ).encode()
    begin = MAGIC + len(head).to_bytes(8, "little") + hashlib.sha256(head).digest()
    write_bytes(path, b"".join([begin, head, stored, tensors]))


def load(path: str | Path) -> Executable:
    """The executable that `Executable.save` or `irc-compile` wrote, ready to be called. IrcError where the file is
    none, is damaged, or is for another chip or another version of irc."""
    path = Path(path)
    head, content = _read(path)
    artifact = _artifact(path, _part(path, head, "artifact", content, 0))
    executable = _ON[head["target"]](path, artifact)
    tensors = _part(path, head, "weights", content, head["artifact"]["bytes"])
    if not tensors:
        return executable
    weights = _checked(artifact.arguments, arrays_of(tensors, f"the weights of {path}"))
    return with_weights(executable, weights)


def target_of(artifact: Artifact) -> str:
    """The target that runs it."""
    return "cpu" if artifact.arch == "cpu" else "cuda"


def _described(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _checked(arguments: tuple[ArraySpec, ...], weights: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The weights as row-major arrays of their arguments' types."""
    specs = {spec.name: spec for spec in arguments}
    if unknown := sorted(weights.keys() - specs.keys()):
        raise IrcError(f"there is no argument {unknown[0]}", hint=f"arguments are {', '.join(specs)}")
    return {name: host_array(specs[name], array) for name, array in weights.items()}


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The head of a file of this format, and what follows it."""
    content = read_bytes(path)
    if not content.startswith(MAGIC):
        raise IrcError(f"{path} is no saved executable", hint="Executable.save and irc-compile -o FILE.irx write them")
    end = _HEAD + int.from_bytes(content[len(MAGIC) : len(MAGIC) + 8], "little")
    head = content[_HEAD:end]
    if len(content) < end or hashlib.sha256(head).digest() != content[_HEAD - _HASH : _HEAD]:
        raise _damaged(path, "its head")
    found = json.loads(head)
    if found["format"] != FORMAT:
        raise IrcError(
            f"{path} is of format {found['format']}, which irc {found['irc']} wrote; irc {VERSION} reads "
            f"format {FORMAT}",
            hint="save it with the irc that loads it",
        )
    rest = content[end:]
    if (more := len(rest) - found["artifact"]["bytes"] - found["weights"]["bytes"]) > 0:
        raise _damaged(path, f"{more} bytes follow it")
    return found, rest


def _part(path: Path, head: dict[str, Any], name: str, content: bytes, begin: int) -> bytes:
    """What the head describes under a name."""
    found = content[begin : begin + head[name]["bytes"]]
    if len(found) < head[name]["bytes"]:
        raise _damaged(path, f"it ends within its {name}")
    if _described(found) != head[name]:
        raise _damaged(path, f"its {name}")
    return found


def _damaged(path: Path, what: str) -> IrcError:
    return IrcError(f"{path} is damaged: {what}", hint="save it again, or copy it again")


def _artifact(path: Path, content: bytes) -> Artifact:
    try:
        return Artifact.from_bytes(content)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise IrcError(f"{path} holds no artifact of irc {VERSION}: {error}") from error


def _on_cuda(path: Path, artifact: Artifact) -> Executable:
    from irc.runtime.cuda import CudaProgram, executable_of

    require_device()
    if (arch := present_arch()) != artifact.arch:
        raise IrcError(f"{path} is for {artifact.arch}, and this GPU is {arch}", hint=f"compile it for {arch}")
    return executable_of(artifact, CudaProgram(artifact))


def _on_cpu(path: Path, artifact: Artifact) -> Executable:
    from irc.runtime.cpu import cpu_executable
    from irc.support import llvm

    triple, name, features = artifact.plan["host"]
    here, own, _ = llvm.host()
    if triple != here:
        raise IrcError(f"{path} is for {triple}, and this system is {here}", hint="compile it here")
    if lacking := llvm.missing(features):
        found = f"{path} is for another CPU ({name}): this one ({own}) lacks {', '.join(lacking)}"
        raise IrcError(found, hint="compile it here")
    return cpu_executable(artifact, linked=True)


_ON = {"cuda": _on_cuda, "cpu": _on_cpu}
"""By target."""
