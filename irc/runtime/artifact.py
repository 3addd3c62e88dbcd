"""What a compilation leaves: plain data that runs, prints and travels without any part of the compiler.

An artifact is stored as one zip file: `artifact.json` beside each level's IR (`ir/<level>.mlir`) and each kernel's
source, PTX and cubin (`kernels/<name>.cu`, `.ptx`, `.cubin`), or for a CPU object files (`objects/<name>.o`). Nothing
here imports xDSL.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

FORMAT = 9
"""Of the zip file; a file of another format is not read."""

DTYPES: Mapping[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}
"""The numpy dtype of each element name: `irc.ir.dtypes` without the IR types, which would import xDSL (a test compares
the two)."""

ELEMENT_NAMES: Mapping[np.dtype[Any], str] = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class ArraySpec:
    """An argument or a result: its name, extents and element name (`bf16`). extents: as text, where some are known when
    the program is called (`N * 12`); the numbers in `shape` stand for them (`irc.support.extents`). align: on a GPU, it
    begins at a multiple of so many bytes, or is copied."""

    name: str
    shape: tuple[int, ...]
    element: str
    extents: tuple[str, ...] = ()
    align: int = 16

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.element]

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def type(self) -> str:
        """As `.irc` writes it: `bf16[4096, 512]`."""
        return f"{self.element}[{', '.join(self.extents)}]" if self.extents else type_text(self.element, self.shape)


def type_text(element: str, shape: tuple[int, ...]) -> str:
    """`bf16[4096, 512]`."""
    return f"{element}[{', '.join(map(str, shape))}]"


@dataclass(frozen=True)
class KernelBinary:
    """A compiled kernel: CUDA C++, PTX, machine code, and the place in the program that it comes from (or `?`). entry:
    what the machine code calls it, where that is not its name."""

    name: str
    source: str
    ptx: str
    cubin: bytes
    location: str
    entry: str = ""

    @property
    def symbol(self) -> str:
        """What the machine code calls it."""
        return self.entry or self.name


@dataclass(frozen=True)
class Artifact:
    """A compiled program.

    `plan` is the host plan as `irc.runtime.plan` writes it, or on a CPU `irc.runtime.cpu_plan`, whose machine code is
    in `objects`; `manifest` is what `irc-compile` writes (`irc.driver.manifest`); `levels` has the IR after the
    pipeline of each level. `places` are the places of the ops of the nd module that it was compiled from, in the order
    of a walk: equal modules share an artifact, and differ in their places alone.
    """

    arch: str
    arguments: tuple[ArraySpec, ...]
    results: tuple[ArraySpec, ...]
    plan: dict[str, Any]
    manifest: dict[str, Any]
    kernels: tuple[KernelBinary, ...]
    levels: dict[str, str] = field(default_factory=dict[str, str])
    places: tuple[str, ...] = ()
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    cached: bool = False
    """Whether it was read from the disk instead of compiled."""

    def to_bytes(self) -> bytes:
        """The zip file."""
        head = {
            "format": FORMAT,
            "arch": self.arch,
            "arguments": [asdict(spec) for spec in self.arguments],
            "results": [asdict(spec) for spec in self.results],
            "plan": self.plan,
            "manifest": self.manifest,
            "kernels": [{"name": each.name, "location": each.location, "entry": each.entry} for each in self.kernels],
            "levels": list(self.levels),
            "places": self.places,
            "objects": list(self.objects),
        }
        parts: dict[str, str | bytes] = {"artifact.json": json.dumps(head)}
        parts |= {f"ir/{level}.mlir": text for level, text in self.levels.items()}
        for kernel in self.kernels:
            base = f"kernels/{kernel.name}"
            parts |= {f"{base}.cu": kernel.source, f"{base}.ptx": kernel.ptx, f"{base}.cubin": kernel.cubin}
        parts |= {f"objects/{name}.o": content for name, content in self.objects.items()}
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as file:
            for name, content in parts.items():  # entries without a time: equal artifacts are equal bytes
                file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, compresslevel=1)
        return stream.getvalue()

    @staticmethod
    def from_bytes(content: bytes) -> Artifact:
        """Reads the zip file. ValueError, KeyError or BadZipFile where it is none of this format."""
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            head = json.loads(file.read("artifact.json"))
            if head.get("format") != FORMAT:
                raise ValueError(f"expected an artifact of format {FORMAT}, found {head.get('format')}")
            return Artifact(
                arch=head["arch"],
                arguments=tuple(_spec(spec) for spec in head["arguments"]),
                results=tuple(_spec(spec) for spec in head["results"]),
                plan=head["plan"],
                manifest=head["manifest"],
                kernels=tuple(_kernel(file, kernel) for kernel in head["kernels"]),
                places=tuple(head["places"]),
                objects={name: file.read(f"objects/{name}.o") for name in head["objects"]},
                levels={level: file.read(f"ir/{level}.mlir").decode() for level in head["levels"]},
                cached=True,
            )

    def at_places(self, places: tuple[str, ...]) -> Artifact:
        """The artifact of an equal module whose ops are at these places."""
        return self.moved(moves(self.places, places))

    def moved(self, moved: Mapping[str, str]) -> Artifact:
        """The same artifact with other places in those of its locations that have one here."""
        if not moved:
            return self
        kernels = tuple(
            replace(kernel, location=moved.get(kernel.location, kernel.location)) for kernel in self.kernels
        )
        return replace(self, kernels=kernels, manifest=_moved(self.manifest, moved), plan=_moved(self.plan, moved))


def moves(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Where each place has moved to, of those that have. The first op at a place stands for it: where one file names a
    place twice, another may have two."""
    found = dict(reversed(list(zip(before, after, strict=True))))
    return {place: there for place, there in found.items() if place != there}


_PLACES = ("location", "places")
"""What has places in the data of manifests and plans."""


def _moved(data: Any, moved: Mapping[str, str], *, is_place: bool = False) -> Any:
    """The data of JSON with other places."""
    if isinstance(data, str):
        return moved.get(data, data) if is_place else data
    if isinstance(data, list):
        return [_moved(each, moved, is_place=is_place) for each in data]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(data, dict):
        return {name: _moved(each, moved, is_place=name in _PLACES) for name, each in data.items()}  # pyright: ignore[reportUnknownVariableType]
    return data


def _spec(fields: dict[str, Any]) -> ArraySpec:
    return ArraySpec(
        fields["name"], tuple(fields["shape"]), fields["element"], tuple(fields["extents"]), fields["align"]
    )


def _kernel(file: zipfile.ZipFile, head: dict[str, str]) -> KernelBinary:
    base = f"kernels/{head['name']}"
    return KernelBinary(
        head["name"],
        file.read(f"{base}.cu").decode(),
        file.read(f"{base}.ptx").decode(),
        file.read(f"{base}.cubin"),
        head["location"],
        head.get("entry", ""),
    )
