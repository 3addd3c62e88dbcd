"""What a compilation leaves: plain data that runs, prints and travels without any part of the compiler.

An artifact is stored as one zip file: `artifact.json` beside each level's IR (`ir/<level>.mlir`) and each kernel's
source, PTX and cubin (`kernels/<name>.cu`, `.ptx`, `.cubin`). Nothing here imports xDSL.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

FORMAT = 7
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
    the program is called (`N * 12`); the numbers in `shape` stand for them (`irc.support.extents`)."""

    name: str
    shape: tuple[int, ...]
    element: str
    extents: tuple[str, ...] = ()

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
    """A compiled kernel: CUDA C++, PTX, machine code, and the place in the program that it comes from (or `?`)."""

    name: str
    source: str
    ptx: str
    cubin: bytes
    location: str


@dataclass(frozen=True)
class Artifact:
    """A compiled program.

    `plan` is the host plan as `irc.runtime.plan` writes it; `manifest` is what `irc-compile` writes
    (`irc.driver.manifest`); `levels` has the IR after the pipeline of each level. `places` are the places of the ops of
    the nd module that it was compiled from, in the order of a walk: equal modules share an artifact, and differ in
    their places alone.
    """

    arch: str
    arguments: tuple[ArraySpec, ...]
    results: tuple[ArraySpec, ...]
    plan: dict[str, Any]
    manifest: dict[str, Any]
    kernels: tuple[KernelBinary, ...]
    levels: dict[str, str] = field(default_factory=dict[str, str])
    places: tuple[str, ...] = ()
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
            "kernels": [{"name": kernel.name, "location": kernel.location} for kernel in self.kernels],
            "levels": list(self.levels),
            "places": self.places,
        }
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("artifact.json", json.dumps(head))
            for level, text in self.levels.items():
                file.writestr(f"ir/{level}.mlir", text)
            for kernel in self.kernels:
                file.writestr(f"kernels/{kernel.name}.cu", kernel.source)
                file.writestr(f"kernels/{kernel.name}.ptx", kernel.ptx)
                file.writestr(f"kernels/{kernel.name}.cubin", kernel.cubin)
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
                levels={level: file.read(f"ir/{level}.mlir").decode() for level in head["levels"]},
                cached=True,
            )

    @property
    def locations(self) -> dict[str, str]:
        """Where each kernel comes from, by its name."""
        return {kernel.name: kernel.location for kernel in self.kernels}

    def at_places(self, places: tuple[str, ...]) -> Artifact:
        """The artifact of an equal module whose ops are at these places."""
        if places == self.places:
            return self
        # The first op at a place stands for it: where one file names a place twice, another may have two.
        moved = dict(reversed(list(zip(self.places, places, strict=True))))
        return self.at_locations({name: moved.get(place, place) for name, place in self.locations.items()})

    def at_locations(self, locations: Mapping[str, str]) -> Artifact:
        """The same artifact with other locations of its kernels."""
        kernels = tuple(replace(kernel, location=locations[kernel.name]) for kernel in self.kernels)
        entries = [{**entry, "location": locations[entry["name"]]} for entry in self.manifest["kernels"]]
        return replace(self, kernels=kernels, manifest={**self.manifest, "kernels": entries})


def _spec(fields: dict[str, Any]) -> ArraySpec:
    return ArraySpec(fields["name"], tuple(fields["shape"]), fields["element"], tuple(fields["extents"]))


def _kernel(file: zipfile.ZipFile, head: dict[str, str]) -> KernelBinary:
    base = f"kernels/{head['name']}"
    return KernelBinary(
        head["name"],
        file.read(f"{base}.cu").decode(),
        file.read(f"{base}.ptx").decode(),
        file.read(f"{base}.cubin"),
        head["location"],
    )
