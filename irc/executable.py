"""`irc.Executable`: a compiled program that is called with arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from irc.artifact import ArraySpec, Artifact


class Program(Protocol):
    """What a target runs. `arrays` are the caller's, not yet checked; the results are of the same kind."""

    def run(self, arrays: Sequence[Any], stream: Any | None) -> list[Any]:
        """One call; an `IrcError` where the arrays do not fit."""
        ...


class Executable:
    """A compiled function.

    `exe(*arrays)` takes numpy arrays (bf16 and f8 by ml_dtypes) and gives numpy arrays; on the target `cuda` it also
    takes arrays that are on the device and have DLPack (torch, cupy, jax), and gives what the first of them is made of.
    One result is returned as it is, several as a tuple. `stream` (an int handle, or an object with `__cuda_stream__`,
    `cuda_stream` or `ptr`) is where the work is enqueued; without one, the call is ordered after the device's default
    stream. A wrong number of arrays, a wrong shape or a wrong element type is an `IrcError`.
    """

    def __init__(
        self,
        name: str,
        target: str,
        arguments: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        program: Program,
        artifact: Artifact | None = None,
    ):
        self.name = name
        self.target = target
        self.arguments = tuple(arguments)
        self.results = tuple(results)
        self.artifact = artifact
        self._program = program

    @property
    def manifest(self) -> dict[str, Any]:
        """As `irc-compile` writes it; without kernels on the target `cpu`, which has none."""
        return {"kernels": []} if self.artifact is None else self.artifact.manifest

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """One entry a kernel: name, anchor, ops, config, grid, block, shared_memory, registers, spills, flops,
        bytes_read, bytes_written."""
        return self.manifest["kernels"]

    def __call__(self, *arrays: Any, stream: Any | None = None) -> Any:
        results = self._program.run(arrays, stream)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{spec.name}: {spec.type}" for spec in self.arguments)
        results = ", ".join(spec.type for spec in self.results)
        return f"<irc.Executable {self.name}({arguments}) -> ({results}) on {self.target}>"
