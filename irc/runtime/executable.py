"""`irc.Executable`: a compiled program that is called with arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from irc.runtime.artifact import ArraySpec, Artifact
from irc.runtime.bound import Bound, Graph
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim

if TYPE_CHECKING:
    from irc.interpreters.sim.statistics import KernelStatistics
    from irc.runtime.cuda import CudaProgram
    from irc.runtime.profile import Profile

REPETITIONS = 11
"""Runs that a profile times, after one that is not."""


class Runnable(Protocol):
    """What a target runs. `arrays` are the caller's, not yet checked; the results are of the same kind."""

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call; an `IrcError` where the arrays do not fit. `out` is empty, or has for each result the array that
        it is written to, or None."""
        ...


class Executable:
    """A compiled function.

    `exe(*arrays)` takes numpy arrays (bf16 and f8 by ml_dtypes) and gives numpy arrays; on the target `cuda` it also
    takes arrays that are on the device and have DLPack (torch, cupy, jax), and gives what the first of them is made of.
    One result is returned as it is, several as a tuple. `stream` (an int handle, or an object with `__cuda_stream__`,
    `cuda_stream` or `ptr`) is where the work is enqueued; without one, that is torch's or cupy's current stream, or the
    device's default stream. `out`, an array or for several results a sequence with an array or None for each, says
    where results are written. A wrong number of arrays, a wrong shape or a wrong element type is an `IrcError`.
    """

    def __init__(
        self,
        name: str,
        target: str,
        arguments: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        program: Runnable,
        artifact: Artifact | None = None,
        manifest: dict[str, Any] | None = None,
    ):
        self.name = name
        self.target = target
        self.arguments = tuple(arguments)
        self.results = tuple(results)
        self.artifact = artifact
        self.dims: tuple[Dim, ...] = ()
        self.reporter: Callable[[Path | None, str | None], str] | None = None
        """Makes the page of `report`."""
        self._manifest = manifest
        self._program = program

    @property
    def manifest(self) -> dict[str, Any]:
        """As `irc-compile` writes it; without kernels on the targets `cpu` and `interpret`, and with None for
        registers and spills on `sim`, which has no machine code."""
        if self._manifest is not None:
            return self._manifest
        return {"kernels": []} if self.artifact is None else self.artifact.manifest

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """One entry a kernel: name, anchor, ops, config, grid, block, shared_memory, registers, spills, flops,
        bytes_read, bytes_written, launches."""
        return self.manifest["kernels"]

    def at(self, **sizes: int) -> Executable:
        """The executable for sizes of its run-time extents (`dims`); itself where it has none."""
        if sizes:
            name, size = next(iter(sizes.items()))
            raise IrcError(
                f"{self.name} has no run-time extents, found a size for {', '.join(sizes)}",
                hint=f"`dim {name} in 1..{max(size, 1)}` declares one in .irc text, jit(dims=...) in Python",
            )
        return self

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call, as `Runnable` has it."""
        return self._program.run(arrays, stream, out)

    def __call__(self, *arrays: Any, out: Any = None, stream: Any | None = None) -> Any:
        results = self.run(arrays, stream, () if out is None else self._given(out))
        return results[0] if len(results) == 1 else tuple(results)

    def _given(self, out: Any) -> Sequence[Any]:
        """`out` as a sequence."""
        given = tuple(out) if isinstance(out, list | tuple) else (out,)  # pyright: ignore[reportUnknownArgumentType]
        if len(given) != len(self.results):
            raise IrcError(f"expected {len(self.results)} arrays to write to, or None, found {len(given)}")
        return given

    def launcher(self, device: int = 0) -> Callable[..., None]:
        """A call without any check, for callers that have made them: `launch(arguments, results, stream, arena=None)`
        takes the addresses of arrays on the device, row-major and aligned to 16 bytes, the handle of a stream (1 is the
        default one), and the address of `arena_bytes` that the run may use, if they are not to be taken from the
        driver's pool. The device is current in the calling thread. Target `cuda`."""
        return self._cuda_program().launcher(device)

    @property
    def arena_bytes(self) -> int:
        """What a call needs in device memory beside its arguments and results. Target `cuda`."""
        return self._cuda_program().arena_bytes

    def _cuda_program(self) -> CudaProgram:
        from irc.runtime.cuda import CudaProgram

        if not isinstance(self._program, CudaProgram):
            raise IrcError(f"the {self.target} target has no device", hint="compile for the target cuda")
        return self._program

    def bind(self, *arrays: Any) -> Bound:
        """This call with its arrays fixed: what it returns is called without arguments, reads what the arrays hold
        then, and writes the same results every time. Target `cuda`; the arrays are on the device, row-major and
        aligned to 16 bytes; IrcError otherwise."""
        return self._bound(arrays, as_graph=False)

    def graph(self, *arrays: Any) -> Graph:
        """This call captured as a CUDA graph, from arrays as `bind` takes them: `graph(*arrays)` replays it on others,
        `graph()` on those of the call before."""
        graph = self._bound(arrays, as_graph=True)
        assert isinstance(graph, Graph)
        return graph

    def _bound(self, arrays: Sequence[Any], *, as_graph: bool) -> Bound:
        from irc.runtime.cuda import CudaProgram

        if not isinstance(self._program, CudaProgram):
            raise IrcError(f"the {self.target} target has no bound calls", hint="compile for the target cuda")
        return self._program.bind(arrays, as_graph=as_graph)

    def profile(self, *arrays: Any, repetitions: int = REPETITIONS) -> Profile:
        """Runs it with numpy arrays, several times. The time of each kernel with what it moves and computes against the
        limits of the chip, its ops and its line, and a trace of the streams; on the targets `cpu` and
        `interpret` the time of each kernel or op."""
        from irc.runtime.host import HostProgram
        from irc.runtime.profile import profile_cuda

        if isinstance(self._program, HostProgram):
            return self._program.profile(arrays, repetitions)
        if self.target != "cuda" or self.artifact is None:
            raise IrcError(f"the {self.target} target measures no times", hint="compile for the target cuda or cpu")
        return profile_cuda(self.artifact, arrays, repetitions)

    def kernel_times(self, *arrays: Any, repetitions: int = REPETITIONS) -> dict[str, float]:
        """Seconds of each kernel in a run with numpy arrays, by name: all its launches, one after another. Target
        `cuda`."""
        from irc.runtime.profile import kernel_times

        if self.artifact is None or self.target != "cuda":
            raise IrcError(f"{self.name} has no kernels: it is compiled for the target {self.target}")
        return kernel_times(self.artifact, arrays, repetitions)

    def report(self, path: str | Path | None = None, target: str | None = None) -> str:
        """An HTML page of how the program is compiled, for its target or another one (`cuda` needs no GPU here). It is
        compiled once more, and the page written to a file where a path is given (docs/report.md). IrcError where that
        cannot be."""
        if self.reporter is None:
            raise IrcError(f"{self.name} is not what irc.compile gave", hint="report on the executable that it gave")
        return self.reporter(None if path is None else Path(path), target)

    def save(self, path: str | Path, weights: Mapping[str, Any] | None = None) -> None:
        """Writes it to one file, which `irc.load` and `irc-run` take without the compiler (docs/executables.md).
        weights: arrays for arguments, by name; the loaded executable has the others alone. Targets `cuda` and `cpu`;
        IrcError otherwise, and where the file cannot be written."""
        from irc.runtime.saved import save

        if self.artifact is None:
            raise IrcError(f"{self.name} has no machine code to save", hint=self._saved_instead())
        if self.artifact.plan.get("dims") and not self.dims:
            raise IrcError(f"{self.name} is for one size of several", hint="save the executable for all sizes")
        save(self.artifact, Path(path), weights)

    def _saved_instead(self) -> str:
        if self.dims:
            return f"on the target {self.target} there is code for one size: save what exe.at(...) gives"
        return "compile for the target cuda or cpu, and save what was compiled"

    def statistics(self, *arrays: Any) -> list[KernelStatistics]:
        """What the kernels do in a call with these arrays, on the target `sim`: instructions, sectors of global memory
        and bank conflicts, by kernel and op. IrcError on other targets."""
        from irc.runtime.sim import SimProgram

        if not isinstance(self._program, SimProgram):
            raise IrcError(f"the {self.target} target counts nothing", hint="compile for the target sim")
        return self._program.counted(arrays)[1]

    def __repr__(self) -> str:
        arguments = ", ".join(f"{spec.name}: {spec.type}" for spec in self.arguments)
        results = ", ".join(spec.type for spec in self.results)
        return f"<irc.Executable {self.name}({arguments}) -> ({results}) on {self.target}>"
