"""The program of a command: a file of irc's own, which the compiler reads, or one of a foreign format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

FOREIGN = {".onnx": "onnx", ".stablehlo": "stablehlo", ".stablehlo.mlir": "stablehlo"}
"""How a file of a foreign format ends, and what irc-opt's `--frontend` calls the format."""


def foreign(file: str) -> str | None:
    """The foreign format of a file, by its name."""
    return next((name for end, name in FOREIGN.items() if file.endswith(end)), None)


@dataclass(frozen=True)
class GivenProgram:
    """What is compiled: a path, with dims that are replaced in it, or a module. arrays: values of arguments that the
    file brings along, by name."""

    source: Path | ModuleOp
    dims: Mapping[str, int]
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict[str, Any])

    def module(self) -> ModuleOp:
        """The module as it is read."""
        from irc.driver.program import load

        return load(self.source, dims=self.dims) if isinstance(self.source, Path) else self.source


def open_program(file: str, dims: Mapping[str, int]) -> GivenProgram:
    """The program of a file; of an ONNX file, dims are sizes of the extents that it has names for."""
    path, kind = Path(file), foreign(file)
    if kind is None:
        return GivenProgram(path, dims)
    if kind == "onnx":
        from irc_frontend.onnx import load

        found = load(path, dims)
    else:
        from irc_frontend import stablehlo

        if dims:
            raise IrcError(f"{file}: a module has no dims to replace", hint="dims belong to .irc files")
        found = stablehlo.load(path)
    return GivenProgram(found.module, {}, found.arrays())
