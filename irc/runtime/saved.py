"""A saved executable: one file that runs without the compiler, from Python and from C (`irc/runtime/native`).

The file is a head of 128 bytes, the document, zeros up to a multiple of 64 bytes, and data. The head has `MAGIC`, the
format and irc's version, the bytes and the SHA-256 of the document and of the data, and the SHA-256 of the head itself;
its first 24 and its last 16 bytes are the same in all formats. The document is CBOR: the target, the architecture,
arguments and results, the plan, the manifest, and where in the data each kernel's machine code, each object file, each
constant and each weight is: `{"at": byte, "bytes": how many}`, with `at` a multiple of 64. `docs/executables.md` is for
users.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from irc.runtime.arrays import host_array
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.driver import present_arch, require_device
from irc.runtime.executable import Executable
from irc.runtime.weights import with_weights
from irc.support import cbor
from irc.support.diagnostics import IrcError
from irc.support.files import read_bytes, write_bytes
from irc.support.integers import round_up
from irc.support.version import VERSION

SUFFIX = ".irx"
"""Of the names of saved executables, by which the commands know them."""

MAGIC = b"irc\x89exe\n"

FORMAT = 2
"""Of the file; one of another format is not read."""

HEAD = struct.Struct("<8sQ16sQQ32s32s")
"""The magic, the format, irc's version, the bytes of the document and of the data, their SHA-256."""

_SEAL = 16
"""Bytes of the head's own SHA-256 that follow it."""

_ALIGNMENT = 64
"""Of what lies in the data, in bytes: a line of the cache, and the widest vector."""


def save(artifact: Artifact, path: Path, weights: Mapping[str, Any] | None = None) -> None:
    """Writes an artifact: all of the file or nothing. weights: values of arguments, by name, which calls are without
    then. IrcError where one fits no argument, or the file cannot be written."""
    data = _Data()
    document = cbor.encoded(
        {
            "target": target_of(artifact),
            "arch": artifact.arch,
            "arguments": [asdict(spec) for spec in artifact.arguments],
            "results": [asdict(spec) for spec in artifact.results],
            "plan": data.stored(artifact.plan),
            "manifest": artifact.manifest,
            "kernels": [
                {"name": each.name, "location": each.location, "code": data.add(each.cubin), "symbol": each.symbol}
                for each in artifact.kernels
            ],
            "objects": {name: data.add(content) for name, content in artifact.objects.items()},
            "weights": {
                name: data.add(array.tobytes()) for name, array in _checked(artifact.arguments, weights or {}).items()
            },
        }
    )
    content = data.content()
    version = VERSION.encode()[:16]
    sums = (hashlib.sha256(document).digest(), hashlib.sha256(content).digest())
    head = HEAD.pack(MAGIC, FORMAT, version, len(document), len(content), *sums)
    write_bytes(path, b"".join([head, seal(head), document, bytes(-len(document) % _ALIGNMENT), content]))


def load(path: str | Path) -> Executable:
    """The executable that `Executable.save` or `irc-compile` wrote, ready to be called. IrcError where the file is
    none, is damaged, or is for another chip or another version of irc."""
    path = Path(path)
    document, data = _read(path)
    try:
        artifact = _artifact(document, data)
        values = {name: _piece(data, entry) for name, entry in document["weights"].items()}
        weights = {spec.name: _array(spec, values[spec.name]) for spec in artifact.arguments if spec.name in values}
        executable = _ON[document["target"]](path, artifact)
    except (ValueError, KeyError, TypeError) as error:
        raise IrcError(f"{path} holds no executable of irc {VERSION}: {error!r}") from error
    return with_weights(executable, weights) if weights else executable


def target_of(artifact: Artifact) -> str:
    """The target that runs it."""
    return "cpu" if artifact.arch == "cpu" else "cuda"


class _Data:
    """What lies behind the document, piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._end = 0

    def add(self, content: bytes) -> dict[str, int]:
        """Appends bytes; what the document says of them."""
        begin = round_up(self._end, _ALIGNMENT)
        self._pieces += (bytes(begin - self._end), content)
        self._end = begin + len(content)
        return {"at": begin, "bytes": len(content)}

    def stored(self, plan: Any) -> Any:
        """The data of a plan, with its constants moved behind the document."""
        if isinstance(plan, list):
            return [self.stored(each) for each in plan]
        if not isinstance(plan, dict):
            return plan
        if "bytes" in plan:
            return self.add(base64.b64decode(plan["bytes"]))
        return {name: self.stored(each) for name, each in plan.items()}

    def content(self) -> bytes:
        return b"".join(self._pieces)


def _restored(plan: Any, data: memoryview) -> Any:
    """What `_Data.stored` took apart."""
    if isinstance(plan, list):
        return [_restored(each, data) for each in plan]
    if not isinstance(plan, dict):
        return plan
    if "bytes" in plan:
        return {"bytes": base64.b64encode(_piece(data, plan)).decode()}
    return {name: _restored(each, data) for name, each in plan.items()}


def _piece(data: memoryview, entry: Mapping[str, int]) -> memoryview:
    """What the document says is there. ValueError where it is not."""
    begin, size = entry["at"], entry["bytes"]
    if begin + size > len(data):
        raise ValueError(f"bytes {begin} to {begin + size} are not there")
    return data[begin : begin + size]


def _array(spec: ArraySpec, content: memoryview) -> np.ndarray[Any, Any]:
    return np.frombuffer(content, spec.dtype).reshape(spec.shape)


def _checked(arguments: tuple[ArraySpec, ...], weights: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The weights as row-major arrays of their arguments' types."""
    specs = {spec.name: spec for spec in arguments}
    if unknown := sorted(weights.keys() - specs.keys()):
        raise IrcError(f"there is no argument {unknown[0]}", hint=f"arguments are {', '.join(specs)}")
    return {name: host_array(specs[name], array) for name, array in weights.items()}


def seal(head: bytes) -> bytes:
    """What follows a head."""
    return hashlib.sha256(head).digest()[:_SEAL]


def _read(path: Path) -> tuple[dict[str, Any], memoryview]:
    """The document and the data of a file of this format."""
    whole = read_bytes(path)
    if not whole.startswith(MAGIC):
        raise IrcError(f"{path} is no saved executable", hint="Executable.save and irc-compile -o FILE.irx write them")
    begin = HEAD.size + _SEAL
    head, content = whole[: HEAD.size], memoryview(whole)
    if whole[HEAD.size : begin] != seal(head):
        raise _damaged(path, "its head")
    _, format, version, *sizes, document_sum, data_sum = HEAD.unpack(head)
    if format != FORMAT:
        wrote = version.rstrip(b"\0").decode()
        raise IrcError(
            f"{path} is of format {format}, which irc {wrote} wrote; irc {VERSION} reads format {FORMAT}",
            hint="save it with the irc that loads it",
        )
    behind = begin + round_up(sizes[0], _ALIGNMENT)
    if (more := len(content) - behind - sizes[1]) != 0:
        raise _damaged(path, f"{more} bytes follow it" if more > 0 else f"{-more} bytes are missing")
    document, data = content[begin : begin + sizes[0]], content[behind:]
    for what, part, expected in (("document", document, document_sum), ("data", data, data_sum)):
        if hashlib.sha256(part).digest() != expected:
            raise _damaged(path, f"its {what}")
    if any(content[begin + sizes[0] : behind]):
        raise _damaged(path, "what follows its document")
    return cbor.decoded(bytes(document)), data


def _damaged(path: Path, what: str) -> IrcError:
    return IrcError(f"{path} is damaged: {what}", hint="save it again, or copy it again")


def _artifact(document: Mapping[str, Any], data: memoryview) -> Artifact:
    return Artifact(
        arch=document["arch"],
        arguments=tuple(map(_spec, document["arguments"])),
        results=tuple(map(_spec, document["results"])),
        plan=_restored(document["plan"], data),
        manifest=document["manifest"],
        kernels=tuple(
            KernelBinary(
                entry["name"], "", "", bytes(_piece(data, entry["code"])), entry["location"], entry.get("symbol", "")
            )
            for entry in document["kernels"]
        ),
        objects={name: bytes(_piece(data, entry)) for name, entry in document["objects"].items()},
        cached=True,
    )


def _spec(fields: Mapping[str, Any]) -> ArraySpec:
    return ArraySpec(
        fields["name"], tuple(fields["shape"]), fields["element"], tuple(fields["extents"]), fields.get("align", 16)
    )


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
